package journal

import "time"

// Evidence records one look and what follows from it: invariant 5 for hits,
// the verifying row of begin for journal_deduped. The look must already carry
// its sequence number.
func (s *Snapshot) Evidence(e Evidence) Change {
	c := s.change()
	l := Look{ID: e.ID, Seq: e.Seq, Verdict: e.Verdict, Reason: e.Reason, CoversAttempt: e.CoversAttempt,
		StartedAt: e.StartedAt, LookAgainAt: e.LookAgainAt, Digest: e.Digest}
	after := *s
	after.Looks = append(append([]Look(nil), s.Looks...), l)
	c.Effect.NextLookAt = e.LookAgainAt
	c.Effect.Looks++
	after.Effect.Looks = c.Effect.Looks
	c.event(s, EventEvidence, e.CoversAttempt, "collector", map[string]any{
		"evidence": e.ID, "verdict": e.Verdict, "reason": e.Reason, "adapter": e.Adapter})
	if s.Stuck() {
		c.Requires = GuardLeaseOver
	}
	after.evidenceMoves(c, l)
	if c.Effect.SettledBy == "policy" && s.Effect.State != StateCommitted && len(e.Matches) == 1 {
		c.Effect.ProviderID = e.Matches[0].ID
	}
	c.Effect.NextLookAt = e.LookAgainAt // the look was just done: parking asks for no other
	if c.Effect.State == StateCommitted && s.Effect.State != StateCommitted && e.LookAgainAt.IsZero() && after.anotherUnknown() {
		c.Effect.NextLookAt = s.Now.Add(lookAfterSettling) // what was found may be one of two
	}
	if c.Effect.ClearedAttempt != s.Effect.ClearedAttempt {
		c.Effect.NextLookAt = time.Time{}
	}
	return *c
}

func (s *Snapshot) evidenceMoves(c *Change, l Look) {
	switch s.Effect.State {
	case StateIntent:
		s.evidenceOnIntent(c, l)
	case StateParked:
		if l.Verdict == Found && s.settlesByPolicy() {
			s.settleByPolicy(c, "collector")
		}
	case StateReissue:
		if l.Verdict.Hit() {
			c.endOrder(s, "void")
			c.event(s, EventOrderVoid, 0, "collector", nil)
			c.park(s, ReasonHit, "collector")
		}
	case StateAbandoned, StateRejected:
		if l.Verdict.Hit() {
			from := s.Effect.State
			c.park(s, ReasonContradicted, "collector")
			c.Effect.Contradicted = true
			c.resolve(s, ResolvedContradiction, "evidence", "closed as "+string(from)+", then found at the provider")
			c.event(s, EventContradicted, 0, "collector", nil)
		}
	case StateCommitted:
		if l.Verdict == Duplicate && !s.Effect.ProbablyDouble {
			c.Effect.ProbablyDouble = true
			c.event(s, EventDouble, 0, "collector", nil)
		}
	}
}

// evidenceOnIntent: a live attempt is left alone, but a look that began before
// it was granted and found something says that an earlier one landed.
func (s *Snapshot) evidenceOnIntent(c *Change, l Look) {
	if s.Live() {
		cur, _ := s.Current()
		if l.Verdict.Hit() && cur.Number > 1 && l.StartedAt.Before(cur.GrantedAt) && !s.hitExempt(cur.SendBy) {
			c.Effect.ProbablyDouble = true
			c.event(s, EventDouble, 0, "collector", nil)
		}
		return
	}
	if l.Verdict == NotFound && s.Effect.Class == ClassJournalDeduped {
		if _, hit := s.Hit(); !hit && l.CoversAttempt >= s.Effect.Attempt {
			c.Effect.ClearedAttempt = s.Effect.Attempt
			return
		}
	}
	if s.Effect.Class == ClassProviderIdempotent && !l.Verdict.Hit() {
		return
	}
	if _, _, done := s.endsOtherwise(c, "collector"); done {
		return
	}
	if s.Effect.Class == ClassJournalDeduped && len(s.grantExposed()) > 0 {
		if reason := s.noUsefulLook(); reason != "" {
			c.park(s, reason, "collector")
		}
	}
}
