package journal

import (
	"fmt"
	"time"
)

// Decide carries an operator's decision. The decision must have been validated
// and its actor derived by the server. Errors: *StaleError if the version or
// the evidence set is another than the person saw, or if somebody was faster;
// *BlockedError if the assessment forbids it.
func (s *Snapshot) Decide(d Decision) (Change, error) {
	if s.Effect.Version != d.Expected || !s.Decidable() || s.EvidenceDigest() != d.Digest {
		return Change{}, s.stale(d)
	}
	as := Assess(s)
	if b := as.BlockFor(d.Verb, d.Mode); b != nil {
		return Change{}, &BlockedError{Verb: d.Verb, Reason: b.Code, Until: b.Until}
	}
	c := s.change()
	c.Requires = GuardLeaseOver
	by := "operator:" + d.Actor.Subject
	d.ID, d.At = NewID(s.Now), s.Now
	d.AssessmentSummary = string(as.Recommend)
	switch d.Verb {
	case VerbReissue:
		o := s.newOrder(d)
		if !s.Now.Before(o.ExpiresAt) {
			return Change{}, &BlockedError{Verb: d.Verb, Reason: WhyWindowOver}
		}
		d.Order = &o
		s.spendOrder(c) // of an attempt that is stuck under it
		c.EndedOrder = c.Order
		c.fence(s, by)
		c.to(s, StateReissue)
		c.Order = &o
		r := c.resolve(s, ResolvedReissue, by, d.Reason)
		r.OrderID, r.OrderExpiresAt = o.ID, &o.ExpiresAt
	case VerbCloseLanded:
		c.settle(s, by)
		c.Effect.ProviderID = d.ProviderID
		c.resolve(s, ResolvedLanded, by, d.Reason)
	case VerbCloseNotLanded:
		s.spendOrder(c)
		c.fence(s, by)
		c.to(s, StateAbandoned)
		c.Effect.SettledBy = by
		c.resolve(s, ResolvedNotLanded, by, d.Reason)
	}
	c.Effect.GaveUp = false
	c.lookAfterDecision(s, d)
	c.Decision = &d
	c.event(s, EventDecided, 0, by, map[string]string{"decision": d.ID, "verb": string(d.Verb), "mode": string(d.Mode)})
	return *c, nil
}

// lookAfterDecision: a look follows every close_not_landed, and every close
// that leaves an attempt of unknown outcome; an order makes its own.
func (c *Change) lookAfterDecision(s *Snapshot, d Decision) {
	if d.Verb == VerbReissue || !s.CanLook {
		c.Effect.NextLookAt = time.Time{}
		return
	}
	if d.Verb == VerbCloseNotLanded || s.anotherUnknown() {
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
	if !s.Decidable() {
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
