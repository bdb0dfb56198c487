package main

import (
	"context"
	"fmt"
	"log/slog"
	"strconv"
	"time"

	"github.com/dbos-inc/dbos-transact-golang/dbos"
	"github.com/jackc/pgx/v5/pgxpool"
)

func openDBOS(ctx context.Context, b *bench, _ string, pool *pgxpool.Pool) error {
	root, err := dbos.NewContext(context.WithoutCancel(ctx), dbos.Config{AppName: "peers", SystemDBPool: pool, ApplicationVersion: "1",
		Logger: slog.New(slog.DiscardHandler)})
	if err != nil {
		return fmt.Errorf("starting: %w", err)
	}
	dbos.RegisterWorkflow(root, oneStep)
	if err := dbos.Launch(root); err != nil {
		return fmt.Errorf("launching: %w", err)
	}
	b.closers = append(b.closers, func() { dbos.Shutdown(root, 10*time.Second) })
	done := func(ctx context.Context) (n int, err error) {
		err = pool.QueryRow(ctx, `select count(*) from dbos.workflow_status w join dbos.workflow_output o using (workflow_uuid)
			join dbos.operation_outputs s using (workflow_uuid) where w.status = 'SUCCESS' and o.output is not null and s.output is not null`).Scan(&n)
		return n, err
	}
	b.contenders = append(b.contenders, contender{name: "dbos", pool: pool, done: done, turn: func(ctx context.Context, workers int, d time.Duration) (tally, error) {
		return callers(ctx, workers, d, func(_ context.Context, run string, i int) error {
			h, err := dbos.RunWorkflow(root, oneStep, arguments, dbos.WithWorkflowID(run+"/step/"+strconv.Itoa(i)))
			if err != nil {
				return fmt.Errorf("starting a workflow: %w", err)
			}
			if got, err := h.GetResult(); err != nil || got != result {
				return fmt.Errorf("a workflow ended with %q: %w", got, err)
			}
			return nil
		})
	}})
	return nil
}

// oneStep is a workflow whose only step does nothing.
func oneStep(ctx dbos.Context, _ string) (string, error) {
	return dbos.RunAsStep(ctx, func(context.Context) (string, error) { return result, nil })
}
