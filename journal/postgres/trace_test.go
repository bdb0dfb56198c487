package postgres_test

import (
	"context"
	"sync"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/landedhq/landed/journal"
	"github.com/landedhq/landed/journal/postgres"
)

// tracer records every statement that goes to the server.
type tracer struct {
	mu  sync.Mutex
	sql []string
}

func (x *tracer) TraceQueryStart(ctx context.Context, _ *pgx.Conn, data pgx.TraceQueryStartData) context.Context {
	x.mu.Lock()
	defer x.mu.Unlock()
	x.sql = append(x.sql, data.SQL)
	return ctx
}

func (x *tracer) TraceQueryEnd(context.Context, *pgx.Conn, pgx.TraceQueryEndData) {}

func (x *tracer) reset() { x.mu.Lock(); x.sql = nil; x.mu.Unlock() }

// traced opens a second store on the desk's database that records its statements.
func (d *desk) traced() (*desk, *tracer) {
	d.t.Helper()
	cfg, err := pgxpool.ParseConfig(d.dsn)
	if err != nil {
		d.t.Fatal(err)
	}
	x := &tracer{}
	cfg.ConnConfig.Tracer, cfg.MaxConns = x, 1
	pool, err := pgxpool.NewWithConfig(d.t.Context(), cfg)
	if err != nil {
		d.t.Fatal(err)
	}
	d.t.Cleanup(pool.Close)
	return &desk{Store: postgres.New(pool, postgres.Options{Policy: journal.DefaultPolicy()}), t: d.t, dsn: d.dsn}, x
}
