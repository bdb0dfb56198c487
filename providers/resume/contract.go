package resume

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/landedhq/landed/journal"
)

// Target is one configured runtime. Implementations are safe for use by several
// goroutines and keep to the context's deadline.
type Target interface {
	// Name is how the configuration and begin's resume call it; it never changes.
	Name() string
	Sheet() Sheet
	// Check says what is wrong with an address, begin's resume, without any I/O.
	Check(resume []byte) error
	// Deliver hands the message over, or says why not, if it can as a *Failure. It
	// may be called again with the same message, by another process too.
	Deliver(ctx context.Context, m Message) (Receipt, error)
}

// Prober is a Target that can tell whether it is reachable and lets Landed in,
// without handing anything over. `landed check` asks.
type Prober interface {
	Probe(ctx context.Context) error
}

// Challenger is a Target whose endpoint must prove, before it is sent anything,
// that it expects Landed's messages: an address with a slip in it belongs to
// somebody else.
type Challenger interface {
	// Endpoint is a hash of the address: another one has to prove itself anew.
	Endpoint() string
	// Challenge has it prove that. The error is a *Failure if it can be.
	Challenge(ctx context.Context) error
}

// Sheet is what a target can promise.
type Sheet struct {
	Kind string // "webhook", "temporal", "dbos", …
	// Dedupes: the runtime itself ignores a resolution id that it has seen.
	Dedupes bool
	// Buffers: what comes before the work waits for it is kept until it does.
	Buffers bool
	// Confirms: the answer says whether the work goes on, not only that it was taken.
	Confirms bool
	// Residual is what is left to the consumer, in one sentence for people; "" = nothing.
	Residual string
}

// Receipt is a target's good answer.
type Receipt struct {
	// Resumed: the runtime says that the work goes on. It closes the delivery, and
	// only a Sheet with Confirms may say so.
	Resumed bool
	Detail  string // for people, one line
}

// Failure is a target's typed answer. Every outcome but HandoverAccepted and
// HandoverResumed may stand in it.
type Failure struct {
	Outcome    journal.HandoverOutcome
	RetryAfter time.Duration // what the runtime asked for; 0 = nothing
	// Stop: the endpoint wants nothing more, of anything (410). It holds for a target
	// with one endpoint, a Challenger; of others only this resolution is gone.
	Stop bool
	Err  error // never holds a secret
}

func (f *Failure) Error() string {
	if f.Err == nil {
		return string(f.Outcome)
	}
	return f.Err.Error()
}

func (f *Failure) Unwrap() error { return f.Err }

// Fail makes a Failure.
func Fail(o journal.HandoverOutcome, format string, args ...any) *Failure {
	return &Failure{Outcome: o, Err: fmt.Errorf(format, args...)}
}

// TypeResolution is the type of every message, and says how its data looks.
const TypeResolution = "effect.resolution.v1"

// Message is what is handed over. ID is the dedupe key.
type Message struct {
	ID     string // the resolution's, a UUID: the same in every try
	At     time.Time
	Data   Data
	Resume []byte // the effect's address, raw JSON; nil = none
	Try    int    // 1 at first
}

// Data is a resolution as runtimes get it: thin, so that it may lie in a
// workflow's history. Who decided and why is on the effect's page and in
// GET /v1/effects/{id}/decision.
type Data struct {
	ResolutionID   string                 `json:"resolution_id"`
	Cursor         int64                  `json:"cursor"` // where to go on in the feed
	EffectID       string                 `json:"effect_id"`
	EffectVersion  int64                  `json:"effect_version"`
	Namespace      string                 `json:"namespace,omitempty"`
	Key            string                 `json:"key"`
	Tool           string                 `json:"tool"`
	Resolution     journal.ResolutionKind `json:"resolution"`
	OrderID        string                 `json:"order_id,omitempty"`
	OrderExpiresAt *time.Time             `json:"order_expires_at,omitempty"`
	SuccessorID    string                 `json:"successor_id,omitempty"`
	SuccessorKey   string                 `json:"successor_key,omitempty"`
	Compensate     bool                   `json:"compensate,omitempty"`
	At             time.Time              `json:"at"`
	URL            string                 `json:"url"` // the effect's page
}

// Payload is the body that targets send unless their runtime wants another
// shape: type, timestamp of the event, data.
type Payload struct {
	Type      string    `json:"type"`
	Timestamp time.Time `json:"timestamp"`
	Data      Data      `json:"data"`
}

// Payload returns the message's body.
func (m Message) Payload() Payload { return Payload{TypeResolution, m.At.UTC(), m.Data} }

// NewMessage shapes the message of a handover. external is the desk's address
// without a slash at its end.
func NewMessage(external string, h journal.Handover) Message {
	r := h.Resolution
	return Message{ID: r.ID, At: r.At.UTC(), Resume: h.Resume, Try: max(h.Tries, 1), Data: Data{
		ResolutionID: r.ID, Cursor: r.Cursor, EffectID: r.EffectID, EffectVersion: r.EffectVersion, Namespace: r.Namespace, Key: r.Key,
		Tool: h.Tool, Resolution: r.Kind, OrderID: r.OrderID, OrderExpiresAt: r.OrderExpiresAt, SuccessorID: r.SuccessorID,
		SuccessorKey: r.SuccessorKey, Compensate: r.Compensate, At: r.At.UTC(), URL: external + "/e/" + r.EffectID}}
}

// Address reads begin's resume into a target's own struct, strictly: unknown
// members are an error that names them. The struct needs a member "to".
func Address(resume []byte, into any) error {
	if len(resume) == 0 {
		return errors.New("the effect says nothing of where its work waits: give begin a resume with the target's name in \"to\"")
	}
	d := json.NewDecoder(strings.NewReader(string(resume)))
	d.DisallowUnknownFields()
	if err := d.Decode(into); err != nil {
		return fmt.Errorf("the effect's resume can't be read: %w", err)
	}
	return nil
}
