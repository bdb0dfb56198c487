package evidence

import (
	"fmt"
	"time"

	"github.com/landedhq/landed/journal"
)

// Timing is when things happened to the effect, on the journal's clock.
type Timing struct {
	StartedAt     time.Time // when the look began
	FirstGrant    time.Time // when attempt 1 was granted
	FencedAt      time.Time // the latest of all attempts; zero = one is live
	SendBy        time.Time // the latest of all attempts
	ClientTimeout time.Duration
	// MeasuredP99 is how long this provider took to show what landed, 99th
	// percentile; 0 = not measured yet.
	MeasuredP99  time.Duration
	Attempt      int // the current attempt: what a NOT_FOUND covers
	Attempts     int // how many were handed out
	Looks        int // how often was asked before, for the wait after a fault
	Live         bool
	ClockSuspect bool
}

// Judgement is what facts mean.
type Judgement struct {
	Verdict       journal.Verdict
	Reason        string // of CANNOT_TELL
	Explanation   string // one sentence for people
	CoversAttempt int
	LookAgainAt   time.Time
}

// ConclusiveAt is from when on an empty answer may be believed: everything is
// fenced, no request in flight can still land, and the provider's index has
// had its time.
func ConclusiveAt(sheet Sheet, t Timing) time.Time {
	inFlight := t.SendBy.Add(t.ClientTimeout + sheet.ProcessingHorizon)
	at := t.FencedAt
	if inFlight.After(at) {
		at = inFlight
	}
	return at.Add(max(sheet.IndexLag, 3*t.MeasuredP99))
}

// Judge turns facts into a verdict. It is a pure function, the same for all
// adapters; its first rule that applies wins.
func Judge(f Facts, sheet Sheet, t Timing) Judgement {
	if f.Err != nil {
		return judgeFault(fault(f.Err), t)
	}
	if len(f.Answer.Matches) > 0 {
		return judgeMatches(f.Answer.Matches, sheet, t)
	}
	return judgeMiss(f, sheet, t)
}

func cannot(reason, explanation string, again time.Time) Judgement {
	return Judgement{Verdict: journal.CannotTell, Reason: reason, Explanation: explanation, LookAgainAt: again}
}

func judgeFault(p *ProviderError, t Timing) Judgement {
	wait := max(p.RetryAfter, backoff(t.Looks))
	j := cannot(journal.CannotProvider, p.Detail, t.StartedAt.Add(wait))
	if p.Kind == FaultForbidden || p.Kind == FaultAuth {
		j.Explanation = p.Detail + ": somebody has to mend the credentials before Landed can look"
	}
	return j
}

// backoff is the wait after a look that a later one may better: 15 s, doubling
// to an hour.
func backoff(looks int) time.Duration {
	return min(15*time.Second<<min(looks, 12), time.Hour)
}

func judgeMatches(ms []journal.Match, sheet Sheet, t Timing) Judgement {
	var effective, pending int
	for _, m := range ms {
		switch m.State {
		case journal.MatchPending:
			pending++
		case journal.MatchNotEffective:
		default:
			effective++
		}
	}
	again := func() time.Time { // a second match may still show up
		if at := ConclusiveAt(sheet, t); t.Attempts > 1 && !t.Live && t.StartedAt.Before(at) {
			return at
		}
		return time.Time{}
	}
	switch {
	case effective+pending > 1:
		return Judgement{Verdict: journal.Duplicate, Explanation: fmt.Sprintf("The provider holds %d objects with this reference.", effective+pending)}
	case effective == 1:
		return Judgement{Verdict: journal.Found, Explanation: "The provider holds exactly one object with this reference.", LookAgainAt: again()}
	case pending == 1:
		return Judgement{Verdict: journal.FoundPending, LookAgainAt: t.StartedAt.Add(backoff(t.Looks)),
			Explanation: "The provider holds it, but it has not taken effect yet."}
	}
	return Judgement{Verdict: journal.FoundNotEffective, LookAgainAt: again(),
		Explanation: "The provider holds an object with this reference that did not take effect."}
}

func judgeMiss(f Facts, sheet Sheet, t Timing) Judgement {
	conclusive := ConclusiveAt(sheet, t)
	switch {
	case t.Live:
		return cannot(journal.CannotAttemptLive, "An attempt is still running; its request may land at any moment.", t.SendBy.Add(t.ClientTimeout))
	case t.ClockSuspect:
		return cannot(journal.CannotClock, "The journal's clock stepped, so the window of the search can't be trusted.", t.StartedAt.Add(backoff(t.Looks)))
	case t.StartedAt.Before(conclusive):
		return cannot(journal.CannotTooEarly, "Nothing there yet, but a request in flight or the provider's index may still bring it.", conclusive)
	case f.Answer.Unrelated > 0:
		return cannot(journal.CannotFilter, fmt.Sprintf("The provider returned %d rows that do not carry the reference: it did not honour the filter.", f.Answer.Unrelated), time.Time{})
	case !f.Answer.AllPagesRead:
		return cannot(journal.CannotTruncated, "Not all of the provider's answer could be read.", time.Time{})
	case unseen(f.Answer.Scopes) != "":
		return cannot(journal.CannotScope, "Not every place could be searched: "+unseen(f.Answer.Scopes)+".", time.Time{})
	case sheet.Class == L6 || !sheet.Conclusive:
		return cannot(journal.CannotScope, orElse(sheet.InconclusiveWhy, "This provider can't be asked for our reference, so an empty answer proves nothing."), time.Time{})
	case sheet.Retention > 0 && t.StartedAt.Sub(t.FirstGrant) > sheet.Retention-sheet.Retention/20:
		return cannot(journal.CannotRetention, "The effect is older than what the provider keeps.", time.Time{})
	case !f.Negative.Ran || !f.Negative.Passed:
		return cannot(journal.CannotControl, orElse(f.Negative.Detail, "The negative control did not run."), t.StartedAt.Add(backoff(t.Looks)))
	case !f.Positive.Ran || !f.Positive.Passed:
		return cannot(journal.CannotControl, orElse(f.Positive.Detail, "The positive control did not run."), t.StartedAt.Add(backoff(t.Looks)))
	}
	return Judgement{Verdict: journal.NotFound, CoversAttempt: t.Attempt,
		Explanation: "The provider was searched completely, after every request had its time to land, and holds nothing with this reference."}
}

func unseen(scopes []journal.Scope) string {
	for _, s := range scopes {
		if !s.Seen {
			if s.Detail != "" {
				return s.Name + " (" + s.Detail + ")"
			}
			return s.Name
		}
	}
	return ""
}

func orElse[T comparable](v, other T) T {
	var zero T
	if v != zero {
		return v
	}
	return other
}
