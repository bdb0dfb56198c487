package postgres_test

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/landedhq/landed/journal"
	"github.com/landedhq/landed/journal/journaltest/fault"
	"github.com/landedhq/landed/journal/postgres"
)

// transition is one thing that the store does durably, as the matrix sees it.
type transition struct {
	name string
	// stage brings an effect with the subject's key to where the transition
	// starts, on a store without faults.
	stage func(d *desk, x *subject)
	// run does it once. The same call is the documented way to try again. The
	// answer is what the caller acts on.
	run func(ctx context.Context, s *postgres.Store, x *subject) (answer string, err error)
}

// job reports whether the transition is a background round over all effects. It
// skips what another session has locked, also one that has just lost its
// client: the next round gets it.
func (tr transition) job() bool {
	for _, prefix := range []string{"sweep/", "alerts/", "claim looks", "purge"} {
		if strings.HasPrefix(tr.name, prefix) {
			return true
		}
	}
	return false
}

// subject is the effect of one run of the matrix.
type subject struct {
	key      string
	request  journal.BeginRequest // of the begin under test, claim id included
	report   journal.Report
	decision journal.Decision
	approval journal.Approval
	id       string // the effect; "" = to be found by its key
	other    string // the id of whatever else the transition names
}

// moment is where a fault strikes: each statement of a transition in turn.
type moment struct {
	name string
	kind fault.Kind
	// reads: statements that leave nothing behind are struck as well.
	reads bool
	act   func(cancel context.CancelFunc) fault.Act
	want  error
}

// moments are the pair, by connection and by context. A statement's Bind (or
// Query) is held back before the server knows of it; its CommandComplete comes
// after the server has carried it out, commit included, because Sync travels in
// the same packet as Execute. A read is only failed: that it was carried out
// changes nothing.
func moments() []moment {
	cut := func(context.CancelFunc) fault.Act { return fault.Cut() }
	cancelled := func(cancel context.CancelFunc) fault.Act { return fault.Run(cancel) }
	all := []moment{
		{"failed, not applied", fault.Bind, true, cut, journal.ErrUnavailable},
		{"failed, not applied (simple)", fault.Query, true, cut, journal.ErrUnavailable},
		{"failed, but applied", fault.CommandComplete, false, cut, journal.ErrUnavailable},
		{"cancelled before", fault.Bind, false, cancelled, context.Canceled},
		{"cancelled before (simple)", fault.Query, false, cancelled, context.Canceled},
		{"cancelled after", fault.CommandComplete, false, cancelled, context.Canceled},
	}
	if testing.Short() {
		return all[:3]
	}
	return all
}

// writes reports whether a statement may leave something behind.
func writes(sql string) bool {
	for line := range strings.Lines(sql) {
		if word, _, _ := strings.Cut(strings.TrimSpace(line), " "); word != "" && !strings.HasPrefix(word, "--") {
			return word != "select" && word != "begin" && word != "rollback"
		}
	}
	return false
}

// TestFaultMatrix breaks every transition of the store at every one of its
// statements, by a cut connection and by a cancelled context, before and after
// the server has carried the statement out. The caller must get an error that
// says so, and the same call again must end where a run without fault ends:
// nothing lost, nothing granted or recorded twice.
func TestFaultMatrix(t *testing.T) {
	t.Parallel()
	groups := map[string][]transition{}
	for _, tr := range transitions() {
		group, _, _ := strings.Cut(tr.name, "/")
		if tr.job() { // it would meet the others' effects
			group = tr.name
		}
		groups[group] = append(groups[group], tr)
	}
	for name, group := range groups {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			d := openDesk(t)
			p, err := fault.Listen(d.dsn)
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(p.Close)
			pool := poolBehind(t, p)
			seen := map[string]bool{}
			for i, tr := range group {
				t.Run(tr.name, func(t *testing.T) {
					one := *d
					one.t = t
					(&matrix{desk: &one, tr: tr, proxy: p, pool: pool, seen: seen, prefix: fmt.Sprintf("k%d-", i)}).all()
				})
			}
			if _, err := d.VerifyAudit(t.Context()); err != nil {
				t.Error(err)
			}
		})
	}
}

// poolBehind is a small pool of connections through the proxy.
func poolBehind(t *testing.T, p *fault.Proxy) *pgxpool.Pool {
	t.Helper()
	cfg, err := pgxpool.ParseConfig(p.DSN())
	if err != nil {
		t.Fatal(err)
	}
	cfg.MaxConns = 2
	pool, err := pgxpool.NewWithConfig(t.Context(), cfg)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(pool.Close)
	return pool
}

// matrix is the faults of one transition.
type matrix struct {
	*desk
	tr     transition
	proxy  *fault.Proxy
	pool   *pgxpool.Pool // behind the proxy
	prefix string        // of its keys
	runs   int
	seen   map[string]bool // reads that were struck already: they are the same everywhere
	// What a run without fault comes to: the answer, and what is recorded before
	// it, after it, and after the same call again.
	answer              string
	before, once, twice []string
}

// all strikes at every statement.
func (m *matrix) all() {
	m.t.Helper()
	m.clean()
	for _, mo := range moments() {
		n, known := 0, maps.Clone(m.seen)
		at := func(sql string) bool { return writes(sql) || mo.reads && !known[nameOf(sql)] }
		for ; m.strike(mo, at, n+1); n++ {
			if n == 200 {
				m.t.Fatal("a transition of 200 statements does not end")
			}
		}
		if n == 0 && mo.kind != fault.Query {
			m.t.Errorf("%s: no statement was struck", mo.name)
		}
	}
}

// staged makes a fresh effect and a store behind the proxy that remembers
// nothing.
func (m *matrix) staged() (*subject, *postgres.Store) {
	m.t.Helper()
	m.runs++
	x := &subject{key: fmt.Sprint(m.prefix, m.runs)}
	x.request = request("mail.send", x.key)
	x.request.RootRun = x.key
	m.tr.stage(m.desk, x)
	return x, postgres.New(m.pool, postgres.Options{Policy: journal.DefaultPolicy(), CanLook: func(p string) bool { return p == "asked" }})
}

// clean is a run without fault.
func (m *matrix) clean() {
	m.t.Helper()
	x, s := m.staged()
	m.before = m.dump(x)
	var err error
	if m.answer, err = m.tr.run(m.t.Context(), s, x); err != nil {
		m.t.Fatalf("without fault: %v", err)
	}
	m.once = m.dump(x)
	if want := endsIn(m.tr.name); !slices.ContainsFunc(m.once, func(line string) bool { return strings.HasPrefix(line, want) }) {
		m.t.Fatalf("without fault it leaves\n%s\nwant %s", strings.Join(m.once, "\n"), want)
	}
	if again, err := m.tr.run(m.t.Context(), s, x); err != nil || again != m.answer {
		m.t.Errorf("without fault, the same call again answers %q, %v; want %q", again, err, m.answer)
	}
	m.twice = m.dump(x)
}

// strike runs the transition with a fault at the nth statement, then again
// without. It reports whether there was an nth statement.
func (m *matrix) strike(mo moment, at func(sql string) bool, nth int) bool {
	m.t.Helper()
	x, s := m.staged()
	ctx, cancel := context.WithCancel(m.t.Context())
	defer cancel()
	struck := ""
	note := func(a fault.Act) fault.Act { return func(l *fault.Link) { struck = l.Statement(); a(l) } }
	trap := m.proxy.Arm(fault.Point{Kind: mo.kind, Statement: at, Nth: nth}, note(mo.act(cancel)))
	got, err := m.tr.run(ctx, s, x)
	if !trap.Met() {
		trap.Disarm()
		return false
	}
	<-trap.Sprung()
	if mo.reads {
		m.seen[nameOf(struck)] = true
	}
	where := fmt.Sprintf("%s, statement %d (%s)", mo.name, nth, nameOf(struck))
	switch {
	case err != nil && !errors.Is(err, mo.want):
		m.t.Errorf("%s: the caller got %v, want %v", where, err, mo.want)
	case err == nil && got != m.answer:
		m.t.Errorf("%s: the caller got no error and %q, want %q", where, got, m.answer)
	case err == nil && mo.want == journal.ErrUnavailable && !harmless(struck):
		m.t.Errorf("%s: the caller got no error", where)
	}
	if rows := m.dump(x); !cmp.Equal(m.before, rows) && !cmp.Equal(m.once, rows) {
		m.t.Errorf("%s: it is half done (-whole +now):\n%s", where, cmp.Diff(m.once, rows))
	}
	m.again(where, s, x)
	return true
}

// again makes the same call without fault, as its caller would.
func (m *matrix) again(where string, s *postgres.Store, x *subject) {
	m.t.Helper()
	for end := time.Now().Add(10 * time.Second); ; {
		var got string
		err := errors.New("not tried")
		for n := 0; err != nil && n < 5; n++ { // a pool may hold another broken connection
			got, err = m.tr.run(m.t.Context(), s, x)
		}
		if err != nil || got != m.answer {
			m.t.Errorf("%s: the same call again answers %q, %v; want %q", where, got, err, m.answer)
		}
		rows := m.dump(x)
		if cmp.Equal(m.once, rows) || cmp.Equal(m.twice, rows) {
			return
		}
		if !m.tr.job() || time.Now().After(end) {
			m.t.Errorf("%s: after the same call again (-without fault +with):\n%s", where, cmp.Diff(m.once, rows))
			return
		}
	}
}

// harmless: nothing hangs on these, so their failure is not the caller's.
func harmless(sql string) bool { return strings.EqualFold(strings.TrimSpace(sql), "rollback") }

// nameOf is what sqlc calls a statement.
func nameOf(sql string) string {
	name, ok := strings.CutPrefix(sql, "-- name: ")
	if !ok {
		return strings.Join(strings.Fields(sql), " ")
	}
	name, _, _ = strings.Cut(name, " ")
	return name
}

// tables say what is recorded of an effect, as lines without times, ids and
// tokens. What a repeated call adds on purpose (an event, another look) is
// counted once.
func tables() []string {
	return []string{
		`select format('effect %s attempt %s under number %s %s fenced %s retry %s cleared %s result %s provider %s by %s refusal %s flags %s%s%s%s%s delivery %s look %s claim %s',
			state, attempt, issue, parked_reason, fenced_at is not null, retry_at is not null, cleared_attempt, convert_from(result, 'UTF8'), provider_id, settled_by, refusal,
			contradicted, probably_double, orphan, gave_up, drifted, open_delivery, next_look_at is not null, claim_id = $2) from effects e where id = $1`,
		`select format('attempt %s issue %s phase %s final %s status %s order %s provider %s claim %s', number, issue, phase, final, status, order_id is not null, provider_id, claim_id = $2)
			from attempts where effect_id = $1`,
		`select format('order %s issue %s attempt %s %s', mode, issue, attempt, ended) from orders where effect_id = $1`,
		`select format('decision %s %s', verb, mode) from decisions where effect_id = $1`,
		`select format('delivery %s acked %s by %s', kind, acked_at is not null, by_whom) from deliveries where effect_id = $1`,
		`select format('audit %s', kind) from audit where effect_id = $1`,
		`select distinct format('evidence %s', verdict) from evidence where effect_id = $1`,
		`select format('handle %s %s', kind, value) from handles where effect_id = $1`,
		`select distinct format('event %s', kind) from events where effect_id = $1`,
		`select format('budget %s', spent) from budgets b where root_run = (select root_run from effects where id = $1)`,
		`select format('alert bound %s', message_id is not null) from alerts where effect_id = $1`,
		`select format('message of %s sent %s', count, sent_at is not null) from alert_messages where first_effect = $1`,
		`select format('%s effects', count(*)) from effects where key = $3`,
	}
}

// dump reads everything that is recorded under the subject's key.
func (m *matrix) dump(x *subject) []string {
	m.t.Helper()
	ctx := m.t.Context()
	id := x.id
	if id == "" {
		err := m.Pool().QueryRow(ctx, "select id from effects where key = $1", x.key).Scan(&id)
		if errors.Is(err, pgx.ErrNoRows) {
			return []string{"no effect"}
		}
		if err != nil {
			m.t.Fatal(err)
		}
	}
	// One statement, one snapshot: what was cancelled may still come about.
	rows, err := m.Pool().Query(ctx, "("+strings.Join(tables(), ") union all (")+") order by 1", id, x.request.ClaimID, x.key)
	if err != nil {
		m.t.Fatal(err)
	}
	out, err := pgx.CollectRows(rows, pgx.RowTo[string])
	if err != nil {
		m.t.Fatal(err)
	}
	return out
}

// begun stages a granted attempt and keeps its report.
func begun(tool string) func(*desk, *subject) {
	return func(d *desk, x *subject) {
		r := request(tool, x.key)
		r.RootRun = x.key
		a := d.begin(r)
		x.id, x.report = a.EffectID, report(r, a)
		x.request.Tool = tool
	}
}

// then joins stages.
func then(steps ...func(*desk, *subject)) func(*desk, *subject) {
	return func(d *desk, x *subject) {
		for _, s := range steps {
			s(d, x)
		}
	}
}

func passed(d *desk, x *subject) { d.pass(x.id, 2*time.Minute) }

func failed(p journal.Phase) func(*desk, *subject) {
	return func(d *desk, x *subject) {
		d.t.Helper()
		if _, err := d.Fail(d.t.Context(), journal.FailRequest{Report: x.report, Phase: p, Error: "it broke"}); err != nil {
			d.t.Fatal(err)
		}
	}
}

func looked(v journal.Verdict) func(*desk, *subject) {
	return func(d *desk, x *subject) { d.look(x.id, v) }
}

func decided(v journal.Verb, m journal.ReissueMode) func(*desk, *subject) {
	return func(d *desk, x *subject) { d.decide(x.id, v, m) }
}

// withOrder stages an open order: parked, not found, re-issue.
func withOrder(d *desk, x *subject) {
	then(begun("mail.send"), failed(journal.PhaseSent), looked(journal.NotFound), decided(journal.VerbReissue, journal.NewKey))(d, x)
}

// orderedAttempt stages the attempt that consumed an order.
func orderedAttempt(d *desk, x *subject) {
	withOrder(d, x)
	r := x.request
	r.ClaimID = journal.NewToken()
	x.report = report(r, d.begin(r))
}
