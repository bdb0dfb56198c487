package web

// TeamBox is how people work together on one effect: who is on it, who has it
// open, and whether it is put aside.
type TeamBox struct {
	Title   string // "Olivia is on it until 03:40 UTC"
	Tone    Tone
	Until   *Stamp
	Note    string   // who handed it over, what a claim means
	Present []string // who else has the effect open
	Snoozed string   // "Snoozed until …"; empty = it is awake
	Reason  Text     // why it was snoozed
	Wakes   *Stamp
	URL     string // takes an act on the claim
	Take    string // the button's text; empty = no button
	Release bool
	WakeURL string // takes the end of the snooze; empty = no button
}

// TeamForms are the forms that a person fills in; nil for who only looks.
type TeamForms struct {
	ClaimURL, SnoozeURL, CommentURL string
	HandOver                        []Option // to whom; empty = nothing to hand over, or nobody
	Nobody                          string   // why there is nobody to hand it over to
	TakeOver                        string   // "Take it over from Olivia"; empty = no form
	Seen                            string   // the claim that TakeOver is about
	Presets                         []SnoozePreset
	Limit                           string // why a snooze ends early
	Digest                          string // of the evidence that the page shows
	CommentID                       string
	Draft                           TeamDraft
}

// TeamDraft is what a person typed into a form that was refused.
type TeamDraft struct {
	Comment, Reason, SnoozeReason, SnoozeUntil string
	CommentError, ClaimError, SnoozeError      string
}

// SnoozePreset is one way to put an effect aside.
type SnoozePreset struct {
	Value, Text string
	Until       *Stamp
	Blocked     string // why not
}

// The words of the claim's forms.
const (
	WordTake     = "take"
	WordRelease  = "release"
	WordHandOver = "hand_over"
	WordTakeOver = "take_over"
	WordSnooze   = "snooze"
	WordWake     = "wake"
)

// The names of the team's form fields.
const (
	FieldClaim    = "claim"
	FieldTo       = "to"
	FieldComment  = "comment"
	FieldComID    = "comment_id"
	FieldSnooze   = "snooze"
	FieldUntil    = "until"
	FieldWindow   = "window"
	FieldTyping   = "typing"
	FieldGone     = "gone"
	SnoozeAt      = "at"       // FieldSnooze: at the time in FieldUntil
	SnoozeChange  = "evidence" // FieldSnooze: as long as nothing changes
	AnchorTeam    = "team"
	AnchorForms   = "together"
	UntilFormat   = "2006-01-02T15:04"
	ParamClaim    = "claim"
	ParamSnoozed  = "snoozed"
	SnoozedYes    = "1"
	RouteClaim    = "/e/:id/claim"
	RouteComment  = "/e/:id/comment"
	RouteSnooze   = "/e/:id/snooze"
	RoutePresence = "/e/:id/here"
	HeaderToken   = "Landed-Form-Token" // the form token where a script sends it, as package login has it
)

// ClaimURL takes an act on the claim.
func ClaimURL(id string) string { return EffectURL(id) + "/claim" }

// CommentURL takes a comment.
func CommentURL(id string) string { return EffectURL(id) + "/comment" }

// SnoozeURL takes a snooze, or its end.
func SnoozeURL(id string) string { return EffectURL(id) + "/snooze" }

// PresenceURL takes the beat of an open window.
func PresenceURL(id string) string { return EffectURL(id) + "/here" }
