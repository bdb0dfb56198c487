package main

import (
	"context"
	"strconv"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/landedhq/landed/journal"
	"github.com/landedhq/landed/journal/postgres"
)

// subject and arguments are the same for everybody.
const (
	subject   = "A subject of ordinary length"
	arguments = `{"to":"somebody@example.com","subject":"` + subject + `","body":"Lorem ipsum dolor sit amet, consetetur sadipscing elitr, ` +
		`sed diam nonumy eirmod tempor invidunt ut labore et dolore magna aliquyam erat, sed diam voluptua."}`
	result = `{"ok":true}`
)

func openLanded(ctx context.Context, b *bench, dsn string, pool *pgxpool.Pool) error {
	if err := postgres.Migrate(ctx, dsn); err != nil {
		return err
	}
	grouped := postgres.New(pool, postgres.Options{})
	if err := grouped.RegisterTool(ctx, journal.Tool{Name: "bench", Class: journal.ClassAtMostOnce, Provider: "p", ClientTimeout: 30 * time.Second}); err != nil {
		return err
	}
	ungrouped := postgres.New(pool, postgres.Options{Ungrouped: true})
	done := func(ctx context.Context) (n int, err error) {
		err = pool.QueryRow(ctx, "select count(*) from effects where state = 'COMMITTED' and result is not null").Scan(&n)
		return n, err
	}
	b.contenders = append(b.contenders,
		contender{name: "landed", pool: pool, turn: bracket(grouped), done: done},
		contender{name: "ungrouped", pool: pool, turn: bracket(ungrouped), done: done})
	return nil
}

// bracket is begin, an effect that does nothing, and commit.
func bracket(s *postgres.Store) func(context.Context, int, time.Duration) (tally, error) {
	one := func(ctx context.Context, run string, i int) error {
		key := run + "/step/" + strconv.Itoa(i)
		g, err := s.Begin(ctx, journal.BeginRequest{Key: key, ClaimID: journal.NewToken(), Tool: "bench", RootRun: run, Step: "step", Operation: "op",
			Subject: subject, Args: []byte(arguments)})
		if err != nil {
			return err
		}
		_, err = s.Commit(ctx, journal.CommitRequest{Report: journal.Report{EffectID: g.EffectID, Attempt: 1, LeaseToken: g.LeaseToken, Key: key, Tool: "bench"},
			ProviderID: "provider-id-1", Result: []byte(result)})
		return err
	}
	return func(ctx context.Context, workers int, d time.Duration) (tally, error) {
		return callers(ctx, workers, d, one)
	}
}
