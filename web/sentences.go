package web

import "github.com/landedhq/landed/journal"

// WhySentence says in words what a reason of an assessment means. Attempt and
// time stand beside it on the page.
func WhySentence(code string) string {
	switch code {
	case journal.WhyFound:
		return "The provider shows it: an object there carries this effect's reference."
	case journal.WhyFoundPending:
		return "The provider has accepted it and is not done with it yet."
	case journal.WhyDuplicate:
		return "The provider shows it more than once."
	case journal.WhyNotEffective:
		return "The provider shows an object with this reference that took no effect: a draft, or one that bounced, failed or was cancelled."
	case journal.WhyNotFound:
		return "The provider was asked after everything could have landed, every page and place was read, both controls passed, and it is not there."
	case journal.WhyNotSent:
		return "No byte of any request left the worker."
	case journal.WhyRefused:
		return "The provider refused it and did nothing."
	case journal.WhyExposed:
		return "may have landed: nothing proves that it did not."
	case journal.WhyTooEarly:
		return "It is too early to tell: a request may still land, or show up late in the search."
	case journal.WhyCannotTell:
		return "The newest look at the provider could not tell."
	case journal.WhyNoLook:
		return "The provider has not been asked yet."
	case journal.WhyNoAdapter:
		return "No evidence adapter is set up for this provider, so Landed can't ask it."
	}
	return whyMore(code)
}

func whyMore(code string) string {
	switch code {
	case journal.WhyWindowOpen:
		return "The provider still recognises the same key: until then it drops a repeat."
	case journal.WhyWindowOver:
		return "The provider no longer recognises the same key: a repeat would be taken as new."
	case journal.WhyConfirmed:
		return "The provider confirmed an attempt."
	case journal.WhyAtMostOnce:
		return "This tool is at-most-once: only a person may have it repeated."
	case journal.WhyLive:
		return "A worker is at it right now."
	case journal.WhyOrdered:
		return "One further attempt is ordered and has not been picked up."
	case journal.WhySettled:
		return "It is closed."
	case journal.WhyTwinLanded:
		return "Another effect of the same run looks like the same deed under another key, and it landed."
	case journal.WhyTwin:
		return "Another effect of the same run looks like the same deed under another key."
	case journal.WhyByPolicy:
		return "Policy settled it by what the provider shows; a person can take that back."
	case journal.WhyClock:
		return "The database's clock stepped, so waiting times can't be trusted yet."
	case journal.WhyContradicted:
		return "It was closed as not landed, and then shown to have landed."
	case journal.WhyProbablyDouble:
		return "Two landings are known or likely."
	case journal.WhyNotProved:
		return "Many are repeated together only where the newest look conclusively did not find it, after every attempt."
	case journal.WhyNoNativeKey:
		return "This provider does not drop repeats of one key."
	}
	return "Reason " + code + "."
}

// BlockSentence says why a way to decide is not open now.
func BlockSentence(code string) string {
	switch code {
	case journal.WhyFound, journal.WhyFoundPending, journal.WhyDuplicate:
		return "The provider shows it, so this would record something untrue or double it."
	case journal.WhyConfirmed:
		return "The provider confirmed an attempt, so this would record something untrue or double it."
	case journal.WhyTooEarly:
		return "A request may still land or show up late. Deciding to repeat it now could double it."
	case journal.WhyLive:
		return "A worker is at it right now: wait until its attempt has ended."
	case journal.WhyOrdered:
		return "A further attempt is ordered already."
	case journal.WhySettled:
		return "It is closed already."
	case journal.WhyStillOpen:
		return "It waits for a decision as it is: there is no settlement to take back."
	case "":
		return ""
	}
	return WhySentence(code)
}

// CannotSentence says why a look can't tell.
func CannotSentence(reason string) string {
	switch reason {
	case journal.CannotTooEarly:
		return "too early"
	case journal.CannotRetention:
		return "beyond the provider's retention"
	case journal.CannotTruncated:
		return "the answer was cut short"
	case journal.CannotFilter:
		return "the filter was not honoured"
	case journal.CannotScope:
		return "a place could not be seen"
	case journal.CannotControl:
		return "a control failed"
	case journal.CannotProvider:
		return "the provider did not answer properly"
	case journal.CannotClock:
		return "a clock is off"
	case journal.CannotNoAdapter:
		return "no adapter"
	case journal.CannotAttemptLive:
		return "an attempt is under way"
	}
	return reason
}

// VerdictBadge shows a verdict; reason counts for CANNOT_TELL only.
func VerdictBadge(v journal.Verdict, reason string) Badge {
	switch v {
	case journal.Found:
		return Badge{Tone: ToneGood, Text: "Found"}
	case journal.FoundPending:
		return Badge{Tone: ToneWait, Text: "Found, pending"}
	case journal.FoundNotEffective:
		return Badge{Tone: ToneWarn, Text: "Found, not effective"}
	case journal.Duplicate:
		return Badge{Tone: ToneStop, Text: "Found twice"}
	case journal.NotFound:
		return Badge{Tone: ToneInfo, Text: "Not found"}
	case journal.CannotTell:
		if reason == "" {
			return Badge{Tone: ToneWarn, Text: "Can’t tell"}
		}
		return Badge{Tone: ToneWarn, Text: "Can’t tell: " + CannotSentence(reason)}
	}
	return Badge{Tone: ToneQuiet, Text: string(v)}
}

// StateBadge shows where an effect stands. live and stuck count for INTENT only.
func StateBadge(st journal.State, live bool) Badge {
	switch st {
	case journal.StateIntent:
		if live {
			return Badge{Tone: ToneWait, Text: "Under way"}
		}
		return Badge{Tone: ToneWarn, Text: "Stuck"}
	case journal.StateParked:
		return Badge{Tone: ToneWarn, Text: "Parked"}
	case journal.StateReissue:
		return Badge{Tone: ToneWait, Text: "Re-issue ordered"}
	case journal.StateCommitted:
		return Badge{Tone: ToneGood, Text: "Committed"}
	case journal.StateRejected:
		return Badge{Tone: ToneInfo, Text: "Rejected"}
	case journal.StateAbandoned:
		return Badge{Tone: ToneInfo, Text: "Abandoned"}
	}
	return Badge{Tone: ToneQuiet, Text: string(st)}
}

// StateName is the state in a sentence.
func StateName(st journal.State) string {
	switch st {
	case journal.StateIntent:
		return "INTENT: an attempt was granted and nothing settled it"
	case journal.StateParked:
		return "PARKED: it waits for a decision"
	case journal.StateReissue:
		return "REISSUE: one further attempt is ordered"
	case journal.StateCommitted:
		return "COMMITTED: it happened"
	case journal.StateRejected:
		return "REJECTED: the provider refused it and nothing may have landed"
	case journal.StateAbandoned:
		return "ABANDONED: closed as not landed"
	}
	return string(st)
}

// ClassName is a class on a chip.
func ClassName(c journal.Class) string {
	switch c {
	case journal.ClassProviderIdempotent:
		return "provider-idempotent"
	case journal.ClassJournalDeduped:
		return "journal-deduped"
	case journal.ClassAtMostOnce:
		return "at-most-once"
	case journal.ClassReadOnly:
		return "read-only"
	}
	return string(c)
}

// ClassMeaning says how the class may be retried.
func ClassMeaning(c journal.Class) string {
	switch c {
	case journal.ClassProviderIdempotent:
		return "The provider drops repeats of one key, for as long as its key window lasts."
	case journal.ClassJournalDeduped:
		return "Repeated only after the provider was asked and conclusively does not have it."
	case journal.ClassAtMostOnce:
		return "Repeated only when a person orders it."
	}
	return ""
}

// ParkedSentence says why an effect was parked.
func ParkedSentence(reason string) string {
	switch reason {
	case journal.ReasonAtMostOnce:
		return "It may have been sent, its outcome is unknown, and its class forbids a repeat."
	case journal.ReasonWindowOver:
		return "The provider's key no longer covers a repeat."
	case journal.ReasonNoUsefulLook:
		return "Asking the provider can't settle it."
	case journal.ReasonDuplicate:
		return "The provider shows more than one match."
	case journal.ReasonNotEffective:
		return "The provider shows a match that took no effect."
	case journal.ReasonHit:
		return "The provider shows it, and a person has to settle it."
	case journal.ReasonOrderVoid:
		return "The order for a further attempt expired, or was voided by something new."
	case journal.ReasonRefusedExposed:
		return "The provider refused the last attempt, but an earlier one may have landed."
	case journal.ReasonUndoRefused:
		return "The provider refused to undo it, so what it was to undo still stands."
	case journal.ReasonBudgetSpent:
		return "The retry budget is spent."
	case journal.ReasonReplayedError:
		return "The provider keeps repeating a stored error for this key."
	case journal.ReasonOrphan:
		return "A worker reported on an effect that this journal did not know."
	case journal.ReasonContradicted:
		return "It was closed, and then shown to have landed."
	case journal.ReasonClock:
		return "The database's clock stepped, so automatic attempts wait."
	case journal.ReasonReopened:
		return "Policy had settled it, and a person took that back."
	case journal.ReasonRestored:
		return "The journal was restored from a backup, so nothing may be repeated without a person."
	}
	return reason
}

// ReasonCodeText is a reason code in the select of the decision form.
func ReasonCodeText(c journal.ReasonCode) string {
	switch c {
	case "evidence_found":
		return "The evidence shows that it landed"
	case "evidence_not_found":
		return "The evidence shows that it did not land"
	case "confirmed_by_person":
		return "Somebody confirmed it (the customer, the provider)"
	case "done_by_hand":
		return "It was done by hand"
	case "no_longer_needed":
		return "It is no longer needed"
	case "provider_incident":
		return "The provider had an incident"
	case "test":
		return "It is a test"
	case "other":
		return "Something else"
	}
	return string(c)
}

// PhaseBadge shows how far an attempt got.
func PhaseBadge(p journal.Phase, live bool) Badge {
	switch p {
	case journal.PhaseNotSent:
		return Badge{Tone: ToneInfo, Text: "Not sent"}
	case journal.PhaseRefused:
		return Badge{Tone: ToneInfo, Text: "Refused"}
	case journal.PhaseConfirmed:
		return Badge{Tone: ToneGood, Text: "Confirmed"}
	case journal.PhaseSent:
		return Badge{Tone: ToneWarn, Text: "Sent, outcome unknown"}
	}
	if live {
		return Badge{Tone: ToneWait, Text: "Under way"}
	}
	return Badge{Tone: ToneWarn, Text: "No report, counts as sent"}
}

// MatchBadge shows whether a match took effect.
func MatchBadge(s journal.MatchState) Badge {
	switch s {
	case journal.MatchEffective:
		return Badge{Tone: ToneGood, Text: "Took effect"}
	case journal.MatchPending:
		return Badge{Tone: ToneWait, Text: "Pending"}
	case journal.MatchNotEffective:
		return Badge{Tone: ToneWarn, Text: "Took no effect"}
	}
	return Badge{Tone: ToneQuiet, Text: string(s)}
}

// ResolutionText says what a runtime is told.
func ResolutionText(k journal.ResolutionKind) string {
	switch k {
	case journal.ResolvedReissue:
		return "Re-issue ordered"
	case journal.ResolvedLanded:
		return "Closed as landed"
	case journal.ResolvedNotLanded:
		return "Closed as not landed"
	case journal.ResolvedCommitted:
		return "Settled by a late commit"
	case journal.ResolvedRejected:
		return "Settled by a late refusal"
	case journal.ResolvedByPolicy:
		return "Settled by policy: the evidence shows it"
	case journal.ResolvedCorrected:
		return "Corrected: ordered anew with other arguments"
	case journal.ResolvedReopened:
		return "Correction: the settlement by policy is taken back"
	case journal.ResolvedContradiction:
		return "Correction: it has landed after all"
	}
	return string(k)
}
