package journal

import (
	"encoding/json"
	"fmt"
	"time"
)

// Begin answers a begin on a row that exists; identity has been checked. It is
// the begin table of the design, top to bottom.
//
// The only error is ErrClaimUsed: the claim id belongs to an attempt that is no
// longer live, so an answer to it was read, or can't be repeated.
func (s *Snapshot) Begin(r BeginRequest) (Change, BeginAnswer, error) {
	c := s.change()
	switch s.Effect.State {
	case StateCommitted, StateRejected:
		return s.beginClosed(c, r, DirectiveReturn)
	case StateAbandoned:
		return s.beginClosed(c, r, DirectiveAbandoned)
	case StateParked:
		return *c, s.parkedAnswer(s.Effect.ParkedReason), nil
	}
	if s.claimUsed(r.ClaimID) {
		return *c, BeginAnswer{}, ErrClaimUsed
	}
	if s.Effect.State == StateReissue {
		ch, a := s.beginReissue(c, r)
		return ch, a, nil
	}
	if s.Live() {
		return *c, s.beginLive(r), nil
	}
	ch, a := s.beginStuck(c, &r)
	return ch, a, nil
}

// claimUsed reports whether the claim belongs to an attempt other than the
// live one.
func (s *Snapshot) claimUsed(claim string) bool {
	for i, a := range s.Attempts {
		current := i == len(s.Attempts)-1 && s.Live()
		if a.ClaimID == claim && !current {
			return true
		}
	}
	return false
}

// Sweep fences a stuck attempt and applies its begin row without the grant; a
// void or expired order becomes PARKED. The zero directive means that nothing
// had to be done.
func (s *Snapshot) Sweep() (Change, Directive) {
	c := s.change()
	switch s.Effect.State {
	case StateReissue:
		if s.orderUsable() {
			return *c, ""
		}
		ch, a := s.voidOrder(c, "sweeper")
		return ch, a.Directive
	case StateIntent:
		if s.Live() {
			return *c, ""
		}
		ch, a := s.beginStuck(c, nil)
		return ch, a.Directive
	}
	return *c, ""
}

// Restored parks what a recovery brought back as INTENT or REISSUE: its worker
// may have gone on after the restore point, so its attempt counts as exposed
// and its order is void.
func (s *Snapshot) Restored() Change {
	c := s.change()
	if s.Effect.State != StateIntent && s.Effect.State != StateReissue {
		return *c
	}
	if cur, ok := s.Current(); ok && cur.Phase != PhaseConfirmed {
		cur.Phase, cur.Final = "", false // what it reported before may not be its last word
		if cur.FencedAt.IsZero() {
			cur.FencedAt = s.Now
		}
		c.put(cur)
	}
	c.endOrder(s, "void")
	c.park(s, ReasonRestored, "recovery")
	return *c
}

func (s *Snapshot) answer(d Directive) BeginAnswer {
	return BeginAnswer{
		Directive: d, EffectID: s.Effect.ID, Attempt: s.Effect.Attempt, Ref: s.Effect.Ref,
		Issue: s.Effect.Issue, State: s.Effect.State, Handles: s.Handles,
		Cursor: s.Cursor, Decision: s.Newest,
	}
}

func (s *Snapshot) beginClosed(c *Change, r BeginRequest, d Directive) (Change, BeginAnswer, error) {
	c.event(s, EventDedupeHit, 0, "worker:"+r.Worker, nil)
	if s.Effect.OpenDelivery {
		c.AckOpen = "worker:" + r.Worker
		c.Effect.OpenDelivery = false
	}
	a := s.answer(d)
	a.Result, a.ProviderID, a.SettledBy, a.Refusal = s.Effect.Result, s.Effect.ProviderID, s.Effect.SettledBy, s.Effect.Refusal
	return *c, a, nil
}

func (s *Snapshot) parkedAnswer(reason string) BeginAnswer {
	a := s.answer(DirectiveParked)
	a.State, a.Reason = StateParked, reason
	return a
}

func (s *Snapshot) beginLive(r BeginRequest) BeginAnswer {
	cur, _ := s.Current()
	if r.ClaimID == cur.ClaimID {
		a := s.executeAnswer(cur)
		return a
	}
	a := s.answer(DirectiveInProgress)
	a.Since, a.Owner = s.Now.Sub(cur.GrantedAt), cur.Worker
	a.RetryAfter = clampWait(minTime(cur.LeaseUntil, cur.Deadline).Sub(s.Now))
	return a
}

// executeAnswer hands out attempt a with the times that remain.
func (s *Snapshot) executeAnswer(a Attempt) BeginAnswer {
	out := s.answer(DirectiveExecute)
	out.State = StateIntent
	out.Attempt, out.Issue, out.LeaseToken, out.OrderID = a.Number, a.Issue, a.Token, a.OrderID
	out.ProviderKey = ProviderKey(s.Effect.Ref, a.Issue)
	out.LeaseFor, out.SendBy, out.Deadline = a.LeaseUntil.Sub(s.Now), a.SendBy.Sub(s.Now), a.Deadline.Sub(s.Now)
	if s.Effect.KeyWindow > 0 {
		end := a.GrantedAt.Add(s.Effect.KeyWindow)
		if w := s.WindowEnd(); a.Issue == s.Effect.Issue && !w.IsZero() {
			end = w
		}
		out.KeyWindow = end.Sub(s.Now)
	}
	if a.Number > 1 || s.Effect.Corrected {
		out.Args = s.Effect.Args
	}
	return out
}

// beginReissue consumes the order, or finds it void.
func (s *Snapshot) beginReissue(c *Change, r BeginRequest) (Change, BeginAnswer) {
	if !s.orderUsable() {
		return s.voidOrder(c, "worker:"+r.Worker)
	}
	o := *s.Order
	a := s.newAttempt(r, o.Issue)
	a.OrderID = o.ID
	if a.SendBy.After(o.ExpiresAt) {
		a.SendBy = o.ExpiresAt
		a.Deadline = a.SendBy.Add(a.ClientTimeout)
		a.LeaseUntil = minTime(a.LeaseUntil, a.Deadline)
	}
	o.Attempt = a.Number
	c.Order = &o
	c.AckOpen, c.Effect.OpenDelivery = "worker:"+r.Worker, false
	return s.grant(c, a, r)
}

func (s *Snapshot) orderUsable() bool {
	if !s.Order.Open(s.Now) || s.ClockSuspect {
		return false
	}
	if _, confirmed := s.Confirmed(); confirmed {
		return false
	}
	_, hit := s.HitAfter(s.Order.KnownUpTo)
	return !hit
}

func (s *Snapshot) voidOrder(c *Change, actor string) (Change, BeginAnswer) {
	how, kind := "void", EventOrderVoid
	if s.Order != nil && !s.Now.Before(s.Order.ExpiresAt) {
		how, kind = "expired", EventOrderExpired
	}
	c.endOrder(s, how)
	c.event(s, kind, 0, actor, nil)
	c.park(s, ReasonOrderVoid, actor)
	return *c, s.parkedAnswer(ReasonOrderVoid)
}

// beginStuck handles an INTENT that nobody owns. r is nil for the sweeper: it
// fences and moves, but never grants.
func (s *Snapshot) beginStuck(c *Change, r *BeginRequest) (Change, BeginAnswer) {
	actor := "sweeper"
	if r != nil {
		actor = "worker:" + r.Worker
	}
	c.Requires = GuardLeaseOver
	if ch, a, done := s.endsOtherwise(c, actor); done {
		if r != nil && a.Directive == DirectiveReturn { // this worker hears the outcome now
			ch.AckOpen, ch.Effect.OpenDelivery = actor, false
		}
		return ch, a
	}
	if s.Now.Before(s.Effect.RetryAt) {
		a := s.answer(DirectiveRetryLater)
		a.RetryAfter = s.Effect.RetryAt.Sub(s.Now)
		return *c, a
	}
	exposed := s.grantExposed()
	if len(exposed) > 0 {
		return s.stuckExposed(c, r, actor)
	}
	if !s.Budget.Left() && !s.underOrder() {
		return s.giveUp(c, actor)
	}
	return s.regrant(c, r, actor, 0)
}

// underOrder reports whether the current attempt consumed an order: it spends
// no budget.
func (s *Snapshot) underOrder() bool {
	cur, ok := s.Current()
	return ok && cur.OrderID != ""
}

// endsOtherwise is what comes before every table when an attempt ends: another
// one is confirmed, or a hit exists that the class does not exempt.
func (s *Snapshot) endsOtherwise(c *Change, actor string) (Change, BeginAnswer, bool) {
	if won, ok := s.Confirmed(); ok {
		c.settle(s, "late_commit")
		c.Effect.ProviderID = won.ProviderID
		if s.anotherUnknown() {
			c.lookNow(s)
		}
		c.resolve(s, ResolvedCommitted, "late_commit", "")
		c.event(s, EventSettled, won.Number, actor, map[string]string{"by": "late_commit"})
		a := s.answer(DirectiveReturn)
		a.State, a.ProviderID, a.SettledBy, a.Result = StateCommitted, won.ProviderID, "late_commit", s.Effect.Result
		return *c, a, true
	}
	hit, ok := s.Hit()
	if !ok || s.knownToOrder(hit) || s.hitExempt(s.Now.Add(s.Policy.DefaultLease)) {
		return *c, BeginAnswer{}, false
	}
	if hit.Verdict == Found && s.settlesByPolicy() {
		return s.settleByPolicy(c, actor)
	}
	if hit.Verdict == FoundPending && s.Effect.Class == ClassJournalDeduped && !hit.LookAgainAt.IsZero() && len(s.grantExposed()) > 0 {
		return *c, BeginAnswer{}, false // verifying goes on until it took effect or not
	}
	reason := ReasonHit
	if hit.Verdict == Duplicate {
		reason = ReasonDuplicate
	}
	c.park(s, reason, actor)
	return *c, s.parkedAnswer(reason), true
}

// knownToOrder: the operator ordered the current attempt knowing this hit.
func (s *Snapshot) knownToOrder(hit Look) bool {
	return s.underOrder() && s.Order != nil && hit.Seq <= s.Order.KnownUpTo
}

// settlesByPolicy: for journal_deduped the class is the policy, for others the
// policy names the tool. Never what was contradicted, is probably double, or was
// reopened by a person.
func (s *Snapshot) settlesByPolicy() bool {
	if s.ClockSuspect || s.Effect.ProbablyDouble || s.Effect.Contradicted || s.Effect.PolicyOff {
		return false
	}
	switch s.Effect.State {
	case StateIntent:
		return s.Effect.Class == ClassJournalDeduped || s.Policy.SettleFound[s.Effect.Tool]
	case StateParked:
		return s.Policy.SettleFound[s.Effect.Tool]
	}
	return false
}

func (s *Snapshot) settleByPolicy(c *Change, actor string) (Change, BeginAnswer, bool) {
	c.settle(s, "policy")
	if s.anotherUnknown() {
		c.lookNow(s)
	}
	hit, _ := s.Hit()
	c.resolve(s, ResolvedByPolicy, "policy", fmt.Sprintf("Policy %s settles what is found; evidence %s shows it.", s.Policy.Version, hit.ID))
	c.event(s, EventSettled, 0, actor, map[string]string{"by": "policy"})
	a := s.answer(DirectiveReturn)
	a.State, a.SettledBy = StateCommitted, "policy"
	return *c, a, true
}

// stuckExposed: an attempt may have landed; the class decides.
func (s *Snapshot) stuckExposed(c *Change, r *BeginRequest, actor string) (Change, BeginAnswer) {
	s.spendOrder(c)
	switch s.Effect.Class {
	case ClassProviderIdempotent:
		sendBy := s.Now.Add(s.leaseFor(r))
		if !s.windowCovers(sendBy) {
			return s.parkStuck(c, ReasonWindowOver, actor)
		}
		if !s.Budget.Left() && !s.underOrder() {
			return s.parkStuck(c, ReasonBudgetSpent, actor)
		}
		if s.ClockSuspect {
			return s.parkStuck(c, ReasonClock, actor)
		}
		return s.regrant(c, r, actor, 0)
	case ClassJournalDeduped:
		return s.verify(c, actor)
	default:
		return s.parkStuck(c, ReasonAtMostOnce, actor)
	}
}

// spendOrder ends the order of an attempt that may have been sent.
func (s *Snapshot) spendOrder(c *Change) {
	if s.underOrder() && s.Order != nil && s.Order.Attempt == s.Effect.Attempt {
		c.endOrder(s, "spent")
	}
}

func (s *Snapshot) parkStuck(c *Change, reason, actor string) (Change, BeginAnswer) {
	c.park(s, reason, actor)
	return *c, s.parkedAnswer(reason)
}

// verify fences a journal_deduped effect and waits for Landed's own look.
func (s *Snapshot) verify(c *Change, actor string) (Change, BeginAnswer) {
	if reason := s.noUsefulLook(); reason != "" {
		return s.parkStuck(c, reason, actor)
	}
	c.fence(s, actor)
	if c.Effect.NextLookAt.IsZero() {
		c.lookNow(s)
	}
	a := s.answer(DirectiveVerifying)
	a.RetryAfter = clampWait(c.Effect.NextLookAt.Sub(s.Now))
	return *c, a
}

// noUsefulLook says why asking the provider can't settle the effect, or "".
func (s *Snapshot) noUsefulLook() string {
	if !s.CanLook || s.Effect.Looks >= s.Policy.VerifyLimit {
		return ReasonNoUsefulLook
	}
	l, ok := s.lookSinceFence()
	if !ok {
		return ""
	}
	switch l.Verdict {
	case Duplicate:
		return ReasonDuplicate
	case FoundNotEffective:
		return ReasonNotEffective
	case CannotTell, FoundPending:
		if l.LookAgainAt.IsZero() {
			return ReasonNoUsefulLook
		}
	}
	return ""
}

// lookSinceFence is the newest look that began after the current attempt was
// fenced.
func (s *Snapshot) lookSinceFence() (Look, bool) {
	cur, _ := s.Current()
	l, ok := s.LastLook()
	if !ok || cur.FencedAt.IsZero() || l.StartedAt.Before(cur.FencedAt) {
		return Look{}, false
	}
	return l, true
}

// giveUp: nothing may have landed and the budget is spent.
func (s *Snapshot) giveUp(c *Change, actor string) (Change, BeginAnswer) {
	c.fence(s, actor)
	c.Effect.GaveUp = true
	if !s.Effect.GaveUp {
		c.event(s, EventReported, s.Effect.Attempt, actor, map[string]string{"reason": ReasonBudgetSpent})
	}
	a := s.answer(DirectiveHardStop)
	a.Reason = ReasonBudgetSpent
	return *c, a
}

// regrant fences and, for a worker, hands out attempt n+1 under the same issue.
func (s *Snapshot) regrant(c *Change, r *BeginRequest, actor string, wait time.Duration) (Change, BeginAnswer) {
	c.fence(s, actor)
	if r == nil || wait > 0 {
		a := s.answer(DirectiveRetryLater)
		a.RetryAfter = wait
		return *c, a
	}
	if s.ClockSuspect {
		a := s.answer(DirectiveRetryLater)
		a.Reason, a.RetryAfter = ReasonClock, time.Minute
		return *c, a
	}
	return s.grant(c, s.newAttempt(*r, s.Effect.Issue), *r)
}

func (s *Snapshot) leaseFor(r *BeginRequest) time.Duration {
	lease := s.Policy.DefaultLease
	if r != nil && r.Lease > 0 {
		lease = min(max(r.Lease, s.Policy.MinLease), s.Policy.MaxLease)
	}
	return lease
}

// newAttempt shapes attempt n+1; nothing is handed out yet.
func (s *Snapshot) newAttempt(r BeginRequest, issue int) Attempt {
	return NewAttempt(r, s.Effect.Attempt+1, issue, s.Effect.ClientTimeout, s.Policy, s.Now)
}

// NewAttempt shapes one attempt: the lease as asked for within the policy's
// bounds, send_by at its first end, the deadline a client time-out later.
func NewAttempt(r BeginRequest, number, issue int, toolTimeout time.Duration, p Policy, now time.Time) Attempt {
	lease := p.DefaultLease
	if r.Lease > 0 {
		lease = min(max(r.Lease, p.MinLease), p.MaxLease)
	}
	timeout := max(r.ClientTimeout, toolTimeout)
	sendBy := now.Add(lease)
	return Attempt{
		Number: number, Issue: issue, ClaimID: r.ClaimID, Token: NewToken(), Worker: r.Worker,
		GrantedAt: now, LeaseUntil: sendBy, SendBy: sendBy, Deadline: sendBy.Add(timeout), ClientTimeout: timeout,
	}
}

// grant makes a the current attempt.
func (s *Snapshot) grant(c *Change, a Attempt, r BeginRequest) (Change, BeginAnswer) {
	c.fence(s, "worker:"+r.Worker)
	c.to(s, StateIntent)
	c.Effect.Attempt, c.Effect.Issue = a.Number, a.Issue
	c.Effect.RetryAt, c.Effect.NextLookAt = time.Time{}, time.Time{}
	c.Effect.Looks, c.Effect.GaveUp = 0, false
	c.Effect.ClientTimeout = max(s.Effect.ClientTimeout, a.ClientTimeout)
	c.Granted = &a
	c.event(s, EventGranted, a.Number, "worker:"+r.Worker, map[string]string{"order": a.OrderID})
	return *c, s.executeAnswer(a)
}

// clampWait keeps a Retry-After useful: never zero, never hours.
func clampWait(d time.Duration) time.Duration {
	return min(max(d, 100*time.Millisecond), 5*time.Minute)
}

func minTime(a, b time.Time) time.Time {
	if a.Before(b) {
		return a
	}
	return b
}

func mustJSON(v any) json.RawMessage {
	if v == nil {
		return nil
	}
	b, err := json.Marshal(v)
	if err != nil {
		return nil // only strings and numbers are ever passed
	}
	return b
}
