package web

// The names of the decision form's fields.
const (
	FieldChoice     = "choice"
	FieldCode       = "reason_code"
	FieldReason     = "reason"
	FieldResolution = "resolution"
	FieldProviderID = "provider_id"
	FieldVersion    = "version"
	FieldDigest     = "evidence"
	FieldToken      = "form_token" // as package login expects it
	FieldEdit       = "edit"
	FieldOverride   = "override"
	FieldBreakGlass = "break_glass"
	FieldProposal   = "proposal"
	FieldWord       = "word" // WordApprove or WordReject
	FieldArgs       = "args"
	FieldSubject    = "subject"
	FieldAmount     = "amount"
	FieldCurrency   = "currency"
	FieldReview     = "review"
	WordApprove     = "approve"
	WordReject      = "reject"
)

// DecideBox is the decision form, or the sentence that stands for it.
type DecideBox struct {
	Open bool
	// Waits says that a proposal is open, and what a decision here does to it.
	Waits string
	// Closed says why there is no form.
	Closed  string
	Draft   Draft
	URL     string
	Choices []Choice
	Codes   []Option
	Matches []string // provider ids that the evidence shows
	Errors  FieldErrors
	// CorrectURL leads to the form for other arguments; empty = it is not open.
	CorrectURL string
	// Overrides are the blocks that the policy lets a second person pass over.
	Overrides []Option
	// BreakGlass offers to act alone; empty = it is not offered.
	BreakGlass string
	Claimed    string // another person is on it; empty = none is
	// Kept is what a person typed into a form that is no longer there.
	Kept string
}

// Draft is what the person filled in, with what the page was made from.
type Draft struct {
	Choice, Code, Reason, ProviderID string
	Version, Digest                  string
	Overrides                        []string
	BreakGlass                       bool
	// Correction holds the fields of a correction; nil for every other choice.
	Correction *CorrectionFields
}

// CorrectionFields is what a person may change of an effect.
type CorrectionFields struct {
	Args, Subject, Amount, Currency string
}

// CorrectPage is the form for doing an effect anew with other arguments.
type CorrectPage struct {
	Shell
	Head    EffectHead
	PostURL string
	Draft   Draft
	Codes   []Option
	Errors  FieldErrors
	Wrong   CorrectionFields // what is wrong with each
	Hidden  string           // says which members are kept as they are
	Closed  string           // why it is not open
}

// ProposalBox is a decision that waits for its second person.
type ProposalBox struct {
	URL, ID         string
	Title           string // "Re-issue"
	By              Text
	At, Expires     Stamp
	Code            string
	Reason          Text
	Rules           string // which ask for the second person
	Undo            *UndoBox
	Overrides       []string
	Diff            []DiffRow // what a correction changes
	Changed         []string  // since it was proposed
	Version, Digest string
	// Approve, Reject say what the viewer may do; Why says why neither.
	Approve, Reject bool
	Withdraw        bool
	Why             string
	Draft           string // the second person's text, kept
	Error           string
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
	// Passable: blocked, and a second person may let it pass.
	Passable bool
	Asks     []string // what the policy asks beyond the reason
	Undo     *UndoBox // what the runtime would be asked to undo
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
	Asks       []string  // what the policy asks
	Button     string    // "Record the decision" or "Propose it"
	Overrides  []string  // sentences of what is passed over
	Diff       []DiffRow // what a correction changes
	Claimed    string    // another person is on it; empty = none is
	Undo       *UndoBox  // what the runtime would be asked to undo
}
