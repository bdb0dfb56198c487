package postgres

import (
	"context"
	"fmt"
	"strings"

	"github.com/jackc/pgx/v5"

	"github.com/landedhq/landed/journal"
	"github.com/landedhq/landed/journal/postgres/internal/sqlc"
)

// What needs attention lies in two places, each with indexes of its own, and no
// effect is in both. $1 is the grace period in milliseconds. The clock is read
// once for the statement: as a sub-select it can bound an index.
const (
	// openAttention: no worker owns it. attention_at holds the rest of the rule.
	openAttention = `e.attention_at is not null and e.attention_at <= (select clock_timestamp())
		- case when e.state = 'INTENT' then $1::bigint else 0 end * interval '1 ms'`
	// ownedAttention: the lease or the deadline of its owner is over, and the
	// sweeper has not fenced it yet. No lease ends before send_by.
	ownedAttention = `(e.state = 'INTENT' and e.fenced_at is null) is true and e.send_by <= (select clock_timestamp())
		and not coalesce(e.lease_until > (select clock_timestamp()) and e.attempt_deadline > (select clock_timestamp()), false)`
	// openText is what a search looks into: the expression of effects_open_text.
	openText = `(e.subject || E'\n' || e.operation || E'\n' || e.tool || E'\n' || e.provider_id || E'\n' || coalesce(e.labels::text, ''))`
	// refDays are the days that effects_ref is filed by, from its two ends.
	refDays = `array(select d.first + n from (select min((x.created_at at time zone 'UTC')::date) as first,
		max((x.created_at at time zone 'UTC')::date) as last from effects x) d, generate_series(0, d.last - d.first) n)`
	countsSQL = `select e.namespace, e.tool, e.provider, e.class, e.state, count(*), min(e.created_at) from effects e
		where (e.attention_at is not null) is true and ` + openAttention + ` group by e.namespace, e.tool, e.provider, e.class, e.state
		union all
		select e.namespace, e.tool, e.provider, e.class, e.state, count(*), min(e.created_at) from effects e
		where ` + ownedAttention + ` group by e.namespace, e.tool, e.provider, e.class, e.state`
)

// maxFound bounds how many effects one whole key can name, one per namespace.
const maxFound = 20

// where collects conditions and their arguments.
type where struct {
	sql  []string
	args []any
}

// arg adds an argument and returns its placeholder.
func (w *where) arg(v any) string {
	w.args = append(w.args, v)
	return fmt.Sprintf("$%d", len(w.args))
}

func (w *where) add(format string, v any) {
	w.sql = append(w.sql, strings.ReplaceAll(format, "?", w.arg(v)))
}

// and joins the conditions after first.
func (w *where) and(first string) string {
	return strings.Join(append([]string{first}, w.sql...), " and ")
}

// narrow adds the filter's columns. What no column can hold matches nothing.
func (w *where) narrow(f journal.ListFilter) {
	for _, c := range []struct{ column, v string }{
		{"e.state", string(f.State)}, {"e.tool", f.Tool}, {"e.class", string(f.Class)}, {"e.provider", f.Provider},
		{"e.namespace", f.Namespace}, {"e.root_run", f.RootRun},
	} {
		if c.v != "" {
			w.add(c.column+" = ?", clean(c.v, len(c.v)*3))
		}
	}
}

// List reads one page of what needs attention, by keyset. An effect whose whole
// id, key or reference is the query leads the first page even if it needs no
// attention. Counts and a total that follows from them are exact up to a
// thousand effects and at most two seconds old beyond.
func (s *Store) List(ctx context.Context, f journal.ListFilter) (journal.ListPage, error) {
	var page journal.ListPage
	limit := f.Limit
	if limit <= 0 || limit > 200 {
		limit = 50
	}
	f.Query = strings.TrimSpace(clean(f.Query, 1000))
	counts, err := s.rollup(ctx)
	if err != nil {
		return page, err
	}
	page.Counts, page.Total = counts.header(), counts.total(f)
	found, err := s.find(ctx, f)
	if err != nil {
		return page, err
	}
	room := limit
	if f.After == "" {
		room = max(limit-len(found), 1)
	}
	ids, err := s.pageIDs(ctx, f, found, room+1, &page)
	if err != nil {
		return page, err
	}
	page.Total += len(found)
	if len(ids) > room {
		ids = ids[:room]
		page.Next = ids[room-1]
	}
	if f.After == "" {
		ids = append(found, ids...)
	}
	page.Rows, err = s.snapshots(ctx, ids, &page)
	return page, err
}

// find returns the effects that the query names as a whole, wherever they are.
// Plan: primary key, effects_ref, effects_key.
func (s *Store) find(ctx context.Context, f journal.ListFilter) ([]string, error) {
	if f.Query == "" {
		return nil, nil
	}
	w := &where{}
	w.narrow(f)
	var asks []string
	ask := func(condition string, v string) {
		asks = append(asks, fmt.Sprintf("(select e.id from effects e where %s limit %d)", w.and(strings.ReplaceAll(condition, "?", w.arg(v))), maxFound))
	}
	lower := strings.ToLower(f.Query)
	if journal.ValidID(lower) {
		ask("e.id = ?::uuid", lower)
	}
	if ref := strings.ReplaceAll(lower, "-", ""); journal.ValidRef(ref) {
		ask("(e.created_at at time zone 'UTC')::date = any ("+refDays+") and left(e.ref, 8) = left(?::text, 8) and e.ref = ?", ref)
	}
	if journal.ValidateKey(f.Query) == nil {
		ask("e.key = ?", f.Query)
	}
	if len(asks) == 0 {
		return nil, nil
	}
	rows, err := s.pool.Query(ctx, strings.Join(asks, " union "), w.args...)
	if err != nil {
		return nil, mapError("searching the journal", err)
	}
	ids, err := pgx.CollectRows(rows, pgx.RowTo[string])
	return ids, mapError("searching the journal", err)
}

// pageIDs reads the ids of one page, without those already found, and with them
// the clock and a total that no counts hold.
func (s *Store) pageIDs(ctx context.Context, f journal.ListFilter, found []string, limit int, page *journal.ListPage) ([]string, error) {
	w := &where{args: []any{ms(s.policy.RetryGrace)}}
	w.narrow(f)
	if f.Query != "" {
		like := "%" + strings.NewReplacer(`\`, `\\`, "%", `\%`, "_", `\_`).Replace(f.Query) + "%"
		w.add(openText+" ilike ?", like)
	}
	if len(found) > 0 {
		w.add("e.id <> all (?::uuid[])", found)
	}
	asks := []func(sqlc.DBTX) error{func(db sqlc.DBTX) error {
		return db.QueryRow(ctx, "select clock_timestamp()").Scan(&page.Now)
	}}
	if f.Query != "" || f.RootRun != "" {
		count := "select count(*) from (" + w.both(f, "1", fmt.Sprintf("limit %d", journal.TotalCap)) + ") n"
		args := w.args
		asks = append(asks, func(db sqlc.DBTX) error { return db.QueryRow(ctx, count, args...).Scan(&page.Total) })
	}
	cmp, order := ">", "asc"
	if f.Newest {
		cmp, order = "<", "desc"
	}
	if journal.ValidID(f.After) {
		w.add("(e.created_at, e.id) "+cmp+" ((select c.created_at from effects c where c.id = ?), ?::uuid)", f.After)
	}
	sorted := fmt.Sprintf("order by created_at %s, id %s limit %d", order, order, limit)
	list := "select id from (" + w.both(f, "e.id, e.created_at", sorted) + ") n " + sorted
	var ids []string
	asks = append(asks, func(db sqlc.DBTX) error {
		rows, err := db.Query(ctx, list, w.args...)
		if err != nil {
			return err
		}
		ids, err = pgx.CollectRows(rows, pgx.RowTo[string])
		return err
	})
	err := pipeline(ctx, s.pool, asks...)
	page.Total = min(page.Total, journal.TotalCap)
	return ids, mapError("reading the list", err)
}

// both selects from the two places where attention lies, each by its own
// indexes and each ended by tail.
func (w *where) both(f journal.ListFilter, columns, tail string) string {
	one := func(attention string) string {
		return fmt.Sprintf("(select %s from effects e where %s %s)", columns, w.and(attention), tail)
	}
	if f.State != "" && f.State != journal.StateIntent {
		return one(openAttention)
	}
	return one(openAttention) + " union all " + one(ownedAttention)
}

// snapshots reads what the assessment of each row needs, in one round trip for
// the whole page.
func (s *Store) snapshots(ctx context.Context, ids []string, page *journal.ListPage) ([]journal.Snapshot, error) {
	if len(ids) == 0 {
		return nil, nil
	}
	var effects []sqlc.ListedEffectsRow
	var attempts []sqlc.Attempt
	var looks []sqlc.LooksOfRow
	var orders []sqlc.Order
	err := pipeline(ctx, s.pool,
		func(db sqlc.DBTX) (err error) { effects, err = s.q.ListedEffects(ctx, db, ids); return err },
		func(db sqlc.DBTX) (err error) { attempts, err = s.q.AttemptsOf(ctx, db, ids); return err },
		func(db sqlc.DBTX) (err error) { looks, err = s.q.LooksOf(ctx, db, ids); return err },
		func(db sqlc.DBTX) (err error) { orders, err = s.q.OrdersOf(ctx, db, ids); return err })
	if err != nil {
		return nil, mapError("reading the list", err)
	}
	rows := map[string][]sqlc.Attempt{}
	for _, a := range attempts {
		rows[a.EffectID] = append(rows[a.EffectID], a)
	}
	byID := make(map[string]*journal.Snapshot, len(ids))
	for _, r := range effects {
		row := sqlc.Effect(r) // does not compile when ListedEffects lacks a column
		e, err := toEffect(row)
		if err != nil {
			return nil, err
		}
		byID[e.ID] = &journal.Snapshot{Effect: e, Now: page.Now, Policy: s.policy, CanLook: s.look(e.Provider),
			Attempts: joinAttempts(row, rows[e.ID])}
	}
	for _, l := range looks {
		if sn := byID[l.EffectID]; sn != nil {
			sn.Looks = append(sn.Looks, journal.Look{ID: l.ID, Seq: l.Seq, Verdict: journal.Verdict(l.Verdict), Reason: l.Reason,
				CoversAttempt: int(l.CoversAttempt), StartedAt: l.StartedAt, LookAgainAt: timeOf(l.LookAgainAt), Digest: l.Digest})
		}
	}
	for _, o := range orders { // oldest first: the newest stays
		if sn := byID[o.EffectID]; sn != nil {
			sn.Order = toOrder(o)
		}
	}
	out := make([]journal.Snapshot, 0, len(ids))
	for _, id := range ids {
		if sn := byID[id]; sn != nil {
			out = append(out, *sn)
		}
	}
	return out, nil
}
