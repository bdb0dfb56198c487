package postgres

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/landedhq/landed/journal"
	"github.com/landedhq/landed/journal/postgres/internal/sqlc"
)

// Snapshot reads one effect as transitions see it.
func (s *Store) Snapshot(ctx context.Context, id string) (journal.Snapshot, error) {
	l, err := s.byID(id)(ctx, s.pool)
	if err != nil {
		return journal.Snapshot{}, err
	}
	return l.Snapshot, nil
}

// ClaimLooks hands out effects whose look at the provider is due, oldest first.
// A claim lasts for claim; a look that is not followed by evidence then comes
// due again.
func (s *Store) ClaimLooks(ctx context.Context, provider string, limit int, claim time.Duration) ([]string, error) {
	ids, err := s.q.ClaimLooks(ctx, s.pool, sqlc.ClaimLooksParams{Provider: provider, ClaimMs: ms(claim), MaxRows: int32(limit)})
	if err != nil {
		return nil, mapError("claiming looks", err)
	}
	return ids, nil
}

// PostponeLook gives a claimed look back, to be due at until.
func (s *Store) PostponeLook(ctx context.Context, id string, until time.Time) error {
	return mapError("postponing a look", s.q.PostponeLook(ctx, s.pool, sqlc.PostponeLookParams{ID: id, Until: until}))
}

// Canary finds the newest effect of the provider that its worker committed
// before committedBefore and began after begunAfter; nil if there is none.
func (s *Store) Canary(ctx context.Context, provider string, begunAfter, committedBefore time.Time) (*journal.Canary, error) {
	r, err := s.q.Canary(ctx, s.pool, sqlc.CanaryParams{Provider: provider, BegunAfter: begunAfter,
		CommittedBefore: committedBefore})
	if errors.Is(err, pgx.ErrNoRows) {
		return nil, nil
	}
	if err != nil {
		return nil, mapError("finding a committed effect for the control", err)
	}
	return &journal.Canary{EffectID: r.ID, Ref: r.Ref, ProviderID: r.ProviderID, BegunAt: r.CreatedAt, CommittedAt: r.StateAt}, nil
}

// boundID is the UUIDv7 that sorts before every one made at t or later.
func boundID(t time.Time) string {
	n := uint64(max(t.UnixMilli(), 0))
	return fmt.Sprintf("%08x-%04x-7000-8000-000000000000", n>>16, n&0xffff)
}

// RecordEvidence keeps one look for ever and applies what follows from it: a
// hit may void an order, settle a verifying effect, or contradict a close.
func (s *Store) RecordEvidence(ctx context.Context, e journal.Evidence) (journal.Evidence, error) {
	e.ID = journal.NewID(time.Now())
	err := s.transition(ctx, s.byID(e.EffectID), func(ctx context.Context, tx pgx.Tx, l *loaded) (journal.Change, bool, error) {
		body, err := json.Marshal(e)
		if err != nil {
			return journal.Change{}, false, fmt.Errorf("encoding evidence: %w", err)
		}
		seq, err := s.q.AddEvidence(ctx, tx, sqlc.AddEvidenceParams{ID: e.ID, EffectID: e.EffectID, Adapter: e.Adapter, Verdict: string(e.Verdict),
			Reason: e.Reason, CoversAttempt: int32(e.CoversAttempt), StartedAt: e.StartedAt, FinishedAt: e.FinishedAt,
			LookAgainAt: timePtr(e.LookAgainAt), Digest: e.Digest, RequestedBy: e.RequestedBy, Body: body})
		if err != nil {
			return journal.Change{}, false, mapError("keeping evidence of effect "+e.EffectID, err)
		}
		e.Seq = seq
		return l.Evidence(e), true, nil
	})
	return e, err
}

// ScheduleLook makes a look due now.
func (s *Store) ScheduleLook(ctx context.Context, id string) error {
	_, err := s.q.ScheduleLook(ctx, s.pool, id)
	return mapError("scheduling a look", err)
}
