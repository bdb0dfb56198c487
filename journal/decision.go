package journal

import (
	"fmt"
	"strings"
	"time"
	"unicode/utf8"
)

// Verb is what an operator decides.
type Verb string

// The verbs.
const (
	VerbReissue        Verb = "reissue"
	VerbCloseLanded    Verb = "close_landed"
	VerbCloseNotLanded Verb = "close_not_landed"
	VerbCorrect        Verb = "correct" // closed as not landed, and done anew with other arguments
	VerbReopen         Verb = "reopen"  // takes back what policy settled: a person decides after all
)

// ReissueMode says which provider key the ordered attempt uses.
type ReissueMode string

// The modes. SameKey is allowed only for provider_idempotent inside its window.
const (
	SameKey ReissueMode = "same_key"
	NewKey  ReissueMode = "new_key"
)

// Choice is one way to decide.
type Choice struct {
	Verb Verb
	Mode ReissueMode // reissue only
}

// Choices lists all of them, in display order.
func Choices() []Choice {
	return []Choice{{VerbCloseLanded, ""}, {VerbCloseNotLanded, ""}, {VerbReissue, SameKey}, {VerbReissue, NewKey}, {VerbCorrect, ""}, {VerbReopen, ""}}
}

// ReasonCode is why an operator decided so, for counting.
type ReasonCode string

// ReasonCodes lists the codes that a decision may carry, in display order.
func ReasonCodes() []ReasonCode {
	return []ReasonCode{"evidence_found", "evidence_not_found", "confirmed_by_person", "done_by_hand",
		"no_longer_needed", "provider_incident", "test", "other"}
}

// Decision is an operator's order or close. The use case in journal/decide
// fills what the server derives; the page or caller gives the rest.
type Decision struct {
	ID       string
	EffectID string
	Verb     Verb
	Mode     ReissueMode // reissue only
	// Expected is the effect's version, and Digest the evidence set's, that the
	// person saw.
	Expected   int64
	Digest     string
	Actor      Actor
	Source     string // "page", "api" or "cli"
	ReasonCode ReasonCode
	Reason     string // the person's own words
	ProviderID string // close_landed: which match, or what the person knows
	At         time.Time
	// Order is set for a reissue when recorded.
	Order *Order
	// AuditSeq is the number of the audit row; set when recorded.
	AuditSeq int64
	// AssessmentSummary is what the page recommended, kept with the decision.
	AssessmentSummary string
	// Correction is what a correct decision changes; SuccessorID, set when recorded,
	// is the effect that takes this one's place.
	Correction  *Correction
	SuccessorID string
	// Overrides are the codes of the blocks that the person accepts to pass over;
	// when recorded, those that stood in the way. Always with a second person.
	Overrides []string
	// BreakGlass: the person acts without the second one; a review follows.
	BreakGlass bool
	// Approval is the second person's word; nil where none was asked for.
	Approval *Approval
	// Rules are the names of the policy rules that asked something of it; set when
	// recorded.
	Rules []string
	// Bulk is how many effects the person decided together, BulkID their bulk;
	// 0 and "" = this one by itself.
	Bulk   int
	BulkID string
	// OrderedAt is when the person ordered the bulk: the age of the login counts
	// up to then. Zero = now.
	OrderedAt time.Time
}

// Choice is what the decision chooses.
func (d Decision) Choice() Choice { return Choice{d.Verb, d.Mode} }

// Actor is who acts, as the server derived it from the session or token.
type Actor struct {
	Issuer  string `json:"iss"`
	Subject string `json:"sub"`
	Name    string `json:"name"`
	Roles   []Role `json:"roles,omitempty"`
	// Groups are those of the identity provider that the policy names.
	Groups []string `json:"groups,omitempty"`
	// AuthAt is when the person last proved who they are; zero = nobody said.
	AuthAt time.Time `json:"-"`
}

// Same reports whether both are one person. Names and roles don't matter.
func (a Actor) Same(b Actor) bool { return a.Issuer == b.Issuer && a.Subject == b.Subject }

// Role is what a person may do.
type Role string

// The roles.
const (
	RoleViewer   Role = "viewer"
	RoleOperator Role = "operator"
	RoleApprover Role = "approver"
	RoleAuditor  Role = "auditor"
	RoleAdmin    Role = "admin"
)

// Has reports whether the actor holds any of the roles.
func (a Actor) Has(roles ...Role) bool {
	for _, have := range a.Roles {
		for _, want := range roles {
			if have == want {
				return true
			}
		}
	}
	return false
}

// MayDecide: operators and approvers decide; auditors and admins do not.
func (a Actor) MayDecide() bool { return a.Has(RoleOperator, RoleApprover) }

// Limits of a decision's text.
const (
	MinReasonRunes = 8
	MaxReasonBytes = 4000
)

// Validate checks what the person gave. The message says what to do.
func (d Decision) Validate() error {
	switch d.Verb {
	case VerbReissue:
		if d.Mode != SameKey && d.Mode != NewKey {
			return invalid("mode", "must be same_key or new_key for a reissue")
		}
	case VerbCloseLanded, VerbCloseNotLanded, VerbReopen:
	case VerbCorrect:
		if d.Correction == nil {
			return invalid("args", "are missing: say what it should be done with")
		}
	default:
		return invalid("verb", "must be reissue, correct, close_landed, close_not_landed or reopen")
	}
	if d.Verb != VerbReissue && d.Mode != "" {
		return invalid("mode", "belongs to a reissue only")
	}
	if d.Bulk > 0 && (d.Verb == VerbReopen || len(d.Overrides) > 0 || d.BreakGlass) {
		return invalid("bulk", "closes or re-issues: taking back, passing over a block and breaking the glass are decided one by one")
	}
	if len(d.Overrides) > 10 {
		return invalid("overrides", "names more blocks than there are")
	}
	known := false
	for _, c := range ReasonCodes() {
		known = known || c == d.ReasonCode
	}
	if !known {
		return invalid("reason_code", "is missing or unknown: pick one from the list")
	}
	if err := checkReason(d.Reason); err != nil {
		return err
	}
	if len(d.ProviderID) > 500 || !utf8.ValidString(d.ProviderID) || strings.ContainsRune(d.ProviderID, 0) {
		return invalid("provider_id", "must be valid text of at most 500 bytes")
	}
	if d.Expected <= 0 {
		return invalid("version", "is missing: send the version of the effect that you saw")
	}
	return nil
}

// checkReason holds what a person writes to the same measure everywhere.
func checkReason(reason string) error {
	if n := utf8.RuneCountInString(strings.TrimSpace(reason)); n < MinReasonRunes {
		return invalid("reason", fmt.Sprintf("has %d characters: say in at least %d why you decide so; the reviewer reads it a year from now", n, MinReasonRunes))
	}
	if len(reason) > MaxReasonBytes || !utf8.ValidString(reason) || strings.ContainsRune(reason, 0) {
		return invalid("reason", fmt.Sprintf("must be valid text of at most %d bytes", MaxReasonBytes))
	}
	return nil
}
