package journal

import (
	"encoding/json"
	"time"
)

// BeginRequest asks for permission to execute one effect.
type BeginRequest struct {
	Namespace        string
	Key              string
	ClaimID          string // random per call of Do, in memory only
	Tool             string
	RootRun          string
	RootRunStartedAt time.Time
	Turn, Run, Step  string
	Operation        string
	Subject          string
	Amount, Currency string
	Labels           map[string]string
	Args             []byte // raw JSON, or nil
	Lease            time.Duration
	ClientTimeout    time.Duration // 0 = the tool's; the larger counts for evidence
	Resume           []byte        // raw JSON, or nil
	Supersedes       string
	Compensates      string // effect id of what this one undoes, or empty
	Traceparent      string
	Worker           string // the token's name; set by the server, never by the caller
}

// BeginAnswer is the directive and everything needed to follow it. Times are
// remaining durations, to be counted from before the request was sent: the
// clocks of worker and journal are never compared.
type BeginAnswer struct {
	Directive   Directive
	EffectID    string
	Attempt     int
	LeaseToken  string
	LeaseFor    time.Duration
	SendBy      time.Duration
	Deadline    time.Duration // until SendBy + client time-out
	Ref         string
	Issue       int
	ProviderKey string
	// KeyWindow is how much is left of the provider's key window for this issue;
	// 0 = the tool has none. Do stops before it ends.
	KeyWindow  time.Duration
	OrderID    string
	Args       []byte // execute with attempt > 1: run these
	Handles    []Handle
	State      State
	Result     []byte // return: what the commit recorded; nil if settled without one
	ProviderID string
	SettledBy  string
	Refusal    string // return of a REJECTED effect
	Decision   *Resolution
	Cursor     int64 // parked: where a poll for the decision starts
	RetryAfter time.Duration
	Since      time.Duration // in_progress: how long the live attempt has run
	Owner      string        // in_progress: the worker that holds the lease
	Reason     string
	Drift      []FieldDiff // return: non-identity fields that differ
}

// Report identifies the attempt that a call speaks of. Key, Namespace and Tool
// repeat what begin was told, so that a report survives the loss of the row.
type Report struct {
	EffectID   string
	Attempt    int
	LeaseToken string
	Key        string
	Namespace  string
	Tool       string
	Worker     string // set by the server
}

// CommitRequest records that the provider confirmed the effect.
type CommitRequest struct {
	Report
	Result     []byte // raw bytes, kept as they are
	ProviderID string
	Replayed   bool
}

// CommitAnswer says what became of a commit; a late one may find the effect in
// any state.
type CommitAnswer struct {
	EffectID     string // differs from the request's for an orphan
	State        State
	Late         bool // the attempt was fenced already
	Contradicted bool
	Double       bool
	Orphan       bool
}

// FailRequest reports that an attempt ended without a confirmation.
type FailRequest struct {
	Report
	Phase Phase
	// Final: the refusal can't be cured by a retry. Only with PhaseRefused.
	Final      bool
	Error      string
	Status     int
	RetryAfter time.Duration // what the provider asked for; 0 = nothing
	Replayed   bool
}

// FailAnswer tells the worker what follows. fail never grants.
type FailAnswer struct {
	EffectID   string
	Directive  Directive
	RetryAfter time.Duration
	Reason     string
	Cursor     int64 // parked: where a poll for the decision starts
	State      State
}

// HeartbeatAnswer is the renewed lease.
type HeartbeatAnswer struct{ LeaseFor time.Duration }

// HandleRequest journals a provider-side id before the effect.
type HandleRequest struct {
	Report
	Kind, Value string
}

// ResolutionKind says what a delivery hands over. They say what is true, so
// that a workflow can take the right branch.
type ResolutionKind string

// The kinds of resolutions.
const (
	ResolvedReissue       ResolutionKind = "reissue"          // an order is open: begin again
	ResolvedLanded        ResolutionKind = "close_landed"     // it happened
	ResolvedNotLanded     ResolutionKind = "close_not_landed" // it did not happen and will not
	ResolvedCommitted     ResolutionKind = "committed"        // a late commit settled it
	ResolvedRejected      ResolutionKind = "rejected"         // a late refusal settled it
	ResolvedByPolicy      ResolutionKind = "found"            // evidence settled it by policy
	ResolvedCorrected     ResolutionKind = "corrected"        // closed, and another effect with other arguments is ordered in its place: begin that
	ResolvedReopened      ResolutionKind = "reopened"         // a correction: what policy settled is taken back, wait for a person
	ResolvedContradiction ResolutionKind = "contradicted"     // a correction: it was closed and has landed after all
)

// Resolution is what a runtime that parked the work is told: any exit to a
// settled state, an order, or a correction. Its Cursor is the number of the
// audit row that was written with it.
type Resolution struct {
	ID             string         `json:"id"`
	Cursor         int64          `json:"cursor"`
	EffectID       string         `json:"effect_id"`
	EffectVersion  int64          `json:"effect_version"`
	Namespace      string         `json:"namespace,omitempty"`
	Key            string         `json:"key"`
	Kind           ResolutionKind `json:"resolution"`
	By             string         `json:"by"`
	Reason         string         `json:"reason,omitempty"`
	OrderID        string         `json:"order_id,omitempty"`
	OrderExpiresAt *time.Time     `json:"order_expires_at,omitempty"`
	At             time.Time      `json:"at"`
	// SuccessorID, SuccessorKey: corrected only. Whoever begins that key is handed the
	// corrected arguments.
	SuccessorID  string `json:"successor_id,omitempty"`
	SuccessorKey string `json:"successor_key,omitempty"`
	// AckedAt, AckedBy: which runtime picked it up; zero while the delivery is open.
	AckedAt *time.Time `json:"acked_at,omitempty"`
	AckedBy string     `json:"acked_by,omitempty"`
	// Compensate asks the runtime to undo the root run's completed effects: it was
	// closed as not landed, and its tool's policy says so.
	Compensate bool            `json:"compensate,omitempty"`
	Outcome    json.RawMessage `json:"-"`
}
