package postgres

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/landedhq/landed/journal"
	"github.com/landedhq/landed/journal/postgres/internal/sqlc"
)

// Causes groups what needs attention by cause and burst, over the first
// journal.MaxGrouped effects of the filter in the list's order. A query is
// searched for as a text only: a whole id, key or reference names no group.
func (s *Store) Causes(ctx context.Context, f journal.ListFilter) (journal.CausePage, error) {
	var page journal.CausePage
	counts, err := s.rollup(ctx)
	if err != nil {
		return page, err
	}
	f.After = ""
	rows, head, err := s.attention(ctx, f, journal.MaxGrouped+1)
	if err != nil {
		return page, err
	}
	page.Counts, page.Now = slices.Clone(counts.header), head.Now
	if page.Cut = len(rows) > journal.MaxGrouped; page.Cut {
		rows = rows[:journal.MaxGrouped]
	}
	page.Read = len(rows)
	page.Total = max(page.Read, counts.total(f))
	if f.Query != "" || f.RootRun != "" || !page.Cut {
		page.Total = page.Read
	}
	page.Groups = journal.GroupByCause(rows)
	return page, nil
}

// attention reads what needs attention under the filter, in the list's order and
// at most limit, each ready to be assessed and with what its newest attempt
// reported. Of a burst it reads those that began in its time, and keeps those of
// its cause. Two round trips. Plan: the index of one filter, in order; nothing is
// sorted but the few that a worker still owns.
func (s *Store) attention(ctx context.Context, f journal.ListFilter, limit int) ([]journal.Snapshot, journal.ListPage, error) {
	var head journal.ListPage
	w := &where{args: []any{ms(s.policy.RetryGrace)}}
	w.narrow(f)
	w.team(f)
	w.sleep(f)
	if !f.Cause.Zero() {
		w.add("e.created_at >= ?", f.Cause.From)
		w.add("e.created_at <= ?", f.Cause.To)
	}
	if q := strings.TrimSpace(clean(f.Query, 1000)); q != "" {
		w.add("("+text+" || '') like (select lower(?))", containing(q)) // in order, not by the trigrams
	}
	_, order := w.after(journal.ListFilter{Newest: f.Newest}, "e")
	var effects []listedRow
	sorted := fmt.Sprintf("order by created_at %s, id %s limit %d", order, order, limit)
	err := pipeline(ctx, s.pool, clock(ctx, &head), readListed(ctx, withTeam(w.both(f, rowColumns, sorted), !f.Snoozed), w.args, &effects))
	if err != nil {
		return nil, head, mapError("reading the list", err)
	}
	slices.SortFunc(effects, func(a, b listedRow) int {
		n := cmp.Or(a.created.Compare(b.created), cmp.Compare(a.id, b.id))
		if f.Newest {
			return -n
		}
		return n
	})
	effects = effects[:min(len(effects), limit)]
	rows, err := s.shown(ctx, effects, head.Now)
	if err != nil {
		return nil, head, err
	}
	head.Team = marksOf(effects)
	if err := s.addErrors(ctx, rows); err != nil {
		return nil, head, err
	}
	return slices.DeleteFunc(rows, func(r journal.Snapshot) bool { return !f.Cause.Holds(&r) }), head, nil
}

// addErrors fills what the list leaves out: the newest attempt's report.
func (s *Store) addErrors(ctx context.Context, rows []journal.Snapshot) error {
	ids := make([]string, len(rows))
	for i := range rows {
		ids[i] = rows[i].Effect.ID
	}
	found, err := s.q.ErrorsOf(ctx, s.pool, ids)
	if err != nil {
		return mapError("reading what the attempts reported", err)
	}
	byID := make(map[string]sqlc.ErrorsOfRow, len(found))
	for _, r := range found {
		byID[r.EffectID] = r
	}
	for i := range rows {
		r, ok := byID[rows[i].Effect.ID]
		if n := len(rows[i].Attempts); ok && n > 0 {
			rows[i].Attempts[n-1].Error = r.Error
			rows[i].Attempts[n-1].Status = int(r.Status)
		}
	}
	return nil
}

// ofCause reads one page of the effects of one burst.
func (s *Store) ofCause(ctx context.Context, f journal.ListFilter, page journal.ListPage) (journal.ListPage, error) {
	rows, head, err := s.attention(ctx, f, journal.MaxGrouped)
	if err != nil {
		return page, err
	}
	page.Now, page.Team, page.Total = head.Now, head.Team, len(rows)
	if at := slices.IndexFunc(rows, func(r journal.Snapshot) bool { return r.Effect.ID == f.After }); at >= 0 {
		rows = rows[at+1:]
	} else if f.After != "" {
		rows = afterCursor(rows, f)
	}
	if len(rows) > f.Limit {
		rows = rows[:f.Limit]
		page.Next = rows[f.Limit-1].Effect.ID
	}
	page.Rows = rows
	return page, nil
}

// afterCursor keeps what follows a cursor whose effect has left the list: ids
// begin with the time.
func afterCursor(rows []journal.Snapshot, f journal.ListFilter) []journal.Snapshot {
	return slices.DeleteFunc(rows, func(r journal.Snapshot) bool {
		if f.Newest {
			return r.Effect.ID >= f.After
		}
		return r.Effect.ID <= f.After
	})
}
