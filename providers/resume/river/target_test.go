package river_test

import (
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	queue "github.com/riverqueue/river"
	"github.com/riverqueue/river/riverdriver/riverpgxv5"
	"github.com/riverqueue/river/rivermigrate"

	"github.com/landedhq/landed/journal"
	"github.com/landedhq/landed/journal/journaltest"
	"github.com/landedhq/landed/providers/resume"
	"github.com/landedhq/landed/providers/resume/river"
)

func TestMain(m *testing.M) { journaltest.Main(m) }

// refund is the consumer's job, with the message where the target puts it.
type refund struct {
	Order  string          `json:"order"`
	Landed *resume.Payload `json:"landed,omitempty"`
}

func (refund) Kind() string { return "refund" }

// migrate makes River's tables in the schema public, as a consumer does.
func migrate(ctx context.Context, dsn string) error {
	pool, err := pgxpool.New(ctx, dsn)
	if err != nil {
		return err
	}
	defer pool.Close()
	m, err := rivermigrate.New(riverpgxv5.New(pool), &rivermigrate.Config{Logger: slog.New(slog.DiscardHandler)})
	if err != nil {
		return err
	}
	_, err = m.Migrate(ctx, rivermigrate.DirectionUp, nil)
	return err
}

// desk is a database with River's tables, and a target in it.
type desk struct {
	t      *testing.T
	dsn    string
	pool   *pgxpool.Pool
	target *river.Target // in the pool's database, so that DeliverTx may be used
}

func open(t *testing.T) *desk {
	t.Helper()
	d := &desk{t: t, dsn: journaltest.Database(t, migrate)}
	var err error
	if d.pool, err = pgxpool.New(t.Context(), d.dsn); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(d.pool.Close)
	if d.target, err = (river.Config{Name: "river", Pool: d.pool}).Open(); err != nil {
		t.Fatal(err)
	}
	return d
}

// other is a target with connections of its own: another process.
func (d *desk) other(dsn string) *river.Target {
	d.t.Helper()
	target, err := river.Config{Name: "river", DSN: func() (string, error) { return dsn, nil }}.Open()
	if err != nil {
		d.t.Fatal(err)
	}
	d.t.Cleanup(target.Close)
	return target
}

func (d *desk) exec(sql string) {
	d.t.Helper()
	if _, err := d.pool.Exec(d.t.Context(), sql); err != nil {
		d.t.Fatalf("%s: %v", sql, err)
	}
}

func (d *desk) jobs() int {
	d.t.Helper()
	var n int
	if err := d.pool.QueryRow(d.t.Context(), "select count(*) from river_job").Scan(&n); err != nil {
		d.t.Fatal(err)
	}
	return n
}

// work starts a worker and returns where the jobs that it got come out.
func (d *desk) work() <-chan *queue.Job[refund] {
	d.t.Helper()
	got := make(chan *queue.Job[refund], 16)
	workers := queue.NewWorkers()
	queue.AddWorker(workers, queue.WorkFunc(func(_ context.Context, j *queue.Job[refund]) error {
		got <- j
		return nil
	}))
	c, err := queue.NewClient(riverpgxv5.New(d.pool), &queue.Config{Workers: workers, Logger: slog.New(slog.DiscardHandler),
		Queues: map[string]queue.QueueConfig{"payments": {MaxWorkers: 4}}, FetchCooldown: 5 * time.Millisecond, FetchPollInterval: 50 * time.Millisecond})
	if err != nil {
		d.t.Fatal(err)
	}
	if err := c.Start(d.t.Context()); err != nil {
		d.t.Fatal(err)
	}
	d.t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
		defer cancel()
		if err := c.Stop(ctx); err != nil {
			d.t.Error(err)
		}
	})
	return got
}

func (d *desk) next(jobs <-chan *queue.Job[refund]) *queue.Job[refund] {
	d.t.Helper()
	select {
	case j := <-jobs:
		return j
	case <-time.After(20 * time.Second):
		d.t.Fatal("no job came")
		return nil
	}
}

// completed waits until River has written down that all jobs are done.
func (d *desk) completed() {
	d.t.Helper()
	for end := time.Now().Add(20 * time.Second); ; {
		var open int
		if err := d.pool.QueryRow(d.t.Context(), "select count(*) from river_job where state <> 'completed'").Scan(&open); err != nil {
			d.t.Fatal(err)
		}
		if open == 0 {
			return
		}
		if time.Now().After(end) {
			d.t.Fatalf("%d jobs are not completed", open)
		}
	}
}

const resolution = "0190c0de-0000-7000-8000-000000000001"

// message is the same resolution at every call.
func message(number string) resume.Message {
	at := time.Date(2026, 11, 30, 12, 0, 0, 0, time.UTC)
	id := strings.TrimSuffix(resolution, "1") + number
	return resume.Message{ID: id, At: at, Try: 1,
		Data:   resume.Data{ResolutionID: id, EffectID: "e-1", Key: "run-1/refund", Tool: "refund", Resolution: "reissue", At: at},
		Resume: []byte(`{"to":"river","kind":"refund","queue":"payments","args":{"order":"A1"}}`)}
}

func outcome(err error) journal.HandoverOutcome {
	var f *resume.Failure
	if errors.As(err, &f) {
		return f.Outcome
	}
	return ""
}

// TestThrice hands the same resolution over from two processes at once and then
// again, before any worker runs: one job, with the arguments of its own and the
// message. Another resolution of the same effect is another job.
func TestThrice(t *testing.T) {
	t.Parallel()
	d := open(t)
	var wg sync.WaitGroup
	for _, target := range []*river.Target{d.target, d.other(d.dsn)} {
		for try := range 3 {
			wg.Go(func() {
				m := message("1")
				m.Try = try + 1
				if _, err := target.Deliver(t.Context(), m); err != nil {
					t.Error(err)
				}
			})
		}
	}
	wg.Wait()
	if n := d.jobs(); n != 1 {
		t.Fatalf("%d jobs", n)
	}
	got := d.work()
	j := d.next(got)
	want := message("1").Payload()
	if diff := cmp.Diff(refund{Order: "A1", Landed: &want}, j.Args); diff != "" {
		t.Error(diff)
	}
	d.completed()
	again := message("1")
	again.Data.URL = "https://moved.test/e/e-1" // the desk has another address by now
	rec, err := d.target.Deliver(t.Context(), again)
	if err != nil || !strings.Contains(rec.Detail, "before") || rec.Resumed {
		t.Errorf("the job is completed: %+v, %v", rec, err)
	}
	if _, err := d.target.Deliver(t.Context(), message("2")); err != nil {
		t.Fatal(err)
	}
	if j := d.next(got); j.Args.Landed.Data.ResolutionID != message("2").ID {
		t.Errorf("after the second resolution came %+v", j.Args.Landed)
	}
	d.completed()
	if n := d.jobs(); n != 2 {
		t.Errorf("%d jobs", n)
	}
}

// TestPurged says what happens once River has deleted the completed job: a new one.
func TestPurged(t *testing.T) {
	t.Parallel()
	d := open(t)
	got := d.work()
	for range 2 {
		if _, err := d.target.Deliver(t.Context(), message("1")); err != nil {
			t.Fatal(err)
		}
		d.next(got)
		d.completed()
		d.exec("delete from river_job") // as River's cleaner does after the retention
	}
}

// TestGivenUp: a job that nobody will work any more is said to be gone, and no
// second one is inserted.
func TestGivenUp(t *testing.T) {
	t.Parallel()
	for _, state := range []string{"discarded", "cancelled"} {
		t.Run(state, func(t *testing.T) {
			t.Parallel()
			d := open(t)
			if _, err := d.target.Deliver(t.Context(), message("1")); err != nil {
				t.Fatal(err)
			}
			d.exec("update river_job set finalized_at = now(), state = '" + state + "'")
			_, err := d.target.Deliver(t.Context(), message("1"))
			if outcome(err) != journal.HandoverGone || !strings.Contains(err.Error(), state) || d.jobs() != 1 {
				t.Errorf("%v, %d jobs", err, d.jobs())
			}
		})
	}
}

// TestDeliverTx: the job comes with the transaction and goes with it.
func TestDeliverTx(t *testing.T) {
	t.Parallel()
	d := open(t)
	gone := errors.New("undo")
	err := pgx.BeginFunc(t.Context(), d.pool, func(tx pgx.Tx) error {
		if _, err := d.target.DeliverTx(t.Context(), tx, message("1")); err != nil {
			t.Error(err)
		}
		return gone
	})
	if !errors.Is(err, gone) || d.jobs() != 0 {
		t.Fatalf("rolled back: %d jobs, %v", d.jobs(), err)
	}
	err = pgx.BeginFunc(t.Context(), d.pool, func(tx pgx.Tx) error {
		if _, err := d.target.DeliverTx(t.Context(), tx, message("1")); err != nil {
			return err
		}
		var n int // nobody sees it before
		if err := d.pool.QueryRow(t.Context(), "select count(*) from river_job").Scan(&n); err != nil || n != 0 {
			t.Errorf("%d jobs before the commit, %v", n, err)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := d.other(d.dsn).Deliver(t.Context(), message("1")); err != nil || d.jobs() != 1 {
		t.Errorf("the dispatcher's try after it: %d jobs, %v", d.jobs(), err)
	}
	if o := d.other(d.dsn); o.InTx() {
		t.Error("a target with connections of its own says that it is in the journal's database")
	} else if _, err := o.DeliverTx(t.Context(), nil, message("3")); err == nil {
		t.Error("and delivers in a transaction of the journal")
	}
}

// TestDeliverTx_ErrorLeavesTheDecision: without River's table the savepoint is
// rolled back and the rest of the transaction commits.
func TestDeliverTx_ErrorLeavesTheDecision(t *testing.T) {
	t.Parallel()
	d := open(t)
	d.exec("create table decided (id int)")
	d.exec("alter table river_job rename to elsewhere")
	err := pgx.BeginFunc(t.Context(), d.pool, func(tx pgx.Tx) error {
		if _, err := tx.Exec(t.Context(), "insert into decided values (1)"); err != nil {
			return err
		}
		err := pgx.BeginFunc(t.Context(), tx, func(sp pgx.Tx) error {
			_, err := d.target.DeliverTx(t.Context(), sp, message("1"))
			return err
		})
		if outcome(err) != journal.HandoverAuth {
			t.Errorf("without the table: %v", err)
		}
		return nil
	})
	var n int
	if err := errors.Join(err, d.pool.QueryRow(t.Context(), "select count(*) from decided").Scan(&n)); err != nil || n != 1 {
		t.Errorf("%d decisions, %v", n, err)
	}
}

// TestRights runs as a role that has what the documentation says and no more, then
// with each right taken away.
func TestRights(t *testing.T) {
	t.Parallel()
	d := open(t)
	role := "handover_" + strings.ToLower(journal.NewToken()[:8])
	d.exec("create role " + role)
	t.Cleanup(func() {
		for _, sql := range []string{"drop owned by " + role, "drop role " + role} {
			if _, err := d.pool.Exec(context.Background(), sql); err != nil {
				t.Error(err)
			}
		}
	})
	for _, sql := range []string{"grant usage on schema public to ", "grant select, insert, update (kind) on river_job to ", "grant usage on sequence river_job_id_seq to "} {
		d.exec(sql + role)
	}
	low := d.other(as(d.dsn, role))
	if err := low.Probe(t.Context()); err != nil {
		t.Error(err)
	}
	for _, want := range []string{"inserted", "before"} {
		if rec, err := low.Deliver(t.Context(), message("1")); err != nil || !strings.Contains(rec.Detail, want) {
			t.Errorf("%q, wanted %q: %v", rec.Detail, want, err)
		}
	}
	for _, right := range []string{"update (kind) on river_job", "insert on river_job", "usage on sequence river_job_id_seq"} {
		d.exec("revoke " + right + " from " + role)
		if _, err := low.Deliver(t.Context(), message("2")); outcome(err) != journal.HandoverAuth {
			t.Errorf("without %s: %v", right, err)
		}
		d.exec("grant " + right + " to " + role)
	}
	d.exec("revoke insert on river_job from " + role)
	if err := low.Probe(t.Context()); outcome(err) != journal.HandoverAuth {
		t.Errorf("probing without insert: %v", err)
	}
}

// as is the connection string for a role without a login.
func as(dsn, role string) string {
	switch {
	case !strings.Contains(dsn, "://"):
		return dsn + " options='-c role=" + role + "'"
	case strings.Contains(dsn, "?"):
		return dsn + "&options=-c%20role%3D" + role
	}
	return dsn + "?options=-c%20role%3D" + role
}

func TestCheck(t *testing.T) {
	t.Parallel()
	target, err := river.Config{Name: "river", DSN: func() (string, error) { return "", nil }}.Open()
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct{ name, resume, want string }{
		{"kind only", `{"to":"river","kind":"refund"}`, ""},
		{"all", `{"to":"river","kind":"refund","queue":"payments","args":{"order":"A1"}}`, ""},
		{"nothing", ``, "nothing of where"},
		{"no kind", `{"to":"river"}`, "kind"},
		{"a slip", `{"to":"river","kind":"refund","arg":{}}`, "arg"},
		{"args that are no object", `{"to":"river","kind":"refund","args":[1]}`, "args"},
		{"the message's place taken", `{"to":"river","kind":"refund","args":{"landed":1}}`, "landed"},
		{"kind too long", `{"to":"river","kind":"` + strings.Repeat("k", 128) + `"}`, "127"},
		{"queue's name", `{"to":"river","kind":"refund","queue":"Payments!"}`, "queue"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			err := target.Check([]byte(c.resume))
			if (err == nil) != (c.want == "") || err != nil && !strings.Contains(err.Error(), c.want) {
				t.Errorf("%v, wanted something of %q", err, c.want)
			}
			m := message("1")
			m.Resume = []byte(c.resume)
			if _, err := target.Deliver(t.Context(), m); c.want != "" && outcome(err) != journal.HandoverBadAddress {
				t.Errorf("delivering there: %v", err)
			}
		})
	}
}

// TestOtherSchema: River in a schema of its own, beside nothing else.
func TestOtherSchema(t *testing.T) {
	t.Parallel()
	d := open(t)
	d.exec("create schema queue_1")
	m, err := rivermigrate.New(riverpgxv5.New(d.pool), &rivermigrate.Config{Schema: "queue_1", Logger: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := m.Migrate(t.Context(), rivermigrate.DirectionUp, nil); err != nil {
		t.Fatal(err)
	}
	target, err := river.Config{Name: "river", Pool: d.pool, Schema: "queue_1"}.Open()
	if err != nil {
		t.Fatal(err)
	}
	if _, err := target.Deliver(t.Context(), message("1")); err != nil {
		t.Fatal(err)
	}
	var n int
	if err := d.pool.QueryRow(t.Context(), "select count(*) from queue_1.river_job").Scan(&n); err != nil || n != 1 || d.jobs() != 0 {
		t.Errorf("%d jobs there, %d in public: %v", n, d.jobs(), err)
	}
	if err := target.Probe(t.Context()); err != nil {
		t.Error(err)
	}
}

// TestArgs keeps the effect's own arguments as they are, and types what River's
// table can't hold.
func TestArgs(t *testing.T) {
	t.Parallel()
	d := open(t)
	m := message("1")
	m.Resume = []byte(`{"to":"river","kind":"refund","args":{"order":"A1","id":1970670598291982290,"amount":10.10,"note":"a \\u0000 in text"}}`)
	if _, err := d.target.Deliver(t.Context(), m); err != nil {
		t.Fatal(err)
	}
	var raw []byte
	if err := d.pool.QueryRow(t.Context(), "select args - 'landed' from river_job").Scan(&raw); err != nil {
		t.Fatal(err)
	}
	var got map[string]json.RawMessage
	if err := json.Unmarshal(raw, &got); err != nil {
		t.Fatal(err)
	}
	want := map[string]json.RawMessage{"order": json.RawMessage(`"A1"`), "id": json.RawMessage(`1970670598291982290`), "amount": json.RawMessage(`10.10`), "note": json.RawMessage(`"a \\u0000 in text"`)}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	m = message("2")
	m.Resume = []byte(`{"to":"river","kind":"refund","args":{"order":"A\u0000"}}`)
	if _, err := d.target.Deliver(t.Context(), m); outcome(err) != journal.HandoverBadAddress {
		t.Errorf("NUL: %v", err)
	}
}

func TestOpen(t *testing.T) {
	t.Parallel()
	dsn := func() (string, error) { return "", nil }
	for name, cfg := range map[string]river.Config{
		"no name":     {DSN: dsn},
		"no database": {Name: "river"},
		"schema":      {Name: "river", DSN: dsn, Schema: "a-b"},
	} {
		if _, err := cfg.Open(); err == nil {
			t.Errorf("%s: accepted", name)
		}
	}
}
