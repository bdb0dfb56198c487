package journal

import (
	"fmt"
	"testing"
	"time"
)

// TestAssess_Everywhere walks every combination of class, phase, two looks, key
// window, clock, adapter and twin that an open effect can be in (some 50,000), and
// holds the assessment to what must be true of each.
func TestAssess_Everywhere(t *testing.T) {
	t.Parallel()
	looks := []Look{{}, {Verdict: Found}, {Verdict: FoundPending, LookAgainAt: now.Add(time.Minute)}, {Verdict: FoundNotEffective}, {Verdict: Duplicate},
		{Verdict: NotFound, CoversAttempt: 1}, {Verdict: CannotTell, Reason: CannotTooEarly, LookAgainAt: now.Add(time.Minute)}, {Verdict: CannotTell, Reason: CannotScope}}
	n := 0
	for _, class := range []Class{ClassProviderIdempotent, ClassJournalDeduped, ClassAtMostOnce} {
		for _, phase := range []Phase{"", PhaseNotSent, PhaseSent, PhaseRefused, PhaseConfirmed} {
			for _, first := range looks {
				for _, second := range looks {
					for bits := range 1 << 6 {
						s := parkedSnapshot(class, phase, given(first, second)...)
						on := func(bit int) bool { return bits&(1<<bit) != 0 }
						s.CanLook, s.ClockSuspect = on(0), on(1)
						if on(2) && class == ClassProviderIdempotent {
							s.Effect.KeyWindow = time.Minute // over
						}
						if on(3) {
							s.Effect.State = StateIntent // stuck
						}
						if on(4) {
							s.Attempts[0].Final = phase == PhaseRefused
						}
						if on(5) {
							s.Twins = []Twin{{State: StateCommitted}}
						}
						n++
						if wrong := assessedWrongly(s); wrong != "" {
							t.Fatalf("%s: %s phase %q looks %v %v bits %06b", wrong, class, phase, first, second, bits)
						}
					}
				}
			}
		}
	}
	t.Logf("%d combinations", n)
}

func given(looks ...Look) []Look {
	var out []Look
	for _, l := range looks {
		if l.Verdict != "" {
			out = append(out, l)
		}
	}
	return out
}

// assessedWrongly says what must not be; "" if nothing is wrong.
func assessedWrongly(s *Snapshot) string {
	a := Assess(s)
	blocked := func(v Verb, m ReissueMode) bool { return a.BlockFor(v, m) != nil }
	hit, isHit := s.Hit()
	_, confirmed := s.Confirmed()
	switch {
	case len(a.Reasons) == 0:
		return "no reason"
	case a.Recommend == RecommendNothing:
		return "an open effect has nothing recommended"
	case a.Recommend == RecommendReissue && blocked(VerbReissue, a.Mode):
		return fmt.Sprintf("a blocked re-issue is recommended (%s)", a.BlockFor(VerbReissue, a.Mode).Code)
	case a.Recommend == RecommendCloseNotLanded && blocked(VerbCloseNotLanded, ""):
		return "a blocked close is recommended"
	case a.Recommend == RecommendWait && !a.Until.After(s.Now) && !(len(s.Looks) == 0 && s.CanLook):
		return "wait, until a moment that is over"
	case blocked(VerbCloseLanded, ""):
		return "what a person knows to have landed can't be closed"
	case !blocked(VerbReopen, ""):
		return "an open effect can be reopened"
	}
	for _, m := range []ReissueMode{SameKey, NewKey} {
		if (isHit || confirmed || s.ClockSuspect) && !blocked(VerbReissue, m) {
			return "a repeat is open beside a landing or a suspect clock"
		}
	}
	if (isHit || confirmed) && (!blocked(VerbCloseNotLanded, "") || !blocked(VerbCorrect, "")) {
		return "what landed can be closed as not landed"
	}
	if isHit && hit.Verdict == Found && a.Recommend != RecommendCloseLanded {
		return "found, and something else is recommended"
	}
	if s.Effect.Class != ClassProviderIdempotent && !blocked(VerbReissue, SameKey) {
		return "the same key without a provider that knows it"
	}
	if (len(s.Twins) > 0) && a.Recommend == RecommendReissue {
		return "a repeat is recommended beside a twin that landed"
	}
	for _, bs := range a.Blocks {
		for _, b := range bs {
			if b.Code == "" || b.Overridable() && b.Code != WhyFound && b.Code != WhyFoundPending && b.Code != WhyDuplicate && b.Code != WhyTooEarly {
				return "a block that nobody can explain, or that a second person must not pass"
			}
		}
	}
	return ""
}
