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
	n, err := s.expireProposals(ctx, limit)
	return moved + n, errors.Join(append(failed, err)...)
}

// expireProposals ends those that nobody answered in time.
func (s *Store) expireProposals(ctx context.Context, limit int) (int, error) {
	ids, err := s.q.OverdueProposals(ctx, s.pool, int32(limit))
	if err != nil {
		return 0, mapError("finding overdue proposals", err)
	}
	var failed []error
	for _, id := range ids {
		err := s.transition(ctx, s.byID(id), pure(func(sn *journal.Snapshot) (journal.Change, error) { return sn.ExpireProposal(), nil }))
		if err != nil && !errors.Is(err, journal.ErrConflict) {
			failed = append(failed, err)
		}
	}
	return len(ids), errors.Join(failed...)
}
