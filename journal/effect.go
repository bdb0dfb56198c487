package journal

import (
	"encoding/json"
	"time"
)

// Effect is one logical side effect: one journal row, unique by (Namespace,
// Key). The store alone writes it, by applying a Change.
type Effect struct {
	ID        string // UUIDv7; the only identity in URLs, alerts and logs
	Namespace string // "" is the default namespace
	Key       string // minted by the caller; shown on the effect page only
	Ref       string // 32 hex digits; what a provider sees

	Tool          string
	Class         Class         // the tool's class when the effect began
	Provider      string        // the provider's name in the configuration
	KeyWindow     time.Duration // how long the provider honours a provider key; 0 = not at all
	ClientTimeout time.Duration // the longest that one request may take

	RootRun          string
	RootRunStartedAt time.Time // zero = unknown
	Turn, Run, Step  string    // may be empty
	Operation        string
	Subject          string // one line for people; hostile until escaped
	Amount, Currency string // decimal text and ISO 4217, or both empty
	Labels           map[string]string
	Args             []byte // raw JSON of the first begin; nil = never stored, or purged
	Fingerprint      string // hex SHA-256 of the canonical identity
	FingerprintRule  int    // the version of the rule that made Fingerprint
	Resume           []byte // raw JSON: how the runtime wants to hear of the decision
	Supersedes       string // effect id, or empty
	Compensates      string // effect id of what this one undoes, or empty
	Traceparent      string

	State        State
	Version      int64 // rises with every transition, evidence and report
	Attempt      int   // number of the current attempt, from 1
	Issue        int   // which provider-side request this is, from 1
	ParkedReason string
	RetryAt      time.Time // INTENT and fenced: when begin may grant again
	// ClearedAttempt: a NOT_FOUND covers attempts up to this number
	// (journal_deduped only).
	ClearedAttempt int

	Result     []byte // raw bytes of the commit; nil = none
	ProviderID string
	SettledBy  string // "worker", "operator:<subject>", "policy", "late_commit", "late_refusal"; empty while open
	Refusal    string // REJECTED: what the provider said

	Contradicted   bool // closed, then shown to have landed
	ProbablyDouble bool // two landings are known or likely
	Orphan         bool // born from a report, not from a begin
	GaveUp         bool // the retry budget was spent and nothing may have landed
	Corrected      bool // a person put it in another's place: whoever begins it runs its stored args
	PolicyOff      bool // a person took a settlement by policy back: none follows
	Drifted        bool // a later begin had other non-identity fields

	OpenDelivery bool      // a resolution or order that no runtime acknowledged yet
	NextLookAt   time.Time // when the collector asks the provider; zero = not
	Looks        int       // how often it was asked since the current attempt was fenced

	CreatedAt time.Time // when attempt 1 was granted
	StateAt   time.Time // when State was last changed
}

// Attempt is one permission to execute.
type Attempt struct {
	Number  int
	Issue   int    // its provider key is ProviderKey(ref, Issue)
	ClaimID string // which call of Do asked for it
	Token   string // the lease token; number and token are the fence
	OrderID string // the order that it consumed, or empty
	Worker  string // the name of the token that began it

	GrantedAt     time.Time
	LeaseUntil    time.Time // heartbeats renew it, never past Deadline
	SendBy        time.Time // the last moment for the request's first byte; never moves
	Deadline      time.Time // SendBy + client time-out
	ClientTimeout time.Duration

	FencedAt   time.Time // zero while the worker owns the effect
	Phase      Phase     // as reported; "" counts as sent
	Final      bool      // Phase refused: no retry can help
	ReportedAt time.Time
	Error      string
	Status     int    // the provider's status code, 0 if none
	Replayed   bool   // the provider repeated a stored answer
	ProviderID string // Phase confirmed
}

// Unknown reports whether the attempt may have landed as far as its own
// reports say: neither not_sent, nor refused, nor confirmed.
func (a Attempt) Unknown() bool { return a.Phase == "" || a.Phase == PhaseSent }

// Live reports whether the attempt still owns the effect at now.
func (a Attempt) Live(now time.Time) bool {
	return a.FencedAt.IsZero() && now.Before(a.LeaseUntil) && now.Before(a.Deadline)
}

// Handle is a provider-side id that a worker journaled before the effect (a
// draft, a payment intent): evidence is then a read by id.
type Handle struct {
	Attempt int       `json:"attempt"`
	Kind    string    `json:"kind"`
	Value   string    `json:"value"`
	At      time.Time `json:"at"`
}

// Order is the permission that a reissue decision creates: for one attempt.
type Order struct {
	ID         string
	DecisionID string
	Mode       ReissueMode
	Issue      int   // the issue number that its attempt gets
	KnownUpTo  int64 // evidence up to this sequence number was known to the decision
	CreatedAt  time.Time
	ExpiresAt  time.Time
	Attempt    int    // the attempt that consumed it, 0 = none (again)
	Ended      string // "", "spent", "void" or "expired"
}

// Open reports whether the order may still be consumed at now.
func (o *Order) Open(now time.Time) bool {
	return o != nil && o.Ended == "" && o.Attempt == 0 && now.Before(o.ExpiresAt)
}

// Event is one line of an effect's timeline.
type Event struct {
	Seq     int64 // the store's, ascending per journal
	At      time.Time
	Kind    string // the stable kinds are the Event* constants
	Attempt int    // 0 = none
	Actor   string // "worker:<name>", "operator:<subject>", "policy", "sweeper", "collector"
	Detail  json.RawMessage
}

// The kinds of events.
const (
	EventBegan        = "began"      // attempt 1 granted
	EventGranted      = "granted"    // attempt n+1 granted
	EventDedupeHit    = "dedupe_hit" // begin on a closed effect
	EventFenced       = "fenced"     // an attempt was closed
	EventReported     = "reported"   // fail
	EventCommitted    = "committed"  // commit, in time or late
	EventConflict     = "conflict"   // a report that contradicts another; kept
	EventKeyReused    = "key_reused" // another tool or identity used the key
	EventDrift        = "drift"      // a begin with other non-identity fields
	EventParked       = "parked"
	EventEvidence     = "evidence"
	EventProposed     = "proposed"       // a decision waits for the second person
	EventProposalOver = "proposal_ended" // rejected, withdrawn, or overtaken
	EventCorrected    = "corrected"      // born in the place of an effect that a person corrected
	EventDecided      = "decided"
	EventOrderVoid    = "order_void"
	EventOrderExpired = "order_expired"
	EventSettled      = "settled" // by policy, late commit or late refusal
	EventHandle       = "handle"
	EventAcknowledged = "acknowledged" // a flag was cleared by a person
	EventAcked        = "acked"        // a runtime picked the resolution up
	EventRedelivered  = "redelivered"  // a person had the resolution handed over once more
	EventContradicted = "contradicted"
	EventDouble       = "probably_double"
	EventClaimed      = "claimed"       // a person is on it
	EventClaimRenewed = "claim_renewed" // on the audit trail only
	EventReleased     = "claim_released"
	EventHandedOver   = "claim_handed_over"
	EventTakenOver    = "claim_taken_over"
	EventSnoozed      = "snoozed"
	EventWoken        = "woken" // a snooze ended before its time
)
