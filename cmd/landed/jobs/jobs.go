// Package jobs runs the background work: sweeping, looking for evidence,
// alerting and tidying. Each job is a thin River worker around one round of
// something that is a compare-and-set by itself, so that it may run twice, and
// in any number of replicas. River's leader starts the rounds; the work is
// found in the journal's own rows, never in a job's arguments.
package jobs

import (
	"context"
	"fmt"
	"log/slog"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/riverqueue/river"
	"github.com/riverqueue/river/riverdriver/riverpgxv5"
	"github.com/riverqueue/river/rivermigrate"
	"github.com/riverqueue/river/rivertype"
)

// Schema is where River keeps its tables, apart from the journal's.
const Schema = "river"

// Task is one kind of background work.
type Task struct {
	Name  string        // stable; it is the job's kind
	Every time.Duration // how often a round starts
	Limit time.Duration // how long one round may take
	Run   func(ctx context.Context) error
}

// Runner works the tasks until it is stopped.
type Runner struct{ client *river.Client[pgx.Tx] }

// Migrate brings River's tables up to date.
func Migrate(ctx context.Context, pool *pgxpool.Pool) error {
	if _, err := pool.Exec(ctx, "create schema if not exists "+Schema); err != nil {
		return fmt.Errorf("creating the schema of the background jobs: %w", err)
	}
	m, err := rivermigrate.New(riverpgxv5.New(pool), &rivermigrate.Config{Schema: Schema, Logger: slog.New(slog.DiscardHandler)})
	if err != nil {
		return fmt.Errorf("preparing the tables of the background jobs: %w", err)
	}
	if _, err := m.Migrate(ctx, rivermigrate.DirectionUp, nil); err != nil {
		return fmt.Errorf("migrating the tables of the background jobs: %w", err)
	}
	return nil
}

// Start begins to work.
func Start(ctx context.Context, pool *pgxpool.Pool, tasks []Task, log *slog.Logger) (*Runner, error) {
	workers := river.NewWorkers()
	w := &worker{tasks: map[string]Task{}}
	if err := river.AddWorkerSafely(workers, w); err != nil {
		return nil, fmt.Errorf("preparing the background jobs: %w", err)
	}
	var periodic []*river.PeriodicJob
	for _, t := range tasks {
		w.tasks[t.Name] = t
		periodic = append(periodic, river.NewPeriodicJob(river.PeriodicInterval(t.Every), insert(t), &river.PeriodicJobOpts{RunOnStart: true}))
	}
	client, err := river.NewClient(riverpgxv5.New(pool), &river.Config{
		Schema: Schema, Logger: log, Workers: workers, PeriodicJobs: periodic,
		Queues: map[string]river.QueueConfig{river.QueueDefault: {MaxWorkers: len(tasks) + 1}},
		// A round whose process was killed keeps the next one out until it is found
		// dead: not before its own limit is over, whatever is said here.
		RescueStuckJobsAfter: 90 * time.Second,
		FetchCooldown:        100 * time.Millisecond,
		FetchPollInterval:    500 * time.Millisecond,
		// A round that is over is of no further use.
		CompletedJobRetentionPeriod: 10 * time.Minute,
		DiscardedJobRetentionPeriod: 24 * time.Hour,
		PollOnly:                    true,
	})
	if err != nil {
		return nil, fmt.Errorf("preparing the background jobs: %w", err)
	}
	if err := client.Start(ctx); err != nil {
		return nil, fmt.Errorf("starting the background jobs: %w", err)
	}
	return &Runner{client: client}, nil
}

// Stop lets running rounds end, until ctx is done.
func (r *Runner) Stop(ctx context.Context) error {
	if err := r.client.Stop(ctx); err != nil {
		return fmt.Errorf("stopping the background jobs: %w", err)
	}
	return nil
}

// round is the one kind of job; the task's name is all it carries.
type round struct {
	Task string `json:"task" river:"unique"`
}

func (round) Kind() string { return "round" }

// insert starts a round unless one is already waiting or running.
func insert(t Task) func() (river.JobArgs, *river.InsertOpts) {
	return func() (river.JobArgs, *river.InsertOpts) {
		return round{Task: t.Name}, &river.InsertOpts{MaxAttempts: 1, UniqueOpts: river.UniqueOpts{
			ByArgs: true,
			ByState: []rivertype.JobState{rivertype.JobStateAvailable, rivertype.JobStatePending, rivertype.JobStateRunning,
				rivertype.JobStateRetryable, rivertype.JobStateScheduled},
		}}
	}
}

type worker struct {
	river.WorkerDefaults[round]
	tasks map[string]Task
}

func (w *worker) Timeout(j *river.Job[round]) time.Duration {
	if t, ok := w.tasks[j.Args.Task]; ok && t.Limit > 0 {
		return t.Limit
	}
	return time.Minute
}

// Work runs one round. A task that this binary does not know is somebody
// else's: a newer or older replica's.
func (w *worker) Work(ctx context.Context, j *river.Job[round]) error {
	t, ok := w.tasks[j.Args.Task]
	if !ok {
		return river.JobCancel(fmt.Errorf("this binary has no task %q", j.Args.Task))
	}
	if err := t.Run(ctx); err != nil {
		return fmt.Errorf("%s: %w", t.Name, err)
	}
	return nil
}
