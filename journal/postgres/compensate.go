package postgres

import (
	"context"
	"errors"

	"github.com/jackc/pgx/v5"

	"github.com/landedhq/landed/journal"
	"github.com/landedhq/landed/journal/postgres/internal/sqlc"
)

// maxUndoBytes ends a page of what is left to undo: with one effect of the
// largest args and result after it, in base64, the answer still is what a client
// reads.
const maxUndoBytes = 2 << 20

// Undoable lists what is left to undo of a root run, what was completed last
// first.
func (s *Store) Undoable(ctx context.Context, q journal.UndoQuery) (journal.UndoPage, error) {
	return s.undoable(ctx, q, true)
}

func (s *Store) undoable(ctx context.Context, q journal.UndoQuery, bodies bool) (journal.UndoPage, error) {
	if err := q.Validate(); err != nil {
		return journal.UndoPage{}, err
	}
	at, id, _ := q.Cursor()
	p := sqlc.UndoableParams{Bodies: bodies, RootRun: q.RootRun, Namespace: q.Namespace, AfterAt: timePtr(at), AfterID: id,
		MaxRows: int32(q.Limit), MaxBytes: maxUndoBytes}
	if q.Limit == 0 {
		p.MaxRows = journal.MaxUndoPage
	}
	if id == "" {
		p.AfterID = noID
	}
	rows, err := s.q.Undoable(ctx, s.pool, p)
	if err != nil {
		return journal.UndoPage{}, mapError("listing what is left to undo", err)
	}
	var out journal.UndoPage
	for _, r := range rows {
		out.Effects = append(out.Effects, journal.Undoable{EffectID: r.ID, Tool: r.Tool, CompensatedBy: r.CompensatedBy, Operation: r.Operation,
			Subject: r.Subject, Amount: r.Amount, Currency: r.Currency, Args: r.Args, Result: r.Result, ProviderID: r.ProviderID,
			ProbablyDouble: r.ProbablyDouble, CompletedAt: r.StateAt, Undo: journal.State(r.UndoState), Compensation: r.UndoID})
	}
	if n := len(out.Effects); n > 0 {
		out.Next = journal.UndoAfter(out.Effects[n-1])
	}
	return out, nil
}

// caseCompensation reads what undoes the effect, and what closing it would have
// undone.
func (s *Store) caseCompensation(ctx context.Context, c *journal.Case) error {
	e := &c.Effect
	r, err := s.q.CompensationOf(ctx, s.pool, e.ID)
	switch {
	case err == nil:
		c.Compensation = &journal.Sibling{ID: r.ID, Tool: r.Tool, Operation: r.Operation, Subject: r.Subject, Amount: r.Amount,
			Currency: r.Currency, Class: journal.Class(r.Class), State: journal.State(r.State), CreatedAt: r.CreatedAt}
	case !errors.Is(err, pgx.ErrNoRows):
		return mapError("loading the compensation of effect "+e.ID, err)
	}
	if c.CompensateRun, err = s.q.CompensatesRun(ctx, s.pool, e.Tool); err != nil {
		return mapError("loading the policy of tool "+e.Tool, err)
	}
	if !c.CompensateRun || !c.Decidable() || e.RootRun == "" {
		return nil
	}
	page, err := s.undoable(ctx, journal.UndoQuery{Namespace: e.Namespace, RootRun: e.RootRun}, false)
	c.Undoable = page.Effects
	return err
}

// readPolicy adds the tool's policy of today, in the decision's transaction.
func (s *Store) readPolicy(ctx context.Context, db sqlc.DBTX, l *journal.Snapshot) error {
	on, err := s.q.CompensatesRun(ctx, db, l.Effect.Tool)
	l.CompensateRun = on
	return mapError("loading the policy of tool "+l.Effect.Tool, err)
}

// compensable reports whether what r undoes may be undone by it.
func (s *Store) compensable(ctx context.Context, r journal.BeginRequest) bool {
	e, err := s.q.EffectByID(ctx, s.pool, r.Compensates)
	if err != nil {
		return false
	}
	undone := journal.Effect{State: journal.State(e.Effect.State), Compensates: strOf(e.Effect.Compensates),
		Namespace: e.Effect.Namespace, RootRun: e.Effect.RootRun}
	return undone.Compensable(r.Namespace, r.RootRun)
}

func compensation(p sqlc.BeginEffectParams, of string) sqlc.BeginCompensationParams {
	return sqlc.BeginCompensationParams{ID: p.ID, Namespace: p.Namespace, Key: p.Key, Ref: p.Ref, ClientTimeoutMs: p.ClientTimeoutMs, RootRun: p.RootRun,
		RootRunStartedAt: p.RootRunStartedAt, Turn: p.Turn, Run: p.Run, Step: p.Step, Operation: p.Operation, Subject: p.Subject, Amount: p.Amount,
		Currency: p.Currency, Labels: p.Labels, Args: p.Args, Fingerprint: p.Fingerprint, FingerprintRule: p.FingerprintRule, Resume: p.Resume,
		Traceparent: p.Traceparent, ClaimID: p.ClaimID, LeaseToken: p.LeaseToken, Worker: p.Worker, LeaseMs: p.LeaseMs, Tool: p.Tool,
		ToolVersion: p.ToolVersion, KeyHash: p.KeyHash, Compensates: of}
}
