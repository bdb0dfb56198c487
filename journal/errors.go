package journal

import (
	"errors"
	"fmt"
	"time"
)

// Errors of the journal. Store and client return them (wrapped), handlers map
// them to answers, the worker library acts on them.
var (
	// ErrNotFound: no effect has that id or key. From reads and decisions.
	ErrNotFound = errors.New("no such effect")
	// ErrUnknownTool: begin named a tool that nobody registered (422 unknown_tool).
	ErrUnknownTool = errors.New("unknown tool: register it before the first effect")
	// ErrNotJournaled: begin named a read-only tool (422 not_journaled).
	ErrNotJournaled = errors.New("a read_only tool is never journaled: call it directly")
	// ErrExpired: the key belonged to an effect whose payload was purged (410 expired).
	ErrExpired = errors.New("the key belongs to an effect that was purged: it is never executed again")
	// ErrRestored: the journal was restored and waits for an admin (503 journal_restored).
	ErrRestored = errors.New("the journal was restored from a backup and is quarantined until an admin names the restore point")
	// ErrClaimUsed: the claim_id belongs to an earlier attempt (409 claim_used).
	ErrClaimUsed = errors.New("the claim id was used by an earlier attempt: mint one per call of Do")
	// ErrSupersedesOpen: the superseded effect is not closed, is contradicted, or
	// has a successor already (409 supersedes_open).
	ErrSupersedesOpen = errors.New("supersedes names an effect that is not ABANDONED or REJECTED, is contradicted, or has a successor")
	// ErrNotCompensable: the effect to undo is not COMMITTED, is of another
	// namespace or root run, is a compensation itself, or has one under another key
	// (409 not_compensable).
	ErrNotCompensable = errors.New("compensates names an effect that is not COMMITTED, is of another namespace or root run, is a compensation itself, or has one already")
	// ErrCommitConflict: the same attempt was committed with another provider id
	// (409 commit_conflict). Both are recorded.
	ErrCommitConflict = errors.New("this attempt was already committed with another provider id; both are recorded")
	// ErrConflict: another transition was faster and, after several tries, still is.
	ErrConflict = errors.New("the effect changed at the same time: try again")
	// ErrUnknownAttempt: the effect exists, but no attempt of it has that number
	// and lease token (422 unknown_attempt).
	ErrUnknownAttempt = errors.New("no attempt of the effect has that number and lease token")
	// ErrUnavailable: the store can't be reached (503). Nothing is known to be written.
	ErrUnavailable = errors.New("the journal can't be reached")
)

// InvalidError says which field of a request can't be used, and what to do.
type InvalidError struct {
	Field  string // the wire name
	Detail string // continues "field …"
}

func (e *InvalidError) Error() string { return e.Field + " " + e.Detail }

func invalid(field, detail string) error { return &InvalidError{Field: field, Detail: detail} }

// KeyReusedError: the key belongs to another tool or another identity
// (422 key_reused). Nothing changed; both fingerprints are recorded.
type KeyReusedError struct {
	EffectID string
	Tool     string // the tool of the effect that has the key
	Fields   []FieldDiff
}

func (e *KeyReusedError) Error() string {
	return fmt.Sprintf("the key belongs to effect %s of tool %s with another identity: keys are per effect, mint another", e.EffectID, e.Tool)
}

// FieldDiff is one identity field that differs between two uses of a key.
// Values are raw JSON text, or empty where the field is missing.
type FieldDiff struct {
	Field string `json:"field"`
	Was   string `json:"was"`
	Now   string `json:"now"`
}

// LeaseLostError: the attempt is fenced, or its lease is over (409 lease_lost).
type LeaseLostError struct {
	EffectID string
	State    State
	Decision *Resolution // the newest one, nil if none
}

func (e *LeaseLostError) Error() string {
	return fmt.Sprintf("the lease of effect %s is lost, the effect is %s: stop and report what is known", e.EffectID, e.State)
}

// StaleError refuses a decision: the effect or its evidence changed since the
// page was made, or somebody else decided (409 stale).
type StaleError struct {
	EffectID string
	Version  int64     // the version now
	State    State     // the state now
	Changed  []string  // what changed, in sentences
	Winner   *Decision // the decision that was faster, nil if none
}

func (e *StaleError) Error() string {
	return fmt.Sprintf("effect %s changed since the page was made (now %s, version %d)", e.EffectID, e.State, e.Version)
}

// BlockedError refuses a decision that the assessment blocks (409 blocked).
type BlockedError struct {
	Verb   Verb
	Reason string
	Until  time.Time // when the block ends; zero = not by itself
	// Overridable: the policy lets a second person pass over it.
	Overridable bool
}

func (e *BlockedError) Error() string { return fmt.Sprintf("%s is blocked: %s", e.Verb, e.Reason) }

// Codes of a PolicyError.
const (
	PolicyForbidden    = "forbidden"        // by a rule, to everybody
	PolicyNotYours     = "not_yours"        // a rule leaves it to other groups
	PolicySecondPerson = "second_person"    // it has to be proposed
	PolicyNoBreakGlass = "no_break_glass"   // the actor may not act alone
	PolicyStepUp       = "step_up"          // the login is too old
	PolicyOwnProposal  = "own_proposal"     // the proposer never approves
	PolicyRole         = "role"             // the role is missing
	PolicyNoProposal   = "no_proposal"      // none is open: it was ended, or is over
	PolicyProposed     = "already_proposed" // another proposal is open
)

// PolicyError refuses a decision, proposal or approval for what the policy asks
// (403, or 409 for a proposal that is open or over).
type PolicyError struct {
	Code   string        // one of the Policy* codes
	Rule   string        // the rule's name, empty if none
	Detail string        // what it asks, and what to do
	Within time.Duration // PolicyStepUp: how old the login may be
}

func (e *PolicyError) Error() string { return e.Detail }

// DoneUnrecordedError: the effect happened and the journal could not record
// it within the time allowed. The caller must not repeat it. The same facts
// went to the log.
type DoneUnrecordedError struct {
	EffectID   string
	Ref        string
	Attempt    int
	ProviderID string
	Err        error
}

func (e *DoneUnrecordedError) Error() string {
	return fmt.Sprintf("effect %s is done (provider id %q) but not recorded: do not repeat it: %v", e.EffectID, e.ProviderID, e.Err)
}

func (e *DoneUnrecordedError) Unwrap() error { return e.Err }
