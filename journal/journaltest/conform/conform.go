// Package conform is the suite that every journal must pass: the store itself,
// and the store behind HTTP. It owns the cases and the databases they run on,
// not the worker's loop (worker/workertest has those cases). It is for tests
// only; nothing outside _test.go files may import it.
//
// Each case gets a database, a store on it to play the operator, the sweeper
// and the passing of time with, and the journal under test, through which
// everything goes that a worker does.
package conform

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/landedhq/landed/journal"
	"github.com/landedhq/landed/journal/journaltest"
	"github.com/landedhq/landed/journal/postgres"
)

// WorkerName is how the journal under test must be known to the store.
const WorkerName = "w1"

// Journal is what the suite asks of a journal: what a worker does, its own
// interface word for word, so that packages for tests need not import it.
type Journal interface {
	RegisterTool(ctx context.Context, t journal.Tool) error
	Begin(ctx context.Context, r journal.BeginRequest) (journal.BeginAnswer, error)
	Commit(ctx context.Context, r journal.CommitRequest) (journal.CommitAnswer, error)
	Fail(ctx context.Context, r journal.FailRequest) (journal.FailAnswer, error)
	Heartbeat(ctx context.Context, r journal.Report) (journal.HeartbeatAnswer, error)
	Handle(ctx context.Context, r journal.HandleRequest) error
	Decision(ctx context.Context, effectID string, after int64, wait time.Duration) (*journal.Resolution, error)
	Decisions(ctx context.Context, after int64, limit int) ([]journal.Resolution, error)
	Ack(ctx context.Context, resolutionID string) error
	Undoable(ctx context.Context, q journal.UndoQuery) (journal.UndoPage, error)
}

// Run runs the suite. over makes the journal under test on a store; reports
// through it must carry WorkerName.
func Run(t *testing.T, over func(t *testing.T, s *postgres.Store) Journal) {
	t.Helper()
	for _, group := range [][]testCase{beginCases(), refusedCases(), commitCases(), failCases(), leaseCases(), decisionCases(), contentCases(), compensationCases()} {
		for _, c := range group {
			t.Run(c.name, func(t *testing.T) {
				t.Parallel()
				c.run(open(t, over))
			})
		}
	}
}

type testCase struct {
	name string
	run  func(d *desk)
}

// desk is one case's journal under test with the store behind it.
type desk struct {
	Journal
	*testing.T
	store *postgres.Store
	dsn   string
}

func open(t *testing.T, over func(t *testing.T, s *postgres.Store) Journal) *desk {
	t.Helper()
	dsn := journaltest.Database(t, postgres.Migrate)
	p := journal.DefaultPolicy()
	p.RetryBudget = 2
	s, err := postgres.Open(t.Context(), dsn, postgres.Options{Policy: p, MaxConns: 4, CanLook: func(p string) bool { return p == "asked" }})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.Close)
	d := &desk{Journal: over(t, s), T: t, store: s, dsn: dsn}
	for _, tool := range []journal.Tool{
		{Name: "mail.send", Class: journal.ClassAtMostOnce, ClientTimeout: 10 * time.Second},
		{Name: "ticket/create", Class: journal.ClassJournalDeduped, Provider: "asked", ClientTimeout: 10 * time.Second},
		{Name: "pay", Class: journal.ClassProviderIdempotent, KeyWindow: time.Hour, ClientTimeout: 10 * time.Second,
			IdentityFields: []string{"order"}, DisplayFields: []string{"order", "note"}, ArgsSchema: []byte("{ \"type\":\n\"object\" }")},
		{Name: "lookup", Class: journal.ClassReadOnly},
	} {
		if err := d.RegisterTool(t.Context(), tool); err != nil {
			t.Fatalf("registering %s: %v", tool.Name, err)
		}
	}
	return d
}

func request(tool, key string) journal.BeginRequest {
	return journal.BeginRequest{Key: key, ClaimID: journal.NewToken(), Tool: tool, RootRun: "run-1", Operation: "do",
		Args: []byte(`{"order":"A1","note":"x"}`), Lease: 30 * time.Second, Worker: WorkerName}
}

func report(r journal.BeginRequest, a journal.BeginAnswer) journal.Report {
	return journal.Report{EffectID: a.EffectID, Attempt: a.Attempt, LeaseToken: a.LeaseToken, Key: r.Key, Namespace: r.Namespace,
		Tool: r.Tool, Worker: WorkerName}
}

// again is the same call of a later Do.
func again(r journal.BeginRequest) journal.BeginRequest {
	r.ClaimID = journal.NewToken()
	return r
}

func (d *desk) begin(r journal.BeginRequest, want journal.Directive) journal.BeginAnswer {
	d.Helper()
	a, err := d.Begin(d.Context(), r)
	if err != nil || a.Directive != want {
		d.Fatalf("begin %s: directive %q (reason %q), %v; want %s", r.Key, a.Directive, a.Reason, err, want)
	}
	return a
}

func (d *desk) fail(rep journal.Report, p journal.Phase, final bool) journal.FailAnswer {
	d.Helper()
	a, err := d.Fail(d.Context(), journal.FailRequest{Report: rep, Phase: p, Final: final, Error: "it broke", Status: 500})
	if err != nil {
		d.Fatalf("fail %s: %v", p, err)
	}
	return a
}

func (d *desk) commit(rep journal.Report, providerID string, result []byte) journal.CommitAnswer {
	d.Helper()
	a, err := d.Commit(d.Context(), journal.CommitRequest{Report: rep, ProviderID: providerID, Result: result})
	if err != nil {
		d.Fatalf("commit: %v", err)
	}
	return a
}

// park begins an effect and reports that its outcome is unknown.
func (d *desk) park(key string) (journal.BeginRequest, journal.BeginAnswer, journal.FailAnswer) {
	d.Helper()
	r := request("mail.send", key)
	a := d.begin(r, journal.DirectiveExecute)
	f := d.fail(report(r, a), journal.PhaseSent, false)
	if f.Directive != journal.DirectiveParked {
		d.Fatalf("fail answered %s, want parked", f.Directive)
	}
	return r, a, f
}

// decide plays the operator.
func (d *desk) decide(id string, v journal.Verb, m journal.ReissueMode) journal.Decision {
	d.Helper()
	s := d.snap(id)
	out, err := d.store.Decide(d.Context(), journal.Decision{EffectID: id, Verb: v, Mode: m, Expected: s.Effect.Version, Digest: s.EvidenceDigest(),
		Actor:  journal.Actor{Issuer: "https://idp.test", Subject: "olga", Name: "Olga", Roles: []journal.Role{journal.RoleOperator}},
		Source: "page", ReasonCode: "confirmed_by_person", Reason: "asked the customer by phone", ProviderID: providerOf(v)})
	if err != nil {
		d.Fatalf("deciding %s: %v", v, err)
	}
	return out
}

func providerOf(v journal.Verb) string {
	if v == journal.VerbCloseLanded {
		return "msg-7"
	}
	return ""
}

func (d *desk) snap(id string) journal.Snapshot {
	d.Helper()
	s, err := d.store.Snapshot(d.Context(), id)
	if err != nil {
		d.Fatal(err)
	}
	return s
}

// pass lets time pass for one effect, by moving what it knows back.
func (d *desk) pass(id string, by time.Duration) {
	d.Helper()
	d.exec(`update effects set created_at = created_at - $2::interval, granted_at = granted_at - $2::interval, lease_until = lease_until - $2::interval,
	send_by = send_by - $2::interval, attempt_deadline = attempt_deadline - $2::interval, fenced_at = fenced_at - $2::interval,
	retry_at = retry_at - $2::interval where id = $1`, id, by)
	d.exec(`update attempts set granted_at = granted_at - $2::interval, lease_until = lease_until - $2::interval, send_by = send_by - $2::interval,
	attempt_deadline = attempt_deadline - $2::interval, fenced_at = fenced_at - $2::interval where effect_id = $1`, id, by)
}

// exec runs a statement as a bystander on a connection of its own.
func (d *desk) exec(sql string, args ...any) {
	d.Helper()
	ctx := context.WithoutCancel(d.Context())
	c, err := pgx.Connect(ctx, d.dsn)
	if err != nil {
		d.Fatal(err)
	}
	defer func() { _ = c.Close(ctx) }()
	if _, err := c.Exec(ctx, sql, args...); err != nil {
		d.Fatalf("%s: %v", sql, err)
	}
}

// refused fails unless begin is refused with want, before any row.
func (d *desk) refused(r journal.BeginRequest, want error) {
	d.Helper()
	if _, err := d.Begin(d.Context(), r); !errors.Is(err, want) {
		d.Errorf("begin: %v, want %v", err, want)
	}
}

// invalid fails unless err is an InvalidError of a field whose text holds part.
func (d *desk) invalid(err error, field, part string) {
	d.Helper()
	var bad *journal.InvalidError
	if !errors.As(err, &bad) || bad.Field != field || !strings.Contains(bad.Detail, part) {
		d.Errorf("got %v, want an InvalidError of %s with %q", err, field, part)
	}
}
