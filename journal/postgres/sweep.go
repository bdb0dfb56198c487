package postgres

import (
	"context"
	"errors"

	"github.com/jackc/pgx/v5"

	"github.com/landedhq/landed/journal"
)

// Sweep fences every stuck attempt and applies its begin row without the
// grant, and parks void and expired orders. It returns how many effects it
// moved. It may run anywhere, any number of times: each move is a
// compare-and-set.
func (s *Store) Sweep(ctx context.Context, limit int) (int, error) {
	stuck, err := s.q.StuckEffects(ctx, s.pool, int32(limit))
	if err != nil {
		return 0, mapError("finding stuck effects", err)
	}
	overdue, err := s.q.OverdueOrders(ctx, s.pool, int32(limit))
	if err != nil {
		return 0, mapError("finding overdue orders", err)
	}
	moved := 0
	var failed []error
	for _, id := range append(stuck, overdue...) {
		err := s.transition(ctx, s.byID(id), func(_ context.Context, _ pgx.Tx, l *loaded) (journal.Change, bool, error) {
			c, d := l.Sweep()
			if d != "" {
				moved++
			}
			return c, d != "", nil
		})
		if err != nil && !errors.Is(err, journal.ErrConflict) {
			failed = append(failed, err)
		}
	}
	return moved, errors.Join(failed...)
}
