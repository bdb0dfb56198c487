package postgres_test

import (
	"context"
	"errors"
	"fmt"
	"runtime/pprof"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/landedhq/landed/journal"
	"github.com/landedhq/landed/journal/journaltest/fault"
	"github.com/landedhq/landed/journal/postgres"
)

// faulty opens a store behind a proxy.
func (d *desk) faulty(change ...func(*postgres.Options)) (*postgres.Store, *fault.Proxy) {
	d.t.Helper()
	p, err := fault.Listen(d.dsn)
	if err != nil {
		d.t.Fatal(err)
	}
	d.t.Cleanup(p.Close)
	o := postgres.Options{Policy: journal.DefaultPolicy(), MaxConns: 8, CanLook: func(p string) bool { return p == "asked" }}
	for _, f := range change {
		f(&o)
	}
	s, err := postgres.Open(d.t.Context(), p.DSN(), o)
	if err != nil {
		d.t.Fatal(err)
	}
	d.t.Cleanup(s.Close)
	d.t.Cleanup(func() { p.CutAll() }) // closing waits for connections that are silent
	return s, p
}

// TestBatch_Broken breaks what concurrent callers write together: before the
// server knows of it, and after it is durable with the answer lost. Each caller
// gets an answer of its own, and begin with the same claim id the same grant.
func TestBatch_Broken(t *testing.T) {
	t.Parallel()
	for name, at := range map[string]fault.Point{
		"failed, not applied": {Kind: fault.Bind, SQL: "BeginEffects"},
		"failed, but applied": {Kind: fault.CommandComplete, SQL: "BeginEffects"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			d := openDesk(t)
			s, p := d.faulty()
			const n = 24
			requests, answers := make([]journal.BeginRequest, n), make([]journal.BeginAnswer, n)
			for i := range requests {
				requests[i] = request("mail.send", fmt.Sprintf("b%d", i))
			}
			trap := crowd(t, p, at, fault.Cut(), n, func(i int) { answers[i] = beginAgain(t, s, requests[i]) })
			if !trap.Met() {
				t.Error("nothing was cut")
			}
			for i, a := range answers {
				if a.Directive != journal.DirectiveExecute || a.Attempt != 1 || d.snap(a.EffectID).Attempts[0].ClaimID != requests[i].ClaimID {
					t.Errorf("caller %d got %s, attempt %d", i, a.Directive, a.Attempt)
				}
			}
			if got := d.count("select count(*) from effects"); got != n {
				t.Errorf("%d rows, want %d", got, n)
			}
			commitAll(t, d, s, p, requests, answers)
		})
	}
}

// TestBatch_FailsAtItsEnd: every row of a batch is answered, then its
// transaction fails. None of these answers may reach a caller.
func TestBatch_FailsAtItsEnd(t *testing.T) {
	t.Parallel()
	d := openDesk(t)
	s, p := d.faulty()
	for _, sql := range []string{
		`create function refuse() returns trigger language plpgsql as $$ begin raise 'not this one' using errcode = 'insufficient_resources'; end $$`,
		`create constraint trigger refuse after insert on effects deferrable initially deferred for each row when (new.key = 'e5') execute function refuse()`,
	} {
		if _, err := d.Pool().Exec(t.Context(), sql); err != nil {
			t.Fatal(err)
		}
	}
	const n = 24
	errs, answers := make([]error, n), make([]journal.BeginAnswer, n)
	crowd(t, p, fault.Point{Kind: fault.Query, SQL: "never"}, fault.Cut(), n, func(i int) {
		answers[i], errs[i] = s.Begin(t.Context(), request("mail.send", fmt.Sprint("e", i)))
	})
	for i, a := range answers {
		if refused := i == 5; refused != errors.Is(errs[i], journal.ErrUnavailable) || !refused && errs[i] != nil {
			t.Errorf("caller %d: %v", i, errs[i])
		}
		if errs[i] == nil {
			if _, err := d.Snapshot(t.Context(), a.EffectID); err != nil {
				t.Errorf("caller %d got %s, and there is no row: %v", i, a.Directive, err)
			}
		}
	}
	if got := d.count("select count(*) from effects"); got != n-1 {
		t.Errorf("%d rows, want all but one", got)
	}
}

// crowd makes n calls so that the first one's BeginEffect is held back until the
// others wait behind it, with a trap for what they are written with.
func crowd(t *testing.T, p *fault.Proxy, at fault.Point, act fault.Act, n int, call func(i int)) *fault.Trap {
	t.Helper()
	held, gathered := make(chan struct{}), make(chan struct{})
	p.Arm(fault.Point{Kind: fault.Bind, SQL: "BeginEffect"}, fault.Run(func() {
		close(held)
		<-gathered
	}))
	var all sync.WaitGroup
	label := journal.NewToken()
	start := func(i int) {
		all.Go(func() { pprof.Do(t.Context(), pprof.Labels("crowd", label), func(context.Context) { call(i) }) })
	}
	start(0)
	<-held
	for i := 1; i < n; i++ {
		start(i)
	}
	waitUntil(t, func() bool { return waiting(label) == n })
	trap := p.Arm(at, act)
	close(gathered)
	all.Wait()
	return trap
}

// waiting counts the goroutines of a crowd that are in a group: the store does
// not tell, so their stacks do.
func waiting(label string) int {
	var out strings.Builder
	_ = pprof.Lookup("goroutine").WriteTo(&out, 1)
	n := 0
	_, entries, _ := strings.Cut(out.String(), "\n")
	for _, entry := range strings.Split(entries, "\n\n") {
		var same int
		if strings.Contains(entry, label) && strings.Contains(entry, "postgres.(*group[") {
			_, _ = fmt.Sscan(entry, &same)
			n += same
		}
	}
	return n
}

// beginAgain begins until there is an answer, as Do does.
func beginAgain(t *testing.T, s *postgres.Store, r journal.BeginRequest) journal.BeginAnswer {
	t.Helper()
	for range 50 {
		a, err := s.Begin(t.Context(), r)
		if err == nil {
			return a
		}
		if !errors.Is(err, journal.ErrUnavailable) {
			t.Errorf("begin %s: %v", r.Key, err)
			return a
		}
	}
	t.Errorf("begin %s is never answered", r.Key)
	return journal.BeginAnswer{}
}

// commitAll commits at once, and loses an answer on the way.
func commitAll(t *testing.T, d *desk, s *postgres.Store, p *fault.Proxy, requests []journal.BeginRequest, answers []journal.BeginAnswer) {
	t.Helper()
	trap := p.Arm(fault.Point{Kind: fault.CommandComplete, SQL: "CommitEffect"}, fault.Cut())
	var all sync.WaitGroup
	for i := range requests {
		all.Go(func() {
			c := journal.CommitRequest{Report: report(requests[i], answers[i]), ProviderID: fmt.Sprint("p", i)}
			var err error
			for range 50 {
				if _, err = s.Commit(t.Context(), c); !errors.Is(err, journal.ErrUnavailable) {
					break
				}
			}
			if err != nil {
				t.Errorf("commit %d: %v", i, err)
			}
		})
	}
	all.Wait()
	if !trap.Met() {
		t.Error("no commit was cut")
	}
	if n := d.count("select count(*) from effects where state = 'COMMITTED' and not probably_double and settled_by = 'worker'"); n != len(requests) {
		t.Errorf("%d of %d are committed", n, len(requests))
	}
}

// TestHalfOpen_InsideATransition: the server does not learn that its client is
// gone, and the client's transaction holds the head of the audit log. With the
// server's idle_in_transaction_session_timeout the others wait no longer than
// that; without it they would wait for the network to notice.
func TestHalfOpen_InsideATransition(t *testing.T) {
	t.Parallel()
	d := openDesk(t)
	d.exec("alter role current_user in database " + d.database() + " set idle_in_transaction_session_timeout = '1s'")
	s, p := d.faulty()
	park := func(key string) *subject {
		x := &subject{key: key}
		then(begun("mail.send"), failed(journal.PhaseSent))(d, x)
		x.decision = d.decision(x.id, journal.VerbCloseNotLanded, "")
		return x
	}
	first, second := park("a"), park("b")
	trap := p.Arm(fault.Point{Kind: fault.Query, SQL: "commit"}, fault.Halt(0))
	ctx, cancel := context.WithTimeout(t.Context(), 500*time.Millisecond)
	defer cancel()
	if _, err := s.Decide(ctx, first.decision); !errors.Is(err, context.DeadlineExceeded) || !trap.Met() {
		t.Fatalf("the decision on a silent connection: %v", err)
	}
	within, stop := context.WithTimeout(t.Context(), 15*time.Second)
	defer stop()
	if _, err := d.Decide(within, second.decision); err != nil {
		t.Errorf("somebody else's decision: %v", err)
	}
	if _, err := d.Decide(within, first.decision); err != nil {
		t.Errorf("the decision again: %v", err)
	}
	if n := d.count("select count(*) from decisions"); n != 2 {
		t.Errorf("%d decisions are recorded", n)
	}
}

func (d *desk) database() string { return d.Pool().Config().ConnConfig.Database }
