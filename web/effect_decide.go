package web

// The names of the decision form's fields.
const (
	FieldChoice     = "choice"
	FieldCode       = "reason_code"
	FieldReason     = "reason"
	FieldProviderID = "provider_id"
	FieldVersion    = "version"
	FieldDigest     = "evidence"
	FieldToken      = "form_token" // as package login expects it
	FieldEdit       = "edit"
)

// DecideBox is the decision form, or the sentence that stands for it.
type DecideBox struct {
	Open bool
	// Closed says why there is no form.
	Closed  string
	Draft   Draft
	URL     string
	Choices []Choice
	Codes   []Option
	Matches []string // provider ids that the evidence shows
	Errors  FieldErrors
	// Kept is what a person typed into a form that is no longer there.
	Kept string
}

// Draft is what the person filled in, with what the page was made from.
type Draft struct {
	Choice, Code, Reason, ProviderID string
	Version, Digest                  string
}

// Choice is one way to decide.
type Choice struct {
	Value   string
	Title   string
	Means   string
	Blocked string // why not; empty = open
	Until   *Stamp
	Advised bool
	Checked bool
}

// FieldErrors are the sentences beside the fields.
type FieldErrors struct{ Choice, Code, Reason, ProviderID string }

// Any reports whether there is one.
func (e FieldErrors) Any() bool { return e != FieldErrors{} }

// AckBox clears a flag.
type AckBox struct {
	URL    string
	What   string
	Reason string
	Error  string
}

// ConfirmPage shows what would be recorded before it is final.
type ConfirmPage struct {
	Shell
	Head       EffectHead
	Title      string // "Close as landed"
	Follows    []string
	Against    string // the decision departs from the recommendation
	Answer     string
	Looked     *Stamp
	Code       string
	Reason     Text
	ProviderID Text
	Args       *Payload // a re-issue runs these: shown in full
	Draft      Draft
	PostURL    string
	EditURL    string
}
