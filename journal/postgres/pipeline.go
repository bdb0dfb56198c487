package postgres

import (
	"context"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"github.com/landedhq/landed/journal/postgres/internal/sqlc"
)

// recorder stands in for a connection and keeps the statement that a generated
// query would send, so that a pipeline sends the very same one.
type recorder struct {
	sql  string
	args []any
}

func (r *recorder) QueryRow(_ context.Context, sql string, args ...any) pgx.Row {
	r.sql, r.args = sql, args
	return noRow{}
}

func (r *recorder) Exec(context.Context, string, ...any) (pgconn.CommandTag, error) {
	return pgconn.CommandTag{}, nil
}

func (r *recorder) Query(context.Context, string, ...any) (pgx.Rows, error) {
	return nil, pgx.ErrNoRows
}

type noRow struct{}

func (noRow) Scan(...any) error { return nil }

// beginMany inserts effects. One goes as a statement of its own; several go as
// one pipeline, which the server runs as one transaction.
func (s *Store) beginMany(ctx context.Context, ps []sqlc.BeginEffectParams) ([]outcome[sqlc.BeginEffectRow], error) {
	if len(ps) == 1 {
		row, err := s.q.BeginEffect(ctx, s.pool, ps[0])
		return []outcome[sqlc.BeginEffectRow]{{row, err}}, nil
	}
	var b pgx.Batch
	var r recorder
	for _, p := range ps {
		_, _ = s.q.BeginEffect(ctx, &r, p)
		b.Queue(r.sql, r.args...)
	}
	return pipeline(ctx, s, &b, func(row pgx.Row) (v sqlc.BeginEffectRow, err error) {
		err = row.Scan(&v.KeyWindowMs, &v.AttemptTimeoutMs)
		return v, err
	})
}

// commitMany is beginMany for commits in time.
func (s *Store) commitMany(ctx context.Context, ps []sqlc.CommitEffectParams) ([]outcome[int64], error) {
	if len(ps) == 1 {
		v, err := s.q.CommitEffect(ctx, s.pool, ps[0])
		return []outcome[int64]{{v, err}}, nil
	}
	var b pgx.Batch
	var r recorder
	for _, p := range ps {
		_, _ = s.q.CommitEffect(ctx, &r, p)
		b.Queue(r.sql, r.args...)
	}
	return pipeline(ctx, s, &b, func(row pgx.Row) (v int64, err error) {
		err = row.Scan(&v)
		return v, err
	})
}

// pipeline sends b and reads a row per statement. No row is a result; any error
// undoes the whole transaction.
func pipeline[R any](ctx context.Context, s *Store, b *pgx.Batch, scan func(pgx.Row) (R, error)) ([]outcome[R], error) {
	n := b.Len()
	res := s.pool.SendBatch(ctx, b)
	out := make([]outcome[R], n)
	for i := range n {
		v, err := scan(res.QueryRow())
		if err != nil && err != pgx.ErrNoRows { //nolint:errorlint // Scan returns it bare; anything else ends the batch
			_ = res.Close()
			return nil, err
		}
		out[i] = outcome[R]{v, err}
	}
	if err := res.Close(); err != nil { // the transaction ends here
		return nil, err
	}
	return out, nil
}
