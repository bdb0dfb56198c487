// Package evidence asks providers whether an effect landed.
//
// It owns the contract that every adapter fulfils, the capability sheet, the
// judge that turns facts into a verdict, and the collector with its schedule.
// An adapter states facts and nothing else: it cannot produce NOT_FOUND. One
// look is driven by Ask, the same for all adapters: a session is opened, the
// reference is looked up, then a fresh random reference (the negative control)
// and a recently committed one (the positive control) through the very same
// query. Judge then decides.
//
// Adapters live in packages of their own below this one, each with a Config
// whose Open returns an Adapter, and each passes evidencetest.Conformance.
// They hold read-only credentials and send read requests only.
package evidence

import (
	"context"
	"fmt"
	"time"

	"github.com/landedhq/landed/journal"
)

// LookupClass says how an adapter finds an effect, strongest first.
type LookupClass string

// The look-up classes.
const (
	L1 LookupClass = "L1" // read by an id that the client chose
	L2 LookupClass = "L2" // exact filter on an indexed field in the primary store
	L3 LookupClass = "L3" // asynchronous search index
	L4 LookupClass = "L4" // event log with short retention
	L5 LookupClass = "L5" // window scan, compared here
	L6 LookupClass = "L6" // the provider can't be asked: never conclusive
)

// Sheet is an adapter's capability sheet: what it declares about its provider.
// Each figure's source belongs in the adapter's documentation.
type Sheet struct {
	Kind    string // adapter package, e.g. "imap"
	Version string // changes when the way of looking changes
	Class   LookupClass
	// ProcessingHorizon is how long an accepted request can still land after the
	// client gave up.
	ProcessingHorizon time.Duration
	// IndexLag is how long the provider may take to show what landed.
	IndexLag time.Duration
	// Retention is how long the provider keeps it; 0 = until deleted by a person.
	Retention time.Duration
	Native    NativeIdempotency
	// Scopes names what the adapter covers ("Sent folder"), for people.
	Scopes []string
	// Mode is "live" or "test".
	Mode string
	// Conclusive is false where an empty answer proves nothing although all
	// controls pass, e.g. a Sent folder that the sending path does not fill.
	Conclusive bool
	// InconclusiveWhy says so in one sentence when Conclusive is false.
	InconclusiveWhy string
}

// NativeIdempotency describes the provider's own protection against repeats.
type NativeIdempotency struct {
	Header       string        // "" = none
	Window       time.Duration // how long a key is honoured
	ErrorsKept   bool          // stored errors are replayed
	BodyCompared bool          // another body under the same key is refused
}

// Adapter asks one configured account at one provider. It is safe for
// concurrent use.
type Adapter interface {
	// Sheet returns the capability sheet; it must not do I/O.
	Sheet() Sheet
	// Session opens a read-only session. Errors are *ProviderError where the
	// provider answered, else plain.
	Session(ctx context.Context) (Session, error)
}

// Session answers queries, one at a time.
type Session interface {
	// Find looks one reference up. Every match was fetched again and compared byte
	// for byte on the reference before it is returned; other rows that the query
	// brought only raise Answer.Unrelated. An error means that nothing can be said.
	Find(ctx context.Context, q Query) (Answer, error)
	Close() error
}

// Query is one look-up. Ref is 32 lower-case hex digits: an adapter refuses
// anything else, so that no query language and no protocol can be broken by it.
type Query struct {
	Ref  string
	From time.Time // start of the window: before the first grant
	To   time.Time // end of the window
	// Handles are provider-side ids that the worker journaled before the effect.
	// Controls have none.
	Handles []journal.Handle
}

// Answer is what one query brought.
type Answer struct {
	Matches []journal.Match
	// Unrelated counts rows that the provider returned although they do not carry
	// the reference: many of them mean that it ignored the filter.
	Unrelated    int
	AllPagesRead bool
	Scopes       []journal.Scope
	Exchanges    []journal.Exchange // redacted; capped by CapText
}

// FaultKind says what went wrong at the provider.
type FaultKind string

// The kinds of provider faults.
const (
	FaultAuth        FaultKind = "auth"         // credentials refused
	FaultForbidden   FaultKind = "forbidden"    // a right is missing
	FaultRateLimited FaultKind = "rate_limited" // ask later
	FaultUnavailable FaultKind = "unavailable"  // no answer, or 5xx
	FaultBadAnswer   FaultKind = "bad_answer"   // an answer that can't be understood
	FaultRefused     FaultKind = "refused"      // the query itself was refused
	FaultTooLarge    FaultKind = "too_large"    // a cap was hit
)

// ProviderError is a look that the provider did not answer properly. It always
// reads as CANNOT_TELL, never as "not found".
type ProviderError struct {
	Kind       FaultKind
	Detail     string        // one sentence for people, no secrets
	RetryAfter time.Duration // what the provider asked for; 0 = nothing
	Exchanges  []journal.Exchange
	Err        error
}

func (e *ProviderError) Error() string { return fmt.Sprintf("provider: %s: %s", e.Kind, e.Detail) }

func (e *ProviderError) Unwrap() error { return e.Err }

// MaxExchangeBytes caps each request and response kept with evidence.
const MaxExchangeBytes = 4 << 10

// CapText cuts s to MaxExchangeBytes at a rune boundary, replaces invalid UTF-8
// and NUL so that the journal can keep it, and says how much was left out.
func CapText(s string) string {
	clean := sanitize(s)
	if len(clean) <= MaxExchangeBytes {
		return clean
	}
	cut := MaxExchangeBytes
	for cut > 0 && clean[cut]&0xc0 == 0x80 {
		cut--
	}
	return fmt.Sprintf("%s … (%d bytes more)", clean[:cut], len(clean)-cut)
}
