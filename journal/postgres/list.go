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
	// refDays are the days that effects_ref is filed by, newest first.
	refDays = `select d.last - i as day from (select min((x.created_at at time zone 'UTC')::date) as first,
		max((x.created_at at time zone 'UTC')::date) as last from effects x) d, generate_series(0, d.last - d.first) i`
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

// narrow adds the filter's columns. What no column can hold matches nothing. A
// value stands in a sub-select, out of the planner's sight: it would plan every
// page anew for it, by what is common among all effects, which says nothing of
// those that are open.
func (w *where) narrow(f journal.ListFilter) {
	for _, c := range []struct{ column, v string }{
		{"e.state", string(f.State)}, {"e.tool", f.Tool}, {"e.class", string(f.Class)}, {"e.provider", f.Provider},
		{"e.namespace", f.Namespace}, {"e.root_run", f.RootRun},
	} {
		if c.v != "" {
			w.add(c.column+" = (select ?::text)", clean(c.v, len(c.v)*3))
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
		page.Next = rows[room-1].id
	}
	if f.After == "" {
		rows = append(found, rows...)
	}
	page.Team = marksOf(rows)
	page.Rows, err = s.shown(ctx, rows, page.Now)
	return page, err
}

// find returns the effects that the query names as a whole, wherever they are.
// Plan: primary key, effects_ref, effects_key.
func (s *Store) find(ctx context.Context, f journal.ListFilter, page *journal.ListPage) ([]listedRow, error) {
	if f.Query == "" {
		return nil, nil
	}
	w := &where{}
	w.narrow(f)
	w.team(f)
	var asks []string
	ask := func(condition, v string, limit int) string {
		return fmt.Sprintf("(select %s from effects e where %s limit %d)", rowColumns, w.and(strings.ReplaceAll(condition, "?", w.arg(v))), limit)
	}
	lower := strings.ToLower(f.Query)
	if journal.ValidID(lower) {
		asks = append(asks, ask("e.id = ?::uuid", lower, 1))
	}
	if ref := strings.ReplaceAll(lower, "-", ""); journal.ValidRef(ref) {
		ofDay := ask("(e.created_at at time zone 'UTC')::date = d.day and left(e.ref, 8) = left(?::text, 8) and e.ref = ?", ref, 1)
		asks = append(asks, fmt.Sprintf("(select n.* from (%s) d cross join lateral %s n limit 1)", refDays, ofDay))
	}
	if journal.ValidateKey(f.Query) == nil {
		asks = append(asks, ask("e.key = ?", f.Query, maxFound))
	}
	if len(asks) == 0 {
		return nil, nil
	}
	var rows []listedRow
	err := pipeline(ctx, s.pool, clock(ctx, page), readListed(ctx, withTeam(strings.Join(asks, " union all "), false), w.args, &rows))
	slices.SortFunc(rows, func(a, b listedRow) int { return cmp.Compare(a.id, b.id) })
	return slices.CompactFunc(rows, func(a, b listedRow) bool { return a.id == b.id }), mapError("searching the journal", err)
}

// clock reads the database's clock into the page.
func clock(ctx context.Context, page *journal.ListPage) func(sqlc.DBTX) error {
	return func(db sqlc.DBTX) error { return db.QueryRow(ctx, "select clock_timestamp()").Scan(&page.Now) }
}

// listed reads the effects of one page, without those already found, and with
// them the clock and a total that no counts hold.
func (s *Store) listed(ctx context.Context, f journal.ListFilter, found []listedRow, limit int, total bool, page *journal.ListPage) ([]listedRow, error) {
	w := &where{args: []any{ms(s.policy.RetryGrace)}}
	w.narrow(f)
	w.team(f)
	w.sleep(f)
	switch {
	case f.Query == "" && (f.Snoozed || f.Claim == journal.ClaimMine):
		m := fmt.Sprintf("select %s from effects e where %s limit %d", rowColumns, w.and("("+openAttention+" or "+ownedAttention+")"), journal.TotalCap)
		return s.collect(ctx, f, w, m, limit, page)
	case f.Query == "":
		return s.walk(ctx, f, w, limit, total, page)
	}
	if len(found) > 0 {
		w.add("e.id <> all (?::text[]::uuid[])", idsOf(found))
		if len(f.Query) >= wholeName {
			page.Total = 0
			return nil, nil
		}
	}
	like := containing(f.Query)
	some := w.with(text+" like (select lower(?))", like)
	rows, err := s.collect(ctx, f, some, some.both(f, rowColumns, fmt.Sprintf("limit %d", fewMatches+1)), limit, page)
	if err != nil || page.Total <= fewMatches {
		return rows, err
	}
	return s.walk(ctx, f, w.with("("+text+" || '') like (select lower(?))", like), limit, true, page) // hidden from the trigrams
}

// containing is the pattern of what contains a text.
func containing(text string) string {
	return "%" + strings.NewReplacer(`\`, `\\`, "%", `\%`, "_", `\_`).Replace(text) + "%"
}

// collect reads all of a small set, and sorts and counts it: what matches a
// search, up to one more than a few, or what somebody holds, up to
// journal.TotalCap of it.
func (s *Store) collect(ctx context.Context, f journal.ListFilter, before *where, set string, limit int, page *journal.ListPage) ([]listedRow, error) {
	w := before.copy()
	page.Total = 0
	after, order := w.after(f, "m")
	sorted := fmt.Sprintf("select m.*, (select count(*) from m) as total from m where %s order by m.created_at %s, m.id %s limit %d", after, order, order, limit)
	sql := fmt.Sprintf("with m as materialized (%s) %s order by n.created_at %s, n.id %s", set, withTeam(sorted, !f.Snoozed, "n.total"), order, order)
	var rows []listedRow
	err := pipeline(ctx, s.pool, clock(ctx, page), readListed(ctx, sql, w.args, &rows, &page.Total))
	if err == nil && len(rows) == 0 && f.After != "" { // the total is told with a row
		f.After = ""
		_, err = s.collect(ctx, f, before, set, 1, page)
	}
	if err != nil || page.Total > fewMatches && f.Query != "" {
		return nil, mapError("searching the list", err)
	}
	return rows, nil
}

// walk reads the open effects in order until the page is full; with total it
// counts what matches, too.
func (s *Store) walk(ctx context.Context, f journal.ListFilter, w *where, limit int, total bool, page *journal.ListPage) ([]listedRow, error) {
	asks := []func(sqlc.DBTX) error{clock(ctx, page)}
	if total {
		count := "select count(*) from (" + w.both(f, "1", fmt.Sprintf("limit %d", journal.TotalCap)) + ") n"
		args := w.args
		asks = append(asks, func(db sqlc.DBTX) error { return db.QueryRow(ctx, count, args...).Scan(&page.Total) })
	}
	after, order := w.after(f, "e")
	w.sql = append(w.sql, after)
	sorted := fmt.Sprintf("order by created_at %s, id %s limit %d", order, order, limit)
	var rows []listedRow
	some := fmt.Sprintf("select * from (%s) n %s", w.both(f, rowColumns, sorted), sorted)
	asks = append(asks, readListed(ctx, fmt.Sprintf("%s order by n.created_at %s, n.id %s", withTeam(some, !f.Snoozed), order, order), w.args, &rows))
	return rows, mapError("reading the list", pipeline(ctx, s.pool, asks...))
}

// with returns w and one more condition.
func (w *where) with(format string, v any) *where {
	out := w.copy()
	out.add(format, v)
	return out
}

func (w *where) copy() *where { return &where{sql: slices.Clone(w.sql), args: slices.Clone(w.args)} }

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
