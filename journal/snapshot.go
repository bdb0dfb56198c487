package journal

import "time"

// Snapshot is everything that a transition looks at, read at one version of
// the effect. Transitions are methods on it: pure, total, and without I/O. They
// return a Change, which the store applies in one transaction whose first
// statement repeats state, attempt, lease token and version; if the row has
// moved on, the store reads a new Snapshot and asks again.
type Snapshot struct {
	Effect   Effect
	Attempts []Attempt // ascending; the last is the current one
	Looks    []Look    // ascending by Seq
	Order    *Order    // the newest order, nil if none
	Proposal *Proposal // the newest proposal, nil if none
	Handles  []Handle
	Budget   Budget
	// CanLook: an adapter is configured for the effect's provider.
	CanLook bool
	// ClockSuspect: the database's clock stepped; automatic attempts and
	// settlement by policy wait.
	ClockSuspect bool
	Now          time.Time // the database's clock
	Cursor       int64     // the newest audit row
	Newest       *Resolution
	// Identity are the tool's identity fields; read for decisions only.
	Identity []string
	// Twins are other effects that look like the same deed; read for pages and
	// decisions only.
	Twins []Twin
	// CompensateRun is the tool's policy of today; read for decisions only.
	CompensateRun bool
	Policy        Policy
}

// Budget is the retry budget of a turn, or of the root run if there is no turn.
type Budget struct{ Spent, Limit int }

// Left reports whether another transient failure may be retried.
func (b Budget) Left() bool { return b.Spent < b.Limit }

// Change is what one transition writes. Effect is the row after; everything
// else is written beside it in the same transaction.
type Change struct {
	Effect   Effect
	Attempts []Attempt // to insert or overwrite: fenced and reported ones
	// Granted is the new current attempt, nil if none was handed out.
	Granted *Attempt
	Order   *Order // to insert or overwrite
	// EndedOrder is an earlier order that the new one in Order replaces.
	EndedOrder *Order
	Events     []Event
	// Resolutions get an audit row and a delivery row each.
	Resolutions []Resolution
	Decision    *Decision // gets an audit row
	// Successor is a further row, in the place of the effect.
	Successor   *Successor
	Proposal    *Proposal // to insert or end; gets an audit row, unless a decision ends it
	SpendBudget bool
	// AckOpen closes the effect's open deliveries: the worker just learned the
	// outcome. The value says who.
	AckOpen string
	// Requires guards the write beyond version, state, attempt and token.
	Requires Guard
}

// Guard is a condition on the database's clock that the writing statement
// repeats.
type Guard int

// The guards.
const (
	GuardNone       Guard = iota
	GuardLeaseOver        // the current attempt is fenced, or its lease or deadline is over
	GuardLeaseAlive       // unfenced, and the lease is not over
)

// Unchanged reports whether c writes nothing at all.
func (s *Snapshot) Unchanged(c Change) bool {
	a, b := &s.Effect, &c.Effect
	return len(c.Attempts) == 0 && c.Granted == nil && c.Order == nil && len(c.Events) == 0 &&
		len(c.Resolutions) == 0 && c.Decision == nil && c.Proposal == nil && !c.SpendBudget && c.AckOpen == "" &&
		a.State == b.State && a.NextLookAt.Equal(b.NextLookAt) && a.RetryAt.Equal(b.RetryAt) &&
		a.GaveUp == b.GaveUp && a.Looks == b.Looks && a.ClearedAttempt == b.ClearedAttempt
}

// Current returns the current attempt; ok is false for an orphan without one.
func (s *Snapshot) Current() (Attempt, bool) {
	if len(s.Attempts) == 0 {
		return Attempt{}, false
	}
	return s.Attempts[len(s.Attempts)-1], true
}

// AttemptByToken finds the attempt that a report speaks of.
func (s *Snapshot) AttemptByToken(number int, token string) (Attempt, bool) {
	for _, a := range s.Attempts {
		if a.Number == number && a.Token == token && token != "" {
			return a, true
		}
	}
	return Attempt{}, false
}

// Live reports whether an attempt owns the effect right now.
func (s *Snapshot) Live() bool {
	a, ok := s.Current()
	return ok && s.Effect.State == StateIntent && a.Live(s.Now)
}

// Stuck reports whether the effect is an INTENT that nobody owns any more.
func (s *Snapshot) Stuck() bool { return s.Effect.State == StateIntent && !s.Live() }

// Decidable reports whether an operator may decide: PARKED, or a stuck INTENT.
func (s *Snapshot) Decidable() bool { return s.Effect.State == StateParked || s.Stuck() }

// Confirmed reports whether any attempt was confirmed.
func (s *Snapshot) Confirmed() (Attempt, bool) {
	for _, a := range s.Attempts {
		if a.Phase == PhaseConfirmed {
			return a, true
		}
	}
	return Attempt{}, false
}

// HitAfter returns the newest hit with a sequence number above seq.
func (s *Snapshot) HitAfter(seq int64) (Look, bool) {
	for i := len(s.Looks) - 1; i >= 0; i-- {
		if l := s.Looks[i]; l.Verdict.Hit() && l.Seq > seq {
			return l, true
		}
	}
	return Look{}, false
}

// Hit returns the newest hit. Any hit outweighs misses.
func (s *Snapshot) Hit() (Look, bool) { return s.HitAfter(0) }

// LastLook returns the newest look.
func (s *Snapshot) LastLook() (Look, bool) {
	if len(s.Looks) == 0 {
		return Look{}, false
	}
	return s.Looks[len(s.Looks)-1], true
}

// Exposed returns the attempts that may have landed: neither proved not_sent,
// nor refused, nor covered by a NOT_FOUND without a newer hit. It is what the
// pages and the assessment speak of.
func (s *Snapshot) Exposed() []Attempt {
	covered := 0
	var at int64
	for _, l := range s.Looks {
		if s.Effect.ParkedReason == ReasonRestored && l.StartedAt.Before(s.Effect.StateAt) {
			continue // a worker may have gone on after what the restored rows know
		}
		if l.Verdict == NotFound && l.CoversAttempt >= covered {
			covered, at = l.CoversAttempt, l.Seq
		}
	}
	if _, hit := s.HitAfter(at); hit {
		covered = 0
	}
	return s.unknownAbove(covered)
}

// grantExposed is the stricter reading that automatic grants use: a NOT_FOUND
// lifts exposure for journal_deduped only, and only through ClearedAttempt.
func (s *Snapshot) grantExposed() []Attempt {
	covered := 0
	if s.Effect.Class == ClassJournalDeduped {
		covered = s.Effect.ClearedAttempt
	}
	if _, hit := s.Hit(); hit {
		covered = 0
	}
	return s.unknownAbove(covered)
}

func (s *Snapshot) unknownAbove(covered int) []Attempt {
	var out []Attempt
	for _, a := range s.Attempts {
		if a.Unknown() && a.Number > covered {
			out = append(out, a)
		}
	}
	return out
}

// WindowEnd is when the provider's key of the current issue stops protecting a
// repeat, counted from its first exposed grant; zero if the class has none or
// nothing of this issue is exposed.
func (s *Snapshot) WindowEnd() time.Time {
	if s.Effect.Class != ClassProviderIdempotent || s.Effect.KeyWindow <= 0 {
		return time.Time{}
	}
	for _, a := range s.Attempts {
		if a.Issue == s.Effect.Issue && a.Unknown() {
			return a.GrantedAt.Add(s.Effect.KeyWindow)
		}
	}
	return time.Time{}
}

// windowCovers reports whether a request sent as late as sendBy still falls
// under the provider's key.
func (s *Snapshot) windowCovers(sendBy time.Time) bool {
	end := s.WindowEnd()
	return end.IsZero() || sendBy.Before(end)
}

// hitExempt: a provider_idempotent effect under its first issue inside its window may
// be repeated although a hit exists, as the provider drops the repeat.
func (s *Snapshot) hitExempt(sendBy time.Time) bool {
	return s.Effect.Class == ClassProviderIdempotent && s.Effect.Issue == 1 && s.windowCovers(sendBy)
}

// change starts a Change from the present row.
func (s *Snapshot) change() *Change { return &Change{Effect: s.Effect} }

func (c *Change) event(s *Snapshot, kind string, attempt int, actor string, detail any) {
	c.Events = append(c.Events, Event{At: s.Now, Kind: kind, Attempt: attempt, Actor: actor, Detail: mustJSON(detail)})
}

// put overwrites or adds an attempt among those to be written.
func (c *Change) put(a Attempt) {
	for i := range c.Attempts {
		if c.Attempts[i].Number == a.Number {
			c.Attempts[i] = a
			return
		}
	}
	c.Attempts = append(c.Attempts, a)
}

// fence closes the current attempt if a write has not done so yet.
func (c *Change) fence(s *Snapshot, actor string) {
	a, ok := s.Current()
	if !ok || !a.FencedAt.IsZero() {
		return
	}
	for _, p := range c.Attempts { // a report in the same change carries the facts
		if p.Number == a.Number {
			a = p
		}
	}
	a.FencedAt = s.Now
	c.put(a)
	c.event(s, EventFenced, a.Number, actor, nil)
}

// to moves the state.
func (c *Change) to(s *Snapshot, st State) {
	if c.Effect.State != st {
		c.Effect.State = st
		c.Effect.StateAt = s.Now
	}
	if st != StateIntent {
		c.Effect.RetryAt = time.Time{}
	}
	if st != StateParked {
		c.Effect.ParkedReason = ""
	}
}

// park fences and moves to PARKED.
func (c *Change) park(s *Snapshot, reason, actor string) {
	c.fence(s, actor)
	c.to(s, StateParked)
	c.Effect.ParkedReason = reason
	c.lookNow(s)
	c.event(s, EventParked, s.Effect.Attempt, actor, map[string]string{"reason": reason})
}

// lookNow asks the collector for a look as soon as it can, where one is
// possible. An earlier schedule stays.
func (c *Change) lookNow(s *Snapshot) {
	if !s.CanLook {
		return
	}
	if c.Effect.NextLookAt.IsZero() || c.Effect.NextLookAt.After(s.Now) {
		c.Effect.NextLookAt = s.Now
	}
}

// resolve records an exit with its audit and delivery rows.
func (c *Change) resolve(s *Snapshot, kind ResolutionKind, by, reason string) *Resolution {
	c.Resolutions = append(c.Resolutions, Resolution{
		ID: NewID(s.Now), EffectID: s.Effect.ID, Namespace: s.Effect.Namespace, Key: s.Effect.Key,
		Kind: kind, By: by, Reason: reason, At: s.Now,
	})
	c.Effect.OpenDelivery = true
	return &c.Resolutions[len(c.Resolutions)-1]
}

// endOrder voids, expires or spends the open order.
func (c *Change) endOrder(s *Snapshot, how string) {
	if s.Order == nil || s.Order.Ended != "" {
		return
	}
	o := *s.Order
	o.Ended = how
	c.Order = &o
}

// settle moves to COMMITTED.
func (c *Change) settle(s *Snapshot, by string) {
	c.fence(s, by)
	c.to(s, StateCommitted)
	c.Effect.SettledBy = by
	c.Effect.GaveUp = false
	c.endOrder(s, "void")
}
