package postgres

import (
	"context"
	"maps"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/landedhq/landed/journal"
)

// What people hold and what they put aside are small sets beside the effects.
// The list leaves one out by NOT IN, which the server runs as a hashed sub-plan:
// a filter on the rows that the page walks anyway, which changes neither their
// order nor the index. It picks one by an array of ids, by primary key. The
// counts, which never visit an effect, are those of all minus those of the set.
const (
	snoozedIDs = "select z.effect_id from snoozes z where z.until > (select clock_timestamp())"
	claimedIDs = "select k.effect_id from claims k where k.until > (select clock_timestamp())"
	awake      = "e.id not in (" + snoozedIDs + ")"
	asleep     = "e.id = any (array(" + snoozedIDs + "))"
	// oldestAwake is the oldest of each tool and provider that is not snoozed.
	oldestAwake = `select p.tool, p.provider, least(
		(select e.created_at from effects e where ` + openAttention + ` and e.tool = p.tool and e.provider = p.provider and ` + awake + ` order by e.created_at, e.id limit 1),
		(select min(e.created_at) from effects e where ` + ownedAttention + ` and e.tool = p.tool and e.provider = p.provider and ` + awake + `))
		from (select unnest($2::text[]) as tool, unnest($3::text[]) as provider) p`
)

// team narrows by who holds an effect.
func (w *where) team(f journal.ListFilter) {
	switch f.Claim {
	case journal.ClaimMine:
		w.sql = append(w.sql, "e.id = any (array("+claimedIDs+" and k.issuer = (select "+w.arg(f.Viewer.Issuer)+"::text) and k.subject = (select "+w.arg(f.Viewer.Subject)+"::text)))")
	case journal.ClaimNone:
		w.sql = append(w.sql, "e.id not in ("+claimedIDs+")")
	}
}

// sleep leaves out what is snoozed, or everything else.
func (w *where) sleep(f journal.ListFilter) {
	if f.Snoozed {
		w.sql = append(w.sql, asleep)
		return
	}
	w.sql = append(w.sql, awake)
}

// setCounts counts the effects of a set that need attention, and of which a
// condition holds.
func setCounts(ids, only string) string {
	return `select e.namespace, e.tool, e.provider, e.class, e.state, count(*), min(created_at) from effects e
		where e.id = any (array(` + ids + `)) and (` + openAttention + ` or ` + ownedAttention + `) and ` + only + ` group by e.namespace, e.tool, e.provider, e.class, e.state`
}

// leaveOutSnoozed takes what is snoozed off the counts.
func (s *Store) leaveOutSnoozed(ctx context.Context, r *rollup) error {
	if len(r.snoozed) == 0 {
		return nil
	}
	type fine struct{ namespace, tool, provider, class, state string }
	at := func(g rollupGroup) fine { return fine{g.Namespace, g.Tool, g.Provider, g.Class, g.State} }
	off, asleep := map[fine]int{}, map[place]time.Time{}
	for _, g := range r.snoozed {
		off[at(g)] = g.Count
		r.asleep += g.Count
		asleep[placeOf(g)] = earlier(asleep[placeOf(g)], g.Oldest)
	}
	oldest := map[place]time.Time{}
	left := r.groups[:0]
	for _, g := range r.groups {
		oldest[placeOf(g)] = earlier(oldest[placeOf(g)], g.Oldest)
		g.Count -= off[at(g)]
		r.rows -= off[at(g)]
		if g.Count > 0 {
			left = append(left, g)
		}
	}
	r.groups = left
	maps.DeleteFunc(oldest, func(p place, t time.Time) bool { z := asleep[p]; return z.IsZero() || z.After(t) })
	return s.oldestAwake(ctx, r.groups, oldest)
}

// place is what the header of the list counts by.
type place struct{ tool, provider string }

func placeOf(g rollupGroup) place { return place{g.Tool, g.Provider} }

func earlier(a, b time.Time) time.Time {
	if a.IsZero() || b.Before(a) {
		return b
	}
	return a
}

// oldestAwake corrects the oldest of the places whose oldest sleeps. The header
// knows no finer groups: all of a place get the same.
func (s *Store) oldestAwake(ctx context.Context, groups []rollupGroup, places map[place]time.Time) error {
	if len(places) == 0 {
		return nil
	}
	var tools, providers []string
	for p := range places {
		tools, providers = append(tools, p.tool), append(providers, p.provider)
	}
	rows, err := s.pool.Query(ctx, oldestAwake, ms(s.policy.RetryGrace), tools, providers)
	if err != nil {
		return mapError("counting the list", err)
	}
	var p place
	var at *time.Time
	known := map[place]time.Time{}
	if _, err = pgx.ForEachRow(rows, []any{&p.tool, &p.provider, &at}, func() error {
		if at != nil { // else the last one was settled, or fell asleep, in between
			known[p] = *at
		}
		return nil
	}); err != nil {
		return mapError("counting the list", err)
	}
	for i := range groups {
		if t, ok := known[placeOf(groups[i])]; ok {
			groups[i].Oldest = t
		}
	}
	return nil
}

// teamTotal is what the filter matches, as far as counts know it; ok is false
// where the page has to count for itself.
func (r *rollup) teamTotal(f journal.ListFilter) (n int, ok bool) {
	switch {
	case f.Snoozed || f.Claim == journal.ClaimMine:
		return 0, false
	case f.Claim == journal.ClaimNone:
		held := rollup{groups: r.held}
		return max(r.total(f)-held.total(f), 0), true
	}
	return r.total(f), true
}
