package postgres

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/landedhq/landed/journal"
	"github.com/landedhq/landed/journal/postgres/internal/sqlc"
)

// Decision waits up to wait for the first resolution of the effect after the
// cursor; nil means none yet.
func (s *Store) Decision(ctx context.Context, effectID string, after int64, wait time.Duration) (*journal.Resolution, error) {
	if !journal.ValidID(effectID) {
		return nil, fmt.Errorf("loading effect: %w", journal.ErrNotFound)
	}
	if wait <= 0 {
		return s.nextResolution(ctx, effectID, after)
	}
	woken, leave := s.waiting.join(effectID)
	defer leave()
	for deadline := time.Now().Add(wait); ; {
		r, err := s.nextResolution(ctx, effectID, after)
		left := time.Until(deadline)
		if r != nil || err != nil || left <= 0 {
			return r, err
		}
		select {
		case <-ctx.Done():
			return nil, ctx.Err()
		case <-woken:
		case <-time.After(min(recheckEvery, left)):
		}
	}
}

// nextResolution is nil if there is none yet.
func (s *Store) nextResolution(ctx context.Context, effectID string, after int64) (*journal.Resolution, error) {
	r, err := s.q.NextResolution(ctx, s.pool, sqlc.NextResolutionParams{EffectID: effectID, After: after})
	if err == nil {
		out := resolutionRow(r).resolution()
		return &out, nil
	}
	if !errors.Is(err, pgx.ErrNoRows) {
		return nil, mapError("waiting for a decision", err)
	}
	exists, err := s.q.EffectExists(ctx, s.pool, effectID)
	if err == nil && !exists {
		err = pgx.ErrNoRows
	}
	return nil, mapError("loading effect "+effectID, err)
}

// Decisions is the feed of all resolutions after a cursor, oldest first.
func (s *Store) Decisions(ctx context.Context, after int64, limit int) ([]journal.Resolution, error) {
	return s.DecisionsIn(ctx, nil, after, limit)
}

// DecisionsIn is Decisions for some namespaces; none means all.
func (s *Store) DecisionsIn(ctx context.Context, namespaces []string, after int64, limit int) ([]journal.Resolution, error) {
	if limit <= 0 || limit > 500 {
		limit = 100
	}
	rows, err := s.q.ResolutionsAfter(ctx, s.pool, sqlc.ResolutionsAfterParams{After: after, Namespaces: list(namespaces), MaxRows: int32(limit)})
	if err != nil {
		return nil, mapError("reading the decision feed", err)
	}
	out := make([]journal.Resolution, 0, len(rows))
	for _, r := range rows {
		out = append(out, resolutionRow(r).resolution())
	}
	return out, nil
}

// Ack closes the delivery of a resolution; repeatable.
func (s *Store) Ack(ctx context.Context, resolutionID string) error {
	return s.AckIn(ctx, nil, resolutionID, "worker:")
}

// AckIn is Ack with the name of who picked it up, for effects of some
// namespaces; none means all. A resolution elsewhere is journal.ErrNotFound.
func (s *Store) AckIn(ctx context.Context, namespaces []string, resolutionID, who string) error {
	if !journal.ValidID(resolutionID) {
		return fmt.Errorf("acknowledging a decision: %w", journal.ErrNotFound)
	}
	return mapError("acknowledging a decision", pgx.BeginFunc(ctx, s.pool, func(tx pgx.Tx) error {
		id, err := s.q.LockDeliveryEffect(ctx, tx, sqlc.LockDeliveryEffectParams{ID: resolutionID, Namespaces: list(namespaces)})
		if err != nil {
			return err
		}
		if err := s.q.AckDelivery(ctx, tx, sqlc.AckDeliveryParams{ID: resolutionID, AckedBy: clean(who, 200)}); err != nil {
			return err
		}
		return s.q.CloseDeliveryFlag(ctx, tx, id)
	}))
}
