package postgres

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/landedhq/landed/journal"
	"github.com/landedhq/landed/journal/postgres/internal/sqlc"
)

// attention is what the list shows: everything except a live INTENT (or one
// that waits for retry_at plus a grace period) and what is settled. The first
// line repeats the predicate of the index effects_open, for the planner.
const attention = `((e.state in ('INTENT', 'PARKED', 'REISSUE') or e.open_delivery or e.contradicted or e.probably_double or e.orphan)
	and not (e.state = 'INTENT' and e.fenced_at is null and coalesce(e.lease_until > clock_timestamp() and e.attempt_deadline > clock_timestamp(), false))
	and not (e.state = 'INTENT' and e.fenced_at is not null and not e.gave_up
		and coalesce(e.retry_at + $1::bigint * interval '1 ms' > clock_timestamp(), false))
	or e.state in ('COMMITTED', 'REJECTED', 'ABANDONED') and coalesce(e.next_look_at <= clock_timestamp(), false))`

// where collects conditions and their arguments.
type where struct {
	sql  []string
	args []any
}

func (w *where) add(format string, arg any) {
	w.args = append(w.args, arg)
	w.sql = append(w.sql, strings.ReplaceAll(format, "?", fmt.Sprintf("$%d", len(w.args))))
}

func (w *where) eq(column, v string) {
	if v != "" {
		w.add(column+" = ?", v)
	}
}

// List reads one page of what needs attention, by keyset.
func (s *Store) List(ctx context.Context, f journal.ListFilter) (journal.ListPage, error) {
	var page journal.ListPage
	limit := f.Limit
	if limit <= 0 || limit > 200 {
		limit = 50
	}
	w := s.filter(f)
	base := strings.Join(append([]string{attention}, w.sql...), " and ")
	count := fmt.Sprintf("select count(*), clock_timestamp() from (select from effects e where %s limit %d) n", base, journal.TotalCap)
	if err := s.pool.QueryRow(ctx, count, w.args...).Scan(&page.Total, &page.Now); err != nil {
		return page, mapError("counting the list", err)
	}
	ids, err := s.pageIDs(ctx, f, w, base, limit+1)
	if err != nil {
		return page, err
	}
	if len(ids) > limit {
		ids = ids[:limit]
		page.Next = ids[limit-1]
	}
	if page.Rows, err = s.snapshots(ctx, ids); err != nil {
		return page, err
	}
	page.Counts, err = s.counts(ctx)
	return page, err
}

func (s *Store) filter(f journal.ListFilter) *where {
	w := &where{args: []any{ms(s.policy.RetryGrace)}}
	w.eq("e.state", string(f.State))
	w.eq("e.tool", f.Tool)
	w.eq("e.class", string(f.Class))
	w.eq("e.provider", f.Provider)
	w.eq("e.namespace", f.Namespace)
	w.eq("e.root_run", f.RootRun)
	if q := strings.TrimSpace(f.Query); q != "" {
		like := "%" + strings.NewReplacer(`\`, `\\`, "%", `\%`, "_", `\_`).Replace(q) + "%"
		w.add("(e.subject ilike ? or e.operation ilike ? or e.tool ilike ? or e.provider_id ilike ? or e.ref ilike ? or e.key ilike ? or e.id::text ilike ?)", like)
	}
	return w
}

// pageIDs reads ids only: the cursor is the last id, its time read back.
func (s *Store) pageIDs(ctx context.Context, f journal.ListFilter, w *where, base string, limit int) ([]string, error) {
	cmp, order := ">", "asc"
	if f.Newest {
		cmp, order = "<", "desc"
	}
	if journal.ValidID(f.After) {
		w.add("(e.created_at, e.id) "+cmp+" (select c.created_at, c.id from effects c where c.id = ?)", f.After)
		base += " and " + w.sql[len(w.sql)-1]
	}
	q := fmt.Sprintf("select e.id from effects e where %s order by e.created_at %s, e.id %s limit %d", base, order, order, limit)
	rows, err := s.pool.Query(ctx, q, w.args...)
	if err != nil {
		return nil, mapError("reading the list", err)
	}
	ids, err := pgx.CollectRows(rows, pgx.RowTo[string])
	return ids, mapError("reading the list", err)
}

// snapshots reads what the assessment of each row needs, a fixed number of
// statements for the whole page.
func (s *Store) snapshots(ctx context.Context, ids []string) ([]journal.Snapshot, error) {
	effects, err := s.q.EffectsByIDs(ctx, s.pool, ids)
	if err != nil {
		return nil, mapError("reading the list", err)
	}
	attempts, err := s.q.AttemptsOf(ctx, s.pool, ids)
	if err != nil {
		return nil, mapError("reading the list's attempts", err)
	}
	looks, err := s.q.LooksOf(ctx, s.pool, ids)
	if err != nil {
		return nil, mapError("reading the list's evidence", err)
	}
	orders, err := s.q.OrdersOf(ctx, s.pool, ids)
	if err != nil {
		return nil, mapError("reading the list's orders", err)
	}
	byID := map[string]*journal.Snapshot{}
	rows := map[string][]sqlc.Attempt{}
	for _, a := range attempts {
		rows[a.EffectID] = append(rows[a.EffectID], a)
	}
	for _, r := range effects {
		e, err := toEffect(r.Effect)
		if err != nil {
			return nil, err
		}
		byID[e.ID] = &journal.Snapshot{Effect: e, Now: r.DbNow, Policy: s.policy, CanLook: s.look(e.Provider),
			Attempts: joinAttempts(r.Effect, rows[e.ID])}
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

func (s *Store) counts(ctx context.Context) ([]journal.ListCount, error) {
	q := "select e.tool, e.provider, count(*), min(e.created_at) from effects e where " + attention +
		" group by e.tool, e.provider order by count(*) desc, e.tool limit 100"
	rows, err := s.pool.Query(ctx, q, ms(s.policy.RetryGrace))
	if err != nil {
		return nil, mapError("counting the list", err)
	}
	out, err := pgx.CollectRows(rows, func(r pgx.CollectableRow) (journal.ListCount, error) {
		var c journal.ListCount
		var n int64
		var oldest time.Time
		err := r.Scan(&c.Tool, &c.Provider, &n, &oldest)
		c.Count, c.Oldest = int(n), oldest
		return c, err
	})
	return out, mapError("counting the list", err)
}
