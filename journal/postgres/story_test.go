package postgres_test

import (
	"testing"
	"time"

	"github.com/landedhq/landed/journal"
)

// The stories below were found by driving the store at random against a model
// that was written from the rules alone.

func TestStory_RefusalBesideAPendingHitIsNotRejected(t *testing.T) {
	t.Parallel()
	d := openDesk(t)
	r := request("ticket.create", "k")
	a := d.begin(r)
	d.pass(a.EffectID, 40*time.Second)
	d.look(a.EffectID, journal.FoundPending, func(e *journal.Evidence) { e.LookAgainAt = e.StartedAt.Add(time.Minute) })
	if got := d.fail(r, a, journal.PhaseRefused, true); got.Directive != journal.DirectiveParked {
		t.Errorf("%s, want parked: the provider shows it", got.Directive)
	}
}

func TestStory_OrderIsOverWhenItsUnsentAttemptWasSentAfterAll(t *testing.T) {
	t.Parallel()
	d := openDesk(t)
	r := request("mail.send", "run-1/step/do")
	a := underOrder(d, r)
	d.fail(r, a, journal.PhaseNotSent, false)
	d.fail(r, a, journal.PhaseSent, false)
	r.ClaimID = journal.NewToken()
	if got := d.begin(r); got.Directive != journal.DirectiveParked {
		t.Errorf("%s, want parked: the order's attempt may have been sent", got.Directive)
	}
}

func TestStory_StuckUnderAnOrderCanBeOrderedAgain(t *testing.T) {
	t.Parallel()
	d := openDesk(t)
	r := request("mail.send", "run-1/step/do")
	a := underOrder(d, r)
	d.pass(a.EffectID, 10*time.Minute) // stuck, and nobody has swept it
	first := d.snap(a.EffectID).Order.ID
	if got := d.decide(a.EffectID, journal.VerbReissue, journal.NewKey); got.Order == nil || got.Order.ID == first || got.Order.Issue != 3 {
		t.Errorf("the new order: %+v", got.Order)
	}
	if n := d.count("select count(*) from orders where effect_id = $1 and ended = 'spent'", a.EffectID); n != 1 {
		t.Errorf("%d orders are spent, want the first", n)
	}
}

func TestStory_ALookFollowsWhenAnotherAttemptMayHaveLanded(t *testing.T) {
	t.Parallel()
	d := openDesk(t)
	r := request("pay", "k")
	first := d.begin(r)
	d.pass(first.EffectID, 40*time.Second)
	r2 := r
	r2.ClaimID = journal.NewToken()
	second := d.begin(r2)
	d.commit(r, first, "p1") // late, while the second is live
	if got := d.fail(r2, second, journal.PhaseSent, false); got.Directive != journal.DirectiveReturn {
		t.Errorf("%s, want return: another attempt is confirmed", got.Directive)
	}
	if s := d.snap(first.EffectID); s.Effect.State != journal.StateCommitted || s.Effect.NextLookAt.IsZero() {
		t.Errorf("%s, next look %v: attempt 2 may have landed as well", s.Effect.State, s.Effect.NextLookAt)
	}
}

func TestStory_BeginThatHearsTheOutcomeClosesItsDelivery(t *testing.T) {
	t.Parallel()
	d := openDesk(t)
	r := request("ticket.create", "k")
	a := d.begin(r)
	d.look(a.EffectID, journal.Found) // while it is live: only recorded
	d.pass(a.EffectID, 40*time.Second)
	r.ClaimID = journal.NewToken()
	if got := d.begin(r); got.Directive != journal.DirectiveReturn {
		t.Fatalf("%s, want return", got.Directive)
	}
	if s := d.snap(a.EffectID); s.Effect.OpenDelivery || s.Newest == nil || s.Newest.AckedAt == nil {
		t.Errorf("open delivery %v, newest %+v", s.Effect.OpenDelivery, s.Newest)
	}
}
