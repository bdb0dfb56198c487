package journal

import "time"

// Commit records a confirmation on a row that exists and that the happy
// statement did not move: a repeat, a late fact, or a conflict. Late facts are
// never dropped. ErrCommitConflict comes with a Change that records both
// provider ids; ErrUnknownAttempt means that no attempt has that number and
// token. A report under another effect id (the row that it knew was lost and
// its key begun anew) is a late fact of no known attempt.
func (s *Snapshot) Commit(r CommitRequest) (Change, CommitAnswer, error) {
	a, ok := s.AttemptByToken(r.Attempt, r.LeaseToken)
	foreign := !ok && r.EffectID != s.Effect.ID
	if !ok && !foreign {
		return Change{}, CommitAnswer{}, ErrUnknownAttempt
	}
	c := s.change()
	if a.Phase == PhaseConfirmed {
		return s.commitAgain(c, a, r)
	}
	late := !a.FencedAt.IsZero() || s.Effect.State != StateIntent || a.Number != s.Effect.Attempt
	a.Phase, a.ProviderID, a.Replayed, a.ReportedAt = PhaseConfirmed, r.ProviderID, r.Replayed, s.Now
	if !foreign {
		c.put(a)
	}
	c.event(s, EventCommitted, a.Number, "worker:"+r.Worker, map[string]any{"provider_id": clip(r.ProviderID, 500), "late": late})
	double := s.doubles(a)
	if double && !s.Effect.ProbablyDouble {
		c.Effect.ProbablyDouble = true
		c.event(s, EventDouble, a.Number, "worker:"+r.Worker, nil)
	}
	after := s.with(c)
	after.commitMoves(c, a, r, late)
	return *c, CommitAnswer{EffectID: s.Effect.ID, State: c.Effect.State, Late: late,
		Contradicted: c.Effect.Contradicted, Double: c.Effect.ProbablyDouble, Orphan: c.Effect.Orphan}, nil
}

// commitAgain answers a repeated commit of the same attempt.
func (s *Snapshot) commitAgain(c *Change, a Attempt, r CommitRequest) (Change, CommitAnswer, error) {
	ans := CommitAnswer{EffectID: s.Effect.ID, State: s.Effect.State, Late: true,
		Contradicted: s.Effect.Contradicted, Double: s.Effect.ProbablyDouble, Orphan: s.Effect.Orphan}
	if a.ProviderID == r.ProviderID || r.ProviderID == "" {
		return *c, ans, nil
	}
	c.event(s, EventConflict, a.Number, "worker:"+r.Worker, map[string]string{"was": clip(a.ProviderID, 500), "now": clip(r.ProviderID, 500)})
	return *c, ans, ErrCommitConflict
}

// doubles reports whether this confirmation, beside what is known, means that
// the effect probably happened twice: another attempt is confirmed with another
// provider id under another issue, or a later attempt is live.
func (s *Snapshot) doubles(a Attempt) bool {
	for _, o := range s.Attempts {
		if o.Number == a.Number || o.Phase != PhaseConfirmed {
			continue
		}
		sameID := o.ProviderID != "" && o.ProviderID == a.ProviderID
		sameIssue := s.Effect.Class == ClassProviderIdempotent && o.Issue == a.Issue
		if !sameID && !sameIssue {
			return true
		}
	}
	cur, ok := s.Current()
	return ok && s.Live() && cur.Number > a.Number &&
		!(s.Effect.Class == ClassProviderIdempotent && cur.Issue == a.Issue)
}

// commitMoves moves the state after a's confirmation was put into c.
func (s *Snapshot) commitMoves(c *Change, a Attempt, r CommitRequest, late bool) {
	keep := func() {
		if c.Effect.ProviderID == "" {
			c.Effect.ProviderID = r.ProviderID
		}
		if c.Effect.Result == nil {
			c.Effect.Result = r.Result
		}
	}
	switch s.Effect.State {
	case StateIntent:
		if s.Live() && a.Number < s.Effect.Attempt {
			keep()
			return // both recorded; the live attempt's end settles it
		}
		c.settle(s, "worker")
		if a.Number == s.Effect.Attempt {
			s.spendOrder(c)
		}
		keep()
		if late {
			c.Effect.SettledBy = "late_commit"
			// The worker that commits is the one that waits: its own report closes the
			// delivery.
			c.resolve(s, ResolvedCommitted, "late_commit", "")
			c.AckOpen, c.Effect.OpenDelivery = "worker:"+r.Worker, false
		}
	case StateParked, StateReissue:
		c.settle(s, "late_commit")
		keep()
		c.resolve(s, ResolvedCommitted, "late_commit", "")
	case StateAbandoned, StateRejected:
		c.settle(s, "late_commit")
		keep()
		c.Effect.Contradicted = true
		c.resolve(s, ResolvedContradiction, "late_commit", "closed as "+string(s.Effect.State)+", then committed")
		c.event(s, EventContradicted, a.Number, "worker:"+r.Worker, nil)
	case StateCommitted:
		keep()
	}
	if len(s.othersUnknown(a.Number)) > 0 {
		c.lookNow(s)
	}
}

// lookAfterSettling is how long after a settlement that leaves an attempt of
// unknown outcome the provider is asked again.
const lookAfterSettling = time.Minute

// anotherUnknown reports whether an attempt of unknown outcome is left beside
// the one that a settlement stands for.
func (s *Snapshot) anotherUnknown() bool {
	unknown := len(s.unknownAbove(0))
	if _, ok := s.Confirmed(); ok {
		return unknown > 0
	}
	return unknown > 1
}

// othersUnknown lists the attempts besides number that were reported neither
// not_sent nor refused: after settlement they deserve a look.
func (s *Snapshot) othersUnknown(number int) []Attempt {
	var out []Attempt
	for _, a := range s.Attempts {
		if a.Number != number && a.Unknown() {
			out = append(out, a)
		}
	}
	return out
}

// Acknowledge clears contradicted, probably double and orphan without changing
// the state.
func (s *Snapshot) Acknowledge(actor Actor, reason string) (Change, error) {
	if !s.Effect.Contradicted && !s.Effect.ProbablyDouble && !s.Effect.Orphan {
		return Change{}, invalid("effect", "has nothing to acknowledge")
	}
	c := s.change()
	c.Effect.Contradicted, c.Effect.ProbablyDouble, c.Effect.Orphan = false, false, false
	c.event(s, EventAcknowledged, 0, "operator:"+actor.Subject, map[string]string{"reason": reason})
	return *c, nil
}
