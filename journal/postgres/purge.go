package postgres

import (
	"context"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/landedhq/landed/journal/postgres/internal/sqlc"
)

// Purge removes effects that were settled longer ago than keep and need no
// attention, with everything recorded of them but the audit rows. Of each, a
// tombstone stays (key hash, fingerprint, state, time), so that its key is
// refused for ever. It returns how many it removed, at most limit.
func (s *Store) Purge(ctx context.Context, keep time.Duration, limit int) (int, error) {
	purged := 0
	err := pgx.BeginFunc(ctx, s.pool, func(tx pgx.Tx) error {
		rows, err := s.q.PurgeCandidates(ctx, tx, sqlc.PurgeCandidatesParams{KeepMs: ms(keep), MaxRows: int32(limit)})
		if err != nil {
			return err
		}
		for _, r := range rows {
			p := sqlc.InsertTombstoneParams{KeyHash: keyHash(r.Namespace, r.Key), Fingerprint: r.Fingerprint, State: r.State}
			if err := s.q.InsertTombstone(ctx, tx, p); err != nil {
				return err
			}
			if err := s.q.PurgeEffect(ctx, tx, r.ID); err != nil {
				return err
			}
			purged++
		}
		return nil
	})
	return purged, mapError("purging settled effects", err)
}
