package journal

import (
	"encoding/json"
	"fmt"
	"time"
)

// Snooze takes an effect off the default list until a time, or until anything
// about it changes: a look says something else, a late fact, a decision or
// another state.
type Snooze struct {
	Until  time.Time
	Actor  Actor
	Reason string // the person's words; may be empty
	At     time.Time
}

// Open reports whether the effect sleeps at now.
func (z *Snooze) Open(now time.Time) bool { return z != nil && now.Before(z.Until) }

// SnoozeOrder is what a person asks of a snooze.
type SnoozeOrder struct {
	EffectID string
	Actor    Actor
	Until    time.Time // zero = as long as nothing changes, at most SnoozeLimit
	Wake     bool      // end it now
	// Digest is of the evidence that the person saw.
	Digest string
	Reason string
}

// SnoozeLimit is how long the effect may sleep at most, and whether the end of
// its provider's key window is why: what may be repeated safely only until then
// must be seen before.
func (s *Snapshot) SnoozeLimit() (until time.Time, window bool) {
	until = s.Now.Add(MaxSnooze)
	if end := s.WindowEnd(); end.After(s.Now) && end.Before(until) {
		return end, true
	}
	return until, false
}

// Snooze says what becomes of the effect's snooze; nil = it is awake.
func (s *Snapshot) Snooze(o SnoozeOrder) (*Snooze, error) {
	if err := mayTeam(o.Actor); err != nil {
		return nil, err
	}
	if o.Wake {
		return nil, nil
	}
	if len(o.Reason) > MaxReasonBytes || !storable(o.Reason) {
		return nil, invalid("reason", fmt.Sprintf("must be valid text of at most %d bytes", MaxReasonBytes))
	}
	if !s.NeedsAttention() {
		return nil, invalid("effect", "needs no attention: there is nothing to snooze")
	}
	if o.Digest != s.EvidenceDigest() {
		return nil, &StaleError{EffectID: s.Effect.ID, Version: s.Effect.Version, State: s.Effect.State, Changed: []string{"New evidence came in."}}
	}
	limit, window := s.SnoozeLimit()
	switch {
	case o.Until.IsZero():
		o.Until = limit
	case !o.Until.After(s.Now):
		return nil, invalid("until", "lies in the past: pick a later time")
	case o.Until.After(limit) && window:
		return nil, invalid("until", "may not go past "+limit.UTC().Format("2 Jan 2006, 15:04 UTC")+": until then the provider’s key makes a repeat safe")
	case o.Until.After(limit):
		return nil, invalid("until", "may be at most 7 days away")
	}
	return &Snooze{Until: o.Until, Actor: o.Actor, Reason: o.Reason, At: s.Now}, nil
}

// Why a snooze ended before its time.
const (
	WokeEvidence = "evidence" // a look says something else than the one before
	WokeFact     = "late_fact"
	WokeDecision = "decision"
	WokeState    = "state"
	WokePerson   = "person"
)

// Wakes says why a change ends a snooze; "" = it sleeps on.
func (s *Snapshot) Wakes(c Change) string {
	a, b := &s.Effect, &c.Effect
	for _, e := range c.Events {
		switch e.Kind {
		case EventEvidence:
			var d struct{ Verdict Verdict }
			last, _ := s.LastLook()
			if json.Unmarshal(e.Detail, &d) != nil || d.Verdict != last.Verdict {
				return WokeEvidence
			}
		case EventReported, EventCommitted, EventConflict, EventContradicted, EventDouble:
			return WokeFact
		}
	}
	switch {
	case c.Decision != nil, c.Proposal != nil:
		return WokeDecision
	case a.State != b.State, c.Granted != nil, len(c.Resolutions) > 0, a.Contradicted != b.Contradicted,
		a.ProbablyDouble != b.ProbablyDouble, a.Orphan != b.Orphan, a.GaveUp != b.GaveUp:
		return WokeState
	}
	return ""
}
