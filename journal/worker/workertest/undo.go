package workertest

import (
	"cmp"
	"context"
	"slices"
	"strings"
	"time"

	"github.com/landedhq/landed/journal"
)

// compensable is what begin asks of the effect that is to be undone.
func (m *Memory) compensable(r journal.BeginRequest) bool {
	s, ok := m.effects[r.Compensates]
	return ok && s.Effect.Compensable(r.Namespace, r.RootRun) && m.undoOf(r.Compensates) == nil
}

// undoOf is the compensation of an effect, or nil.
func (m *Memory) undoOf(id string) *journal.Effect {
	for _, s := range m.effects {
		if s.Effect.Compensates == id {
			return &s.Effect
		}
	}
	return nil
}

// Undoable implements the worker's Journal.
func (m *Memory) Undoable(ctx context.Context, q journal.UndoQuery) (journal.UndoPage, error) {
	if err := m.faulty(ctx, "undoable"); err != nil {
		return journal.UndoPage{}, err
	}
	if err := q.Validate(); err != nil {
		return journal.UndoPage{}, err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	at, id, _ := q.Cursor()
	var all []journal.Undoable
	for _, s := range m.effects {
		e := &s.Effect
		by := m.tools[e.Tool].CompensatedBy
		if !e.Compensable(q.Namespace, q.RootRun) || by == "" {
			continue
		}
		u := journal.Undoable{EffectID: e.ID, Tool: e.Tool, CompensatedBy: by, Operation: e.Operation, Args: e.Args, Result: e.Result,
			ProviderID: e.ProviderID, ProbablyDouble: e.ProbablyDouble, CompletedAt: e.StateAt}
		if undo := m.undoOf(e.ID); undo != nil {
			u.Undo, u.Compensation = undo.State, undo.ID
		}
		if u.Undo != journal.StateCommitted {
			all = append(all, u)
		}
	}
	newest := func(a, b journal.Undoable) int {
		return cmp.Or(cmp.Compare(b.CompletedAt.UnixMicro(), a.CompletedAt.UnixMicro()), strings.Compare(b.EffectID, a.EffectID))
	}
	slices.SortFunc(all, newest)
	if q.After != "" {
		last := journal.Undoable{EffectID: id, CompletedAt: at}
		all = slices.DeleteFunc(all, func(u journal.Undoable) bool { return newest(u, last) <= 0 })
	}
	if limit := cmp.Or(q.Limit, journal.MaxUndoPage); len(all) > limit {
		all = all[:limit]
	}
	p := journal.UndoPage{Effects: all}
	if len(all) > 0 {
		p.Next = journal.UndoAfter(all[len(all)-1])
	}
	return p, nil
}

// Expire ends the lease of the current attempt of the effect with a key, as time
// would.
func (m *Memory) Expire(key string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	s := m.effects[m.keys["\x00"+key]]
	s.Attempts[len(s.Attempts)-1].LeaseUntil = time.Now().Add(-time.Millisecond)
}
