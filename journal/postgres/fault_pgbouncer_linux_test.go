package postgres_test

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"testing"

	"github.com/landedhq/landed/handlers/api/apitest"
	"github.com/landedhq/landed/journal"
	"github.com/landedhq/landed/journal/client"
	"github.com/landedhq/landed/journal/journaltest"
	"github.com/landedhq/landed/journal/journaltest/conform"
	"github.com/landedhq/landed/journal/postgres"
	"github.com/landedhq/landed/journal/worker"
)

func openThrough(t *testing.T, dsn string, conns int32) *postgres.Store {
	t.Helper()
	p := journal.DefaultPolicy()
	p.RetryBudget = 2 // as the suite's own store
	s, err := postgres.Open(t.Context(), dsn, postgres.Options{Policy: p, MaxConns: conns, CanLook: func(p string) bool { return p == "asked" }})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.Close)
	return s
}

// TestO02_PgBouncerInTransactionMode runs the suite of every journal through a
// pooler that gives each transaction another connection: no session state, no
// prepared statements, and polling for decisions.
func TestO02_PgBouncerInTransactionMode(t *testing.T) {
	t.Parallel()
	through := journaltest.PgBouncer(t, 3)
	conform.Run(t, func(t *testing.T, s *postgres.Store) conform.Journal {
		return openThrough(t, through(s.Pool().Config().ConnConfig.Database), 4)
	})
}

// TestO02_WorkersThroughPgBouncer: more workers than connections, on the store
// and over HTTP, decisions and group commit included.
func TestO02_WorkersThroughPgBouncer(t *testing.T) {
	t.Parallel()
	d := openDesk(t)
	through := journaltest.PgBouncer(t, 3)
	s, err := postgres.Open(t.Context(), through(d.database()), postgres.Options{Policy: journal.DefaultPolicy(), MaxConns: 12})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.Close)
	l := newLedger()
	var first sync.Map
	over, err := client.New(client.Config{BaseURL: apitest.Serve(t, s), Token: apitest.Token(t, s, "w1")})
	if err != nil {
		t.Fatal(err)
	}
	run := func(ctx context.Context, c worker.Call) (worker.Outcome, error) {
		if _, again := first.LoadOrStore(c.Key, true); !again && strings.HasSuffix(c.Key, "-0") {
			return worker.Outcome{}, worker.Unknown(context.DeadlineExceeded) // nothing landed, and nobody knows
		}
		return l.take(ctx)
	}
	workers := []*worker.Worker{newFaultWorker(t, s, run), newFaultWorker(t, over, run)}
	var all sync.WaitGroup
	for i := range 24 {
		w := workers[i%2]
		all.Go(func() {
			for n := range 6 {
				key := fmt.Sprintf("w%d-%d", i, n)
				a, err := w.Do(t.Context(), faultCall("mail.send", key))
				if err == nil && a.Parked() { // a person orders it again; the worker hears of it by polling
					go func() {
						d.look(a.EffectID, journal.NotFound)
						d.decide(a.EffectID, journal.VerbReissue, journal.NewKey)
					}()
					if _, err = w.Await(t.Context(), a.EffectID, a.Cursor); err == nil {
						a, err = w.Do(t.Context(), faultCall("mail.send", key))
					}
				}
				if err != nil || a.Status != worker.StatusDone || l.of(key) != 1 {
					t.Errorf("%s: %s, %v, %d effects", key, a.Status, err, l.of(key))
				}
			}
		})
	}
	all.Wait()
	if n := d.count("select count(*) from effects where state = 'COMMITTED' and not open_delivery"); n != 24*6 {
		t.Errorf("%d effects are committed, want %d", n, 24*6)
	}
}
