package journal

import (
	"fmt"
	"math/rand/v2"
	"time"
)

// Fail answers a report that an attempt ended without a confirmation: the fail
// table of the design for the attempt that owns the effect, invariant 5 for a
// fenced one. fail never grants. The error is an *InvalidError, or
// ErrUnknownAttempt if no attempt has that number and token.
func (s *Snapshot) Fail(r FailRequest) (Change, FailAnswer, error) {
	if !r.Phase.Valid() {
		return Change{}, FailAnswer{}, invalid("phase", fmt.Sprintf("%q is none of not_sent, sent, refused", r.Phase))
	}
	c := s.change()
	a, ok := s.AttemptByToken(r.Attempt, r.LeaseToken)
	if !ok && r.EffectID != s.Effect.ID { // the row that the report knew was lost
		c.event(s, EventReported, 0, "worker:"+r.Worker, map[string]any{"phase": r.Phase, "error": clip(r.Error, 500), "late": true})
		return *c, s.lateDirective(c), nil
	}
	if !ok {
		return Change{}, FailAnswer{}, ErrUnknownAttempt
	}
	live := a.FencedAt.IsZero() && s.Effect.State == StateIntent && a.Number == s.Effect.Attempt
	rises := a.Phase.Rises(r.Phase)
	if rises {
		a.Phase, a.Final, a.ReportedAt = r.Phase, r.Final, s.Now
		a.Error, a.Status, a.Replayed = r.Error, r.Status, r.Replayed
		c.put(a)
	}
	c.event(s, EventReported, a.Number, "worker:"+r.Worker, map[string]any{
		"phase": r.Phase, "final": r.Final, "status": r.Status, "error": clip(r.Error, 500), "late": !live, "kept": rises})
	after := s.with(c)
	if !live {
		return after.lateFail(c, a, rises)
	}
	ch, ans := after.failLive(c, a, r)
	return ch, ans, nil
}

// with returns the snapshot as it will be once the attempts of c are written,
// so that exposure is judged on the new facts.
func (s *Snapshot) with(c *Change) *Snapshot {
	out := *s
	out.Attempts = append([]Attempt(nil), s.Attempts...)
	for _, p := range c.Attempts {
		for i := range out.Attempts {
			if out.Attempts[i].Number == p.Number {
				out.Attempts[i] = p
			}
		}
	}
	return &out
}

func (s *Snapshot) failLive(c *Change, a Attempt, r FailRequest) (Change, FailAnswer) {
	actor := "worker:" + r.Worker
	if ch, b, done := s.endsOtherwise(c, actor); done {
		return ch, s.failAnswer(&ch, b.Directive, b.Reason, 0)
	}
	switch {
	case r.Phase == PhaseNotSent, r.Phase == PhaseRefused && !r.Final:
		return s.failRetryable(c, a, r, actor)
	case r.Phase == PhaseRefused:
		return s.failRefused(c, r, actor)
	}
	return s.failSent(c, r, actor)
}

func (s *Snapshot) failAnswer(c *Change, d Directive, reason string, after time.Duration) FailAnswer {
	return FailAnswer{EffectID: s.Effect.ID, Directive: d, Reason: reason, RetryAfter: after, Cursor: s.Cursor, State: c.Effect.State}
}

// failRetryable: nothing happened and trying again may help.
func (s *Snapshot) failRetryable(c *Change, a Attempt, r FailRequest, actor string) (Change, FailAnswer) {
	if s.underOrder() && s.Order != nil {
		o := *s.Order
		o.Attempt = 0
		c.fence(s, actor)
		c.Order = &o
		c.to(s, StateReissue)
		wait := s.backoff(r.RetryAfter)
		return *c, s.failAnswer(c, DirectiveRetry, "", wait)
	}
	c.SpendBudget = true
	if s.Budget.Spent+1 >= s.Budget.Limit {
		if len(s.grantExposed()) > 0 {
			return s.failStuck(c, actor, ReasonBudgetSpent)
		}
		ch, b := s.giveUp(c, actor)
		return ch, s.failAnswer(&ch, DirectiveHardStop, b.Reason, 0)
	}
	c.fence(s, actor)
	wait := s.backoff(r.RetryAfter)
	c.Effect.RetryAt = s.Now.Add(wait)
	return *c, s.failAnswer(c, DirectiveRetry, "", wait)
}

// failStuck parks, or lets journal_deduped verify first.
func (s *Snapshot) failStuck(c *Change, actor, reason string) (Change, FailAnswer) {
	if s.Effect.Class == ClassJournalDeduped {
		ch, b := s.verify(c, actor)
		return ch, s.failAnswer(&ch, b.Directive, b.Reason, b.RetryAfter)
	}
	ch, b := s.parkStuck(c, reason, actor)
	return ch, s.failAnswer(&ch, b.Directive, b.Reason, 0)
}

func (s *Snapshot) failRefused(c *Change, r FailRequest, actor string) (Change, FailAnswer) {
	if _, hit := s.Hit(); hit || len(s.grantExposed()) > 0 {
		s.spendOrder(c)
		c.park(s, ReasonRefusedExposed, actor)
		return *c, s.failAnswer(c, DirectiveParked, ReasonRefusedExposed, 0)
	}
	if s.Effect.Compensates != "" { // what it was to undo still stands: nobody may take that for settled
		s.spendOrder(c)
		c.park(s, ReasonUndoRefused, actor)
		return *c, s.failAnswer(c, DirectiveParked, ReasonUndoRefused, 0)
	}
	s.reject(c, r.Error, actor)
	return *c, s.failAnswer(c, DirectiveRejected, "", 0)
}

func (s *Snapshot) reject(c *Change, refusal, actor string) {
	c.fence(s, actor)
	s.spendOrder(c)
	c.to(s, StateRejected)
	c.Effect.SettledBy, c.Effect.Refusal, c.Effect.GaveUp = "worker", clip(refusal, 2000), false
}

// failSent: the outcome is unknown; the stuck row of the class follows.
func (s *Snapshot) failSent(c *Change, r FailRequest, actor string) (Change, FailAnswer) {
	s.spendOrder(c)
	switch s.Effect.Class {
	case ClassProviderIdempotent:
		wait := s.backoff(r.RetryAfter)
		switch {
		case r.Replayed:
			return s.failStuck(c, actor, ReasonReplayedError)
		case !s.windowCovers(s.Now.Add(wait + s.Policy.DefaultLease)):
			return s.failStuck(c, actor, ReasonWindowOver)
		case s.Budget.Spent+1 >= s.Budget.Limit && !s.underOrder():
			c.SpendBudget = true
			return s.failStuck(c, actor, ReasonBudgetSpent)
		}
		c.SpendBudget = !s.underOrder()
		c.fence(s, actor)
		c.Effect.RetryAt = s.Now.Add(wait)
		return *c, s.failAnswer(c, DirectiveRetry, "", wait)
	case ClassJournalDeduped:
		c.fence(s, actor)
		return s.failStuck(c, actor, ReasonNoUsefulLook)
	}
	return s.failStuck(c, actor, ReasonAtMostOnce)
}

// lateFail records a report from a fenced attempt. It may end the attempt's
// exposure, and moves the state only where invariant 5 says so.
func (s *Snapshot) lateFail(c *Change, a Attempt, rises bool) (Change, FailAnswer, error) {
	_, hit := s.Hit()
	open := s.Effect.State == StateParked || s.Effect.State == StateIntent && !s.Live()
	if rises && a.Phase == PhaseRefused && a.Final && open && !hit && s.Effect.Compensates == "" && len(s.grantExposed()) == 0 {
		if _, confirmed := s.Confirmed(); !confirmed {
			s.reject(c, a.Error, "late_refusal")
			c.Effect.SettledBy = "late_refusal"
			c.resolve(s, ResolvedRejected, "late_refusal", clip(a.Error, 500))
			c.event(s, EventSettled, a.Number, "late_refusal", nil)
		}
	}
	if rises && a.Unknown() && s.Effect.State == StateReissue && s.Order != nil && a.OrderID == s.Order.ID {
		// It came back as not sent and was sent after all: its order is over.
		c.endOrder(s, "spent")
		c.park(s, ReasonAtMostOnce, "worker")
	}
	return *c, s.lateDirective(c), nil
}

// lateDirective tells a late reporter where the effect stands.
func (s *Snapshot) lateDirective(c *Change) FailAnswer {
	switch c.Effect.State {
	case StateRejected:
		return s.failAnswer(c, DirectiveRejected, "", 0)
	case StateParked:
		return s.failAnswer(c, DirectiveParked, c.Effect.ParkedReason, 0)
	case StateReissue: // an order is open, before any cursor that parked could give: begin again
		return s.failAnswer(c, DirectiveRetry, "", s.Policy.BackoffBase)
	case StateCommitted:
		return s.failAnswer(c, DirectiveReturn, "", 0)
	case StateAbandoned:
		return s.failAnswer(c, DirectiveAbandoned, "", 0)
	}
	if s.Effect.Class == ClassJournalDeduped && len(s.grantExposed()) > 0 {
		return s.failAnswer(c, DirectiveVerifying, "", clampWait(c.Effect.NextLookAt.Sub(s.Now)))
	}
	return s.failAnswer(c, DirectiveRetry, "", max(s.Effect.RetryAt.Sub(s.Now), s.Policy.BackoffBase))
}

// backoff is exponential with full jitter and a cap; what the provider asked
// for wins, up to MaxRetryAfter: an effect that waits is on no list.
func (s *Snapshot) backoff(asked time.Duration) time.Duration {
	if asked > 0 {
		return min(asked, MaxRetryAfter)
	}
	d := s.Policy.BackoffBase << min(s.Budget.Spent, 20)
	if d <= 0 || d > s.Policy.BackoffCap {
		d = s.Policy.BackoffCap
	}
	return max(rand.N(d), 50*time.Millisecond)
}

// MaxRetryAfter bounds what a provider may ask for. Waiting shorter than asked
// is safe: it costs one more refusal.
const MaxRetryAfter = time.Hour

// clip cuts text for events and refusals at a rune boundary.
func clip(s string, n int) string {
	if len(s) <= n {
		return s
	}
	for n > 0 && s[n]&0xc0 == 0x80 {
		n--
	}
	return s[:n] + "…"
}
