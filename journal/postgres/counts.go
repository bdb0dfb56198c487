package postgres

import (
	"cmp"
	"context"
	"slices"
	"sync"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/landedhq/landed/journal"
	"github.com/landedhq/landed/journal/postgres/internal/sqlc"
)

const (
	// rollupFrom is how many effects must need attention before their counts are
	// kept at all: below it they are counted afresh for every page.
	rollupFrom = 1000
	// rollupAge is how old kept counts may be; rollupStale, how old while another
	// page is counting.
	rollupAge   = time.Second
	rollupStale = 2 * time.Second
	// maxListCounts bounds the groups in the header of the list.
	maxListCounts = 100
)

// rollup holds the counts of everything that needs attention, by all that a
// total can be narrowed by.
type rollup struct {
	groups []rollupGroup
	header []journal.ListCount // by tool and provider, most effects first
	rows   int
	// snoozed are groups that are left out; asleep, how many effects they hold. held
	// are the groups of what somebody is on.
	snoozed, held []rollupGroup
	asleep        int
	at            time.Time
}

type rollupGroup struct {
	Namespace, Tool, Provider, Class, State string
	Count                                   int
	Oldest                                  time.Time
}

// rollupCache keeps the newest rollup. The zero value works.
type rollupCache struct {
	mu       sync.Mutex
	last     *rollup
	counting bool
}

// get returns kept counts that are good enough, or nil: then the caller counts
// and puts the result.
func (c *rollupCache) get(now time.Time) *rollup {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.last == nil || c.last.rows < rollupFrom {
		return nil
	}
	age := now.Sub(c.last.at)
	if age < rollupAge || c.counting && age < rollupStale {
		return c.last
	}
	c.counting = true
	return nil
}

// forget makes the next page count afresh: a person changed what it counts.
func (c *rollupCache) forget() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.last = nil
}

func (c *rollupCache) put(r *rollup) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.counting = false
	if r != nil && (c.last == nil || c.last.at.Before(r.at)) {
		c.last = r
	}
}

// rollup returns the counts, at most rollupStale old.
func (s *Store) rollup(ctx context.Context) (*rollup, error) {
	if r := s.counts.get(time.Now()); r != nil {
		return r, nil
	}
	r, err := s.countAttention(ctx)
	s.counts.put(r)
	return r, err
}

// AttentionCounts counts what needs attention by tool and provider, afresh: the
// header of the list without its cache. Most effects first, at most 100 groups.
func (s *Store) AttentionCounts(ctx context.Context) ([]journal.ListCount, error) {
	r, err := s.countAttention(ctx)
	if err != nil {
		return nil, err
	}
	return slices.Clone(r.header), nil
}

func (s *Store) countAttention(ctx context.Context) (*rollup, error) {
	r := &rollup{at: time.Now()}
	grace := ms(s.policy.RetryGrace)
	if err := pipeline(ctx, s.pool, readGroups(ctx, countsSQL, grace, &r.groups), readGroups(ctx, setCounts(snoozedIDs, "true"), grace, &r.snoozed),
		readGroups(ctx, setCounts(claimedIDs, awake), grace, &r.held)); err != nil {
		return nil, mapError("counting the list", err)
	}
	for _, g := range r.groups {
		r.rows += g.Count
	}
	if err := s.leaveOutSnoozed(ctx, r); err != nil {
		return nil, err
	}
	r.header = byToolAndProvider(r.groups)
	return r, nil
}

// readGroups reads one statement's groups.
func readGroups(ctx context.Context, sql string, grace int64, into *[]rollupGroup) func(sqlc.DBTX) error {
	return func(db sqlc.DBTX) error {
		rows, err := db.Query(ctx, sql, grace)
		if err != nil {
			return err
		}
		*into, err = pgx.CollectRows(rows, func(row pgx.CollectableRow) (g rollupGroup, err error) {
			err = row.Scan(&g.Namespace, &g.Tool, &g.Provider, &g.Class, &g.State, &g.Count, &g.Oldest)
			return g, err
		})
		return err
	}
}

func byToolAndProvider(groups []rollupGroup) []journal.ListCount {
	type key struct{ tool, provider string }
	at := map[key]int{}
	var out []journal.ListCount
	for _, g := range groups {
		k := key{g.Tool, g.Provider}
		i, ok := at[k]
		if !ok {
			i = len(out)
			at[k] = i
			out = append(out, journal.ListCount{Tool: g.Tool, Provider: g.Provider, Oldest: g.Oldest})
		}
		out[i].Count += g.Count
		if g.Oldest.Before(out[i].Oldest) {
			out[i].Oldest = g.Oldest
		}
	}
	slices.SortFunc(out, func(a, b journal.ListCount) int {
		return cmp.Or(-cmp.Compare(a.Count, b.Count), cmp.Compare(a.Tool, b.Tool), cmp.Compare(a.Provider, b.Provider))
	})
	return out[:min(len(out), maxListCounts)]
}

// total counts what a filter without root run and query matches.
func (r *rollup) total(f journal.ListFilter) int {
	is := func(want, v string) bool { return want == "" || want == v }
	n := 0
	for _, g := range r.groups {
		if is(f.Namespace, g.Namespace) && is(f.Tool, g.Tool) && is(f.Provider, g.Provider) && is(string(f.Class), g.Class) && is(string(f.State), g.State) {
			n += g.Count
		}
	}
	return min(n, journal.TotalCap)
}
