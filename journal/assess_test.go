package journal

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

var now = time.Date(2026, 11, 30, 3, 0, 0, 0, time.UTC)

// parkedSnapshot is an effect with one fenced attempt of a class and phase.
func parkedSnapshot(class Class, phase Phase, looks ...Look) *Snapshot {
	s := &Snapshot{
		Effect:   Effect{ID: "e", Class: class, State: StateParked, Attempt: 1, Issue: 1, Version: 3},
		Attempts: []Attempt{{Number: 1, Issue: 1, GrantedAt: now.Add(-10 * time.Minute), SendBy: now.Add(-9 * time.Minute), Deadline: now.Add(-8 * time.Minute), FencedAt: now.Add(-8 * time.Minute), Phase: phase}},
		Policy:   DefaultPolicy(), CanLook: true, Now: now,
	}
	if class == ClassProviderIdempotent {
		s.Effect.KeyWindow = time.Hour
	}
	for i, l := range looks {
		l.Seq, l.StartedAt = int64(i+1), now.Add(-time.Minute)
		s.Looks = append(s.Looks, l)
	}
	return s
}

// assessed is what of an assessment a table row states.
type assessed struct {
	Recommend                    Recommendation
	Mode                         ReissueMode
	Why                          []string
	NewKey, SameKey, Landed, Not string // block codes, "" = open
}

// TestAssess is the assessment's table.
func TestAssess(t *testing.T) {
	t.Parallel()
	early := Look{Verdict: CannotTell, Reason: CannotTooEarly, LookAgainAt: now.Add(time.Minute)}
	missed := Look{Verdict: NotFound, CoversAttempt: 1}
	found := Look{Verdict: Found}
	tests := []struct {
		name string
		s    *Snapshot
		want assessed
	}{
		{"at_most_once, no look yet", parkedSnapshot(ClassAtMostOnce, ""), assessed{RecommendWait, "", []string{WhyNoLook, WhyAtMostOnce, WhyExposed}, "", WhyNoNativeKey, "", ""}},
		{"at_most_once, nobody can be asked", with(parkedSnapshot(ClassAtMostOnce, PhaseSent), func(s *Snapshot) { s.CanLook = false }), assessed{RecommendInvestigate, "", []string{WhyNoAdapter, WhyAtMostOnce, WhyExposed}, "", WhyNoNativeKey, "", ""}},
		{"at_most_once, too early", parkedSnapshot(ClassAtMostOnce, PhaseSent, early), assessed{RecommendWait, "", []string{WhyTooEarly, WhyAtMostOnce, WhyExposed}, WhyTooEarly, WhyNoNativeKey, "", ""}},
		{"at_most_once, FOUND", parkedSnapshot(ClassAtMostOnce, PhaseSent, found), assessed{RecommendCloseLanded, "", []string{WhyFound, WhyExposed}, WhyFound, WhyNoNativeKey, "", WhyFound}},
		{"at_most_once, FOUND after NOT_FOUND exposes again", parkedSnapshot(ClassAtMostOnce, PhaseSent, missed, found), assessed{RecommendCloseLanded, "", []string{WhyFound, WhyExposed}, WhyFound, WhyNoNativeKey, "", WhyFound}},
		{"at_most_once, NOT_FOUND", parkedSnapshot(ClassAtMostOnce, PhaseSent, missed), assessed{RecommendReissue, NewKey, []string{WhyNotFound}, "", WhyNoNativeKey, "", ""}},
		{"at_most_once, NOT_FOUND before FOUND: any hit outweighs misses", parkedSnapshot(ClassAtMostOnce, PhaseSent, found, missed), assessed{RecommendCloseLanded, "", []string{WhyFound}, WhyFound, WhyNoNativeKey, "", WhyFound}},
		{"at_most_once, DUPLICATE", parkedSnapshot(ClassAtMostOnce, PhaseSent, Look{Verdict: Duplicate}), assessed{RecommendInvestigate, "", []string{WhyDuplicate, WhyExposed}, WhyDuplicate, WhyNoNativeKey, "", WhyDuplicate}},
		{"at_most_once, FOUND_PENDING", parkedSnapshot(ClassAtMostOnce, PhaseSent, Look{Verdict: FoundPending, LookAgainAt: now.Add(time.Minute)}), assessed{RecommendWait, "", []string{WhyFoundPending, WhyExposed}, WhyFoundPending, WhyNoNativeKey, "", WhyFoundPending}},
		{"at_most_once, FOUND_NOT_EFFECTIVE", parkedSnapshot(ClassAtMostOnce, PhaseSent, Look{Verdict: FoundNotEffective}), assessed{RecommendInvestigate, "", []string{WhyNotEffective, WhyExposed}, "", WhyNoNativeKey, "", ""}},
		{"at_most_once, CANNOT_TELL for good", parkedSnapshot(ClassAtMostOnce, PhaseSent, Look{Verdict: CannotTell, Reason: CannotScope}), assessed{RecommendInvestigate, "", []string{WhyCannotTell, WhyAtMostOnce, WhyExposed}, "", WhyNoNativeKey, "", ""}},
		{"reported not_sent", parkedSnapshot(ClassAtMostOnce, PhaseNotSent), assessed{RecommendReissue, NewKey, []string{WhyNotSent}, "", WhyNoNativeKey, "", ""}},
		{"refused for good", with(parkedSnapshot(ClassAtMostOnce, PhaseRefused), func(s *Snapshot) { s.Attempts[0].Final = true }), assessed{RecommendCloseNotLanded, "", []string{WhyRefused}, "", WhyNoNativeKey, "", ""}},
		{"provider_idempotent, window open", parkedSnapshot(ClassProviderIdempotent, PhaseSent, Look{Verdict: CannotTell, Reason: CannotControl}), assessed{RecommendReissue, SameKey, []string{WhyExposed, WhyWindowOpen}, "", "", "", ""}},
		{"provider_idempotent, window over (P-03)", with(parkedSnapshot(ClassProviderIdempotent, PhaseSent, Look{Verdict: CannotTell, Reason: CannotControl}), func(s *Snapshot) { s.Effect.KeyWindow = time.Minute }), assessed{RecommendInvestigate, "", []string{WhyCannotTell, WhyExposed, WhyWindowOver}, "", WhyWindowOver, "", ""}},
		{"provider_idempotent, inside the margin", with(parkedSnapshot(ClassProviderIdempotent, PhaseSent, Look{Verdict: CannotTell, Reason: CannotControl}), func(s *Snapshot) { s.Effect.KeyWindow = 12 * time.Minute }), assessed{RecommendInvestigate, "", []string{WhyCannotTell, WhyExposed, WhyWindowOpen}, "", WhyWindowOver, "", ""}},
		{"one attempt confirmed", with(parkedSnapshot(ClassAtMostOnce, PhaseConfirmed), nil), assessed{RecommendCloseLanded, "", []string{WhyConfirmed}, WhyConfirmed, WhyNoNativeKey, "", WhyConfirmed}},
		{"the clock stepped", with(parkedSnapshot(ClassAtMostOnce, PhaseSent, missed), func(s *Snapshot) { s.ClockSuspect = true }), assessed{RecommendInvestigate, "", []string{WhyNotFound, WhyClock}, WhyClock, WhyNoNativeKey, "", ""}},
		{"a twin landed", with(parkedSnapshot(ClassAtMostOnce, PhaseSent, missed), func(s *Snapshot) { s.Twins = []Twin{{State: StateParked}, {State: StateCommitted}} }), assessed{RecommendInvestigate, "", []string{WhyNotFound, WhyTwinLanded}, "", WhyNoNativeKey, "", ""}},
		{"a twin is open", with(parkedSnapshot(ClassAtMostOnce, PhaseSent, missed), func(s *Snapshot) { s.Twins = []Twin{{State: StateParked}} }), assessed{RecommendReissue, NewKey, []string{WhyNotFound, WhyTwin}, "", WhyNoNativeKey, "", ""}},
		{"live", with(parkedSnapshot(ClassAtMostOnce, ""), func(s *Snapshot) {
			s.Effect.State = StateIntent
			s.Attempts[0].FencedAt, s.Attempts[0].LeaseUntil, s.Attempts[0].Deadline = time.Time{}, now.Add(time.Minute), now.Add(time.Hour)
		}), assessed{RecommendNothing, "", []string{WhyLive}, WhyLive, WhyLive, WhyLive, WhyLive}},
		{"a stuck INTENT is decided like PARKED", with(parkedSnapshot(ClassAtMostOnce, PhaseSent, found), func(s *Snapshot) { s.Effect.State = StateIntent }), assessed{RecommendCloseLanded, "", []string{WhyFound, WhyExposed}, WhyFound, WhyNoNativeKey, "", WhyFound}},
		{"ordered", with(parkedSnapshot(ClassAtMostOnce, PhaseSent, missed), func(s *Snapshot) { s.Effect.State, s.Order = StateReissue, &Order{ExpiresAt: now.Add(time.Hour)} }), assessed{RecommendNothing, "", []string{WhyOrdered}, WhyOrdered, WhyOrdered, WhyOrdered, WhyOrdered}},
		{"settled, contradicted", with(parkedSnapshot(ClassAtMostOnce, PhaseSent), func(s *Snapshot) { s.Effect.State, s.Effect.Contradicted = StateCommitted, true }), assessed{RecommendNothing, "", []string{WhyContradicted, WhySettled}, WhySettled, WhySettled, WhySettled, WhySettled}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			a := Assess(tt.s)
			got := assessed{Recommend: a.Recommend, Mode: a.Mode, NewKey: code(a.BlockFor(VerbReissue, NewKey)), SameKey: code(a.BlockFor(VerbReissue, SameKey)),
				Landed: code(a.BlockFor(VerbCloseLanded, "")), Not: code(a.BlockFor(VerbCloseNotLanded, ""))}
			for _, r := range a.Reasons {
				got.Why = append(got.Why, r.Code)
			}
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

func with(s *Snapshot, f func(*Snapshot)) *Snapshot {
	if f != nil {
		f(s)
	}
	return s
}

func code(b *Block) string {
	if b == nil {
		return ""
	}
	return b.Code
}
