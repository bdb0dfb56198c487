package wire

import (
	"encoding/json"
	"time"

	"github.com/landedhq/landed/journal"
)

// Code is the stable name of an error in a problem document. Those of the
// directives equal the directive.
type Code string

// The codes.
const (
	CodeUnauthorized     Code = "unauthorized"
	CodeForbidden        Code = "forbidden"
	CodeNotFound         Code = "not_found"
	CodeInProgress       Code = "in_progress"
	CodeRetryLater       Code = "retry_later"
	CodeVerifying        Code = "verifying"
	CodeClaimUsed        Code = "claim_used"
	CodeLeaseLost        Code = "lease_lost"
	CodeCommitConflict   Code = "commit_conflict"
	CodeSupersedesOpen   Code = "supersedes_open"
	CodeNotCompensable   Code = "not_compensable"
	CodeConflict         Code = "conflict"
	CodeStale            Code = "stale"
	CodeBlocked          Code = "blocked"
	CodeExpired          Code = "expired"
	CodeTooLarge         Code = "too_large"
	CodeUnsupportedMedia Code = "unsupported_media_type"
	CodeInvalid          Code = "invalid"
	CodeKeyReused        Code = "key_reused"
	CodeNotJournaled     Code = "not_journaled"
	CodeUnknownTool      Code = "unknown_tool"
	CodeUnknownAttempt   Code = "unknown_attempt"
	CodeTooManyWaiting   Code = "too_many_waiting"
	CodeInternal         Code = "internal"
	CodeRestored         Code = "journal_restored"
	CodeUnavailable      Code = "unavailable"
	ProblemContentType        = "application/problem+json"
	problemTypeBase           = "/v1/openapi.yaml#/x-errors/"
)

// Codes lists all codes, in the order of the API's document.
func Codes() []Code {
	return []Code{CodeUnauthorized, CodeForbidden, CodeNotFound, CodeInProgress, CodeRetryLater, CodeVerifying,
		CodeClaimUsed, CodeLeaseLost, CodeCommitConflict, CodeSupersedesOpen, CodeNotCompensable, CodeConflict, CodeStale, CodeBlocked, CodeExpired, CodeTooLarge,
		CodeUnsupportedMedia, CodeInvalid, CodeKeyReused, CodeNotJournaled, CodeUnknownTool, CodeUnknownAttempt, CodeTooManyWaiting,
		CodeInternal, CodeRestored, CodeUnavailable}
}

// Problem is an error answer (RFC 9457). Members beyond the first six are there
// where the code has them.
type Problem struct {
	Type      string `json:"type"` // address of the code's entry in the API's document
	Title     string `json:"title"`
	Status    int    `json:"status"`
	Detail    string `json:"detail,omitempty"`
	Code      Code   `json:"code"`
	RequestID string `json:"request_id,omitempty"`

	Field        string              `json:"field,omitempty"`          // invalid, too_large
	EffectID     string              `json:"effect_id,omitempty"`      // key_reused, lease_lost, commit_conflict
	Tool         string              `json:"tool,omitempty"`           // key_reused: whose key it is
	Fields       []journal.FieldDiff `json:"fields,omitempty"`         // key_reused
	State        journal.State       `json:"state,omitempty"`          // lease_lost, stale
	Version      int64               `json:"version,omitempty"`        // stale
	Changed      []string            `json:"changed,omitempty"`        // stale
	Until        time.Time           `json:"until,omitzero"`           // blocked
	Decision     *journal.Resolution `json:"decision,omitempty"`       // lease_lost
	RetryAfterMS int64               `json:"retry_after_ms,omitempty"` // wherever Retry-After is set, exactly
}

// SetRetryAfter sets how long to wait before the same call.
func (p *Problem) SetRetryAfter(d time.Duration) { p.RetryAfterMS = ceilMS(d) }

// Encode writes the document. answer, if not nil, is the JSON object of the
// directive or answer that the problem carries; its members are added.
func (p Problem) Encode(answer []byte) ([]byte, error) {
	p.Type = problemTypeBase + string(p.Code)
	if answer != nil { // it has these members itself
		p.EffectID, p.State, p.Decision, p.RetryAfterMS = "", "", nil, 0
	}
	out, err := json.Marshal(p)
	if err != nil {
		return nil, err
	}
	return Join(out, answer), nil
}

// DecodeProblem reads a problem document.
func DecodeProblem(body []byte) (Problem, error) {
	var p Problem
	err := json.Unmarshal(body, &p)
	return p, err
}
