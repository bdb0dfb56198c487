package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/landedhq/landed/journal"
	"github.com/landedhq/landed/journal/postgres/cluster"
)

// conns bounds each system's pool: DBOS's default, more than Landed needs.
const conns = 20

// contender is one column: a system, used in one way.
type contender struct {
	name string
	pool *pgxpool.Pool
	// prepare makes ready for a turn and is not timed; nil = nothing to do.
	prepare func(context.Context) error
	// turn runs effects for about d with so many callers, and says how many were
	// finished in what time.
	turn func(ctx context.Context, workers int, d time.Duration) (tally, error)
	// done counts the effects whose record of the end stands in the database.
	done func(context.Context) (int, error)
}

// tally is what one turn finished.
type tally struct {
	effects int
	took    time.Duration
}

// turned is what was measured of one turn.
type turned struct {
	rate, wal float64
}

// bench is the cluster and who takes turns on it.
type bench struct {
	opts       options
	admin      *pgxpool.Pool
	contenders []contender
	closers    []func() // in reverse order
	statements bool     // pg_stat_statements is there
}

// measure runs the whole of it. The cluster and its folder are gone afterwards.
func measure(ctx context.Context, o options) (*report, error) {
	dir, err := os.MkdirTemp("", "landed-peers-")
	if err != nil {
		return nil, fmt.Errorf("making a folder: %w", err)
	}
	defer os.RemoveAll(dir)                      //nolint:errcheck // a leftover in the temporary folder
	if err := os.Chmod(dir, 0o755); err != nil { //nolint:gosec // Postgres runs under another account when we are root
		return nil, fmt.Errorf("making a folder: %w", err)
	}
	pg, counted, err := startCluster(ctx, filepath.Join(dir, "pg"), o.binDir)
	if err != nil {
		return nil, err
	}
	defer pg.Stop() //nolint:errcheck // measured already
	b := &bench{opts: o, statements: counted}
	defer b.close()
	if err := b.open(ctx, pg); err != nil {
		return nil, err
	}
	r := &report{}
	if r.Server, err = b.server(ctx); err != nil {
		return nil, err
	}
	for _, w := range o.workers {
		row, err := b.cell(ctx, w)
		if err != nil {
			return nil, fmt.Errorf("%d workers: %w", w, err)
		}
		r.Rows = append(r.Rows, row)
	}
	return r, nil
}

// startCluster says whether statements can be counted: a PostgreSQL without its
// contrib modules does not start with one of them preloaded.
func startCluster(ctx context.Context, dir, bin string) (*cluster.Cluster, bool, error) {
	cfg := cluster.Config{Dir: dir, BinDir: bin, Download: true, Settings: map[string]string{
		"shared_preload_libraries": "pg_stat_statements"}}
	pg, err := cluster.Start(context.WithoutCancel(ctx), cfg)
	if err == nil {
		return pg, true, nil
	}
	cfg.Settings = nil
	cfg.Dir += "-plain"
	pg, err = cluster.Start(context.WithoutCancel(ctx), cfg)
	return pg, false, err
}

func (b *bench) open(ctx context.Context, pg *cluster.Cluster) error {
	admin, err := b.connect(ctx, pg.DSN("postgres"), 2)
	if err != nil {
		return err
	}
	b.admin = admin
	if b.statements {
		if _, err := admin.Exec(ctx, "create extension pg_stat_statements"); err != nil {
			return fmt.Errorf("creating pg_stat_statements: %w", err)
		}
		if err := b.track(ctx, "none"); err != nil {
			return err
		}
	}
	for _, s := range []struct {
		name string
		open func(context.Context, *bench, string, *pgxpool.Pool) error
	}{{"landed", openLanded}, {"dbos", openDBOS}, {"river", openRiver}} {
		if _, err := admin.Exec(ctx, "create database "+s.name); err != nil {
			return fmt.Errorf("creating a database: %w", err)
		}
		pool, err := b.connect(ctx, pg.DSN(s.name), conns)
		if err != nil {
			return err
		}
		if err := durable(ctx, pool); err != nil {
			return fmt.Errorf("%s: %w", s.name, err)
		}
		if err := s.open(ctx, b, pg.DSN(s.name), pool); err != nil {
			return fmt.Errorf("%s: %w", s.name, err)
		}
	}
	return nil
}

func (b *bench) connect(ctx context.Context, dsn string, most int32) (*pgxpool.Pool, error) {
	cfg, err := pgxpool.ParseConfig(dsn)
	if err != nil {
		return nil, fmt.Errorf("reading the database address: %w", err)
	}
	cfg.MaxConns = most
	pool, err := pgxpool.NewWithConfig(ctx, cfg)
	if err != nil {
		return nil, fmt.Errorf("connecting: %w", err)
	}
	b.closers = append(b.closers, pool.Close)
	return pool, nil
}

func (b *bench) close() {
	for _, c := range slices.Backward(b.closers) {
		c()
	}
}

// cell lets everybody take turns at one width, nobody always first.
func (b *bench) cell(ctx context.Context, workers int) (row, error) {
	turns := make(map[string][]turned)
	each := time.Duration(b.opts.seconds / float64(b.opts.rounds) * float64(time.Second))
	for round := range b.opts.rounds {
		for k := range b.contenders {
			c := b.contenders[(k+round)%len(b.contenders)]
			t, err := b.turn(ctx, c, workers, each)
			if err != nil {
				return row{}, fmt.Errorf("%s: %w", c.name, err)
			}
			turns[c.name] = append(turns[c.name], t)
		}
	}
	counts, err := b.countStatements(ctx, workers, each)
	if err != nil {
		return row{}, err
	}
	return newRow(workers, turns, counts), nil
}

func (b *bench) turn(ctx context.Context, c contender, workers int, d time.Duration) (turned, error) {
	had, err := c.ready(ctx)
	if err != nil {
		return turned{}, err
	}
	before, err := b.wal(ctx)
	if err != nil {
		return turned{}, err
	}
	t, err := c.turn(ctx, workers, d)
	if err != nil {
		return turned{}, err
	}
	after, err := b.wal(ctx)
	if err != nil {
		return turned{}, err
	}
	has, err := c.done(ctx)
	if err != nil {
		return turned{}, fmt.Errorf("counting what was done: %w", err)
	}
	if has-had != t.effects {
		return turned{}, fmt.Errorf("claims %d effects, the database holds %d", t.effects, has-had)
	}
	return turned{rate: float64(t.effects) / t.took.Seconds(), wal: float64(after-before) / float64(t.effects)}, nil
}

// ready prepares a turn and says how many effects are done already.
func (c contender) ready(ctx context.Context) (int, error) {
	if c.prepare != nil {
		if err := c.prepare(ctx); err != nil {
			return 0, err
		}
	}
	had, err := c.done(ctx)
	if err != nil {
		return 0, fmt.Errorf("counting what was done: %w", err)
	}
	return had, nil
}

// callers lets so many callers do one effect after the other for about d. run
// begins with a time-ordered part and is the caller's own.
func callers(ctx context.Context, workers int, d time.Duration, one func(ctx context.Context, run string, i int) error) (tally, error) {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	done := make([]int, workers)
	begun := time.Now()
	var wg sync.WaitGroup
	for w := range workers {
		wg.Go(func() {
			run := fmt.Sprintf("%s-%d", journal.NewID(time.Now()), w)
			for i := 0; i == 0 || time.Since(begun) < d && ctx.Err() == nil; i++ {
				if err := one(ctx, run, i); err != nil {
					cancel(err)
					return
				}
				done[w]++
			}
		})
	}
	wg.Wait()
	t := tally{took: time.Since(begun)}
	for _, n := range done {
		t.effects += n
	}
	return t, context.Cause(ctx)
}
