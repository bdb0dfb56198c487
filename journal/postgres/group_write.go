package postgres

import (
	"context"
	"errors"

	"github.com/jackc/pgx/v5"

	"github.com/landedhq/landed/journal/postgres/internal/sqlc"
)

// beginMany inserts effects. One goes as a statement of its own; several go as
// one pipeline, which the server runs as one transaction.
func (s *Store) beginMany(ctx context.Context, ps []sqlc.BeginEffectParams) ([]outcome[sqlc.BeginEffectRow], error) {
	return writeMany(ctx, s, ps, s.q.BeginEffect)
}

// commitMany is beginMany for commits in time.
func (s *Store) commitMany(ctx context.Context, ps []sqlc.CommitEffectParams) ([]outcome[int64], error) {
	return writeMany(ctx, s, ps, s.q.CommitEffect)
}

// writeMany runs one generated statement per parameter. No row is a result; any
// other error undoes the whole transaction, so that nothing is known of the rest.
func writeMany[P, R any](ctx context.Context, s *Store, ps []P, query func(context.Context, sqlc.DBTX, P) (R, error)) ([]outcome[R], error) {
	if len(ps) == 1 {
		v, err := query(ctx, s.pool, ps[0])
		return []outcome[R]{{v, err}}, nil
	}
	var b pgx.Batch
	for _, p := range ps {
		if _, err := query(ctx, noting{&b}, p); !errors.Is(err, errNoted) {
			return nil, err
		}
	}
	res := s.pool.SendBatch(ctx, &b)
	out := make([]outcome[R], len(ps))
	for i, p := range ps {
		v, err := query(ctx, answering{res}, p)
		if err != nil && !errors.Is(err, pgx.ErrNoRows) {
			_ = res.Close() // says the same
			return nil, err
		}
		out[i] = outcome[R]{v, err}
	}
	if err := res.Close(); err != nil { // the transaction ends here
		return nil, err
	}
	return out, nil
}
