package riverworker_test

import (
	"bufio"
	"context"
	"fmt"
	"log/slog"
	"net/http"
	"os"
	"os/exec"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/riverqueue/river"
	"github.com/riverqueue/river/riverdriver/riverpgxv5"
	"github.com/riverqueue/river/rivermigrate"

	"github.com/landedhq/landed/journal"
	"github.com/landedhq/landed/journal/journaltest"
	"github.com/landedhq/landed/journal/postgres"
	"github.com/landedhq/landed/journal/worker"
	riverworker "github.com/landedhq/landed/journal/worker/river"
	"github.com/landedhq/landed/journal/worker/workertest"
	"github.com/landedhq/landed/providers/resume"
	target "github.com/landedhq/landed/providers/resume/river"
)

// childDSN and childProvider make the test binary a worker that a test can kill.
const (
	childDSN      = "LANDED_RIVER_CHILD_DSN"
	childProvider = "LANDED_RIVER_CHILD_PROVIDER"
)

func TestMain(m *testing.M) {
	if dsn := os.Getenv(childDSN); dsn != "" {
		if err := work(context.Background(), dsn, os.Getenv(childProvider)); err != nil {
			fmt.Println("FAILED", err)
			os.Exit(1)
		}
		fmt.Println("WORKING")
		select {}
	}
	journaltest.Main(m)
}

// refund is the consumer's job. Its first and its second one differ by "landed",
// which the worker does not look at.
type refund struct {
	Order string `json:"order"`
}

func (refund) Kind() string { return "refund" }

// work starts a River client whose jobs pay under the journal.
func work(ctx context.Context, dsn, provider string) error {
	pool, err := pgxpool.New(ctx, dsn)
	if err != nil {
		return err
	}
	store, err := postgres.Open(ctx, dsn, postgres.Options{Policy: journal.DefaultPolicy(), MaxConns: 4})
	if err != nil {
		return err
	}
	_, err = client(ctx, pool, store, provider)
	return err
}

func client(ctx context.Context, pool *pgxpool.Pool, j worker.Journal, provider string) (*river.Client[pgx.Tx], error) {
	r := worker.NewRegistry()
	err := r.Register(worker.ToolSpec{Tool: journal.Tool{Name: "refund", Class: journal.ClassAtMostOnce, Provider: "bank", ClientTimeout: time.Second}, Tracked: true,
		Run: func(ctx context.Context, call worker.Call) (worker.Outcome, error) {
			client, err := worker.Client(ctx)
			if err != nil {
				return worker.Outcome{}, err
			}
			req, err := http.NewRequestWithContext(ctx, http.MethodPost, provider, strings.NewReader(string(call.Args)))
			if err != nil {
				return worker.Outcome{}, worker.NotSent(err)
			}
			return worker.Classifier{}.Send(client, req)
		}})
	if err != nil {
		return nil, err
	}
	if err := r.Sync(ctx, j); err != nil {
		return nil, err
	}
	w := worker.New(j, r, worker.Options{Logger: slog.New(slog.DiscardHandler), Patience: -1})
	workers := river.NewWorkers()
	river.AddWorker(workers, river.WorkFunc(func(ctx context.Context, job *river.Job[refund]) error {
		_, err := riverworker.Do(ctx, w, "river", job.JobRow, worker.Call{
			Run: worker.Run{RootRun: "refund-" + job.Args.Order}, Tool: "refund", Step: "refund", Lease: time.Second})
		return err
	}))
	c, err := river.NewClient(riverpgxv5.New(pool), &river.Config{Workers: workers, Logger: slog.New(slog.DiscardHandler),
		Queues: map[string]river.QueueConfig{river.QueueDefault: {MaxWorkers: 8}}, FetchCooldown: 5 * time.Millisecond, FetchPollInterval: 50 * time.Millisecond})
	if err != nil {
		return nil, err
	}
	return c, c.Start(ctx)
}

// migrate makes the journal's tables and River's in one database.
func migrate(ctx context.Context, dsn string) error {
	if err := postgres.Migrate(ctx, dsn); err != nil {
		return err
	}
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

// desk is one database with the journal and River in it, and a dispatcher.
type desk struct {
	t        *testing.T
	dsn      string
	pool     *pgxpool.Pool
	store    *postgres.Store
	dispatch *resume.Dispatcher
	insert   *river.Client[pgx.Tx]
}

func open(t *testing.T) *desk {
	t.Helper()
	d := &desk{t: t, dsn: journaltest.Database(t, migrate)}
	var err error
	if d.pool, err = pgxpool.New(t.Context(), d.dsn); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(d.pool.Close)
	if d.store, err = postgres.Open(t.Context(), d.dsn, postgres.Options{Policy: journal.DefaultPolicy(), MaxConns: 4}); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(d.store.Close)
	to, err := target.Config{Name: "river", Pool: d.pool}.Open()
	if err != nil {
		t.Fatal(err)
	}
	if d.dispatch, err = resume.New(resume.Config{Store: d.store, Targets: []resume.Target{to}, External: "https://desk.test"}); err != nil {
		t.Fatal(err)
	}
	if d.insert, err = river.NewClient(riverpgxv5.New(d.pool), &river.Config{Logger: slog.New(slog.DiscardHandler)}); err != nil {
		t.Fatal(err)
	}
	return d
}

// work starts a client in this process.
func (d *desk) work(p *workertest.Provider) {
	d.t.Helper()
	c, err := client(d.t.Context(), d.pool, d.store, p.URL)
	if err != nil {
		d.t.Fatal(err)
	}
	d.t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
		defer cancel()
		if err := c.StopAndCancel(ctx); err != nil {
			d.t.Error(err)
		}
	})
}

func (d *desk) start(order string) {
	d.t.Helper()
	if _, err := d.insert.Insert(d.t.Context(), refund{Order: order}, nil); err != nil {
		d.t.Fatal(err)
	}
}

func (d *desk) count(sql string, args ...any) (n int) {
	d.t.Helper()
	if err := d.pool.QueryRow(d.t.Context(), sql, args...).Scan(&n); err != nil {
		d.t.Fatalf("%s: %v", sql, err)
	}
	return n
}

func (d *desk) eventually(what string, holds func() bool) {
	d.t.Helper()
	for end := time.Now().Add(60 * time.Second); !holds(); {
		if time.Now().After(end) {
			d.t.Fatalf("in vain waited for: %s", what)
		}
		select {
		case <-d.t.Context().Done():
			d.t.Fatal(context.Cause(d.t.Context()))
		case <-time.After(10 * time.Millisecond):
		}
	}
}

// ended waits until so many jobs are completed and cancelled, and none is left.
func (d *desk) ended(completed, cancelled int) {
	d.t.Helper()
	d.eventually(fmt.Sprintf("%d completed and %d cancelled jobs", completed, cancelled), func() bool {
		return d.count("select count(*) from river_job where state = 'completed'") == completed &&
			d.count("select count(*) from river_job where state = 'cancelled'") == cancelled &&
			d.count("select count(*) from river_job where state not in ('completed', 'cancelled')") == 0
	})
}

// parked waits until a job was cancelled because its effect is parked.
func (d *desk) parked() (effect string) {
	d.t.Helper()
	d.eventually("a job is cancelled, its effect parked", func() bool {
		return d.pool.QueryRow(d.t.Context(), `select e.id::text from effects e join river_job j on j.errors::text like '%effect ' || e.id || ' is parked%'
			where e.state = 'PARKED' and j.state = 'cancelled'`).Scan(&effect) == nil
	})
	return effect
}

func (d *desk) decide(effect string, v journal.Verb) {
	d.t.Helper()
	s, err := d.store.Snapshot(d.t.Context(), effect)
	if err != nil {
		d.t.Fatal(err)
	}
	dec := journal.Decision{EffectID: effect, Verb: v, Expected: s.Effect.Version, Digest: s.EvidenceDigest(), Source: "page",
		Actor:      journal.Actor{Issuer: "https://idp.test", Subject: "olga", Name: "Olga Operator", Roles: []journal.Role{journal.RoleOperator}},
		ReasonCode: "confirmed_by_person", Reason: "asked the customer by phone"}
	switch v {
	case journal.VerbReissue:
		dec.Mode = journal.NewKey
	case journal.VerbCloseLanded:
		dec.ProviderID = "p-7"
	}
	if _, err := d.store.Decide(d.t.Context(), dec); err != nil {
		d.t.Fatal(err)
	}
	if err := d.dispatch.Round(d.t.Context()); err != nil {
		d.t.Fatal(err)
	}
}

// failOnce answers 502 once, after it did it.
func failOnce() http.HandlerFunc {
	left := make(chan struct{}, 1)
	left <- struct{}{}
	return func(w http.ResponseWriter, _ *http.Request) {
		select {
		case <-left:
			w.WriteHeader(http.StatusBadGateway)
		default:
			_, _ = w.Write([]byte(`{"id":"p-1"}`))
		}
	}
}

// TestDo_ParkedAndDecided: the job ends, the decision inserts another one, and that
// executes the order or takes the outcome. Handing over again inserts none.
func TestDo_ParkedAndDecided(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		verb                        journal.Verb
		completed, cancelled, asked int
		state                       string
	}{
		{journal.VerbReissue, 1, 1, 2, "COMMITTED"},
		{journal.VerbCloseLanded, 1, 1, 1, "COMMITTED"},
		{journal.VerbCloseNotLanded, 0, 2, 1, "ABANDONED"},
	} {
		t.Run(string(c.verb), func(t *testing.T) {
			t.Parallel()
			d := open(t)
			p := workertest.NewProvider(t, failOnce())
			d.work(p)
			d.start("A1")
			d.decide(d.parked(), c.verb)
			d.ended(c.completed, c.cancelled)
			if n := d.count("select count(*) from effects where state = $1", c.state); n != 1 || p.Count() != c.asked {
				t.Errorf("%d effects are %s, asked %d times", n, c.state, p.Count())
			}
			d.eventually("the delivery is closed", func() bool { return d.count("select count(*) from deliveries where acked_at is null") == 0 })
		})
	}
}

// TestJ01_KilledWhileSending kills the client's process with the request on its
// way. The job is run again once River finds it dead, and parks: the provider was
// asked once, until a person orders it again.
func TestJ01_KilledWhileSending(t *testing.T) {
	t.Parallel()
	d := open(t)
	arrived := make(chan struct{}, 8)
	var dead atomic.Bool
	p := workertest.NewProvider(t, func(w http.ResponseWriter, r *http.Request) {
		if !dead.Load() {
			arrived <- struct{}{}
			<-r.Context().Done()
			return
		}
		_, _ = w.Write([]byte(`{"id":"p-1"}`))
	})
	d.start("A1")
	cmd := exec.Command(os.Args[0], "-test.run=^$")
	cmd.Env = append(os.Environ(), childDSN+"="+d.dsn, childProvider+"="+p.URL)
	cmd.Stderr = os.Stderr
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() { _ = cmd.Process.Kill() }()
	if in := bufio.NewScanner(out); !in.Scan() || in.Text() != "WORKING" {
		t.Fatalf("the child says %q", in.Text())
	}
	<-arrived
	if err := cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = cmd.Wait()
	dead.Store(true)
	d.work(p)
	// What River's rescuer does with a job whose client is gone, an hour later.
	if _, err := d.pool.Exec(t.Context(), "update river_job set state = 'available', scheduled_at = now() where state = 'running'"); err != nil {
		t.Fatal(err)
	}
	effect := d.parked()
	if p.Count() != 1 {
		t.Fatalf("asked %d times", p.Count())
	}
	d.decide(effect, journal.VerbReissue)
	d.ended(1, 1)
	if n := d.count("select count(*) from effects where state = 'COMMITTED' and provider_id = 'p-1'"); n != 1 || p.Count() != 2 {
		t.Errorf("%d effects are committed, asked %d times", n, p.Count())
	}
}

// TestJ05_TheSameJobManyTimes: jobs with the same arguments, at once and after the
// end, are one effect.
func TestJ05_TheSameJobManyTimes(t *testing.T) {
	t.Parallel()
	d := open(t)
	p := workertest.NewProvider(t, nil)
	for range 4 {
		d.start("A1")
	}
	d.work(p)
	d.ended(4, 0)
	d.start("A1")
	d.start("A2")
	d.ended(6, 0)
	if p.Count() != 2 {
		t.Errorf("asked %d times", p.Count())
	}
}
