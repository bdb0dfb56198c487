package postgres_test

import (
	"context"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/landedhq/landed/journal"
	"github.com/landedhq/landed/journal/journaltest"
	"github.com/landedhq/landed/journal/postgres"
)

// desk is a store on a database of its own, with one tool per class, and the
// means to let time pass.
type desk struct {
	*postgres.Store
	t   *testing.T
	dsn string
}

func openDesk(t *testing.T, change ...func(*postgres.Options)) *desk {
	t.Helper()
	dsn := journaltest.Database(t, postgres.Migrate)
	o := postgres.Options{Policy: journal.DefaultPolicy(), CanLook: func(p string) bool { return p == "asked" }, MaxConns: 8}
	for _, f := range change {
		f(&o)
	}
	s, err := postgres.Open(t.Context(), dsn, o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.Close)
	d := &desk{Store: s, t: t, dsn: dsn}
	for _, tool := range []journal.Tool{
		{Name: "mail.send", Class: journal.ClassAtMostOnce, Provider: "asked", ClientTimeout: 10 * time.Second},
		{Name: "ticket.create", Class: journal.ClassJournalDeduped, Provider: "asked", ClientTimeout: 10 * time.Second},
		{Name: "note.create", Class: journal.ClassJournalDeduped, Provider: "unasked", ClientTimeout: 10 * time.Second},
		{Name: "pay", Class: journal.ClassProviderIdempotent, Provider: "asked", KeyWindow: time.Hour, ClientTimeout: 10 * time.Second, IdentityFields: []string{"order"}},
		{Name: "lookup", Class: journal.ClassReadOnly},
	} {
		if err := s.RegisterTool(t.Context(), tool); err != nil {
			t.Fatal(err)
		}
	}
	return d
}

func request(tool, key string) journal.BeginRequest {
	return journal.BeginRequest{Key: key, ClaimID: journal.NewToken(), Tool: tool, RootRun: "run-1", Operation: "do",
		Args: []byte(`{"order":"A1","note":"x"}`), Lease: 30 * time.Second, Worker: "w1"}
}

func (d *desk) begin(r journal.BeginRequest) journal.BeginAnswer {
	d.t.Helper()
	a, err := d.Begin(d.t.Context(), r)
	if err != nil {
		d.t.Fatalf("begin %s: %v", r.Key, err)
	}
	return a
}

func report(r journal.BeginRequest, a journal.BeginAnswer) journal.Report {
	return journal.Report{EffectID: a.EffectID, Attempt: a.Attempt, LeaseToken: a.LeaseToken, Key: r.Key, Namespace: r.Namespace, Tool: r.Tool, Worker: r.Worker}
}

func (d *desk) fail(r journal.BeginRequest, a journal.BeginAnswer, p journal.Phase, final bool) journal.FailAnswer {
	d.t.Helper()
	out, err := d.Fail(d.t.Context(), journal.FailRequest{Report: report(r, a), Phase: p, Final: final, Error: "it broke"})
	if err != nil {
		d.t.Fatalf("fail: %v", err)
	}
	return out
}

func (d *desk) commit(r journal.BeginRequest, a journal.BeginAnswer, providerID string) journal.CommitAnswer {
	d.t.Helper()
	out, err := d.Commit(d.t.Context(), journal.CommitRequest{Report: report(r, a), ProviderID: providerID, Result: []byte(`{"ok":true}`)})
	if err != nil {
		d.t.Fatalf("commit: %v", err)
	}
	return out
}

// look records evidence with a verdict, as if the collector had looked now.
func (d *desk) look(id string, v journal.Verdict, change ...func(*journal.Evidence)) journal.Evidence {
	d.t.Helper()
	s := d.snap(id)
	e := journal.Evidence{EffectID: id, Adapter: "asked", Kind: "test", Verdict: v, StartedAt: s.Now, FinishedAt: s.Now, Digest: journal.NewToken(), RequestedBy: "schedule"}
	if v == journal.CannotTell {
		e.Reason, e.LookAgainAt = journal.CannotTooEarly, s.Now.Add(time.Minute)
	}
	if v == journal.NotFound {
		e.CoversAttempt = s.Effect.Attempt
	}
	for _, f := range change {
		f(&e)
	}
	out, err := d.RecordEvidence(d.t.Context(), e)
	if err != nil {
		d.t.Fatalf("recording evidence: %v", err)
	}
	return out
}

func (d *desk) snap(id string) journal.Snapshot {
	d.t.Helper()
	s, err := d.Snapshot(d.t.Context(), id)
	if err != nil {
		d.t.Fatal(err)
	}
	return s
}

func (d *desk) sweep() {
	d.t.Helper()
	if _, err := d.Sweep(d.t.Context(), 100); err != nil {
		d.t.Fatal(err)
	}
}

var operator = journal.Actor{Issuer: "https://idp.test", Subject: "olga", Name: "Olga Operator", Roles: []journal.Role{journal.RoleOperator}}

func (d *desk) decision(id string, v journal.Verb, m journal.ReissueMode) journal.Decision {
	d.t.Helper()
	s := d.snap(id)
	return journal.Decision{EffectID: id, Verb: v, Mode: m, Expected: s.Effect.Version, Digest: s.EvidenceDigest(), Actor: operator,
		Source: "page", ReasonCode: "confirmed_by_person", Reason: "asked the customer by phone"}
}

func (d *desk) decide(id string, v journal.Verb, m journal.ReissueMode) journal.Decision {
	d.t.Helper()
	out, err := d.Decide(d.t.Context(), d.decision(id, v, m))
	if err != nil {
		d.t.Fatalf("deciding %s: %v", v, err)
	}
	return out
}

// pass lets time pass for one effect, by moving everything it knows back.
func (d *desk) pass(id string, by time.Duration) {
	d.t.Helper()
	d.exec(`set session_replication_role = replica;
update effects set created_at = created_at - $2::interval, state_at = state_at - $2::interval, granted_at = granted_at - $2::interval, lease_until = lease_until - $2::interval,
	send_by = send_by - $2::interval, attempt_deadline = attempt_deadline - $2::interval, fenced_at = fenced_at - $2::interval, retry_at = retry_at - $2::interval, next_look_at = next_look_at - $2::interval where id = $1;
update attempts set granted_at = granted_at - $2::interval, lease_until = lease_until - $2::interval, send_by = send_by - $2::interval, attempt_deadline = attempt_deadline - $2::interval, fenced_at = fenced_at - $2::interval where effect_id = $1;
update evidence set started_at = started_at - $2::interval, finished_at = finished_at - $2::interval, look_again_at = look_again_at - $2::interval where effect_id = $1;
update orders set created_at = created_at - $2::interval, expires_at = expires_at - $2::interval where effect_id = $1`, id, by)
}

// exec runs statements as a bystander on a connection of its own.
func (d *desk) exec(sql string, args ...any) {
	d.t.Helper()
	ctx := context.WithoutCancel(d.t.Context())
	c, err := pgx.Connect(ctx, d.dsn)
	if err != nil {
		d.t.Fatal(err)
	}
	defer func() { _ = c.Close(ctx) }()
	for _, one := range splitSQL(sql) {
		if _, err := c.Exec(ctx, one, args[:countArgs(one)]...); err != nil {
			d.t.Fatalf("%s: %v", one, err)
		}
	}
}

func (d *desk) count(sql string, args ...any) int {
	d.t.Helper()
	var n int
	if err := d.Pool().QueryRow(d.t.Context(), sql, args...).Scan(&n); err != nil {
		d.t.Fatal(err)
	}
	return n
}
