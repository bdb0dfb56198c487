package journal

import (
	"fmt"
	"slices"
	"time"
)

// Decide carries an operator's decision. The decision must have been validated
// and its actor derived by the server. Errors: *StaleError if the version or
// the evidence set is another than the person saw, or if somebody was faster;
// *BlockedError if the assessment forbids it; *PolicyError if the policy asks
// for something that the decision does not bring.
func (s *Snapshot) Decide(d Decision) (Change, error) {
	as, ask, err := s.admit(&d)
	if err != nil {
		return Change{}, err
	}
	if ask.FourEyes && d.Approval == nil && !d.BreakGlass {
		return Change{}, &PolicyError{Code: PolicySecondPerson, Rule: firstRule(ask), Detail: "a second person has to approve it: propose it"}
	}
	return s.carry(d, as)
}

// Weigh says what would become of d now without recording anything: d as it would
// be recorded and what the policy asks of it, or the error of Decide and Propose.
func (s *Snapshot) Weigh(d Decision) (Decision, Demand, error) {
	_, ask, err := s.admit(&d)
	return d, ask, err
}

// MayOverride reports whether the policy lets a second person pass over b.
func (p *Policy) MayOverride(b Block) bool {
	return b.Overridable() && slices.Contains(p.Overrides, b.Code)
}

// admit checks what holds for deciding and proposing alike, and leaves in d what
// is recorded of the checks.
func (s *Snapshot) admit(d *Decision) (Assessment, Demand, error) {
	if s.Effect.Version != d.Expected || !s.decidableBy(d.Verb) || s.EvidenceDigest() != d.Digest {
		return Assessment{}, Demand{}, s.stale(*d)
	}
	if d.Verb == VerbCorrect && s.Effect.Compensates != "" { // its args follow from what it undoes, and so does its key
		return Assessment{}, Demand{}, invalid("args", "of a compensation can't be corrected: re-issue it, or undo it by hand and close it as landed")
	}
	as := Assess(s)
	var over []string
	for _, b := range as.Blocks[d.Choice()] {
		allowed := s.Policy.MayOverride(b)
		if !allowed || !slices.Contains(d.Overrides, b.Code) {
			return as, Demand{}, &BlockedError{Verb: d.Verb, Reason: b.Code, Until: b.Until, Overridable: allowed}
		}
		over = append(over, b.Code)
	}
	d.Overrides = over
	if d.Bulk > 0 && d.Verb == VerbReissue && !s.ProvedAbsent() {
		return as, Demand{}, &BlockedError{Verb: d.Verb, Reason: WhyNotProved}
	}
	ask := s.Policy.Asks(s, d)
	if d.BreakGlass && !ask.FourEyes { // nobody has to be done without
		d.BreakGlass = false
		ask = s.Policy.Asks(s, d)
	}
	d.Rules = ask.Rules
	if d.Verb == VerbCorrect {
		if err := d.Correction.check(&s.Effect); err != nil {
			return as, ask, err
		}
	}
	return as, ask, s.permits(*d, ask)
}

// decidableBy: a settlement by policy is taken back where it stands, everything
// else is decided while it is open.
func (s *Snapshot) decidableBy(v Verb) bool {
	if v == VerbReopen {
		return s.Reopenable()
	}
	return s.Decidable()
}

// permits compares what the policy asks with what the decision brings.
func (s *Snapshot) permits(d Decision, ask Demand) error {
	switch {
	case ask.Forbidden != "":
		return &PolicyError{Code: PolicyForbidden, Rule: ask.Forbidden, Detail: fmt.Sprintf("rule %q of the policy forbids it", ask.Forbidden)}
	case ask.NotYours != "":
		return &PolicyError{Code: PolicyNotYours, Rule: ask.NotYours, Detail: fmt.Sprintf("rule %q of the policy leaves it to others", ask.NotYours)}
	case ask.ReasonCodes != nil && !slices.Contains(ask.ReasonCodes, d.ReasonCode):
		return invalid("reason_code", fmt.Sprintf("is not one that the policy allows here: pick one of %v", ask.ReasonCodes))
	case d.BreakGlass && !d.Actor.InGroup(s.Policy.BreakGlass):
		return &PolicyError{Code: PolicyNoBreakGlass, Detail: "the policy lets nobody of your groups act without a second person"}
	}
	who, at := d.Actor, s.Now
	if !d.OrderedAt.IsZero() {
		at = d.OrderedAt
	}
	if d.Approval != nil {
		who = d.Approval.Actor
	}
	if ask.StepUp && at.Sub(who.AuthAt) > s.Policy.StepUp {
		return &PolicyError{Code: PolicyStepUp, Rule: firstRule(ask), Within: s.Policy.StepUp,
			Detail: fmt.Sprintf("it asks for a login that is at most %s old: sign in again", s.Policy.StepUp)}
	}
	return nil
}

func firstRule(ask Demand) string {
	if len(ask.Rules) == 0 {
		return ""
	}
	return ask.Rules[0]
}

// carry writes an admitted decision.
func (s *Snapshot) carry(d Decision, as Assessment) (Change, error) {
	c := s.change()
	c.Requires = GuardLeaseOver
	by := "operator:" + d.Actor.Subject
	d.ID, d.At = NewID(s.Now), s.Now
	d.AssessmentSummary = string(as.Recommend)
	switch d.Verb {
	case VerbReissue:
		if err := s.order(c, &d, by); err != nil {
			return Change{}, err
		}
	case VerbCloseLanded:
		c.settle(s, by)
		c.Effect.ProviderID = d.ProviderID
		c.resolve(s, ResolvedLanded, by, d.Reason)
	case VerbCloseNotLanded:
		s.spendOrder(c)
		c.fence(s, by)
		c.to(s, StateAbandoned)
		c.Effect.SettledBy = by
		c.resolve(s, ResolvedNotLanded, by, d.Reason).Compensate = s.CompensateRun
	case VerbCorrect:
		if err := s.correct(c, &d, by); err != nil {
			return Change{}, err
		}
	case VerbReopen:
		c.reopen(s, by, d.Reason)
	}
	c.Effect.GaveUp = false
	c.lookAfterDecision(s, d)
	c.Decision = &d
	if d.Approval != nil {
		c.endProposal(s, ProposalApproved, d.Approval.Actor, d.Approval.Reason)
	}
	c.event(s, EventDecided, 0, by, map[string]string{"decision": d.ID, "verb": string(d.Verb), "mode": string(d.Mode)})
	return *c, nil
}

// order turns a reissue into the permission for one more attempt.
func (s *Snapshot) order(c *Change, d *Decision, by string) error {
	o := s.newOrder(*d)
	if !s.Now.Before(o.ExpiresAt) {
		return &BlockedError{Verb: d.Verb, Reason: WhyWindowOver}
	}
	d.Order = &o
	s.spendOrder(c) // of an attempt that is stuck under it
	c.EndedOrder = c.Order
	c.fence(s, by)
	c.to(s, StateReissue)
	c.Order = &o
	r := c.resolve(s, ResolvedReissue, by, d.Reason)
	r.OrderID, r.OrderExpiresAt = o.ID, &o.ExpiresAt
	return nil
}

// reopen takes back what policy settled. Policy leaves the effect alone from
// then on: its evidence was doubted by a person.
func (c *Change) reopen(s *Snapshot, by, reason string) {
	c.to(s, StateParked)
	c.Effect.ParkedReason = ReasonReopened
	c.Effect.SettledBy, c.Effect.ProviderID = "", ""
	c.Effect.PolicyOff = true
	c.resolve(s, ResolvedReopened, by, reason)
	c.event(s, EventParked, s.Effect.Attempt, by, map[string]string{"reason": ReasonReopened})
}

// lookAfterDecision: a look follows every close_not_landed, and every close
// that leaves an attempt of unknown outcome; an order makes its own.
//
// None follows a close that passes over a hit: it would be found again, and the
// person has said that it is not this effect's.
func (c *Change) lookAfterDecision(s *Snapshot, d Decision) {
	if d.Verb == VerbReissue || !s.CanLook || (d.Verb == VerbCloseNotLanded || d.Verb == VerbCorrect) && len(d.Overrides) > 0 {
		c.Effect.NextLookAt = time.Time{}
		return
	}
	if d.Verb == VerbReopen {
		c.Effect.NextLookAt, c.Effect.Looks = s.Now, 0
		return
	}
	if d.Verb == VerbCloseNotLanded || d.Verb == VerbCorrect || s.anotherUnknown() {
		c.Effect.NextLookAt = s.Now.Add(lookAfterSettling)
		c.Effect.Looks = 0
		return
	}
	c.Effect.NextLookAt = time.Time{}
}

// newOrder shapes the permission: it expires at the earliest of the evidence's
// age limit, the pick-up time and, for same_key, the window's end less a
// margin.
func (s *Snapshot) newOrder(d Decision) Order {
	o := Order{ID: NewID(s.Now), DecisionID: d.ID, Mode: d.Mode, Issue: s.Effect.Issue + 1, CreatedAt: s.Now,
		ExpiresAt: s.Now.Add(s.Policy.PickupWithin)}
	if l, ok := s.LastLook(); ok {
		o.KnownUpTo = l.Seq
		o.ExpiresAt = minTime(o.ExpiresAt, maxTime(l.StartedAt, s.Now.Add(-s.Policy.EvidenceMaxAge)).Add(s.Policy.OrderEvidenceAge))
	}
	if d.Mode == SameKey {
		o.Issue = s.Effect.Issue
		if end := s.WindowEnd(); !end.IsZero() {
			o.ExpiresAt = minTime(o.ExpiresAt, end.Add(-s.Policy.WindowMargin))
		}
	}
	return o
}

func maxTime(a, b time.Time) time.Time {
	if a.After(b) {
		return a
	}
	return b
}

func (s *Snapshot) stale(d Decision) *StaleError {
	e := &StaleError{EffectID: s.Effect.ID, Version: s.Effect.Version, State: s.Effect.State}
	if !s.decidableBy(d.Verb) {
		e.Changed = append(e.Changed, fmt.Sprintf("The effect is %s now and no longer waits for a decision.", s.Effect.State))
	}
	if s.EvidenceDigest() != d.Digest {
		e.Changed = append(e.Changed, "New evidence came in.")
	}
	if s.Effect.Version != d.Expected && len(e.Changed) == 0 {
		e.Changed = append(e.Changed, "The effect was changed by a report or another look.")
	}
	return e
}
