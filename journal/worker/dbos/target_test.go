package dbosworker_test

import (
	"context"
	"errors"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/dbos-inc/dbos-transact-golang/dbos"
	"github.com/google/go-cmp/cmp"
	"github.com/jackc/pgx/v5"

	"github.com/landedhq/landed/journal"
	"github.com/landedhq/landed/providers/resume"
	target "github.com/landedhq/landed/providers/resume/dbos"
)

// heard is what a workflow got of its topic.
type heard struct {
	First resume.Payload
	More  bool // there was a second message
}

// listener is a workflow that waits at a gate, then reads its topic twice.
func listener(gate <-chan struct{}) dbos.Workflow[string, heard] {
	return func(ctx dbos.Context, topic string) (heard, error) {
		if gate != nil {
			<-gate
		}
		m, err := dbos.Recv[resume.Payload](ctx, topic, patience)
		if err != nil {
			return heard{}, err
		}
		_, err = dbos.Recv[resume.Payload](ctx, topic, 200*time.Millisecond)
		return heard{First: m, More: err == nil}, nil
	}
}

// TestTarget_OneMessage hands a resolution over from two processes at once, several
// times each, before the workflow waits: it gets one message, whichever serializer
// its program uses. Once it has ended, the same resolution stays sent, and a new
// one is gone.
func TestTarget_OneMessage(t *testing.T) {
	t.Parallel()
	for name, change := range map[string]func(*dbos.Config){
		"JSON": func(*dbos.Config) {},
		"gob":  func(c *dbos.Config) { c.Serializer = dbos.NewGobSerializer() },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			d := open(t)
			rt := d.runtime(change)
			gate := make(chan struct{})
			wait := listener(gate)
			if name == "gob" { // its results would need a registered type
				wait = func(ctx dbos.Context, topic string) (heard, error) {
					_, err := listener(gate)(ctx, topic)
					return heard{}, err
				}
			}
			flow := func(ctx dbos.Context, topic string) (string, error) {
				h, err := wait(ctx, topic)
				if h.More {
					return "", errors.New("a second message")
				}
				return h.First.Data.ResolutionID, err
			}
			dbos.RegisterWorkflow(rt, flow, dbos.WithWorkflowName("flow"))
			d.launch(rt)
			if _, err := d.shared().Deliver(t.Context(), message("w-1", "1")); outcome(err) != journal.HandoverUnknown {
				t.Errorf("before the workflow exists: %v", err)
			}
			h := start(t, rt, flow, "landed", "w-1")
			var wg sync.WaitGroup
			for _, one := range []*target.Target{d.shared(), d.other()} {
				for range 3 {
					wg.Go(func() {
						if _, err := one.Deliver(t.Context(), message("w-1", "1")); err != nil {
							t.Error(err)
						}
					})
				}
			}
			wg.Wait()
			if n := d.messages(); n != 1 {
				t.Errorf("%d messages", n)
			}
			close(gate)
			if got, want := result(t, h), message("w-1", "1").ID; name == "JSON" && got != want {
				t.Errorf("the workflow got %q, wanted %s", got, want)
			}
			if rec, err := d.other().Deliver(t.Context(), message("w-1", "1")); err != nil || !strings.Contains(rec.Detail, "before") {
				t.Errorf("sent before, and ended since: %+v, %v", rec, err)
			}
			if _, err := d.other().Deliver(t.Context(), message("w-1", "2")); outcome(err) != journal.HandoverGone || d.messages() != 1 {
				t.Errorf("a new one after the end: %v, %d messages", err, d.messages())
			}
		})
	}
}

// TestTarget_WholeMessage: what the workflow reads is the payload, on a topic of
// the effect's choice.
func TestTarget_WholeMessage(t *testing.T) {
	t.Parallel()
	d := open(t)
	rt := d.runtime()
	flow := listener(nil)
	dbos.RegisterWorkflow(rt, flow, dbos.WithWorkflowName("flow"))
	d.launch(rt)
	h := start(t, rt, flow, "decisions", "w:1::x")
	m := message("w:1::x", "1")
	m.Resume = []byte(`{"to":"dbos","workflow_id":"w:1::x","topic":"decisions"}`)
	if _, err := d.shared().Deliver(t.Context(), m); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(heard{First: m.Payload()}, result(t, h)); diff != "" {
		t.Error(diff)
	}
}

// TestTarget_IsDBOSsOwnRow compares the row with the one that DBOS's client writes
// for a portable message with the same idempotency key: it is the same, key
// included, so that the one after the other is no second message.
func TestTarget_IsDBOSsOwnRow(t *testing.T) {
	t.Parallel()
	d := open(t)
	rt := d.runtime()
	flow := listener(make(chan struct{}))
	dbos.RegisterWorkflow(rt, flow, dbos.WithWorkflowName("flow"))
	d.launch(rt)
	d.exec("insert into dbos.workflow_status (workflow_uuid, status, name) values ('w-1', 'PENDING', 'flow')")
	row := func() (r [6]string) {
		t.Helper()
		err := d.pool.QueryRow(t.Context(), `select destination_uuid, topic, message::jsonb::text, serialization, message_uuid, consumed::text
			from dbos.notifications`).Scan(&r[0], &r[1], &r[2], &r[3], &r[4], &r[5])
		if err != nil {
			t.Fatal(err)
		}
		return r
	}
	m := message("w-1", "1")
	if err := dbos.Send(rt, "w-1", m.Payload(), "landed", dbos.WithIdempotencyKey(m.ID), dbos.WithPortableSend()); err != nil {
		t.Fatal(err)
	}
	own := row()
	if rec, err := d.shared().Deliver(t.Context(), m); err != nil || !strings.Contains(rec.Detail, "before") || d.messages() != 1 {
		t.Errorf("%+v, %v, %d messages", rec, err, d.messages())
	}
	d.exec("delete from dbos.notifications")
	if _, err := d.shared().Deliver(t.Context(), m); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(own, row()); diff != "" {
		t.Error(diff)
	}
	if n := d.count("select count(*) from dbos.notifications where abs(created_at_epoch_ms - extract(epoch from now()) * 1000) < 60000"); n != 1 {
		t.Error("the time is not in milliseconds")
	}
}

// TestTarget_Gone: every way to have ended; a state that is not known here is none.
func TestTarget_Gone(t *testing.T) {
	t.Parallel()
	d := open(t)
	for status, want := range map[string]journal.HandoverOutcome{
		"SUCCESS": journal.HandoverGone, "ERROR": journal.HandoverGone, "CANCELLED": journal.HandoverGone, "MAX_RECOVERY_ATTEMPTS_EXCEEDED": journal.HandoverGone,
		"PENDING": "", "ENQUEUED": "", "DELAYED": "", "SOMETHING_NEW": "",
	} {
		d.exec("insert into dbos.workflow_status (workflow_uuid, status, name) values ($1, $1, 'flow')", status)
		_, err := d.shared().Deliver(t.Context(), message(status, "1"))
		sent := d.count("select count(*) from dbos.notifications where destination_uuid = $1", status)
		if outcome(err) != want || (want == "") != (err == nil) || (want == "") != (sent == 1) {
			t.Errorf("%s: %v, %d messages", status, err, sent)
		}
	}
	d.exec("insert into dbos.workflow_status (workflow_uuid, status, name) values ('none', null, 'flow')")
	if _, err := d.shared().Deliver(t.Context(), message("none", "1")); err != nil {
		t.Errorf("no status: %v", err)
	}
}

// TestTarget_DeliverTx: the message comes with the transaction and goes with it. A
// workflow that is not there, or over, leaves the transaction as it was.
func TestTarget_DeliverTx(t *testing.T) {
	t.Parallel()
	d := open(t)
	one := d.shared()
	d.exec("insert into dbos.workflow_status (workflow_uuid, status, name) values ('w-1', 'PENDING', 'flow'), ('over', 'SUCCESS', 'flow')")
	undo := errors.New("undo")
	for _, c := range []struct {
		name string
		end  error
		want int
	}{{"rolled back", undo, 0}, {"committed", nil, 1}} {
		err := pgx.BeginFunc(t.Context(), d.pool, func(tx pgx.Tx) error {
			if _, err := one.DeliverTx(t.Context(), tx, message("w-1", "1")); err != nil {
				t.Error(err)
			}
			return c.end
		})
		if !errors.Is(err, c.end) || d.messages() != c.want {
			t.Errorf("%s: %v, %d messages", c.name, err, d.messages())
		}
	}
	if _, err := d.other().Deliver(t.Context(), message("w-1", "1")); err != nil || d.messages() != 1 {
		t.Errorf("the dispatcher's try after it: %v, %d messages", err, d.messages())
	}
	d.exec("create table decided (id int)")
	for workflow, want := range map[string]journal.HandoverOutcome{"nobody": journal.HandoverUnknown, "over": journal.HandoverGone} {
		err := pgx.BeginFunc(t.Context(), d.pool, func(tx pgx.Tx) error {
			err := pgx.BeginFunc(t.Context(), tx, func(sp pgx.Tx) error {
				_, err := one.DeliverTx(t.Context(), sp, message(workflow, "2"))
				return err
			})
			if outcome(err) != want {
				t.Errorf("%s: %v", workflow, err)
			}
			_, err = tx.Exec(t.Context(), "insert into decided values (1)")
			return err
		})
		if err != nil {
			t.Errorf("%s: the decision: %v", workflow, err)
		}
	}
	if n := d.count("select count(*) from decided"); n != 2 || d.messages() != 1 {
		t.Errorf("%d decisions, %d messages", n, d.messages())
	}
}

// TestTarget_Rights runs as a role that has what the documentation says and no
// more, then with each right taken away.
func TestTarget_Rights(t *testing.T) {
	t.Parallel()
	d := open(t)
	d.exec("insert into dbos.workflow_status (workflow_uuid, status, name) values ('w-1', 'PENDING', 'flow'), ('over', 'ERROR', 'flow')")
	role := "handover_" + strings.ToLower(journal.NewToken()[:8])
	d.exec("create role " + role)
	t.Cleanup(func() {
		for _, sql := range []string{"drop owned by " + role, "drop role " + role} {
			if _, err := d.pool.Exec(context.Background(), sql); err != nil {
				t.Error(err)
			}
		}
	})
	rights := []string{"usage on schema dbos", "select (workflow_uuid, status) on dbos.workflow_status", "insert on dbos.notifications"}
	for _, right := range rights {
		d.exec("grant " + right + " to " + role)
	}
	low := d.target(target.Config{Name: "dbos", DSN: func() (string, error) { return as(d.dsn, role), nil }})
	if err := low.Probe(t.Context()); err != nil {
		t.Error(err)
	}
	for _, want := range []string{"sent to", "before"} {
		if rec, err := low.Deliver(t.Context(), message("w-1", "1")); err != nil || !strings.Contains(rec.Detail, want) {
			t.Errorf("%q, wanted %q: %v", rec.Detail, want, err)
		}
	}
	if _, err := low.Deliver(t.Context(), message("over", "1")); outcome(err) != journal.HandoverGone {
		t.Errorf("over: %v", err)
	}
	if _, err := low.Deliver(t.Context(), message("nobody", "1")); outcome(err) != journal.HandoverUnknown {
		t.Errorf("nobody: %v", err)
	}
	for _, right := range rights {
		d.exec("revoke " + right + " from " + role)
		if _, err := low.Deliver(t.Context(), message("w-1", "2")); outcome(err) != journal.HandoverAuth {
			t.Errorf("without %s: %v", right, err)
		}
		if err := low.Probe(t.Context()); outcome(err) != journal.HandoverAuth {
			t.Errorf("probing without %s: %v", right, err)
		}
		d.exec("grant " + right + " to " + role)
	}
}

// TestTarget_OtherSchema: DBOS in a schema whose name has to be quoted.
func TestTarget_OtherSchema(t *testing.T) {
	t.Parallel()
	d := open(t)
	const schema = `Orders-"1"`
	if err := dbos.Migrate(t.Context(), d.dsn, dbos.WithMigrateSchema(schema), dbos.WithMigrateLogger(quiet())); err != nil {
		t.Fatal(err)
	}
	quoted := pgx.Identifier{schema}.Sanitize()
	d.exec("insert into " + quoted + ".workflow_status (workflow_uuid, status, name) values ('w-1', 'PENDING', 'flow')")
	one := d.target(target.Config{Name: "dbos", Pool: d.pool, Schema: schema})
	if _, err := one.Deliver(t.Context(), message("w-1", "1")); err != nil {
		t.Fatal(err)
	}
	if n := d.count("select count(*) from " + quoted + ".notifications"); n != 1 || d.messages() != 0 {
		t.Errorf("%d messages there, %d in the default's", n, d.messages())
	}
	if err := one.Probe(t.Context()); err != nil {
		t.Error(err)
	}
}

// TestTarget_OldSchema: a system database from before DBOS's migration 11.
func TestTarget_OldSchema(t *testing.T) {
	t.Parallel()
	d := open(t)
	d.exec("insert into dbos.workflow_status (workflow_uuid, status, name) values ('w-1', 'PENDING', 'flow')")
	d.exec("alter table dbos.notifications drop column serialization")
	if _, err := d.shared().Deliver(t.Context(), message("w-1", "1")); outcome(err) != journal.HandoverAuth {
		t.Error(err)
	}
}
