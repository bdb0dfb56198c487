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
)

// ReissueMode says which provider key the ordered attempt uses.
type ReissueMode string

// The modes. SameKey is allowed only for provider_idempotent inside its window.
const (
	SameKey ReissueMode = "same_key"
	NewKey  ReissueMode = "new_key"
)

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
}

// Actor is who acts, as the server derived it from the session or token.
type Actor struct {
	Issuer  string `json:"iss"`
	Subject string `json:"sub"`
	Name    string `json:"name"`
	Roles   []Role `json:"roles,omitempty"`
}

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
	case VerbCloseLanded, VerbCloseNotLanded:
	default:
		return invalid("verb", "must be reissue, close_landed or close_not_landed")
	}
	known := false
	for _, c := range ReasonCodes() {
		known = known || c == d.ReasonCode
	}
	if !known {
		return invalid("reason_code", "is missing or unknown: pick one from the list")
	}
	text := strings.TrimSpace(d.Reason)
	if n := utf8.RuneCountInString(text); n < MinReasonRunes {
		return invalid("reason", fmt.Sprintf("has %d characters: say in at least %d why you decide so; the reviewer reads it a year from now", n, MinReasonRunes))
	}
	if len(d.Reason) > MaxReasonBytes || !utf8.ValidString(d.Reason) || strings.ContainsRune(d.Reason, 0) {
		return invalid("reason", fmt.Sprintf("must be valid text of at most %d bytes", MaxReasonBytes))
	}
	if len(d.ProviderID) > 500 || !utf8.ValidString(d.ProviderID) || strings.ContainsRune(d.ProviderID, 0) {
		return invalid("provider_id", "must be valid text of at most 500 bytes")
	}
	if d.Expected <= 0 {
		return invalid("version", "is missing: send the version of the effect that you saw")
	}
	return nil
}

// Policy is what the installation asks of decisions and orders.
type Policy struct {
	Version string
	// EvidenceMaxAge: older evidence is pulled again before a decision.
	EvidenceMaxAge time.Duration
	// OrderEvidenceAge: an order expires when the evidence that it stands on is
	// this old.
	OrderEvidenceAge time.Duration
	// PickupWithin: an order expires this long after the decision.
	PickupWithin time.Duration
	// WindowMargin is kept between a same_key order's end and the key window's.
	WindowMargin time.Duration
	// RetryBudget is how many transient failures one turn may spend.
	RetryBudget int
	// VerifyLimit is how many looks a journal_deduped effect gets before it is parked.
	VerifyLimit int
	// MinLease, DefaultLease and MaxLease bound what begin may ask for.
	MinLease, DefaultLease, MaxLease time.Duration
	// RetryGrace: a fenced INTENT nobody retried this long after retry_at needs attention.
	RetryGrace time.Duration
	// AlertInterval: a group (tool and provider) that got an alert is left alone
	// for so long; what comes up meanwhile goes into the next one.
	AlertInterval time.Duration
	// SettleFound names the tools whose effects a FOUND settles as landed without a
	// person. For journal_deduped the class settles a stuck INTENT anyway; a PARKED
	// effect settles so only if its tool is named here.
	SettleFound map[string]bool
	// BackoffBase and BackoffCap shape the wait that fail answers with.
	BackoffBase, BackoffCap time.Duration
}

// DefaultPolicy is used where the configuration says nothing.
func DefaultPolicy() Policy {
	return Policy{
		Version: "default/1", EvidenceMaxAge: 5 * time.Minute, OrderEvidenceAge: time.Hour,
		PickupWithin: 24 * time.Hour, WindowMargin: 5 * time.Minute, RetryBudget: 6, VerifyLimit: 12,
		MinLease: time.Second, DefaultLease: time.Minute, MaxLease: time.Hour,
		RetryGrace: 2 * time.Minute, AlertInterval: 5 * time.Minute, BackoffBase: 500 * time.Millisecond, BackoffCap: time.Minute,
	}
}
