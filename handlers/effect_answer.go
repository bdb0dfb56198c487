package handlers

import (
	"fmt"
	"strings"
	"time"

	"github.com/landedhq/landed/journal"
	"github.com/landedhq/landed/web"
)

// newAnswer says in plain words whether it landed, what is recommended and why.
func newAnswer(k clock, s *journal.Snapshot, a journal.Assessment) web.Answer {
	out := verdictOf(s, a)
	out.Recommend = recommendSentence(s, a)
	if a.Recommend == journal.RecommendWait && a.Until.After(k.now) {
		out.Until = k.maybe(a.Until)
	}
	out.Reasons = reasons(k, a)
	out.Countdowns = countdowns(k, s, a, longLabels())
	if l, ok := s.LastLook(); ok {
		out.Looked = k.maybe(l.StartedAt)
		return out
	}
	out.NeverLooked = "The provider has not been asked about this effect yet."
	if !s.CanLook {
		out.NeverLooked = "There is no evidence: Landed can’t ask this provider."
	}
	return out
}

// verdictOf answers the page's question. Facts that outlive a state come first.
func verdictOf(s *journal.Snapshot, a journal.Assessment) web.Answer {
	say := func(t web.Tone, text, detail string) web.Answer {
		return web.Answer{Tone: t, Text: text, Detail: detail}
	}
	switch {
	case s.Effect.Contradicted:
		return say(web.ToneStop, "It has landed after all.", "It was closed as not landed. What came in later says otherwise, and whoever acted on the close was told.")
	case s.Effect.ProbablyDouble:
		return say(web.ToneStop, "It probably landed twice.", "Check at the provider, undo one of the two there if need be, then acknowledge it here.")
	case s.Effect.State == journal.StateCommitted:
		return say(web.ToneGood, "Yes, it landed.", settledSentence(&s.Effect))
	case s.Effect.State == journal.StateRejected:
		return say(web.ToneInfo, "No, it did not land.", "The provider refused it, and nothing may have landed. "+settledSentence(&s.Effect))
	case s.Effect.State == journal.StateAbandoned:
		return say(web.ToneInfo, "No: it was closed as not landed.", settledSentence(&s.Effect))
	case s.Effect.State == journal.StateReissue:
		return say(web.ToneWait, "One more attempt is ordered.", "It starts when the worker asks the journal next. Nothing can be decided until it has, or until the order expires.")
	case s.Live():
		return say(web.ToneWait, "It is under way.", fmt.Sprintf("Attempt %d has the lease. Nothing can be decided while it runs.", s.Effect.Attempt))
	}
	return openVerdict(s, a)
}

// openVerdict answers for an effect that waits for a decision. The order of the
// rows is that of the assessment.
func openVerdict(s *journal.Snapshot, a journal.Assessment) web.Answer {
	for _, row := range []struct {
		code         string
		tone         web.Tone
		text, detail string
	}{
		{journal.WhyConfirmed, web.ToneGood, "Yes, it landed.", "The provider confirmed an attempt. It still has to be closed here."},
		{journal.WhyFound, web.ToneGood, "Yes, it landed.", "The provider shows it. It still has to be closed here."},
		{journal.WhyFoundPending, web.ToneWait, "It is at the provider, not done yet.", "The provider accepted it. A repeat now would double it."},
		{journal.WhyDuplicate, web.ToneStop, "It landed more than once.", "Somebody has to undo the surplus at the provider."},
		{journal.WhyNotEffective, web.ToneWarn, "Something is there that took no effect.", "Look at it before deciding: it may still be sent, or block a repeat."},
		{journal.WhyNotFound, web.ToneInfo, "No, it did not land.", "The provider was asked conclusively and does not have it."},
		{journal.WhyTooEarly, web.ToneWait, "It is too early to tell.", "A request may still land, or show up late."},
		{journal.WhyNoLook, web.ToneWait, "Not known yet.", "The provider has not been asked since the attempt ended."},
		{journal.WhyNoAdapter, web.ToneWarn, "Landed can’t tell.", "Nobody can ask this provider from here. Look there yourself, then decide."},
		{journal.WhyCannotTell, web.ToneWarn, "Nobody can tell yet.", "The provider was asked, and its answer settles nothing."},
		{journal.WhyRefused, web.ToneInfo, "No, it did not land.", "The provider refused it and did nothing."},
		{journal.WhyNotSent, web.ToneInfo, "No, it did not land.", "Nothing left the worker."},
	} {
		if hasReason(a, row.code) {
			return web.Answer{Tone: row.tone, Text: row.text, Detail: row.detail}
		}
	}
	if a.Recommend == journal.RecommendReissue && a.Mode == journal.SameKey {
		return web.Answer{Tone: web.ToneInfo, Text: "Not known, but safe to repeat.", Detail: "The provider drops a repeat under the same key while its key window lasts."}
	}
	if len(s.Exposed()) == 0 {
		return web.Answer{Tone: web.ToneInfo, Text: "No, it did not land.", Detail: "No attempt may have landed."}
	}
	return web.Answer{Tone: web.ToneWarn, Text: "Nobody knows yet.", Detail: "An attempt may have landed, and nothing settles it."}
}

func hasReason(a journal.Assessment, code string) bool {
	for _, r := range a.Reasons {
		if r.Code == code {
			return true
		}
	}
	return false
}

func settledSentence(e *journal.Effect) string {
	switch {
	case e.SettledBy == "worker":
		return "The worker reported it."
	case strings.HasPrefix(e.SettledBy, "operator:"):
		return "A person closed it; what was decided is below."
	case e.SettledBy == "policy":
		return "It was settled by policy, on the evidence below."
	case e.SettledBy == "late_commit":
		return "A worker’s late report settled it."
	case e.SettledBy == "late_refusal":
		return "A worker’s late report of the refusal settled it."
	}
	return ""
}

func recommendSentence(s *journal.Snapshot, a journal.Assessment) string {
	switch a.Recommend {
	case journal.RecommendCloseLanded:
		return "Close it as landed."
	case journal.RecommendCloseNotLanded:
		return "Close it as not landed."
	case journal.RecommendReissue:
		if a.Mode == journal.SameKey {
			return "Re-issue it under the same key."
		}
		return "Re-issue it, if it is still wanted."
	case journal.RecommendWait:
		if a.Until.After(s.Now) {
			return "Wait. Asking again makes sense"
		}
		return "Wait for the next look at the provider."
	case journal.RecommendInvestigate:
		return "Investigate: look at the provider yourself before deciding."
	}
	if s.Effect.Contradicted || s.Effect.ProbablyDouble {
		return "Check at the provider, then acknowledge."
	}
	return ""
}

// reasons puts the reason lines into sentences. What the answer says already, and
// times that a countdown shows, are left out.
func reasons(k clock, a journal.Assessment) []web.Reason {
	landed := hasReason(a, journal.WhyFound) || hasReason(a, journal.WhyDuplicate) || hasReason(a, journal.WhyFoundPending) || hasReason(a, journal.WhyConfirmed)
	var out []web.Reason
	for _, r := range a.Reasons {
		switch r.Code {
		case journal.WhyLive, journal.WhyOrdered, journal.WhySettled:
			continue
		case journal.WhyWindowOpen, journal.WhyWindowOver:
			r.Until = time.Time{}
		}
		text := web.WhySentence(r.Code)
		if r.Code == journal.WhyExposed {
			text = fmt.Sprintf("Attempt %d %s", r.Attempt, text)
			if landed {
				text = fmt.Sprintf("Attempt %d ended without a known outcome.", r.Attempt)
			}
		}
		out = append(out, web.Reason{Text: text, At: k.maybe(r.Until)})
	}
	return out
}
