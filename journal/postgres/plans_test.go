package postgres_test

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/landedhq/landed/journal"
	"github.com/landedhq/landed/journal/postgres"
)

// planEffects and planOpen size the journal that the plans are made for: large
// enough for a walk to show, small enough to fill in seconds.
const planEffects, planOpen = 60_000, 1_000

// maxListed bounds what a statement of the list may look at: the pages' rows, or
// the open effects of one filter value, never all of them. maxSorted bounds a
// sort.
const maxListed, maxSorted = 350, 510

// fillPlans writes committed effects over thirty days, every 60th of them open.
const fillPlans = `
insert into effects (id, namespace, key, ref, tool, class, provider, client_timeout_ms, root_run, operation, subject, args,
	fingerprint, fingerprint_rule, state, parked_reason, settled_by, open_delivery, retry_at, next_look_at, created_at, state_at,
	lease_token, granted_at, lease_until, send_by, attempt_deadline, fenced_at)
select (lpad(to_hex((extract(epoch from g.at) * 1000)::bigint), 12, '0') || '7' || substr(md5(i::text), 1, 3) || '8' || substr(md5(i::text), 4, 15))::uuid,
	case when i % 9 = 0 then 'tenant-' || i % 7 else '' end, 'run-' || lpad((i / 4)::text, 9, '0') || '/' || i, md5('ref' || i),
	'tool-' || i % 19, case i % 7 when 0 then 'at_most_once' when 1 then 'journal_deduped' else 'provider_idempotent' end, 'provider-' || i % 19 % 5,
	10000, 'run-' || lpad((i / 4)::text, 9, '0'), 'send', 'Refund of order A-' || i, convert_to(repeat('x', 300), 'UTF8'), 'f', 1,
	k.state, case when k.state = 'PARKED' then 'at_most_once' else '' end, case when k.state = 'COMMITTED' then 'worker' else '' end,
	k.kind = 1, case when k.kind = 2 then g.at end, case when k.kind in (3, 4) then g.at end, g.at, g.at,
	md5('token' || i), g.at, g.at + interval '1 min', g.at + interval '1 min', g.at + interval '70 s', g.at
from generate_series(1, $1) i
cross join lateral (select now() - interval '30 days' * (1 - i::float8 / $1) as at) g
cross join lateral (select kind, case when kind in (-1, 1, 4) then 'COMMITTED' when kind = 2 then 'INTENT' when kind = 5 then 'REISSUE' else 'PARKED' end as state
	from (select case when i % 60 = 7 then i / 60 % 10 else -1 end as kind) x) k;
insert into snoozes (effect_id, until, issuer, subject, at) select id, now() + interval '1 hour', 'i', 's', now() from effects where attention_at is not null order by md5(key) limit 40;
insert into claims (effect_id, id, issuer, subject, by_issuer, by_subject, since, until)
select id, id, 'i', 's' || length(key) % 3, 'i', 's', now(), now() + interval '30 min' from effects where attention_at is not null order by md5(key || 'x') limit 60;
insert into attempts (effect_id, number, issue, claim_id, lease_token, granted_at, lease_until, send_by, attempt_deadline, fenced_at)
select id, 1, 1, '', lease_token, granted_at, lease_until, send_by, attempt_deadline, fenced_at from effects
where attention_at is not null and id not in (select effect_id from attempts);
set session_replication_role = replica;
insert into deliveries (id, audit_seq, effect_id, namespace, effect_version, kind, by_whom, at, acked_at)
select id, row_number() over (order by id), id, namespace, 2, 'committed', 'worker', created_at, created_at from effects where created_at < now() - interval '20 days'`

// countsOnly marks the statement that counts the header of the list.
const countsOnly = "min(e.created_at)"

// asked is one statement as the store sent it.
type asked struct {
	sql  string
	args []any
}

// listener records statements with their arguments, those of pipelines too.
type listener struct{ asked []asked }

func (x *listener) TraceQueryStart(ctx context.Context, _ *pgx.Conn, d pgx.TraceQueryStartData) context.Context {
	x.asked = append(x.asked, asked{d.SQL, d.Args})
	return ctx
}

func (*listener) TraceQueryEnd(context.Context, *pgx.Conn, pgx.TraceQueryEndData) {}

func (x *listener) TraceBatchStart(ctx context.Context, _ *pgx.Conn, d pgx.TraceBatchStartData) context.Context {
	for _, q := range d.Batch.QueuedQueries {
		x.asked = append(x.asked, asked{q.SQL, q.Arguments})
	}
	return ctx
}

func (*listener) TraceBatchQuery(context.Context, *pgx.Conn, pgx.TraceBatchQueryData) {}
func (*listener) TraceBatchEnd(context.Context, *pgx.Conn, pgx.TraceBatchEndData)     {}

// plan is what EXPLAIN tells of one node.
type plan struct {
	NodeType string  `json:"Node Type"`
	Relation string  `json:"Relation Name"`
	Index    string  `json:"Index Name"`
	Expected float64 `json:"Plan Rows"`
	Rows     float64 `json:"Actual Rows"`
	Loops    float64 `json:"Actual Loops"`
	Filtered float64 `json:"Rows Removed by Filter"`
	Rechecks float64 `json:"Rows Removed by Index Recheck"`
	Plans    []plan  `json:"Plans"`
}

func (p plan) walk(f func(plan)) {
	f(p)
	for _, c := range p.Plans {
		c.walk(f)
	}
}

// The ways in which the server plans a statement.
const (
	forThese = "for these arguments"
	forAny   = "for any arguments"
	asKept   = "as the store's connection keeps it"
)

// planner explains what a store asked, on the store's only connection.
type planner struct {
	t    *testing.T
	s    *postgres.Store
	said *listener
}

func openPlanner(t *testing.T, d *desk) *planner {
	t.Helper()
	cfg, err := pgxpool.ParseConfig(d.dsn)
	if err != nil {
		t.Fatal(err)
	}
	p := &planner{t: t, said: &listener{}}
	cfg.ConnConfig.Tracer, cfg.MaxConns = p.said, 1
	pool, err := pgxpool.NewWithConfig(t.Context(), cfg)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(pool.Close)
	p.s = postgres.New(pool, postgres.Options{Policy: journal.DefaultPolicy()})
	return p
}

// explain runs the statement again, rolls it back, and returns its plan.
func (p *planner) explain(a asked, way string) plan {
	p.t.Helper()
	ctx := p.t.Context()
	tx, err := p.s.Pool().Begin(ctx)
	if err != nil {
		p.t.Fatal(err)
	}
	defer func() { _ = tx.Rollback(context.Background()) }()
	mode := map[string]string{forThese: "force_custom_plan", forAny: "force_generic_plan", asKept: "auto"}[way]
	if _, err := tx.Exec(ctx, "set local plan_cache_mode = "+mode); err != nil {
		p.t.Fatal(err)
	}
	var name string // of the statement as pgx prepared it when the store sent it
	if err := tx.QueryRow(ctx, "select name from pg_prepared_statements where statement = $1", a.sql).Scan(&name); err != nil {
		p.t.Fatalf("%v\n%s", err, a.sql)
	}
	call := "explain (analyze, format json) execute " + pgx.Identifier{name}.Sanitize()
	for i := range a.args {
		call += fmt.Sprintf("%s$%d", map[bool]string{true: "(", false: ", "}[i == 0], i+1)
	}
	if len(a.args) > 0 {
		call += ")"
	}
	var out []byte
	if err := tx.QueryRow(ctx, call, append([]any{pgx.QueryExecModeSimpleProtocol}, a.args...)...).Scan(&out); err != nil {
		p.t.Fatalf("%v\n%s", err, a.sql)
	}
	var top []struct{ Plan plan }
	if err := json.Unmarshal(out, &top); err != nil {
		p.t.Fatal(err)
	}
	return top[0].Plan
}

// check does something with the store and explains every statement that it sent
// about effects. visits is how many effects one statement may look at.
func (p *planner) check(name string, visits float64, do func(context.Context, *postgres.Store) error) {
	p.t.Run(name, func(t *testing.T) {
		defer func(outer *testing.T) { p.t = outer }(p.t)
		p.t, p.said.asked = t, nil
		if err := do(t.Context(), p.s); err != nil {
			t.Fatal(err)
		}
		seen := 0
		for _, a := range p.said.asked {
			if !strings.Contains(a.sql, "effects") && !strings.Contains(a.sql, "orders") {
				continue
			}
			seen++
			for _, way := range []string{asKept, forThese, forAny} {
				p.judge(a, p.explain(a, way), way, visits)
			}
		}
		if seen == 0 {
			t.Error("no statement was seen")
		}
	})
}

func (p *planner) judge(a asked, top plan, way string, visits float64) {
	p.t.Helper()
	visited := 0.0
	var found []string
	top.walk(func(n plan) {
		if n.NodeType == "ModifyTable" || n.NodeType == "Bitmap Index Scan" {
			return // the node below or above has seen the same effects
		}
		if n.Relation == "effects" || strings.HasPrefix(n.Index, "effects_") {
			visited += (n.Rows + n.Filtered + n.Rechecks) * max(n.Loops, 1)
			found = append(found, strings.TrimSpace(n.NodeType+" "+n.Index))
			if strings.Contains(a.sql, countsOnly) && n.Rows > 50*max(n.Expected, 1) { // in a larger journal it would choose another index
				p.t.Errorf("planned %s: %s gives %v rows, %v expected:\n%.300s", way, n.Index, n.Rows, n.Expected, a.sql)
			}
		}
		switch {
		case n.NodeType == "Seq Scan" && (n.Relation == "effects" || n.Relation == "deliveries"):
			p.t.Errorf("planned %s: scans a whole table:\n%.300s", way, a.sql)
		case n.NodeType == "Sort" && n.Plans[0].Rows > maxSorted:
			p.t.Errorf("planned %s: sorts %v rows:\n%.300s", way, n.Plans[0].Rows, a.sql)
		}
	})
	if strings.Contains(a.sql, countsOnly) {
		visits = planOpen * 1.2 // the counts, afresh once in a while
	}
	if visited > visits {
		p.t.Errorf("planned %s: looks at %v effects by %s:\n%.300s", way, visited, strings.Join(found, ", "), a.sql)
	}
}

// read is one hot read and how many effects one of its statements may look at.
type read struct {
	name   string
	visits float64
	do     func(context.Context, *postgres.Store) error
}

// hotReads are the reads that pages, workers and background rounds repeat.
func hotReads(e journal.Effect) []read {
	list := func(name string, f journal.ListFilter) read {
		return read{name, maxListed, func(ctx context.Context, s *postgres.Store) error { _, err := s.List(ctx, f); return err }}
	}
	return []read{
		list("first page", journal.ListFilter{}),
		list("newest first", journal.ListFilter{Newest: true}),
		list("deep page", journal.ListFilter{After: e.ID}),
		list("state", journal.ListFilter{State: journal.StateReissue}),
		list("tool", journal.ListFilter{Tool: "tool-1"}),
		list("tool that has none", journal.ListFilter{Tool: "none"}),
		list("class", journal.ListFilter{Class: journal.ClassAtMostOnce, Newest: true}),
		list("provider", journal.ListFilter{Provider: "provider-1"}),
		list("namespace", journal.ListFilter{Namespace: "tenant-3"}),
		list("root run", journal.ListFilter{RootRun: e.RootRun}),
		list("tool and provider", journal.ListFilter{Tool: "tool-0", Provider: "provider-0", After: e.ID}),
		list("burst", journal.ListFilter{Cause: journal.CauseFilter{Key: "0123456789abcdef", From: e.CreatedAt.Add(-12 * time.Hour), To: e.CreatedAt.Add(12 * time.Hour)}}),
		list("search", journal.ListFilter{Query: "A-30007"}),
		list("search without a match", journal.ListFilter{Query: "nothing like it"}),
		list("snoozed", journal.ListFilter{Snoozed: true}),
		list("mine", journal.ListFilter{Claim: journal.ClaimMine, Viewer: operator}),
		list("nobody's", journal.ListFilter{Claim: journal.ClaimNone, Viewer: operator}),
		list("whole id", journal.ListFilter{Query: e.ID}),
		list("whole reference", journal.ListFilter{Query: e.Ref}),
		list("whole key", journal.ListFilter{Query: e.Key}),
		{"by key", 3, func(ctx context.Context, s *postgres.Store) error {
			_, err := s.EffectByKey(ctx, e.Namespace, e.Key)
			return err
		}},
		{"what is left to undo", 60, func(ctx context.Context, s *postgres.Store) error {
			_, err := s.Undoable(ctx, journal.UndoQuery{Namespace: e.Namespace, RootRun: e.RootRun})
			return err
		}},
		{"case with siblings", 60, func(ctx context.Context, s *postgres.Store) error { _, err := s.Case(ctx, e.ID); return err }},
		{"stuck effects and overdue orders", 60, func(ctx context.Context, s *postgres.Store) error { _, err := s.Sweep(ctx, 50); return err }},
		{"due looks", 60, func(ctx context.Context, s *postgres.Store) error {
			_, err := s.ClaimLooks(ctx, "provider-1", 20, 0)
			return err
		}},
		{"canary", 3, func(ctx context.Context, s *postgres.Store) error {
			_, err := s.Canary(ctx, "provider-2", time.Now().Add(-30*24*time.Hour), time.Now().Add(-time.Hour))
			return err
		}},
		{"canary of a provider without commits", 3, func(ctx context.Context, s *postgres.Store) error {
			_, err := s.Canary(ctx, "silent", time.Now().Add(-30*24*time.Hour), time.Now())
			return err
		}},
		{"a decision that is waited for", 3, func(ctx context.Context, s *postgres.Store) error { _, err := s.Decision(ctx, e.ID, 0, 0); return err }},
		{"feed of all decisions", 110, func(ctx context.Context, s *postgres.Store) error { _, err := s.Decisions(ctx, 0, 100); return err }},
		{"feed of a namespace", 110, func(ctx context.Context, s *postgres.Store) error {
			_, err := s.DecisionsIn(ctx, []string{"tenant-1", "quiet"}, 0, 100)
			return err
		}},
		{"purge of nothing", 60, func(ctx context.Context, s *postgres.Store) error {
			_, err := s.Purge(ctx, 365*24*time.Hour, 100)
			return err
		}},
	}
}

// TestPlans: no hot read scans the table, sorts what it does not show or walks
// what it does not need, whether the server plans for the arguments at hand or
// once for all; and a plan that was kept since the journal was new does not stay.
func TestPlans(t *testing.T) {
	t.Parallel()
	d := openDesk(t)
	p := openPlanner(t, d)
	r := request("mail.send", "first")
	first := d.begin(r)
	d.fail(r, first, journal.PhaseSent, false)
	for range 8 { // after the fifth the server may keep one plan for all arguments
		for _, read := range hotReads(d.snap(first.EffectID).Effect) {
			if err := read.do(t.Context(), p.s); err != nil {
				t.Fatalf("%s, on a new journal: %v", read.name, err)
			}
		}
	}
	d.exec(fillPlans, planEffects)
	d.exec("insert into tools (name, class, client_timeout_ms, compensated_by) select 'tool-' || i, 'at_most_once', 1, 'cancel' from generate_series(0, 18) i")
	stuck := d.begin(request("mail.send", "stuck"))
	d.pass(stuck.EffectID, time.Hour)
	d.exec("vacuum analyze effects; analyze")
	var id string
	if err := d.Pool().QueryRow(t.Context(), "select id from effects where state = 'PARKED' and namespace = '' order by created_at offset 300 limit 1").Scan(&id); err != nil {
		t.Fatal(err)
	}
	for _, read := range hotReads(d.snap(id).Effect) {
		p.check(read.name, read.visits, read.do)
	}
	// These read all that is open, and nothing else.
	p.check("counts", planOpen*1.2, func(ctx context.Context, s *postgres.Store) error { _, err := s.AttentionCounts(ctx); return err })
	p.check("search that matches every effect", planOpen*1.2, func(ctx context.Context, s *postgres.Store) error {
		_, err := s.List(ctx, journal.ListFilter{Query: "refund"})
		return err
	})
	p.check("grouped by cause", planOpen*1.2, func(ctx context.Context, s *postgres.Store) error {
		_, err := s.Causes(ctx, journal.ListFilter{})
		return err
	})
	p.check("alerts", planOpen*1.2, func(ctx context.Context, s *postgres.Store) error { _, err := s.RaiseAlerts(ctx); return err })
}

// TestPlans_WritesOfANewJournal: what addresses one effect goes by its key or id
// from the first row on, however few there are.
func TestPlans_WritesOfANewJournal(t *testing.T) {
	t.Parallel()
	d := openDesk(t)
	p := openPlanner(t, d)
	r := request("mail.send", "first")
	a := d.begin(r)
	for range 20 {
		d.begin(request("mail.send", journal.NewToken()))
	}
	p.check("begin", 1, func(ctx context.Context, s *postgres.Store) error {
		_, err := s.Begin(ctx, request("mail.send", "second"))
		return err
	})
	p.check("heartbeat", 1, func(ctx context.Context, s *postgres.Store) error {
		_, err := s.Heartbeat(ctx, report(r, a))
		return err
	})
	p.check("by key", 1, func(ctx context.Context, s *postgres.Store) error {
		_, err := s.EffectByKey(ctx, "", r.Key)
		return err
	})
	p.check("commit", 1, func(ctx context.Context, s *postgres.Store) error {
		_, err := s.Commit(ctx, journal.CommitRequest{Report: report(r, a), ProviderID: "p"})
		return err
	})
}
