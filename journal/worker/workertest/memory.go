package workertest

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/landedhq/landed/journal"
)

// Memory is a journal in memory for tests of the worker's loop. It applies the
// transitions of package journal under one lock and forgets everything at the
// end of the process: it must never serve real effects.
type Memory struct {
	mu      sync.Mutex
	policy  journal.Policy
	tools   map[string]journal.Tool
	effects map[string]*journal.Snapshot // by id
	keys    map[string]string            // namespace NUL key → id
	spent   map[string]int               // retry budget by root run NUL turn
	feed    []journal.Resolution
	changed chan struct{} // closed and replaced at every resolution
	fault   func(call string) error
}

// NewMemory returns an empty journal with the default policy, but leases down
// to 50 ms.
func NewMemory() *Memory {
	p := journal.DefaultPolicy()
	p.MinLease = 50 * time.Millisecond
	return &Memory{
		policy: p, tools: map[string]journal.Tool{}, effects: map[string]*journal.Snapshot{},
		keys: map[string]string{}, spent: map[string]int{}, changed: make(chan struct{}),
	}
}

// Fault sets a function that is asked before every call ("begin", "commit",
// "fail", "heartbeat", "handle", "decision") and, with "after:" before the
// name, once it was applied. Its error is what the caller gets.
func (m *Memory) Fault(f func(call string) error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.fault = f
}

func (m *Memory) faulty(ctx context.Context, call string) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	m.mu.Lock()
	f := m.fault
	m.mu.Unlock()
	if f == nil {
		return nil
	}
	return f(call)
}

// RegisterTool implements the worker's Journal.
func (m *Memory) RegisterTool(_ context.Context, t journal.Tool) error {
	if err := t.Validate(); err != nil {
		return err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	m.tools[t.Name] = t
	return nil
}

// Begin implements the worker's Journal.
func (m *Memory) Begin(ctx context.Context, r journal.BeginRequest) (journal.BeginAnswer, error) {
	if err := m.faulty(ctx, "begin"); err != nil {
		return journal.BeginAnswer{}, err
	}
	m.mu.Lock()
	a, err := m.begin(r)
	m.mu.Unlock()
	if err == nil {
		err = m.faulty(ctx, "after:begin")
	}
	if err != nil {
		return journal.BeginAnswer{}, err
	}
	return a, nil
}

func (m *Memory) begin(r journal.BeginRequest) (journal.BeginAnswer, error) {
	if err := journal.ValidateKey(r.Key); err != nil {
		return journal.BeginAnswer{}, err
	}
	t, ok := m.tools[r.Tool]
	switch {
	case !ok:
		return journal.BeginAnswer{}, journal.ErrUnknownTool
	case t.Class == journal.ClassReadOnly:
		return journal.BeginAnswer{}, journal.ErrNotJournaled
	}
	print, err := journal.Fingerprint(t.IdentityFields, r)
	if err != nil {
		return journal.BeginAnswer{}, err
	}
	id, known := m.keys[r.Namespace+"\x00"+r.Key]
	if !known && r.Compensates != "" && !m.compensable(r) {
		return journal.BeginAnswer{}, journal.ErrNotCompensable
	}
	if !known {
		return m.create(t, r, print)
	}
	s := m.read(id)
	if s.Effect.Tool != r.Tool || !s.Effect.Corrected && (s.Effect.Fingerprint != print || s.Effect.Compensates != r.Compensates) {
		fields, _ := journal.DiffArgs(t.IdentityFields, s.Effect.Args, r.Args)
		return journal.BeginAnswer{}, &journal.KeyReusedError{EffectID: id, Tool: s.Effect.Tool, Fields: fields}
	}
	c, a, err := s.Begin(r)
	if err != nil {
		return journal.BeginAnswer{}, err
	}
	m.apply(id, c)
	if a.Directive == journal.DirectiveReturn {
		_, a.Drift = journal.DiffArgs(t.IdentityFields, s.Effect.Args, r.Args)
	}
	return a, nil
}

func (m *Memory) create(t journal.Tool, r journal.BeginRequest, print string) (journal.BeginAnswer, error) {
	now := time.Now()
	at := journal.NewAttempt(r, 1, 1, t.ClientTimeout, m.policy, now)
	e := journal.Effect{
		ID: journal.NewID(now), Namespace: r.Namespace, Key: r.Key, Ref: journal.Ref(r.Namespace, r.Key),
		Tool: t.Name, Class: t.Class, Provider: t.Provider, KeyWindow: t.KeyWindow, ClientTimeout: t.ClientTimeout,
		RootRun: r.RootRun, Turn: r.Turn, Run: r.Run, Step: r.Step, Operation: r.Operation,
		Compensates: r.Compensates,
		Args:        slices.Clone(r.Args), Fingerprint: print, FingerprintRule: journal.FingerprintRule,
		State: journal.StateIntent, Version: 1, Attempt: 1, Issue: 1, CreatedAt: now, StateAt: now,
	}
	m.effects[e.ID] = &journal.Snapshot{Effect: e, Attempts: []journal.Attempt{at}}
	m.keys[r.Namespace+"\x00"+r.Key] = e.ID
	_, a, err := m.read(e.ID).Begin(r) // live, same claim: the transition shapes the answer
	return a, err
}

// read returns the effect as a transition sees it now.
func (m *Memory) read(id string) *journal.Snapshot {
	s := *m.effects[id]
	s.Now, s.Policy, s.Cursor = time.Now(), m.policy, int64(len(m.feed))
	s.CompensateRun = m.tools[s.Effect.Tool].CompensateRun
	s.Attempts = slices.Clone(s.Attempts)
	s.Budget = journal.Budget{Spent: m.spent[s.Effect.RootRun+"\x00"+s.Effect.Turn], Limit: m.policy.RetryBudget}
	return &s
}

func (m *Memory) apply(id string, c journal.Change) {
	if c.Effect.ID == "" {
		return // the transition refused
	}
	s := m.effects[id]
	s.Effect = c.Effect
	s.Effect.Version++ // also for a change that writes nothing: nobody counts here
	for _, a := range c.Attempts {
		for i := range s.Attempts {
			if s.Attempts[i].Number == a.Number {
				s.Attempts[i] = a
			}
		}
	}
	if c.Granted != nil {
		s.Attempts = append(s.Attempts, *c.Granted)
	}
	if c.Order != nil {
		s.Order = c.Order
	}
	if c.SpendBudget {
		m.spent[s.Effect.RootRun+"\x00"+s.Effect.Turn]++
	}
	for _, r := range c.Resolutions {
		r.Cursor, r.EffectVersion = int64(len(m.feed))+1, s.Effect.Version
		m.feed = append(m.feed, r)
		s.Newest = &r
	}
	if len(c.Resolutions) > 0 {
		close(m.changed)
		m.changed = make(chan struct{})
	}
}

// Commit implements the worker's Journal.
func (m *Memory) Commit(ctx context.Context, r journal.CommitRequest) (journal.CommitAnswer, error) {
	if err := m.faulty(ctx, "commit"); err != nil {
		return journal.CommitAnswer{}, err
	}
	m.mu.Lock()
	a, err := journal.CommitAnswer{}, journal.ErrNotFound
	if _, ok := m.effects[r.EffectID]; ok {
		var c journal.Change
		r.Result = slices.Clone(r.Result)
		c, a, err = m.read(r.EffectID).Commit(r)
		m.apply(r.EffectID, c)
	}
	m.mu.Unlock()
	if err == nil {
		err = m.faulty(ctx, "after:commit")
	}
	return a, err
}

// Fail implements the worker's Journal.
func (m *Memory) Fail(ctx context.Context, r journal.FailRequest) (journal.FailAnswer, error) {
	if err := m.faulty(ctx, "fail"); err != nil {
		return journal.FailAnswer{}, err
	}
	m.mu.Lock()
	a, err := journal.FailAnswer{}, journal.ErrNotFound
	if _, ok := m.effects[r.EffectID]; ok {
		var c journal.Change
		c, a, err = m.read(r.EffectID).Fail(r)
		m.apply(r.EffectID, c)
	}
	m.mu.Unlock()
	if err == nil {
		err = m.faulty(ctx, "after:fail")
	}
	return a, err
}

// Heartbeat implements the worker's Journal.
func (m *Memory) Heartbeat(ctx context.Context, r journal.Report) (journal.HeartbeatAnswer, error) {
	if err := m.faulty(ctx, "heartbeat"); err != nil {
		return journal.HeartbeatAnswer{}, err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	s, ok := m.effects[r.EffectID]
	if !ok {
		return journal.HeartbeatAnswer{}, journal.ErrNotFound
	}
	now := time.Now()
	cur := &s.Attempts[len(s.Attempts)-1]
	if cur.Token != r.LeaseToken || s.Effect.State != journal.StateIntent || !cur.Live(now) {
		return journal.HeartbeatAnswer{}, &journal.LeaseLostError{EffectID: r.EffectID, State: s.Effect.State, Decision: s.Newest}
	}
	lease := cur.SendBy.Sub(cur.GrantedAt)
	cur.LeaseUntil = now.Add(lease)
	if cur.LeaseUntil.After(cur.Deadline) {
		cur.LeaseUntil = cur.Deadline
	}
	return journal.HeartbeatAnswer{LeaseFor: cur.LeaseUntil.Sub(now)}, nil
}

// Handle implements the worker's Journal.
func (m *Memory) Handle(ctx context.Context, r journal.HandleRequest) error {
	if err := m.faulty(ctx, "handle"); err != nil {
		return err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	s, ok := m.effects[r.EffectID]
	if !ok {
		return journal.ErrNotFound
	}
	s.Handles = append(s.Handles, journal.Handle{Attempt: r.Attempt, Kind: r.Kind, Value: r.Value, At: time.Now()})
	cur := s.Attempts[len(s.Attempts)-1]
	if cur.Token != r.LeaseToken || !cur.Live(time.Now()) {
		return &journal.LeaseLostError{EffectID: r.EffectID, State: s.Effect.State}
	}
	return nil
}

// Decision implements the worker's Journal.
func (m *Memory) Decision(ctx context.Context, effectID string, after int64, wait time.Duration) (*journal.Resolution, error) {
	if err := m.faulty(ctx, "decision"); err != nil {
		return nil, err
	}
	end := time.NewTimer(wait)
	defer end.Stop()
	for {
		m.mu.Lock()
		changed := m.changed
		for _, r := range m.feed {
			if r.EffectID == effectID && r.Cursor > after {
				m.mu.Unlock()
				return &r, nil
			}
		}
		m.mu.Unlock()
		select {
		case <-changed:
		case <-end.C:
			return nil, nil
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
}

// Decisions implements the worker's Journal.
func (m *Memory) Decisions(_ context.Context, after int64, limit int) ([]journal.Resolution, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	var out []journal.Resolution
	for _, r := range m.feed {
		if r.Cursor > after && len(out) < limit {
			out = append(out, r)
		}
	}
	return out, nil
}

// Ack implements the worker's Journal.
func (m *Memory) Ack(_ context.Context, resolutionID string) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	for i := range m.feed {
		if m.feed[i].ID == resolutionID {
			now := time.Now()
			m.feed[i].AckedAt = &now
			return nil
		}
	}
	return journal.ErrNotFound
}

// Correct closes the effect with a key as not landed and orders another with args
// in its place, as two people would.
func (m *Memory) Correct(key string, args []byte) error {
	return m.decide(key, journal.VerbCorrect, "", &journal.Correction{Args: args})
}

// Decide carries out an operator's decision on the effect with a key.
func (m *Memory) Decide(key string, verb journal.Verb, mode journal.ReissueMode) error {
	return m.decide(key, verb, mode, nil)
}

func (m *Memory) decide(key string, verb journal.Verb, mode journal.ReissueMode, x *journal.Correction) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	id, ok := m.keys["\x00"+key]
	if !ok {
		return journal.ErrNotFound
	}
	s := m.read(id)
	d := journal.Decision{
		ID: journal.NewID(s.Now), EffectID: id, Verb: verb, Mode: mode, Expected: s.Effect.Version, Digest: s.EvidenceDigest(),
		Actor: journal.Actor{Subject: "op"}, ReasonCode: "test", Reason: "decided by a test", At: s.Now, Correction: x,
		Approval: &journal.Approval{Actor: journal.Actor{Subject: "second"}},
	}
	if x != nil {
		x.Subject, x.Amount, x.Currency = s.Effect.Subject, s.Effect.Amount, s.Effect.Currency
	}
	c, err := s.Decide(d)
	if err != nil {
		return fmt.Errorf("deciding: %w", err)
	}
	m.apply(id, c)
	if n := c.Successor; n != nil {
		o := n.Order
		m.effects[n.Effect.ID] = &journal.Snapshot{Effect: n.Effect, Order: &o}
		m.keys[n.Effect.Namespace+"\x00"+n.Effect.Key] = n.Effect.ID
	}
	return nil
}

// Effect returns what is recorded under a key of the default namespace.
func (m *Memory) Effect(key string) (journal.Effect, []journal.Attempt, bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	id, ok := m.keys["\x00"+key]
	if !ok {
		return journal.Effect{}, nil, false
	}
	s := m.read(id)
	return s.Effect, s.Attempts, true
}

// Count returns how many effects are recorded.
func (m *Memory) Count() int {
	m.mu.Lock()
	defer m.mu.Unlock()
	return len(m.effects)
}

// Handles returns the handles of the effect with a key.
func (m *Memory) Handles(key string) []journal.Handle {
	m.mu.Lock()
	defer m.mu.Unlock()
	if s, ok := m.effects[m.keys["\x00"+key]]; ok {
		return slices.Clone(s.Handles)
	}
	return nil
}

// Fence closes the current attempt of the effect with a key, as the sweeper or
// a decision would: the next heartbeat is told that the lease is lost.
func (m *Memory) Fence(key string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	s := m.effects[m.keys["\x00"+key]]
	s.Attempts[len(s.Attempts)-1].FencedAt = time.Now()
	s.Effect.State, s.Effect.ParkedReason = journal.StateParked, journal.ReasonAtMostOnce
}
