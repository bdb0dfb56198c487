package postgres_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/landedhq/landed/handlers/api/apitest"
	"github.com/landedhq/landed/journal"
	"github.com/landedhq/landed/journal/client"
	"github.com/landedhq/landed/journal/journaltest"
	"github.com/landedhq/landed/journal/postgres"
	"github.com/landedhq/landed/journal/postgres/cluster"
	"github.com/landedhq/landed/journal/worker"
)

// killable starts a server that the test may kill; journaltest's is shared.
func killable(t *testing.T, dir string) *cluster.Cluster {
	t.Helper()
	journaltest.Cluster(t) // skips where there is no PostgreSQL
	c, err := cluster.Start(context.WithoutCancel(t.Context()), cluster.Config{Dir: dir, Download: true})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Stop() })
	return c
}

// shortTempDir is for servers: their sockets need short paths, their account a
// way in.
func shortTempDir(t *testing.T) string {
	t.Helper()
	dir, err := os.MkdirTemp("", "landed-")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	if err := os.Chmod(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	return dir
}

// ackedJournal notes what a worker was told.
type ackedJournal struct {
	worker.Journal
	granted, committed sync.Map // effect id → true
}

func (j *ackedJournal) Begin(ctx context.Context, r journal.BeginRequest) (journal.BeginAnswer, error) {
	a, err := j.Journal.Begin(ctx, r)
	if err == nil && a.Directive == journal.DirectiveExecute {
		j.granted.Store(a.EffectID, true)
	}
	return a, err
}

func (j *ackedJournal) Commit(ctx context.Context, r journal.CommitRequest) (journal.CommitAnswer, error) {
	a, err := j.Journal.Commit(ctx, r)
	if err == nil {
		j.committed.Store(a.EffectID, true)
	}
	return a, err
}

// lost counts what was acknowledged and is not there, or not committed.
func (j *ackedJournal) lost(t *testing.T, s *postgres.Store) {
	t.Helper()
	n := 0
	j.granted.Range(func(id, _ any) bool {
		n++
		x, err := s.Snapshot(t.Context(), id.(string))
		_, committed := j.committed.Load(id)
		if err != nil || committed && x.Effect.State != journal.StateCommitted {
			t.Errorf("an acknowledged effect is lost: %s, committed %v, now %s, %v", id, committed, x.Effect.State, err)
		}
		return true
	})
	if n == 0 {
		t.Error("nothing was acknowledged")
	}
}

// TestServerKilled kills the database server again and again under workers, on
// the store and over HTTP. They carry on by themselves: every call is done,
// once, and nothing that was acknowledged is lost.
func TestServerKilled(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(shortTempDir(t), "c")
	c := killable(t, dir)
	dsn := c.DSN("postgres")
	if err := postgres.Migrate(t.Context(), dsn); err != nil {
		t.Fatal(err)
	}
	s, err := postgres.Open(t.Context(), dsn, postgres.Options{Policy: journal.DefaultPolicy(), MaxConns: 6})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.Close)
	over, err := client.New(client.Config{BaseURL: apitest.Serve(t, s), Token: apitest.Token(t, s, "w1")})
	if err != nil {
		t.Fatal(err)
	}
	l, stop := newLedger(), make(chan struct{})
	run := func(ctx context.Context, _ worker.Call) (worker.Outcome, error) { return l.take(ctx) }
	direct, http := &ackedJournal{Journal: s}, &ackedJournal{Journal: over}
	var done atomic.Int64
	var all sync.WaitGroup
	for i, j := range []*ackedJournal{direct, http, direct, http, direct, http} {
		w := newFaultWorker(t, j, run)
		if i == 0 {
			for _, tool := range []string{"mail.send", "ticket.create", "pay"} {
				if err := s.RegisterTool(t.Context(), journal.Tool{Name: tool, Class: classOf(tool), Provider: "asked", ClientTimeout: 10 * time.Second, KeyWindow: windowOf(tool)}); err != nil {
					t.Fatal(err)
				}
			}
		}
		all.Go(func() {
			for n := 0; ; n++ {
				select {
				case <-stop:
					return
				default:
				}
				key := fmt.Sprintf("w%d-%d", i, n)
				a, err := w.Do(t.Context(), faultCall([]string{"mail.send", "ticket.create", "pay"}[n%3], key))
				if err != nil || a.Status != worker.StatusDone || l.of(key) != 1 {
					t.Errorf("%s: %s, %v, %d effects", key, a.Status, err, l.of(key))
				}
				done.Add(1)
			}
		})
	}
	const kills = 3
	for range kills {
		until := done.Load() + 30 + rand.Int64N(60)
		waitUntil(t, func() bool { return done.Load() >= until })
		c = killServer(t, c, dir)
	}
	until := done.Load() + 30 // they work after the last one too
	waitUntil(t, func() bool { return done.Load() >= until })
	close(stop)
	all.Wait()
	direct.lost(t, s)
	http.lost(t, s)
	t.Logf("%d calls over %d kills", done.Load(), kills)
}

// killServer kills the postmaster and starts it again on the same files.
func killServer(t *testing.T, c *cluster.Cluster, dir string) *cluster.Cluster {
	t.Helper()
	p, err := os.FindProcess(c.PID())
	if err == nil {
		err = p.Kill()
	}
	if err != nil {
		t.Fatal(err)
	}
	<-c.Done()
	_ = c.Stop()
	return killable(t, dir)
}

// waitUntil polls for up to a minute.
func waitUntil(t *testing.T, ok func() bool) {
	t.Helper()
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	end := time.After(time.Minute)
	for !ok() {
		select {
		case <-tick.C:
		case <-end:
			t.Fatal("waited a minute in vain")
		}
	}
}
