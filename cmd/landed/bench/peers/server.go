package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"
)

// errNotDurable means that the server, or a system's connections, acknowledge
// what a crash can take back.
var errNotDurable = errors.New("acknowledged does not mean durable here: fsync, full_page_writes and synchronous_commit have to be on")

// durable asks through a system's own pool: settings may differ by connection.
func durable(ctx context.Context, pool *pgxpool.Pool) error {
	var ok bool
	err := pool.QueryRow(ctx, `select current_setting('fsync') = 'on' and current_setting('full_page_writes') = 'on'
		and current_setting('synchronous_commit') = 'on'`).Scan(&ok)
	if err != nil {
		return fmt.Errorf("reading the settings: %w", err)
	}
	if !ok {
		return errNotDurable
	}
	return nil
}

func (b *bench) server(ctx context.Context) (version string, err error) {
	if err := b.admin.QueryRow(ctx, "select 'PostgreSQL ' || current_setting('server_version')").Scan(&version); err != nil {
		return "", fmt.Errorf("reading the server's version: %w", err)
	}
	return version, nil
}

func (b *bench) wal(ctx context.Context) (bytes int64, err error) {
	if err := b.admin.QueryRow(ctx, "select pg_wal_lsn_diff(pg_current_wal_insert_lsn(), '0/0')::bigint").Scan(&bytes); err != nil {
		return 0, fmt.Errorf("reading the position of the log: %w", err)
	}
	return bytes, nil
}

// countStatements runs one more turn of everybody with counting switched on, and
// answers statements by effect; nil if the server cannot count.
func (b *bench) countStatements(ctx context.Context, workers int, d time.Duration) (map[string]float64, error) {
	if !b.statements {
		return nil, nil
	}
	if err := b.track(ctx, "top"); err != nil {
		return nil, err
	}
	counts := make(map[string]float64)
	for _, c := range b.contenders {
		n, err := b.statementsOf(ctx, c, workers, d)
		if err != nil {
			return nil, fmt.Errorf("%s, counting statements: %w", c.name, err)
		}
		counts[c.name] = n
	}
	return counts, b.track(ctx, "none")
}

func (b *bench) statementsOf(ctx context.Context, c contender, workers int, d time.Duration) (float64, error) {
	c.pool.Reset() // a new connection has the new setting for sure
	if _, err := c.ready(ctx); err != nil {
		return 0, err
	}
	if _, err := b.admin.Exec(ctx, "select pg_stat_statements_reset()"); err != nil {
		return 0, fmt.Errorf("resetting the counts: %w", err)
	}
	t, err := c.turn(ctx, workers, d)
	if err != nil {
		return 0, err
	}
	var calls float64
	if err := b.admin.QueryRow(ctx, `select coalesce(sum(s.calls), 0)::float8 from pg_stat_statements s join pg_database d on d.oid = s.dbid
		where d.datname = $1`, c.pool.Config().ConnConfig.Database).Scan(&calls); err != nil {
		return 0, fmt.Errorf("reading the counts: %w", err)
	}
	return calls / float64(t.effects), nil
}

// track switches counting, and returns when new connections have the setting.
func (b *bench) track(ctx context.Context, what string) error {
	if _, err := b.admin.Exec(ctx, "alter system set pg_stat_statements.track = '"+what+"'"); err != nil {
		return fmt.Errorf("switching the counting of statements: %w", err)
	}
	if _, err := b.admin.Exec(ctx, "select pg_reload_conf()"); err != nil {
		return fmt.Errorf("switching the counting of statements: %w", err)
	}
	ctx, cancel := context.WithTimeout(ctx, 10*time.Second)
	defer cancel()
	for {
		var is string
		if err := b.admin.QueryRow(ctx, "show pg_stat_statements.track").Scan(&is); err != nil {
			return fmt.Errorf("switching the counting of statements: %w", err)
		}
		if is == what {
			return nil
		}
	}
}
