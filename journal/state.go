package journal

// State is where an effect stands. The zero value means "no such effect".
type State string

// The states of an effect, as stored.
const (
	StateIntent    State = "INTENT"    // an attempt was granted and nothing settled it yet
	StateParked    State = "PARKED"    // waits for an operator's decision
	StateReissue   State = "REISSUE"   // an order is open: one further attempt is allowed
	StateCommitted State = "COMMITTED" // the effect happened
	StateRejected  State = "REJECTED"  // the provider refused it and nothing may have landed
	StateAbandoned State = "ABANDONED" // closed as not landed
)

// Valid reports whether an effect can stand there.
func (s State) Valid() bool {
	return s.Closed() || s == StateIntent || s == StateParked || s == StateReissue
}

// Closed reports whether no attempt of the effect may ever be granted again
// unless a late fact or a decision moves it.
func (s State) Closed() bool {
	return s == StateCommitted || s == StateRejected || s == StateAbandoned
}

// Class says how a tool may be retried. It is registered with the tool and
// copied into each effect: a later change of the tool holds for new effects.
type Class string

// The tool classes.
const (
	ClassReadOnly           Class = "read_only"           // never journaled
	ClassProviderIdempotent Class = "provider_idempotent" // the provider drops repeats of one provider key, for its key window
	ClassJournalDeduped     Class = "journal_deduped"     // repeated only after a conclusive NOT_FOUND
	ClassAtMostOnce         Class = "at_most_once"        // repeated only by an operator's order
)

// Valid reports whether c is one of the four classes.
func (c Class) Valid() bool {
	switch c {
	case ClassReadOnly, ClassProviderIdempotent, ClassJournalDeduped, ClassAtMostOnce:
		return true
	}
	return false
}

// Phase is how far an attempt got. Within an attempt it only rises. The zero
// value means that nobody reported: it counts as PhaseSent.
type Phase string

// The phases of an attempt, lowest first.
const (
	PhaseNotSent   Phase = "not_sent"  // proved: no byte of the request left
	PhaseSent      Phase = "sent"      // outcome unknown
	PhaseRefused   Phase = "refused"   // the provider said no and did nothing
	PhaseConfirmed Phase = "confirmed" // the provider said yes
)

// Valid reports whether p is a phase that a worker may report with fail.
func (p Phase) Valid() bool {
	return p == PhaseNotSent || p == PhaseSent || p == PhaseRefused
}

func (p Phase) rank() int {
	switch p {
	case PhaseNotSent:
		return 1
	case PhaseSent:
		return 2
	case PhaseRefused:
		return 3
	case PhaseConfirmed:
		return 4
	}
	return 0
}

// Rises reports whether a report of next may replace p.
func (p Phase) Rises(next Phase) bool { return next.rank() > p.rank() }

// Directive is what a worker is told to do. begin and fail answer with one,
// never with a guess.
type Directive string

// The directives of begin and fail.
const (
	DirectiveExecute    Directive = "execute"     // call the provider now, as this attempt
	DirectiveReturn     Directive = "return"      // the outcome is known: hand it back
	DirectiveInProgress Directive = "in_progress" // another attempt holds the lease
	DirectiveRetryLater Directive = "retry_later" // fenced, before retry_at
	DirectiveVerifying  Directive = "verifying"   // Landed is asking the provider
	DirectiveParked     Directive = "parked"      // a person decides
	DirectiveAbandoned  Directive = "abandoned"   // closed as not landed
	DirectiveHardStop   Directive = "hard_stop"   // the retry budget is spent
	DirectiveRetry      Directive = "retry"       // fail only: begin again after T
	DirectiveRejected   Directive = "rejected"    // fail only: refused for good
	DirectiveReplan     Directive = "replan"      // worker side only: refused before any intent
)

// Why an effect was parked, or why a directive was given. Stable, shown to
// people through a table of sentences in package web.
const (
	ReasonAtMostOnce     = "at_most_once"        // sent, outcome unknown, class forbids a repeat
	ReasonWindowOver     = "key_window_over"     // the provider's key no longer covers a repeat
	ReasonNoUsefulLook   = "no_useful_look"      // evidence can't settle it
	ReasonDuplicate      = "duplicate"           // more than one match at the provider
	ReasonNotEffective   = "found_not_effective" // a match that did not take effect
	ReasonHit            = "hit"                 // the provider shows it; policy or a person settles
	ReasonOrderVoid      = "order_void"          // the order expired, or a hit came after it
	ReasonRefusedExposed = "refused_but_exposed" // refused, but an earlier attempt may have landed
	ReasonUndoRefused    = "undo_refused"        // a compensation was refused: what it was to undo still stands
	ReasonBudgetSpent    = "retry_budget_spent"
	ReasonReplayedError  = "replayed_error"   // the provider repeats a stored error for this key
	ReasonOrphan         = "orphan"           // a report for an effect that the journal does not know
	ReasonContradicted   = "contradicted"     // closed, then shown to have landed
	ReasonClock          = "clock"            // the database's clock stepped: automatic attempts wait
	ReasonRestored       = "journal_restored" // parked by a recovery
	ReasonReopened       = "reopened"         // a person took the settlement by policy back
)
