package postgres

import (
	"context"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/landedhq/landed/journal/postgres/internal/sqlc"
)

// Purge removes effects that were settled longer ago than keep and need no
// attention, with their payloads, attempts and evidence. Of each, a tombstone
// stays (key hash, fingerprint, state, time), so that its key is refused for
// ever; decisions and audit rows stay as well. One call removes at most limit
// effects in one short transaction and skips rows that somebody holds. It
// returns how many it removed.
func (s *Store) Purge(ctx context.Context, keep time.Duration, limit int) (int, error) {
	purged := 0
	err := pgx.BeginFunc(ctx, s.pool, func(tx pgx.Tx) error {
		rows, err := s.q.PurgeCandidates(ctx, tx, sqlc.PurgeCandidatesParams{KeepMs: ms(keep), MaxRows: int32(limit), BeforeID: boundID(time.Now())})
		if err != nil || len(rows) == 0 {
			return err
		}
		ids := make([]string, len(rows))
		for i, r := range rows {
			ids[i] = r.ID
			p := sqlc.InsertTombstoneParams{KeyHash: keyHash(r.Namespace, r.Key), Fingerprint: r.Fingerprint, State: r.State}
			if err := s.q.InsertTombstone(ctx, tx, p); err != nil {
				return err
			}
		}
		if err := s.q.AllowPurge(ctx, tx); err != nil {
			return err
		}
		if err := s.q.PurgeBeside(ctx, tx, ids); err != nil {
			return err
		}
		purged = len(ids)
		return s.q.PurgeEffects(ctx, tx, ids)
	})
	return purged, mapError("purging settled effects", err)
}
