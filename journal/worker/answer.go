package worker

import (
	"encoding/base64"
	"encoding/json"
	"time"
	"unicode/utf8"

	"github.com/landedhq/landed/journal"
)

// Status is what a call came to, for the agent that made it.
type Status string

// The statuses.
const (
	StatusDone       Status = "done"        // it happened; Result is what was recorded
	StatusInProgress Status = "in_progress" // another attempt runs, or one follows by itself
	StatusUnknown    Status = "unknown"     // it may have happened; a person or a look decides
	StatusRefused    Status = "refused"     // the provider said no and did nothing
	StatusReplan     Status = "replan"      // the call itself is wrong; nothing was journaled
	StatusHardStop   Status = "hard_stop"   // not executed, and trying again now won't help
	StatusAbandoned  Status = "abandoned"   // closed as not landed; never executed again
)

// Answer is what Do hands back, structured so that a model does not read an
// unknown outcome as a failure that invites another try.
type Answer struct {
	Status     Status
	Note       string // what to do and what not to do, in one or two sentences
	EffectID   string
	Ref        string
	Attempt    int
	Result     []byte // exactly the recorded bytes; nil if settled without a result
	ProviderID string
	RetryAfter time.Duration // when asking again makes sense; 0 = not by itself
	Reason     string        // a stable code or the provider's words
	Since      time.Duration // in_progress: how long the live attempt has run
	Owner      string        // in_progress: who holds the lease
	Problems   []string      // replan: what is wrong with the call
	SettledBy  string        // who settled it, if not this call
	Repeated   bool          // done before: this call executed nothing
	Drift      []journal.FieldDiff
	Decision   *journal.Resolution
	// Directive is the journal's own word; Cursor is where Await starts.
	Directive journal.Directive
	Cursor    int64
}

// Settled reports whether the answer is the last word on the call.
func (a Answer) Settled() bool {
	return a.Status != StatusInProgress && a.Status != StatusUnknown
}

// Parked reports whether a person has to decide: Await waits for that.
func (a Answer) Parked() bool { return a.Directive == journal.DirectiveParked }

// The notes, one per case. They are read by models: each says what not to do.
const (
	noteDone       = "Done. Do not repeat it."
	noteRepeated   = "This was done before; the recorded result is returned and nothing was executed again. Do not repeat it."
	noteUnrecorded = "It was done, but the record could not be written. Do not repeat it under any key; a person was alerted by the log."
	noteInProgress = "Another attempt is running. Do not start a second one and do not change the arguments: ask again with the same call later."
	noteRetrying   = "Not done yet; it will be tried again under the same key. Do not call it in another way: ask again with the same call later."
	noteUnknown    = "The outcome is unknown: it may have happened. Do not repeat it, not with other arguments and not by another tool; a person will decide."
	noteVerifying  = "The outcome is unknown: the provider is being asked whether it happened. Do not repeat it; ask again with the same call later."
	noteRepeating  = "The outcome is unknown: it will be asked for again under the same provider key, which can't do it twice. Do not repeat it in another way; ask again with the same call later."
	noteRefused    = "The provider refused and did nothing. The same call will get the same answer: change the plan, or ask a person."
	noteReplan     = "The call was not executed and nothing was recorded: correct what the problems say and call again."
	noteHardStop   = "Not executed, and no further try will be made now. Do not retry: report this to a person."
	noteAbandoned  = "A person closed this as not done, and it will not be executed. Do not repeat it: a new effect needs a new decision."
	noteKeyReused  = "The key belongs to a call with another tool or other arguments, which stands. Nothing was executed: if this is a new effect, it belongs to another step or item."
)

// answerOf turns a directive of begin, other than execute, into an answer.
func answerOf(b journal.BeginAnswer) Answer {
	a := Answer{
		EffectID: b.EffectID, Ref: b.Ref, Attempt: b.Attempt, RetryAfter: b.RetryAfter, Reason: b.Reason,
		Since: b.Since, Owner: b.Owner, Drift: b.Drift, Decision: b.Decision, Directive: b.Directive, Cursor: b.Cursor,
	}
	switch b.Directive {
	case journal.DirectiveReturn:
		a.SettledBy = b.SettledBy
		if b.State == journal.StateRejected {
			a.Status, a.Note, a.Reason = StatusRefused, noteRefused, b.Refusal
			return a
		}
		a.Status, a.Note, a.Repeated = StatusDone, noteRepeated, true
		a.Result, a.ProviderID = b.Result, b.ProviderID
		return a
	case journal.DirectiveAbandoned:
		a.SettledBy = b.SettledBy
	}
	a.Status, a.Note = describe(b.Directive)
	return a
}

// describe maps a directive that ends a call to status and note.
func describe(d journal.Directive) (Status, string) {
	switch d {
	case journal.DirectiveInProgress:
		return StatusInProgress, noteInProgress
	case journal.DirectiveRetryLater, journal.DirectiveRetry:
		return StatusInProgress, noteRetrying
	case journal.DirectiveVerifying:
		return StatusUnknown, noteVerifying
	case journal.DirectiveAbandoned:
		return StatusAbandoned, noteAbandoned
	case journal.DirectiveHardStop:
		return StatusHardStop, noteHardStop
	case journal.DirectiveRejected:
		return StatusRefused, noteRefused
	case journal.DirectiveReplan:
		return StatusReplan, noteReplan
	}
	return StatusUnknown, noteUnknown // parked, and whatever a newer journal may say
}

func replan(problems ...string) Answer {
	return Answer{Status: StatusReplan, Note: noteReplan, Problems: problems, Directive: journal.DirectiveReplan}
}

// wireAnswer is the JSON form.
type wireAnswer struct {
	Status       Status              `json:"status"`
	Note         string              `json:"note"`
	EffectID     string              `json:"effect_id,omitempty"`
	Ref          string              `json:"ref,omitempty"`
	Attempt      int                 `json:"attempt,omitempty"`
	Result       json.RawMessage     `json:"result,omitempty"`
	ResultText   string              `json:"result_text,omitempty"`
	ResultBase64 string              `json:"result_base64,omitempty"`
	ProviderID   string              `json:"provider_id,omitempty"`
	RetryAfterMS int64               `json:"retry_after_ms,omitempty"`
	Reason       string              `json:"reason,omitempty"`
	SinceMS      int64               `json:"since_ms,omitempty"`
	Owner        string              `json:"owner,omitempty"`
	Problems     []string            `json:"problems,omitempty"`
	SettledBy    string              `json:"settled_by,omitempty"`
	Repeated     bool                `json:"repeated,omitempty"`
	Drift        []journal.FieldDiff `json:"drift,omitempty"`
	Decision     string              `json:"decision,omitempty"`
}

// MarshalJSON writes the form for models: snake_case, durations in
// milliseconds. A result that is JSON is embedded as such, other text as
// result_text, anything else as result_base64; the Go field keeps the bytes.
func (a Answer) MarshalJSON() ([]byte, error) {
	w := wireAnswer{
		Status: a.Status, Note: a.Note, EffectID: a.EffectID, Ref: a.Ref, Attempt: a.Attempt,
		ProviderID: a.ProviderID, RetryAfterMS: a.RetryAfter.Milliseconds(), Reason: a.Reason,
		SinceMS: a.Since.Milliseconds(), Owner: a.Owner, Problems: a.Problems,
		SettledBy: a.SettledBy, Repeated: a.Repeated, Drift: a.Drift,
	}
	if a.Decision != nil {
		w.Decision = string(a.Decision.Kind)
	}
	switch {
	case len(a.Result) == 0:
	case json.Valid(a.Result) && utf8.Valid(a.Result):
		w.Result = a.Result
	case utf8.Valid(a.Result):
		w.ResultText = string(a.Result)
	default:
		w.ResultBase64 = base64.StdEncoding.EncodeToString(a.Result)
	}
	return json.Marshal(w)
}
