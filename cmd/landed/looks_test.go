package main

import (
	"context"
	"fmt"
	"log/slog"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/landedhq/landed/journal"
	"github.com/landedhq/landed/journal/journaltest"
	"github.com/landedhq/landed/journal/postgres"
	"github.com/landedhq/landed/providers/evidence"
)

// slowPoke is a provider that behaves as its field says.
type slowPoke struct {
	hangs    bool
	perPause int64 // looks until it asks for a pause; 0 = never
	found    func(ref string) bool

	asked, since      atomic.Int64
	mu                sync.Mutex
	until             time.Time // it asked to be left alone
	disturbed, pauses int
}

const providerPause = time.Second

func (p *slowPoke) Sheet() evidence.Sheet {
	return evidence.Sheet{Kind: "fake", Version: "1", Class: evidence.L1, IndexLag: time.Millisecond, ProcessingHorizon: time.Millisecond,
		Conclusive: true, Scopes: []string{"all"}, Mode: "test"}
}

func (p *slowPoke) Session(context.Context) (evidence.Session, error) { return p, nil }

func (p *slowPoke) Close() error { return nil }

func (p *slowPoke) Find(ctx context.Context, q evidence.Query) (evidence.Answer, error) {
	p.asked.Add(1)
	if p.hangs {
		<-ctx.Done()
		return evidence.Answer{}, ctx.Err()
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if time.Now().Before(p.until.Add(-providerPause / 10)) {
		p.disturbed++
	}
	if p.perPause > 0 && p.since.Add(1) > p.perPause {
		p.since.Store(0)
		p.pauses++
		p.until = time.Now().Add(providerPause)
		return evidence.Answer{}, &evidence.ProviderError{Kind: evidence.FaultRateLimited, Detail: "too many", RetryAfter: providerPause}
	}
	a := evidence.Answer{AllPagesRead: true, Scopes: []journal.Scope{{Name: "all", Seen: true}}}
	if p.found(q.Ref) {
		a.Matches = []journal.Match{{ID: q.Ref, State: journal.MatchEffective}}
	}
	return a, nil
}

// TestThousandStuckEffects: four providers, one that hangs and one that limits
// its rate. The hanging one holds up no other, the limiting one is left alone
// while it asks for that, and everything that can be answered is.
func TestThousandStuckEffects(t *testing.T) {
	t.Parallel()
	const each = 250
	names := []string{"quick", "odd", "limiting", "hanging"}
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	store, err := postgres.Open(ctx, journaltest.Database(t, postgres.Migrate), postgres.Options{CanLook: func(string) bool { return true }, MaxConns: 16})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(store.Close)
	landed := map[string]bool{}
	found := func(ref string) bool { return landed[ref] }
	adapters, pokes := map[string]evidence.Adapter{}, map[string]*slowPoke{}
	for _, n := range names {
		pokes[n] = &slowPoke{hangs: n == "hanging", found: found}
		adapters[n] = pokes[n]
		if err := store.RegisterTool(ctx, journal.Tool{Name: n, Class: journal.ClassAtMostOnce, Provider: n, ClientTimeout: time.Second}); err != nil {
			t.Fatal(err)
		}
		for i := range each + 1 { // the last one is the canary
			key := fmt.Sprintf("run/%s/%d", n, i)
			landed[journal.Ref("", key)] = i%2 == 0
		}
	}
	pokes["limiting"].perPause = 200
	fillStuck(ctx, t, store, names, each)
	collector := evidence.NewCollector(store, adapters, nil, slog.New(slog.DiscardHandler))
	var wg sync.WaitGroup
	for _, n := range names {
		wg.Go(func() {
			for ctx.Err() == nil {
				if _, err := collector.Round(ctx, n); err != nil && ctx.Err() == nil {
					t.Errorf("%s: %v", n, err)
				}
				select {
				case <-ctx.Done():
				case <-time.After(20 * time.Millisecond):
				}
			}
		})
	}
	count := func(sql string, args ...any) (n int) {
		if err := store.Pool().QueryRow(t.Context(), sql, args...).Scan(&n); err != nil {
			t.Fatal(err)
		}
		return n
	}
	deadline := time.Now().Add(2 * time.Minute)
	const answered = "select count(distinct effect_id) from evidence where adapter <> 'hanging' and reason <> 'provider_error'"
	for count(answered) < 3*each && time.Now().Before(deadline) {
		time.Sleep(50 * time.Millisecond)
	}
	if n := count(answered); n != 3*each {
		t.Errorf("%d of %d effects have an answer", n, 3*each)
	}
	if n := count("select count(*) from evidence e join effects f on f.id = e.effect_id where (e.verdict = 'FOUND') <> (right(f.key, 1)::int % 2 = 0) and e.reason = ''"); n != 0 {
		t.Errorf("%d answers are wrong", n)
	}
	if p := pokes["limiting"]; p.disturbed > 3*p.pauses || p.pauses == 0 { // one more look, of three requests, was under way
		t.Errorf("the limiting provider was asked %d times in %d pauses that it asked for", p.disturbed, p.pauses)
	}
	if n := pokes["hanging"].asked.Load(); n == 0 || n > 20 {
		t.Errorf("the hanging provider was asked %d times", n)
	}
	state, err := store.ProviderState(t.Context(), "limiting")
	if err != nil || state.LastFaultAt == nil || state.LastOKAt == nil {
		t.Errorf("what is remembered of it: %+v, %v", state, err)
	}
	var mem runtime.MemStats
	runtime.ReadMemStats(&mem)
	if mem.HeapInuse > 150<<20 {
		t.Errorf("the heap has %d MB", mem.HeapInuse>>20)
	}
	cancel()
	wg.Wait()
}

// fillStuck makes effects whose outcome nobody knows, and one commit per
// provider as its canary.
func fillStuck(ctx context.Context, t *testing.T, store *postgres.Store, tools []string, each int) {
	t.Helper()
	var wg sync.WaitGroup
	for _, n := range tools {
		wg.Go(func() {
			for i := range each + 1 {
				r := journal.BeginRequest{Key: fmt.Sprintf("run/%s/%d", n, i), ClaimID: journal.NewToken(), Tool: n, RootRun: "run", Operation: "do", Lease: time.Second}
				a, err := store.Begin(ctx, r)
				if err != nil {
					t.Errorf("begin: %v", err)
					return
				}
				rep := journal.Report{EffectID: a.EffectID, Attempt: a.Attempt, LeaseToken: a.LeaseToken, Key: r.Key, Tool: n}
				if i < each {
					_, err = store.Fail(ctx, journal.FailRequest{Report: rep, Phase: journal.PhaseSent, Error: "lost"})
				} else {
					_, err = store.Commit(ctx, journal.CommitRequest{Report: rep, ProviderID: "x"})
				}
				if err != nil {
					t.Errorf("report: %v", err)
					return
				}
			}
		})
	}
	wg.Wait()
}

// TestLagIsMeasured: a commit that the provider shows after a while becomes a
// sample of at least that while, and waiting for it is then the rule.
func TestLagIsMeasured(t *testing.T) {
	t.Parallel()
	store, err := postgres.Open(t.Context(), journaltest.Database(t, postgres.Migrate), postgres.Options{CanLook: func(string) bool { return true }})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(store.Close)
	const lag = 700 * time.Millisecond
	var shows atomic.Int64
	p := &slowPoke{found: func(string) bool { return time.Now().UnixMilli() >= shows.Load() }}
	if err := store.RegisterTool(t.Context(), journal.Tool{Name: "slow", Class: journal.ClassAtMostOnce, Provider: "slow", ClientTimeout: time.Second}); err != nil {
		t.Fatal(err)
	}
	fillStuck(t.Context(), t, store, []string{"slow"}, 0) // one commit
	shows.Store(time.Now().Add(lag).UnixMilli())
	c := evidence.NewCollector(store, map[string]evidence.Adapter{"slow": p}, nil, slog.New(slog.DiscardHandler))
	var state journal.ProviderState
	for deadline := time.Now().Add(time.Minute); state.Lag.Samples == 0 && time.Now().Before(deadline); time.Sleep(20 * time.Millisecond) {
		if _, err := c.Round(t.Context(), "slow"); err != nil {
			t.Fatal(err)
		}
		if state, err = store.ProviderState(t.Context(), "slow"); err != nil {
			t.Fatal(err)
		}
	}
	if state.Lag.Samples != 1 || state.Lag.P99 < lag || state.Lag.Lost != 0 {
		t.Fatalf("measured %+v, want one sample of at least %s", state.Lag, lag)
	}
	// A lost answer now: empty looks mean nothing before three times that.
	shows.Store(time.Now().Add(time.Hour).UnixMilli())
	r := journal.BeginRequest{Key: "run/lost", ClaimID: journal.NewToken(), Tool: "slow", RootRun: "run", Operation: "do", Lease: time.Second}
	a, err := store.Begin(t.Context(), r)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := store.Fail(t.Context(), journal.FailRequest{Report: journal.Report{EffectID: a.EffectID, Attempt: 1, LeaseToken: a.LeaseToken, Key: r.Key, Tool: "slow"}, Phase: journal.PhaseSent, Error: "lost"}); err != nil {
		t.Fatal(err)
	}
	e, err := c.LookNow(t.Context(), a.EffectID, "operator:olga")
	if err != nil || e.Reason != journal.CannotTooEarly {
		t.Fatalf("%s %s, %v; want too early", e.Verdict, e.Reason, err)
	}
	// What it counted with is kept with the evidence, for the page.
	k, err := store.Case(t.Context(), a.EffectID)
	want := journal.Waited{Lag: 3 * state.Lag.P99, Declared: time.Millisecond, P99: state.Lag.P99, Samples: 1}
	if err != nil || len(k.Evidence) != 1 || k.Evidence[0].Waited != want || e.Waited != want {
		t.Errorf("evidence %+v, %v, want it to have waited %+v", k.Evidence, err, want)
	}
	s, err := store.Snapshot(t.Context(), a.EffectID)
	if err != nil {
		t.Fatal(err)
	}
	at := s.Attempts[0]
	if want := at.SendBy.Add(at.ClientTimeout + time.Millisecond + 3*state.Lag.P99); e.LookAgainAt.Before(want.Add(-time.Millisecond)) {
		t.Errorf("look again at %s, want %s: send_by, the client's time-out and three times the measured lag", e.LookAgainAt, want)
	}
}
