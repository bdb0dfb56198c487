package postgres

import (
	"context"
	"errors"
	"fmt"

	"github.com/jackc/pgx/v5"

	"github.com/landedhq/landed/journal"
	"github.com/landedhq/landed/journal/postgres/internal/sqlc"
)

// loaded is a snapshot with what the writing statement repeats of the row.
type loaded struct {
	journal.Snapshot
	row sqlc.Effect
}

// byID reads the snapshot of one effect inside tx.
func (s *Store) byID(id string) loader {
	return func(ctx context.Context, tx sqlc.DBTX) (*loaded, error) {
		if !journal.ValidID(id) {
			return nil, fmt.Errorf("loading effect: %w", journal.ErrNotFound)
		}
		r, err := s.q.EffectByID(ctx, tx, id)
		if err != nil {
			return nil, mapError("loading effect "+id, err)
		}
		return s.snapshot(ctx, tx, r)
	}
}

func (s *Store) byKey(namespace, key string) loader {
	return func(ctx context.Context, tx sqlc.DBTX) (*loaded, error) {
		r, err := s.q.EffectByKey(ctx, tx, sqlc.EffectByKeyParams{Namespace: namespace, Key: key})
		if err != nil {
			return nil, mapError("loading the effect of a key", err)
		}
		return s.snapshot(ctx, tx, sqlc.EffectByIDRow(r))
	}
}

type loader func(context.Context, sqlc.DBTX) (*loaded, error)

func (s *Store) snapshot(ctx context.Context, tx sqlc.DBTX, r sqlc.EffectByIDRow) (*loaded, error) {
	l := &loaded{row: r.Effect}
	var err error
	if l.Effect, err = toEffect(r.Effect); err != nil {
		return nil, err
	}
	l.Now, l.Policy = r.DbNow, s.policy
	id := r.Effect.ID
	attempts, err := s.q.Attempts(ctx, tx, id)
	if err != nil {
		return nil, mapError("loading the attempts of effect "+id, err)
	}
	looks, err := s.q.Looks(ctx, tx, id)
	if err != nil {
		return nil, mapError("loading the evidence of effect "+id, err)
	}
	order, err := s.q.NewestOrder(ctx, tx, id)
	if err == nil {
		l.Order = toOrder(order)
	} else if !errors.Is(err, pgx.ErrNoRows) {
		return nil, mapError("loading the order of effect "+id, err)
	}
	proposal, err := s.q.NewestProposal(ctx, tx, id)
	if err == nil {
		if l.Proposal, err = toProposal(proposal); err != nil {
			return nil, err
		}
	} else if !errors.Is(err, pgx.ErrNoRows) {
		return nil, mapError("loading the proposal for effect "+id, err)
	}
	l.Attempts = joinAttempts(r.Effect, attempts)
	for _, k := range looks {
		l.Looks = append(l.Looks, toLook(k))
	}
	return l, s.snapshotContext(ctx, tx, l)
}

// joinAttempts puts the fenced attempts before the current one; where the
// current one is fenced with a row of its own, that row is the authority.
func joinAttempts(e sqlc.Effect, rows []sqlc.Attempt) []journal.Attempt {
	out := make([]journal.Attempt, 0, len(rows)+1)
	seen := false
	for _, r := range rows {
		seen = seen || r.Number == e.Attempt
		out = append(out, toAttempt(r))
	}
	if !seen && e.Attempt > 0 {
		out = append(out, currentAttempt(e))
	}
	return out
}

// snapshotContext reads what lies beside the effect.
func (s *Store) snapshotContext(ctx context.Context, tx sqlc.DBTX, l *loaded) error {
	e := &l.Effect
	handles, err := s.q.Handles(ctx, tx, e.ID)
	if err != nil {
		return mapError("loading the handles of effect "+e.ID, err)
	}
	for _, h := range handles {
		l.Handles = append(l.Handles, journal.Handle{Attempt: int(h.Attempt), Kind: h.Kind, Value: h.Value, At: h.At})
	}
	spent, err := s.q.BudgetSpent(ctx, tx, sqlc.BudgetSpentParams{Namespace: e.Namespace, RootRun: e.RootRun, Turn: e.Turn})
	if err != nil {
		return mapError("loading the retry budget", err)
	}
	l.Budget = journal.Budget{Spent: int(spent), Limit: s.policy.RetryBudget}
	meta, err := s.q.Meta(ctx, tx, ms(clockMargin))
	if err != nil {
		return mapError("loading the journal's state", err)
	}
	l.ClockSuspect = meta.ClockSuspect
	l.CanLook = s.look(e.Provider)
	if l.Cursor, err = s.q.AuditCursor(ctx, tx); err != nil {
		return mapError("loading the audit cursor", err)
	}
	rows, err := s.q.DeliveriesOf(ctx, tx, e.ID)
	if err != nil {
		return mapError("loading the resolutions of effect "+e.ID, err)
	}
	if n := len(rows); n > 0 {
		r := resolutionRow(rows[n-1]).resolution()
		l.Newest = &r
	}
	return nil
}
