package bench

import (
	"context"
	"fmt"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"github.com/landedhq/landed/journal"
	"github.com/landedhq/landed/journal/postgres"
)

func (j *listJournal) sampleAt(i int) listSample { return j.samples[i%len(j.samples)] }
func (j *listJournal) openAt(i int) listSample   { return j.openSamples[i%len(j.openSamples)] }

// filtered is what one read of a run asks for.
type filtered func(j *listJournal, i int) journal.ListFilter

// lists reads a page by the filter, as windows that are open do: again and again.
// It demands at least some rows.
func lists(name string, rows int, filter filtered) listRead {
	return listRead{name, 1, 5, func(ctx context.Context, j *listJournal, i int) error {
		return readPage(ctx, j.store, rows, filter(j, i))
	}}
}

// unseen reads a page that no window has shown for a minute.
func unseen(name string, rows int, filter filtered) listRead {
	return listRead{name: name, do: func(ctx context.Context, j *listJournal, i int) error {
		return readPage(ctx, j.forgetful, rows, filter(j, i))
	}}
}

func readPage(ctx context.Context, s *postgres.Store, rows int, f journal.ListFilter) error {
	page, err := s.List(ctx, f)
	if err == nil && len(page.Rows) < rows {
		return fmt.Errorf("%d rows, at least %d expected: %w", len(page.Rows), rows, errWrongAnswer)
	}
	return err
}

// listReads are the reads of pages, of workers and of the background rounds.
func listReads() []listRead {
	return append(pageReads(), roundReads()...)
}

func pageReads() []listRead {
	type f = journal.ListFilter
	order := func(s listSample) string { return strings.Fields(s.subject)[3] }
	broad := lists("search that matches every open effect", 1, func(*listJournal, int) f { return f{Query: "refund"} })
	broad.p50, broad.p99 = 0, 0 // counts up to ten thousand matches
	return []listRead{
		lists("first page", 10, func(*listJournal, int) f { return f{} }),
		lists("first page, newest first", 10, func(*listJournal, int) f { return f{Newest: true} }),
		lists("deep page", 0, func(j *listJournal, i int) f { return f{After: j.openAt(i).id} }),
		unseen("first page, not shown for a minute", 10, func(*listJournal, int) f { return f{} }),
		unseen("deep page, not shown for a minute", 0, func(j *listJournal, i int) f { return f{After: j.openAt(i + 1).id} }),
		lists("state", 1, func(*listJournal, int) f { return f{State: journal.StateParked} }),
		lists("tool", 0, func(_ *listJournal, i int) f { return f{Tool: "tool-" + strconv.Itoa(i%37)} }),
		lists("class", 1, func(*listJournal, int) f { return f{Class: journal.ClassAtMostOnce} }),
		lists("provider", 1, func(_ *listJournal, i int) f { return f{Provider: "provider-" + strconv.Itoa(i%7)} }),
		lists("namespace", 0, func(_ *listJournal, i int) f { return f{Namespace: "tenant-" + strconv.Itoa(i%20)} }),
		lists("root run", 1, func(j *listJournal, i int) f { return f{RootRun: j.openAt(i).run} }),
		lists("tool and provider", 0, func(_ *listJournal, i int) f {
			return f{Tool: "tool-" + strconv.Itoa(i%37), Provider: "provider-" + strconv.Itoa(i%37%7)}
		}),
		lists("mine", 0, func(_ *listJournal, i int) f {
			return f{Claim: journal.ClaimMine, Viewer: journal.Actor{Issuer: "bench", Subject: "person-" + strconv.Itoa(i%5)}}
		}),
		lists("nobody is on it", 1, func(*listJournal, int) f { return f{Claim: journal.ClaimNone} }),
		lists("snoozed", 0, func(*listJournal, int) f { return f{Snoozed: true} }),
		lists("search among the open", 1, func(j *listJournal, i int) f { return f{Query: order(j.openAt(i))} }),
		lists("search without a match", 0, func(_ *listJournal, i int) f { return f{Query: "nothing like " + strconv.Itoa(i)} }),
		broad,
		lists("whole id, settled", 1, func(j *listJournal, i int) f { return f{Query: j.sampleAt(i).id} }),
		lists("whole reference, settled", 1, func(j *listJournal, i int) f { return f{Query: j.sampleAt(i).ref} }),
		lists("whole key, settled", 1, func(j *listJournal, i int) f { return f{Query: j.sampleAt(i).key} }),
		{"counts of the header, afresh", 20, 60, func(ctx context.Context, j *listJournal, _ int) error {
			_, err := j.store.AttentionCounts(ctx)
			return err
		}},
		{"look-up by key", 1, 5, func(ctx context.Context, j *listJournal, i int) error {
			s := j.sampleAt(i)
			id, err := j.store.EffectByKey(ctx, s.namespace, s.key)
			if err == nil && id != s.id {
				err = errWrongAnswer
			}
			return err
		}},
		{"siblings of a root run", 1, 5, func(ctx context.Context, j *listJournal, i int) error {
			s := j.sampleAt(i)
			_, err := j.store.Siblings(ctx, s.namespace, s.run, s.id)
			return err
		}},
		{"effect page, everything", 0, 0, func(ctx context.Context, j *listJournal, i int) error {
			_, err := j.store.Case(ctx, j.openAt(i).id)
			return err
		}},
	}
}

func roundReads() []listRead {
	month := func() time.Time { return time.Now().Add(-30 * 24 * time.Hour) }
	return []listRead{
		{"sweep, nothing stuck", 1, 5, func(ctx context.Context, j *listJournal, _ int) error { _, err := j.store.Sweep(ctx, 200); return err }},
		{"due looks, none", 1, 5, func(ctx context.Context, j *listJournal, _ int) error {
			_, err := j.store.ClaimLooks(ctx, "provider-1", 20, time.Minute)
			return err
		}},
		{"alerts, all raised", 0, 0, func(ctx context.Context, j *listJournal, _ int) error { _, err := j.store.RaiseAlerts(ctx); return err }},
		{"canary", 1, 5, func(ctx context.Context, j *listJournal, i int) error {
			c, err := j.store.Canary(ctx, "provider-"+strconv.Itoa(i%7), month(), time.Now().Add(-time.Duration(i%1000)*time.Second))
			if err == nil && c == nil {
				err = errWrongAnswer
			}
			return err
		}},
		{"canary, provider without commits", 1, 5, func(ctx context.Context, j *listJournal, _ int) error {
			_, err := j.store.Canary(ctx, "silent", month(), time.Now())
			return err
		}},
		{"a decision that is waited for", 1, 5, func(ctx context.Context, j *listJournal, i int) error {
			_, err := j.store.Decision(ctx, j.openAt(i).id, 0, 0)
			return err
		}},
		{"purge of nothing", 0, 0, func(ctx context.Context, j *listJournal, _ int) error {
			_, err := j.store.Purge(ctx, 365*24*time.Hour, 100)
			return err
		}},
	}
}

// The widths at which writing is compared.
const listWriters = 32

// compareWrites lets a full and an empty journal take turns at the happy path,
// keys derived from the root run, nine times as long as one read is measured.
func compareWrites(ctx context.Context, full, empty *listJournal, d time.Duration) ([]ListWrite, error) {
	var run atomic.Int64
	var turns [2][]measured
	n := max(rounds, int(rounds*d/longestTurn)) | 1
	for round := range n {
		for k := range turns {
			j := []*listJournal{full, empty}[(k+round)%2]
			b := &journalBench{pool: j.pool, opts: JournalOptions{}}
			b.run.Store(run.Add(1000))
			m, err := b.turn(ctx, b.library(j.store), listWriters, rounds*d/time.Duration(n))
			if err != nil {
				return nil, err
			}
			turns[(k+round)%2] = append(turns[(k+round)%2], m)
		}
	}
	wal := func(m measured) float64 { return m.wal }
	w := ListWrite{Name: fmt.Sprintf("begin and commit, %d workers, group commit", listWriters), Full: median(turns[0], rateOf), Empty: median(turns[1], rateOf),
		FullWAL: median(turns[0], wal), EmptyWAL: median(turns[1], wal)}
	w.Ratio = medianRatio(turns[0], turns[1])
	return []ListWrite{w}, nil
}
