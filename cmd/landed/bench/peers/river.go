package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/riverqueue/river"
	"github.com/riverqueue/river/riverdriver/riverpgxv5"
	"github.com/riverqueue/river/rivermigrate"
)

// The values of River's own benchmark, see the package's documentation.
const (
	riverWorkers  = 2_000
	riverCooldown = 2 * time.Millisecond
	riverPoll     = 20 * time.Millisecond
	riverBatch    = 5_000
)

// riverBench is River in its four uses.
type riverBench struct {
	pool *pgxpool.Pool
}

func openRiver(ctx context.Context, b *bench, _ string, pool *pgxpool.Pool) error {
	m, err := rivermigrate.New(riverpgxv5.New(pool), &rivermigrate.Config{Logger: slog.New(slog.DiscardHandler)})
	if err != nil {
		return fmt.Errorf("migrating: %w", err)
	}
	if _, err := m.Migrate(ctx, rivermigrate.DirectionUp, nil); err != nil {
		return fmt.Errorf("migrating: %w", err)
	}
	r := &riverBench{pool: pool}
	b.contenders = append(b.contenders,
		contender{name: "river_width", pool: pool, prepare: r.empty, turn: r.width, done: r.completed},
		contender{name: "river_drain", pool: pool, prepare: r.empty, turn: r.drain, done: r.completed},
		contender{name: "river_bulk", pool: pool, prepare: r.empty, turn: r.bulk, done: r.completed},
		contender{name: "river_one", pool: pool, prepare: r.empty, turn: r.one, done: r.completed})
	return nil
}

// empty is what River's own benchmark does before it measures.
func (r *riverBench) empty(ctx context.Context) error {
	for _, sql := range []string{"truncate river_job", "vacuum full river_job"} {
		if _, err := r.pool.Exec(ctx, sql); err != nil {
			return fmt.Errorf("emptying the jobs: %w", err)
		}
	}
	return nil
}

// completed counts what the table says.
func (r *riverBench) completed(ctx context.Context) (n int, err error) {
	err = r.pool.QueryRow(ctx, "select count(*) from river_job where state = 'completed'").Scan(&n)
	return n, err
}

// client makes one that has not been started: it can insert already. It works so
// many jobs at a time as it has slots.
func (r *riverBench) client(slots int, cooldown time.Duration, work func(context.Context, *river.Job[mail]) error) (*river.Client[pgx.Tx], error) {
	workers := river.NewWorkers()
	river.AddWorker(workers, river.WorkFunc(work))
	c, err := river.NewClient(riverpgxv5.New(r.pool), &river.Config{FetchCooldown: cooldown, FetchPollInterval: riverPoll,
		Queues: map[string]river.QueueConfig{river.QueueDefault: {MaxWorkers: slots}}, Workers: workers, Logger: slog.New(slog.DiscardHandler)})
	if err != nil {
		return nil, fmt.Errorf("making a client: %w", err)
	}
	return c, nil
}

func nothing(context.Context, *river.Job[mail]) error { return nil }

// width has as many jobs in hand as there are callers, in both halves.
func (r *riverBench) width(ctx context.Context, workers int, d time.Duration) (tally, error) {
	c, err := r.client(workers, river.FetchCooldownMin, nothing)
	if err != nil {
		return tally{}, err
	}
	return r.fill(ctx, c, workers, d)
}

func (r *riverBench) drain(ctx context.Context, workers int, d time.Duration) (tally, error) {
	c, err := r.client(riverWorkers, riverCooldown, nothing)
	if err != nil {
		return tally{}, err
	}
	return r.fill(ctx, c, workers, d)
}

// fill inserts jobs one at a time for half of the turn, then has c work them.
func (r *riverBench) fill(ctx context.Context, c *river.Client[pgx.Tx], workers int, d time.Duration) (tally, error) {
	filled, err := callers(ctx, workers, d/2, func(ctx context.Context, _ string, _ int) error {
		_, err := c.Insert(ctx, mail{}, nil)
		return err
	})
	if err != nil {
		return tally{}, err
	}
	return work(ctx, c, filled)
}

func (r *riverBench) bulk(ctx context.Context, _ int, d time.Duration) (tally, error) {
	c, err := r.client(riverWorkers, riverCooldown, nothing)
	if err != nil {
		return tally{}, err
	}
	batch := make([]river.InsertManyParams, riverBatch)
	for i := range batch {
		batch[i].Args = mail{}
	}
	filled, err := callers(ctx, 1, d/4, func(ctx context.Context, _ string, _ int) error {
		_, err := c.InsertManyFast(ctx, batch)
		return err
	})
	if err != nil {
		return tally{}, err
	}
	filled.effects *= riverBatch
	return work(ctx, c, filled)
}

// work starts the client on a full queue and adds the time until the last
// completion is durable.
func work(ctx context.Context, c *river.Client[pgx.Tx], filled tally) (tally, error) {
	events, cancel := c.SubscribeConfig(&river.SubscribeConfig{ChanSize: filled.effects + 1,
		Kinds: []river.EventKind{river.EventKindJobCompleted, river.EventKindJobFailed, river.EventKindJobCancelled}})
	defer cancel()
	begun := time.Now()
	if err := c.Start(ctx); err != nil {
		return tally{}, fmt.Errorf("starting: %w", err)
	}
	for range filled.effects {
		select {
		case e := <-events:
			if e == nil || e.Kind != river.EventKindJobCompleted {
				return tally{}, errors.Join(errors.New("a job was not completed"), stopRiver(ctx, c))
			}
		case <-ctx.Done():
			return tally{}, errors.Join(context.Cause(ctx), stopRiver(ctx, c))
		}
	}
	filled.took += time.Since(begun)
	return filled, stopRiver(ctx, c)
}

func stopRiver(ctx context.Context, c *river.Client[pgx.Tx]) error {
	if err := c.Stop(context.WithoutCancel(ctx)); err != nil {
		return fmt.Errorf("stopping: %w", err)
	}
	return nil
}

// one has each caller wait for its own job.
func (r *riverBench) one(ctx context.Context, workers int, d time.Duration) (tally, error) {
	m := meetings{met: map[int64]chan struct{}{}}
	c, err := r.client(riverWorkers, river.FetchCooldownMin, func(ctx context.Context, job *river.Job[mail]) error {
		if err := pgx.BeginFunc(ctx, r.pool, func(tx pgx.Tx) error {
			_, err := river.JobCompleteTx[*riverpgxv5.Driver](ctx, tx, job)
			return err
		}); err != nil {
			return err
		}
		close(m.at(job.ID))
		return nil
	})
	if err != nil {
		return tally{}, err
	}
	if err := c.Start(ctx); err != nil {
		return tally{}, fmt.Errorf("starting: %w", err)
	}
	t, err := callers(ctx, workers, d, func(ctx context.Context, _ string, _ int) error {
		in, err := c.Insert(ctx, mail{}, nil)
		if err != nil {
			return err
		}
		select {
		case <-m.at(in.Job.ID):
			m.forget(in.Job.ID)
			return nil
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	})
	return t, errors.Join(err, stopRiver(ctx, c))
}

// meetings is where a job's caller and its worker meet; either may come first.
type meetings struct {
	mu  sync.Mutex
	met map[int64]chan struct{}
}

func (m *meetings) at(id int64) chan struct{} {
	m.mu.Lock()
	defer m.mu.Unlock()
	c := m.met[id]
	if c == nil {
		c = make(chan struct{})
		m.met[id] = c
	}
	return c
}

func (m *meetings) forget(id int64) {
	m.mu.Lock()
	defer m.mu.Unlock()
	delete(m.met, id)
}

// mail is a job with the same arguments as everybody's.
type mail struct{}

// Kind names the job.
func (mail) Kind() string { return "mail" }

// MarshalJSON gives the arguments.
func (mail) MarshalJSON() ([]byte, error) { return []byte(arguments), nil }
