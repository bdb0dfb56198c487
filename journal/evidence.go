package journal

import "time"

// Verdict is what one look at the provider says. The judge in
// providers/evidence makes it; an adapter can't.
type Verdict string

// The verdicts.
const (
	Found             Verdict = "FOUND"
	FoundPending      Verdict = "FOUND_PENDING"       // queued, scheduled, processing
	FoundNotEffective Verdict = "FOUND_NOT_EFFECTIVE" // a draft, bounced, cancelled, failed
	Duplicate         Verdict = "DUPLICATE"           // two or more
	NotFound          Verdict = "NOT_FOUND"           // always conclusive
	CannotTell        Verdict = "CANNOT_TELL"         // with a reason
)

// Hit reports whether the verdict says that something landed. Any hit
// outweighs misses.
func (v Verdict) Hit() bool { return v == Found || v == FoundPending || v == Duplicate }

// Why a look can't tell.
const (
	CannotTooEarly    = "too_early"
	CannotRetention   = "beyond_retention"
	CannotTruncated   = "truncated"
	CannotFilter      = "filter_not_honoured"
	CannotScope       = "scope_missing"
	CannotControl     = "control_failed"
	CannotProvider    = "provider_error"
	CannotClock       = "clock"
	CannotNoAdapter   = "no_adapter"
	CannotAttemptLive = "attempt_live"
)

// Evidence is one answer of one adapter with everything needed to judge it.
// Immutable once recorded.
type Evidence struct {
	ID       string
	Seq      int64 // the store's, ascending; decides which came first
	EffectID string
	Adapter  string // instance name in the configuration
	Kind     string // adapter package, e.g. "imap"
	Version  string // adapter version or configuration hash

	Verdict       Verdict
	Reason        string // CANNOT_TELL: one of the Cannot* constants
	Explanation   string // one sentence for people
	CoversAttempt int    // NOT_FOUND: attempts up to this one did not land
	Matches       []Match
	Scopes        []Scope
	AllPagesRead  bool
	Unrelated     int // rows that the provider returned and that were not ours
	Negative      Control
	Positive      Control
	Exchanges     []Exchange

	// Waited is the index lag that the verdict counted with; zero in evidence that
	// was recorded before it was kept.
	Waited Waited `json:"Waited,omitzero"`

	WindowFrom, WindowTo time.Time // the window asked
	StartedAt            time.Time // when the look began, on Landed's clock
	FinishedAt           time.Time
	// LookAgainAt is when asking again makes sense; zero = not by itself.
	LookAgainAt time.Time
	Digest      string // hex SHA-256 over the canonical facts
	RequestedBy string // "schedule", or the operator's subject
}

// Waited is how long after the last moment at which a request could land the
// provider's index was given, and where that figure is from.
type Waited struct {
	Lag      time.Duration `json:"lag"`      // what counted: the larger of declared and three times P99
	Declared time.Duration `json:"declared"` // by the adapter
	P99      time.Duration `json:"p99,omitempty"`
	Samples  int           `json:"samples,omitempty"` // that P99 stands on; 0 = not measured
	Lost     int           `json:"lost,omitempty"`    // of them, committed and never found
}

// Match is one object at the provider that carries the reference, compared
// byte for byte on a copy that was fetched again.
type Match struct {
	ID      string      `json:"id"`               // the provider's id
	URL     string      `json:"url,omitempty"`    // https link for people, or empty
	Title   string      `json:"title,omitempty"`  // provider text: hostile until escaped
	Status  string      `json:"status,omitempty"` // in the provider's words
	State   MatchState  `json:"state"`
	At      time.Time   `json:"at,omitzero"`       // when the provider says it was made
	Where   string      `json:"where,omitempty"`   // mailbox, queue, account
	Carrier string      `json:"carrier,omitempty"` // which field held the reference
	Facts   []MatchFact `json:"facts,omitempty"`
}

// MatchFact is one further fact of a match, for people.
type MatchFact struct {
	Name  string `json:"name"`
	Value string `json:"value"`
}

// MatchState says whether a match took effect.
type MatchState string

// The states of a match.
const (
	MatchEffective    MatchState = "effective"
	MatchPending      MatchState = "pending"
	MatchNotEffective MatchState = "not_effective"
)

// Scope is one place that a look covered or could not see.
type Scope struct {
	Name   string `json:"name"`
	Seen   bool   `json:"seen"`
	Detail string `json:"detail,omitempty"` // why not, or which folder it was
}

// Control is a look whose answer is known beforehand: a fresh random reference
// must give 0, a recently committed one must give 1.
type Control struct {
	Ran    bool   `json:"ran"`
	Passed bool   `json:"passed"`
	Ref    string `json:"ref,omitempty"`
	Detail string `json:"detail,omitempty"`
}

// Exchange is one request and its answer, redacted and capped, as text.
type Exchange struct {
	Request  string        `json:"request"`
	Response string        `json:"response"`
	Took     time.Duration `json:"took"`
}

// Look is the part of an evidence row that transitions read.
type Look struct {
	ID            string
	Seq           int64
	Verdict       Verdict
	Reason        string
	CoversAttempt int
	StartedAt     time.Time
	LookAgainAt   time.Time
	Digest        string
}

// Canary is a recently committed effect of the same provider: looking it up
// must give one match, else a miss proves nothing.
type Canary struct {
	EffectID, Ref, ProviderID string
	BegunAt, CommittedAt      time.Time
}
