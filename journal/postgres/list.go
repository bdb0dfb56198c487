package postgres

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/landedhq/landed/journal"
	"github.com/landedhq/landed/journal/postgres/internal/sqlc"
)

// What needs attention lies in two places, each with indexes of its own, and no
// effect is in both. $1 is the grace period in milliseconds. The clock is read
// once for the statement: as a sub-select it can bound an index.
const (
	// openAttention: no worker owns it. attention_at holds the rest of the rule.
	openAttention = "e.attention_at is not null and e.attention_at <= " + openSince
	openSince     = `case when e.state = 'INTENT' then (select clock_timestamp() - $1::bigint * interval '1 ms') else (select clock_timestamp()) end`
	// ownedAttention: the lease or the deadline of its owner is over, and the
	// sweeper has not fenced it yet. No lease ends before send_by.
	ownedAttention = `(e.state = 'INTENT' and e.fenced_at is null) is true and e.send_by <= (select clock_timestamp())
		and not coalesce(e.lease_until > (select clock_timestamp()) and e.attempt_deadline > (select clock_timestamp()), false)`
	// ownedText is the search_text of what a worker owns, which has none stored.
	ownedText = `lower(e.subject || E'\n' || e.operation || E'\n' || e.tool || E'\n' || e.provider_id || E'\n' || coalesce(e.labels::text, ''))`
	// text stands for one of the two in a condition.
	text = "{text}"
	// refDays are the days that effects_ref is filed by, from its two ends.
	refDays = `array(select d.first + n from (select min((x.created_at at time zone 'UTC')::date) as first,
		max((x.created_at at time zone 'UTC')::date) as last from effects x) d, generate_series(0, d.last - d.first) n)`
	// listedColumns are what listTargets takes: those of sqlc.Effect without what
	// only the effect page shows (args and results may be long).
	listedColumns = `e.id, e.namespace, e.ref, e.tool, e.class, e.provider, e.key_window_ms, e.client_timeout_ms, e.root_run,
		e.root_run_started_at, e.operation, e.subject, e.amount, e.currency, e.supersedes, e.state, e.version, e.issue, e.parked_reason,
		e.retry_at, e.cleared_attempt, e.provider_id, e.settled_by, e.refusal, e.contradicted, e.probably_double, e.orphan, e.gave_up,
		e.drifted, e.policy_off, e.open_delivery, e.next_look_at, e.looks, e.created_at, e.state_at, e.attempt, e.order_id, e.worker,
		e.granted_at, e.lease_until, e.send_by, e.attempt_deadline, e.attempt_timeout_ms, e.fenced_at`
	// countsSQL names effects_open_counts by its predicate, and coalesce hides the
	// other indexes: the planner would join two of them, take their predicates for
	// independent and expect next to nothing.
	countsSQL = `select e.namespace, e.tool, e.provider, e.class, e.state, count(*), min(e.created_at) from effects e
		where (e.attention_at is not null) is true and coalesce(e.attention_at, 'infinity') <= ` + openSince + ` group by e.namespace, e.tool, e.provider, e.class, e.state
		union all
		select e.namespace, e.tool, e.provider, e.class, e.state, count(*), min(e.created_at) from effects e
		where ` + ownedAttention + ` group by e.namespace, e.tool, e.provider, e.class, e.state`
)

const (
	// maxFound bounds how many effects one whole key can name, one per namespace.
	maxFound = 20
	// wholeName is the length from which a whole id, key or reference is nobody's
	// word: its effect answers the search alone.
	wholeName = 16
	// fewMatches is up to how many matches a search collects before it sorts them;
	// of more it walks the open effects in order until the page is full.
	fewMatches = 500
)

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
// attention, and is alone there if the query has 16 characters or more. Counts,
// and a total that follows from them, are exact up to a thousand effects and at
// most two seconds old beyond. Rows hold what the list shows and what an
// assessment needs: neither key, step, labels, args nor result.
func (s *Store) List(ctx context.Context, f journal.ListFilter) (journal.ListPage, error) {
	var page journal.ListPage
	if f.Limit <= 0 || f.Limit > 200 {
		f.Limit = 50
	}
	f.Query = strings.TrimSpace(clean(f.Query, 1000))
	counts, err := s.rollup(ctx)
	if err != nil {
		return page, err
	}
	page.Counts, page.Snoozed = slices.Clone(counts.header), counts.asleep
	if !f.Cause.Zero() {
		return s.ofCause(ctx, f, page)
	}
	var counted bool
	page.Total, counted = counts.teamTotal(f)
	found, err := s.find(ctx, f, &page)
	if err != nil {
		return page, err
	}
	room := f.Limit
	if f.After == "" {
		room = max(room-len(found), 1)
	}
	rows, err := s.listed(ctx, f, found, room+1, !counted || f.RootRun != "", &page)
	if err != nil {
		return page, err
	}
	page.Total = min(page.Total+len(found), journal.TotalCap)
	if len(rows) > room {
		rows = rows[:room]
		page.Next = rows[room-1].ID
	}
	if f.After == "" {
		rows = append(found, rows...)
	}
	page.Rows, page.Team, err = s.snapshots(ctx, rows, page.Now)
	return page, err
}

// find returns the effects that the query names as a whole, wherever they are.
// Plan: primary key, effects_ref, effects_key.
func (s *Store) find(ctx context.Context, f journal.ListFilter, page *journal.ListPage) ([]sqlc.Effect, error) {
	if f.Query == "" {
		return nil, nil
	}
	w := &where{}
	w.narrow(f)
	w.team(f)
	var asks []string
	ask := func(condition string, v string) {
		asks = append(asks, fmt.Sprintf("(select %s from effects e where %s limit %d)", listedColumns, w.and(strings.ReplaceAll(condition, "?", w.arg(v))), maxFound))
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
	var rows []sqlc.Effect
	err := pipeline(ctx, s.pool, clock(ctx, page), readRows(ctx, strings.Join(asks, " union all "), w.args, &rows))
	slices.SortFunc(rows, func(a, b sqlc.Effect) int { return cmp.Compare(a.ID, b.ID) })
	return slices.CompactFunc(rows, func(a, b sqlc.Effect) bool { return a.ID == b.ID }), mapError("searching the journal", err)
}

// clock reads the database's clock into the page.
func clock(ctx context.Context, page *journal.ListPage) func(sqlc.DBTX) error {
	return func(db sqlc.DBTX) error { return db.QueryRow(ctx, "select clock_timestamp()").Scan(&page.Now) }
}

// listTargets is where listedColumns go. By hand: reading fifty rows by reflection
// would cost a page a third of its time.
func listTargets(e *sqlc.Effect) []any {
	return []any{&e.ID, &e.Namespace, &e.Ref, &e.Tool, &e.Class, &e.Provider, &e.KeyWindowMs, &e.ClientTimeoutMs, &e.RootRun,
		&e.RootRunStartedAt, &e.Operation, &e.Subject, &e.Amount, &e.Currency, &e.Supersedes, &e.State, &e.Version, &e.Issue, &e.ParkedReason,
		&e.RetryAt, &e.ClearedAttempt, &e.ProviderID, &e.SettledBy, &e.Refusal, &e.Contradicted, &e.ProbablyDouble, &e.Orphan, &e.GaveUp,
		&e.Drifted, &e.PolicyOff, &e.OpenDelivery, &e.NextLookAt, &e.Looks, &e.CreatedAt, &e.StateAt, &e.Attempt, &e.OrderID, &e.Worker,
		&e.GrantedAt, &e.LeaseUntil, &e.SendBy, &e.AttemptDeadline, &e.AttemptTimeoutMs, &e.FencedAt}
}

// readRows reads listedColumns.
func readRows(ctx context.Context, sql string, args []any, into *[]sqlc.Effect) func(sqlc.DBTX) error {
	return func(db sqlc.DBTX) error {
		rows, err := db.Query(ctx, sql, args...)
		if err != nil {
			return err
		}
		var e sqlc.Effect
		to := listTargets(&e)
		_, err = pgx.ForEachRow(rows, to, func() error {
			*into = append(*into, e)
			return nil
		})
		return err
	}
}

// listed reads the effects of one page, without those already found, and with
// them the clock and a total that no counts hold.
func (s *Store) listed(ctx context.Context, f journal.ListFilter, found []sqlc.Effect, limit int, total bool, page *journal.ListPage) ([]sqlc.Effect, error) {
	w := &where{args: []any{ms(s.policy.RetryGrace)}}
	w.narrow(f)
	w.team(f)
	w.sleep(f)
	if f.Query == "" {
		return s.walk(ctx, f, w, limit, total, page)
	}
	if len(found) > 0 {
		w.add("e.id <> all (?::text[]::uuid[])", idsOf(found))
		if len(f.Query) >= wholeName {
			page.Total = 0
			return nil, nil
		}
	}
	like := "%" + strings.NewReplacer(`\`, `\\`, "%", `\%`, "_", `\_`).Replace(f.Query) + "%"
	rows, err := s.collect(ctx, f, w.with(text+" like lower(?)", like), limit, page)
	if err != nil || page.Total <= fewMatches {
		return rows, err
	}
	return s.walk(ctx, f, w.with("("+text+" || '') like lower(?)", like), limit, true, page) // hidden from the trigrams
}

func idsOf(rows []sqlc.Effect) []string {
	ids := make([]string, len(rows))
	for i := range rows {
		ids[i] = rows[i].ID
	}
	return ids
}

// collect reads all matches, up to one more than a few, and sorts them.
func (s *Store) collect(ctx context.Context, f journal.ListFilter, w *where, limit int, page *journal.ListPage) ([]sqlc.Effect, error) {
	some := w.both(f, "e.id, e.created_at", fmt.Sprintf("limit %d", fewMatches+1))
	after, order := w.after(f, "m")
	sql := fmt.Sprintf(`with m as materialized (%s) select clock_timestamp(), (select count(*) from m),
		array(select m.id::text from m where %s order by m.created_at %s, m.id %s limit %d)`, some, after, order, order, limit)
	var ids []string
	err := s.pool.QueryRow(ctx, sql, w.args...).Scan(&page.Now, &page.Total, &ids)
	if err != nil || len(ids) == 0 || page.Total > fewMatches {
		return nil, mapError("searching the list", err)
	}
	var rows []sqlc.Effect
	err = readRows(ctx, "select "+listedColumns+" from effects e where e.id = any ($1::text[]::uuid[]) order by array_position($1::text[]::uuid[], e.id)", []any{ids}, &rows)(s.pool)
	return rows, mapError("searching the list", err)
}

// walk reads the open effects in order until the page is full; with total it
// counts what matches, too.
func (s *Store) walk(ctx context.Context, f journal.ListFilter, w *where, limit int, total bool, page *journal.ListPage) ([]sqlc.Effect, error) {
	asks := []func(sqlc.DBTX) error{clock(ctx, page)}
	if total {
		count := "select count(*) from (" + w.both(f, "1", fmt.Sprintf("limit %d", journal.TotalCap)) + ") n"
		args := w.args
		asks = append(asks, func(db sqlc.DBTX) error { return db.QueryRow(ctx, count, args...).Scan(&page.Total) })
	}
	after, order := w.after(f, "e")
	w.sql = append(w.sql, after)
	sorted := fmt.Sprintf("order by created_at %s, id %s limit %d", order, order, limit)
	var rows []sqlc.Effect
	asks = append(asks, readRows(ctx, "select * from ("+w.both(f, listedColumns, sorted)+") n "+sorted, w.args, &rows))
	return rows, mapError("reading the list", pipeline(ctx, s.pool, asks...))
}

// with returns w and one more condition.
func (w *where) with(format string, v any) *where {
	out := &where{sql: slices.Clone(w.sql), args: slices.Clone(w.args)}
	out.add(format, v)
	return out
}

// after returns the condition that a row lies after the cursor, and the order.
func (w *where) after(f journal.ListFilter, alias string) (condition, order string) {
	compare, order := ">", "asc"
	if f.Newest {
		compare, order = "<", "desc"
	}
	if !journal.ValidID(f.After) {
		return "true", order
	}
	return fmt.Sprintf("(%s.created_at, %s.id) %s ((select c.created_at from effects c where c.id = %s), %s::uuid)",
		alias, alias, compare, w.arg(f.After), fmt.Sprintf("$%d", len(w.args))), order
}

// both selects from the two places where attention lies, each by its own
// indexes and each ended by tail.
func (w *where) both(f journal.ListFilter, columns, tail string) string {
	one := func(attention, of string) string {
		return fmt.Sprintf("(select %s from effects e where %s %s)", columns, strings.ReplaceAll(w.and(attention), text, of), tail)
	}
	open := one(openAttention, "e.search_text")
	if f.State != "" && f.State != journal.StateIntent {
		return open
	}
	return open + " union all " + one(ownedAttention, ownedText)
}

// snapshots adds what the assessment of each row needs, in one round trip for
// the whole page.
func (s *Store) snapshots(ctx context.Context, effects []sqlc.Effect, now time.Time) ([]journal.Snapshot, map[string]journal.TeamMark, error) {
	if len(effects) == 0 {
		return nil, nil, nil
	}
	ids := idsOf(effects)
	var attempts []sqlc.AttemptsOfRow
	var looks []sqlc.LooksOfRow
	var orders []sqlc.Order
	var proposals []sqlc.Proposal
	var team []sqlc.TeamOfRow
	err := pipeline(ctx, s.pool,
		func(db sqlc.DBTX) (err error) { attempts, err = s.q.AttemptsOf(ctx, db, ids); return err },
		func(db sqlc.DBTX) (err error) { looks, err = s.q.LooksOf(ctx, db, ids); return err },
		func(db sqlc.DBTX) (err error) { orders, err = s.q.OrdersOf(ctx, db, ids); return err },
		func(db sqlc.DBTX) (err error) { proposals, err = s.q.OpenProposalsOf(ctx, db, ids); return err },
		func(db sqlc.DBTX) (err error) { team, err = s.q.TeamOf(ctx, db, ids); return err })
	if err != nil {
		return nil, nil, mapError("reading the list", err)
	}
	rows := map[string][]sqlc.Attempt{}
	for _, a := range attempts {
		rows[a.EffectID] = append(rows[a.EffectID], sqlc.Attempt(a))
	}
	out := make([]journal.Snapshot, len(effects))
	byID := make(map[string]*journal.Snapshot, len(effects))
	for i, r := range effects {
		e, err := toEffect(r)
		if err != nil {
			return nil, nil, err
		}
		out[i] = journal.Snapshot{Effect: e, Now: now, Policy: s.policy, CanLook: s.look(e.Provider), Attempts: joinAttempts(r, rows[e.ID])}
		byID[e.ID] = &out[i]
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
	for _, r := range proposals {
		p, err := toProposal(r)
		if err != nil {
			return nil, nil, err
		}
		if sn := byID[r.EffectID]; sn != nil {
			sn.Proposal = p
		}
	}
	return out, teamMarks(team), nil
}
