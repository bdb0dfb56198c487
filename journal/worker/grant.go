package worker

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/landedhq/landed/journal"
)

type grantKey struct{}
type readingKey struct{}

// Grant is the permission of one attempt. Do puts it into the tool's context;
// there is no other way to get one, and nothing that a model writes reaches it.
type Grant struct {
	tool      *tool
	report    journal.Report
	answer    journal.BeginAnswer
	journal   Journal
	transport *Transport
	clock     clock
	start     mark          // before begin was sent
	sendBy    time.Duration // since start
	readOnly  bool          // a read_only tool: nothing is journaled or limited
	ctx       context.Context
	cancel    context.CancelCauseFunc

	mu       sync.Mutex
	lease    mark // lease ends leaseFor after this moment
	leaseFor time.Duration
	entered  bool  // a request reached the transport, or Sending was called
	sent     bool  // a first byte was allowed
	unknown  bool  // a request ended without an answer that tells its outcome
	over     bool  // the tool's function has returned
	lost     error // the journal said that the lease is lost
	requests int   // HTTP requests that wrote a byte
}

// Effect returns the grant of the attempt that ctx belongs to, or ErrNoGrant.
func Effect(ctx context.Context) (*Grant, error) {
	if g, ok := ctx.Value(grantKey{}).(*Grant); ok {
		return g, nil
	}
	return nil, ErrNoGrant
}

// RefFrom returns the reference to write to the provider: 32 hex digits that
// never change for this effect.
func RefFrom(ctx context.Context) (string, error) {
	g, err := Effect(ctx)
	if err != nil {
		return "", err
	}
	return g.Ref(), nil
}

// EffectID is the effect's identity in URLs and logs.
func (g *Grant) EffectID() string { return g.answer.EffectID }

// Ref is the reference to write to the provider.
func (g *Grant) Ref() string { return g.answer.Ref }

// ProviderKey is the idempotency key for the provider. Automatic attempts of
// one issue share it.
func (g *Grant) ProviderKey() string { return g.answer.ProviderKey }

// Attempt is the number of this attempt, from 1.
func (g *Grant) Attempt() int { return g.answer.Attempt }

// Issue says which provider-side request this is, from 1.
func (g *Grant) Issue() int { return g.answer.Issue }

// Handles are the provider-side ids that earlier attempts journaled.
func (g *Grant) Handles() []journal.Handle { return slices.Clone(g.answer.Handles) }

// Requests counts the HTTP requests of this attempt that wrote a byte.
func (g *Grant) Requests() int {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.requests
}

// RecordHandle journals a provider-side id (a draft, a payment intent) before
// the effect. Stop on an error: without the record the effect must not happen.
func (g *Grant) RecordHandle(ctx context.Context, kind, value string) error {
	if g.readOnly {
		return ErrNoGrant
	}
	err := g.journal.Handle(ctx, journal.HandleRequest{Report: g.report, Kind: kind, Value: value})
	var lost *journal.LeaseLostError
	if errors.As(err, &lost) {
		g.lose(lost)
	}
	if err != nil {
		return fmt.Errorf("journaling handle %s of effect %s: %w", kind, g.EffectID(), err)
	}
	return nil
}

// admit reports why nothing more may be sent, or nil.
func (g *Grant) admit() error {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.entered = true
	return g.refusal()
}

// sending is asked right before a first byte. If it returns nil, the attempt
// counts as sent.
func (g *Grant) sending() error {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.entered = true
	if err := g.refusal(); err != nil {
		return err
	}
	g.sent = true
	return nil
}

func (g *Grant) refusal() error {
	switch {
	case g.over:
		return ErrGrantOver
	case g.readOnly:
		return nil
	case g.lost != nil:
		return g.lost
	case g.unknown && g.tool.Class != journal.ClassProviderIdempotent:
		return ErrEarlierUnknown
	case g.clock.since(g.start) >= g.sendBy, g.clock.since(g.lease) >= g.leaseFor:
		return ErrTooLate
	}
	return nil
}

// ended notes how one HTTP request ended; status 0 means without an answer.
func (g *Grant) ended(wrote bool, status int) {
	if !wrote {
		return
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	g.requests++
	if status == 0 || status == 408 || status >= 500 {
		g.unknown = true
	}
}

// renew moves the lease; at is the moment before the heartbeat was sent.
func (g *Grant) renew(at mark, leaseFor time.Duration) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.lease, g.leaseFor = at, leaseFor
}

// lose ends the tool's context: the journal gave the effect to somebody else.
func (g *Grant) lose(err error) {
	g.mu.Lock()
	if g.lost == nil {
		g.lost = err
	}
	g.mu.Unlock()
	g.cancel(err)
}

// close forbids every further byte. After it the phase can't change.
func (g *Grant) close() {
	g.mu.Lock()
	g.over = true
	g.mu.Unlock()
}

// phase is how far the attempt got as far as its own record proves.
func (g *Grant) phase() journal.Phase {
	g.mu.Lock()
	defer g.mu.Unlock()
	if !g.sent && (g.entered || g.tool.Tracked) {
		return journal.PhaseNotSent
	}
	return journal.PhaseSent
}

// judge joins a tool's error with the record: what the tool says counts unless
// the record shows that more may have happened.
func (g *Grant) judge(err error) Verdict {
	var f *Failure
	if !errors.As(err, &f) {
		return Verdict{Phase: g.phase()}
	}
	v := f.Verdict
	g.mu.Lock()
	defer g.mu.Unlock()
	switch {
	case v.Phase == journal.PhaseNotSent && g.sent,
		v.Phase == journal.PhaseRefused && g.unknown,
		!v.Phase.Valid():
		v.Phase, v.Final = journal.PhaseSent, false
	case v.Phase != journal.PhaseRefused:
		v.Final = false
	}
	return v
}
