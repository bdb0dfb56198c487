package evidence

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"github.com/landedhq/landed/journal"
)

// Source is what the collector needs of the journal.
type Source interface {
	// ClaimLooks hands out effects whose look at the provider is due; a claim lasts
	// for claim.
	ClaimLooks(ctx context.Context, provider string, limit int, claim time.Duration) ([]string, error)
	// PostponeLook gives a claimed look back, to be due at until.
	PostponeLook(ctx context.Context, id string, until time.Time) error
	Snapshot(ctx context.Context, id string) (journal.Snapshot, error)
	// Canary finds a committed effect for the positive control, nil if none.
	Canary(ctx context.Context, provider string, begunAfter, committedBefore time.Time) (*journal.Canary, error)
	RecordEvidence(ctx context.Context, e journal.Evidence) (journal.Evidence, error)
	ProviderState(ctx context.Context, provider string) (journal.ProviderState, error)
	NoteProvider(ctx context.Context, n journal.ProviderNote) error
	// ClaimLagProbe hands out a fresh commit whose lag is to be measured, nil if
	// there is none.
	ClaimLagProbe(ctx context.Context, provider string, fresh, every, claim time.Duration) (*journal.LagProbe, error)
	PostponeLagProbe(ctx context.Context, p journal.LagProbe, wait time.Duration, missedAt time.Time) error
	EndLagProbe(ctx context.Context, p journal.LagProbe, told *journal.LagSample) error
}

// Bounds of the collector's work.
const (
	lookTimeout   = 45 * time.Second
	scheduled     = "schedule" // who asks for a look that is due
	canaryHorizon = 30 * 24 * time.Hour
)

// ErrNoAdapter: no adapter is configured for the effect's provider.
var ErrNoAdapter = errors.New("no evidence adapter is configured for this provider")

// Collector looks for what is due and for what a person asks. It may run in
// any number of replicas: due looks are claimed by a compare-and-set.
type Collector struct {
	src   Source
	desks map[string]*desk
	log   *slog.Logger

	mu     sync.Mutex
	asking map[string]*pending // looks under way here, by effect
}

type pending struct {
	done chan struct{}
	ev   journal.Evidence
	err  error
}

// NewCollector makes a collector for the configured providers, by name. Limits
// may lack any of them.
func NewCollector(src Source, adapters map[string]Adapter, limits map[string]Limits, log *slog.Logger) *Collector {
	c := &Collector{src: src, desks: map[string]*desk{}, log: log, asking: map[string]*pending{}}
	for name, a := range adapters {
		c.desks[name] = newDesk(a, limits[name])
	}
	return c
}

// CanLook reports whether a provider can be asked.
func (c *Collector) CanLook(provider string) bool { _, ok := c.desks[provider]; return ok }

// LookNow looks at the provider for a person, now. Several at once for one
// effect share one look. ErrNoAdapter says that nobody can be asked.
func (c *Collector) LookNow(ctx context.Context, id, requestedBy string) (journal.Evidence, error) {
	c.mu.Lock()
	if p, ok := c.asking[id]; ok {
		c.mu.Unlock()
		select {
		case <-p.done:
			return p.ev, p.err
		case <-ctx.Done():
			return journal.Evidence{}, ctx.Err()
		}
	}
	p := &pending{done: make(chan struct{})}
	c.asking[id] = p
	c.mu.Unlock()
	p.ev, p.err = c.look(ctx, id, requestedBy)
	c.mu.Lock()
	delete(c.asking, id)
	c.mu.Unlock()
	close(p.done)
	return p.ev, p.err
}

// look asks and records. The database's clock at reading the snapshot is when
// the look started: the clocks of Landed and the journal are never mixed.
func (c *Collector) look(ctx context.Context, id, by string) (journal.Evidence, error) {
	s, err := c.src.Snapshot(ctx, id)
	if err != nil {
		return journal.Evidence{}, err
	}
	name := s.Effect.Provider
	d, ok := c.desks[name]
	if !ok {
		return journal.Evidence{}, fmt.Errorf("looking at provider %q: %w", name, ErrNoAdapter)
	}
	leave, err := d.enter(ctx)
	if err != nil {
		return journal.Evidence{}, err
	}
	defer leave()
	state, err := c.src.ProviderState(ctx, name)
	if err != nil {
		return journal.Evidence{}, err
	}
	if s, err = c.src.Snapshot(ctx, id); err != nil { // the wait may have been long
		return journal.Evidence{}, err
	}
	if rest := d.resting(time.Now()); rest > 0 && state.PausedUntil == nil { // asked for a moment ago
		until := s.Now.Add(rest)
		state.PausedUntil = &until
	}
	if state.PausedUntil != nil && by == scheduled {
		return journal.Evidence{}, c.src.PostponeLook(ctx, id, *state.PausedUntil)
	}
	l := newLook(&s, d.adapter.Sheet(), state)
	f, err := c.ask(ctx, d.adapter, l)
	if err != nil {
		return journal.Evidence{}, err
	}
	return c.judge(ctx, l, f, by)
}

// aLook is one look: what it stands on and what it asks.
type aLook struct {
	s     *journal.Snapshot
	sheet Sheet
	state journal.ProviderState
	t     Timing
	q     Question
	begun time.Time
}

func newLook(s *journal.Snapshot, sheet Sheet, state journal.ProviderState) *aLook {
	l := &aLook{s: s, sheet: sheet, state: state, t: timing(s), begun: time.Now()}
	l.t.MeasuredP99 = state.Lag.P99
	l.q = Question{Ref: s.Effect.Ref, From: s.Effect.CreatedAt.Add(-windowMargin), To: windowEnd(sheet, l.t), Handles: s.Handles}
	return l
}

// judge records what the facts mean.
func (c *Collector) judge(ctx context.Context, l *aLook, f Facts, by string) (journal.Evidence, error) {
	name, id := l.s.Effect.Provider, l.s.Effect.ID
	e := assemble(name, l.sheet, f, Judge(f, l.sheet, l.t))
	e.EffectID, e.RequestedBy = id, by
	e.StartedAt, e.FinishedAt = l.t.StartedAt, l.t.StartedAt.Add(time.Since(l.begun))
	e.WindowFrom, e.WindowTo = l.q.From, l.q.To
	e.Waited = waited(l.sheet, l.state.Lag)
	e.Digest = digest(e)
	if l.state.PausedUntil == nil { // else it was not asked
		c.note(ctx, name, f)
	}
	out, err := c.src.RecordEvidence(context.WithoutCancel(ctx), e)
	if err != nil {
		return e, fmt.Errorf("recording evidence of effect %s: %w", id, err)
	}
	c.log.InfoContext(ctx, "looked", "effect", id, "provider", name, "verdict", e.Verdict, "reason", e.Reason)
	return out, nil
}

// ask asks the provider, unless it wants to be left alone. An error is the
// journal's, never the provider's.
func (c *Collector) ask(ctx context.Context, a Adapter, l *aLook) (Facts, error) {
	if p := l.state.PausedUntil; p != nil {
		return Facts{Err: &ProviderError{Kind: FaultRateLimited, RetryAfter: p.Sub(l.s.Now),
			Detail: "The provider asked to be left alone until " + p.UTC().Format("15:04:05 MST") + ", so it was not asked"}}, nil
	}
	horizon := canaryHorizon
	if l.sheet.Retention > 0 {
		horizon = min(horizon, l.sheet.Retention/2)
	}
	canary, err := c.src.Canary(ctx, l.s.Effect.Provider, l.s.Now.Add(-horizon), l.s.Now.Add(-InForce(l.sheet, l.state.Lag)))
	if err != nil {
		return Facts{}, err
	}
	l.q.Canary = canary
	ctx, cancel := context.WithTimeout(ctx, lookTimeout)
	defer cancel()
	return Ask(ctx, a, l.q), nil
}

// windowEnd bounds the search: what a request of ours made was made before the
// last of them could still land. A window that reached until now would grow with
// the effect's age, until no provider shows all of it.
func windowEnd(sheet Sheet, t Timing) time.Time {
	end := t.StartedAt
	if at := ConclusiveAt(sheet, t); !t.Live && at.Before(end) {
		end = at
	}
	return end.Add(windowMargin)
}

func timing(s *journal.Snapshot) Timing {
	t := Timing{StartedAt: s.Now, FirstGrant: s.Effect.CreatedAt, Attempt: s.Effect.Attempt, Attempts: len(s.Attempts),
		Looks: s.Effect.Looks, Live: s.Live(), ClockSuspect: s.ClockSuspect, ClientTimeout: s.Effect.ClientTimeout}
	for _, a := range s.Attempts {
		t.ClientTimeout = max(t.ClientTimeout, a.ClientTimeout)
		if a.SendBy.After(t.SendBy) {
			t.SendBy = a.SendBy
		}
		if a.FencedAt.IsZero() {
			t.FencedAt = s.Now // unowned but not fenced yet: count from now
		} else if a.FencedAt.After(t.FencedAt) {
			t.FencedAt = a.FencedAt
		}
		if a.Number == s.Effect.Attempt && a.FencedAt.IsZero() && s.Effect.State == journal.StateIntent {
			t.Live = true // NOT_FOUND needs every attempt fenced by a write
		}
	}
	return t
}

func assemble(adapter string, sheet Sheet, f Facts, j Judgement) journal.Evidence {
	e := journal.Evidence{Adapter: adapter, Kind: sheet.Kind, Version: sheet.Version, Verdict: j.Verdict, Reason: j.Reason,
		Explanation: j.Explanation, CoversAttempt: j.CoversAttempt, LookAgainAt: j.LookAgainAt,
		Matches: f.Answer.Matches, Scopes: f.Answer.Scopes, AllPagesRead: f.Answer.AllPagesRead, Unrelated: f.Answer.Unrelated,
		Negative: f.Negative, Positive: f.Positive, Exchanges: f.Answer.Exchanges}
	if f.Err != nil {
		e.Exchanges = append(e.Exchanges, fault(f.Err).Exchanges...)
	}
	for i := range e.Exchanges {
		e.Exchanges[i].Request, e.Exchanges[i].Response = CapText(e.Exchanges[i].Request), CapText(e.Exchanges[i].Response)
	}
	return e
}

// digest covers everything that the verdict stands on.
func digest(e journal.Evidence) string {
	b, err := json.Marshal(e)
	if err != nil {
		return ""
	}
	sum := sha256.Sum256(b)
	return hex.EncodeToString(sum[:])
}
