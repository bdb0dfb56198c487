package postgres

import (
	"context"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/landedhq/landed/journal"
	"github.com/landedhq/landed/journal/postgres/internal/sqlc"
)

// RaiseAlerts writes one row per effect and occasion that deserves an alert and
// has none: it needs a decision, or what was decided reached nobody for too long. However many replicas run it, the unique row is the claim.
func (s *Store) RaiseAlerts(ctx context.Context) (int, error) {
	n, err := s.q.RaiseAlerts(ctx, s.pool, ms(s.policy.RetryGrace))
	if err != nil {
		return 0, mapError("raising alerts", err)
	}
	u, err := s.q.RaiseUndelivered(ctx, s.pool, sqlc.RaiseUndeliveredParams{WaitingMs: ms(s.policy.DeliverWithin), SentMs: ms(s.policy.AckWithin)})
	return int(n + u), mapError("raising alerts of what reached nobody", err)
}

// BindAlertMessages groups waiting alerts per kind, tool and provider into one
// message for each sink.
func (s *Store) BindAlertMessages(ctx context.Context, sinks []string) (int, error) {
	groups, err := s.q.UnsentAlertGroups(ctx, s.pool, sqlc.UnsentAlertGroupsParams{IntervalMs: ms(s.policy.AlertInterval), MaxRows: 100})
	if err != nil {
		return 0, mapError("grouping alerts", err)
	}
	made := 0
	for _, g := range groups {
		n, err := s.bindGroup(ctx, g, sinks)
		if err != nil {
			return made, mapError("grouping alerts", err)
		}
		made += n
	}
	return made, nil
}

func (s *Store) bindGroup(ctx context.Context, g sqlc.UnsentAlertGroupsRow, sinks []string) (made int, err error) {
	err = pgx.BeginFunc(ctx, s.pool, func(tx pgx.Tx) error {
		group := journal.NewID(time.Now())
		ids, err := s.q.GroupAlerts(ctx, tx, sqlc.GroupAlertsParams{MessageID: &group, Kind: g.Kind, Tool: g.Tool, Provider: g.Provider})
		if err != nil || len(ids) == 0 {
			return err
		}
		first := ids[0]
		for _, id := range ids {
			first = min(first, id) // UUIDv7: the smallest is the oldest
		}
		for i, sink := range sinks {
			id := group
			if i > 0 {
				id = journal.NewID(time.Now())
			}
			p := sqlc.AddAlertMessageParams{ID: id, Sink: sink, Kind: g.Kind, Tool: g.Tool, Provider: g.Provider, Count: int32(len(ids)), FirstEffect: first}
			if err := s.q.AddAlertMessage(ctx, tx, p); err != nil {
				return err
			}
			made++
		}
		return nil
	})
	return made, err
}

// ClaimAlertMessages hands out messages that are due; a claim that is followed
// by neither AlertSent nor AlertFailed comes due again.
func (s *Store) ClaimAlertMessages(ctx context.Context, limit int) ([]journal.AlertMessage, error) {
	rows, err := s.q.ClaimAlertMessages(ctx, s.pool, int32(limit))
	if err != nil {
		return nil, mapError("claiming alerts", err)
	}
	out := make([]journal.AlertMessage, 0, len(rows))
	for _, r := range rows {
		out = append(out, journal.AlertMessage{ID: r.ID, Sink: r.Sink, Kind: journal.AlertKind(r.Kind), Tool: r.Tool, Provider: r.Provider, Count: int(r.Count),
			FirstEffectID: r.FirstEffect, Tries: int(r.Tries), CreatedAt: r.CreatedAt})
	}
	return out, nil
}

// AlertSent records that the sink took the message.
func (s *Store) AlertSent(ctx context.Context, id string) error {
	return mapError("recording a sent alert", s.q.AlertSent(ctx, s.pool, id))
}

// AlertFailed records why the sink did not take the message, and when to try again.
func (s *Store) AlertFailed(ctx context.Context, id, cause string, retryIn time.Duration, giveUp bool) error {
	p := sqlc.AlertFailedParams{ID: id, LastError: clean(cause, 1000), WaitMs: ms(retryIn), GiveUp: giveUp}
	return mapError("recording a failed alert", s.q.AlertFailed(ctx, s.pool, p))
}
