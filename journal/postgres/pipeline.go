package postgres

import (
	"context"
	"errors"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/landedhq/landed/journal/postgres/internal/sqlc"
)

// errNoted is what a statement answers while it is only noted for the pipeline.
var errNoted = errors.New("noted for the pipeline")

// pipeline asks several statements in one round trip. Each ask sends exactly
// one statement and reads its rows; it is called twice, first to note the
// statement, then to read. Reading only: every statement is a transaction of
// its own or part of one, as the server likes.
func pipeline(ctx context.Context, pool *pgxpool.Pool, asks ...func(sqlc.DBTX) error) error {
	b := &pgx.Batch{}
	for _, ask := range asks {
		if err := ask(noting{b}); !errors.Is(err, errNoted) {
			return err
		}
	}
	res := pool.SendBatch(ctx, b)
	for _, ask := range asks {
		if err := ask(answering{res}); err != nil {
			_ = res.Close() // says the same
			return err
		}
	}
	return res.Close()
}

type noting struct{ b *pgx.Batch }

func (n noting) Exec(_ context.Context, sql string, args ...any) (pgconn.CommandTag, error) {
	n.b.Queue(sql, args...)
	return pgconn.CommandTag{}, errNoted
}

func (n noting) Query(_ context.Context, sql string, args ...any) (pgx.Rows, error) {
	n.b.Queue(sql, args...)
	return nil, errNoted
}

func (n noting) QueryRow(_ context.Context, sql string, args ...any) pgx.Row {
	n.b.Queue(sql, args...)
	return notedRow{}
}

type notedRow struct{}

func (notedRow) Scan(...any) error { return errNoted }

type answering struct{ res pgx.BatchResults }

func (a answering) Exec(context.Context, string, ...any) (pgconn.CommandTag, error) {
	return a.res.Exec()
}

func (a answering) Query(context.Context, string, ...any) (pgx.Rows, error) { return a.res.Query() }

func (a answering) QueryRow(context.Context, string, ...any) pgx.Row { return a.res.QueryRow() }
