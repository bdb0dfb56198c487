package postgres

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/landedhq/landed/journal"
	"github.com/landedhq/landed/journal/postgres/internal/sqlc"
)

// readAround adds what deciding looks at beyond the effect itself.
func (s *Store) readAround(ctx context.Context, db sqlc.DBTX, l *journal.Snapshot) error {
	t, err := s.tool(ctx, l.Effect.Tool)
	if err != nil && !errors.Is(err, journal.ErrUnknownTool) {
		return err
	}
	l.Identity = t.IdentityFields
	return s.readTwins(ctx, db, l)
}

// readTwins adds the effects that look like the same deed.
func (s *Store) readTwins(ctx context.Context, db sqlc.DBTX, l *journal.Snapshot) error {
	e := &l.Effect
	if e.RootRun == "" || e.Orphan {
		return nil
	}
	rows, err := s.q.TwinCandidates(ctx, db, sqlc.TwinCandidatesParams{RootRun: e.RootRun, Namespace: e.Namespace, ID: e.ID, Tool: e.Tool})
	if err != nil {
		return mapError("looking for twins of effect "+e.ID, err)
	}
	others := make([]journal.Effect, 0, len(rows))
	for _, r := range rows {
		o := journal.Effect{ID: r.ID, Tool: e.Tool, Namespace: e.Namespace, RootRun: e.RootRun, Operation: r.Operation, Subject: r.Subject,
			Amount: r.Amount, Currency: r.Currency, State: journal.State(r.State), CreatedAt: r.CreatedAt, Supersedes: strOf(r.Supersedes), Args: r.Args}
		if len(r.Labels) > 0 {
			if err := json.Unmarshal(r.Labels, &o.Labels); err != nil {
				return fmt.Errorf("reading the labels of effect %s: %w", r.ID, err)
			}
		}
		others = append(others, o)
	}
	l.Twins = journal.NearTwins(e, others)
	return nil
}
