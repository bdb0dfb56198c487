package postgres

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/landedhq/landed/journal"
	"github.com/landedhq/landed/journal/postgres/internal/sqlc"
)

// ProviderState reads what is known of a provider; of an unknown one nothing
// is, which is no error.
func (s *Store) ProviderState(ctx context.Context, provider string) (journal.ProviderState, error) {
	r, err := s.q.ProviderState(ctx, s.pool, provider)
	if err != nil {
		return journal.ProviderState{}, mapError("loading the state of provider "+provider, err)
	}
	p := journal.ProviderState{Provider: r.Provider, Now: r.DbNow, LastOKAt: r.LastOkAt, LastFaultAt: r.LastFaultAt, LastFault: r.LastFault,
		ControlAt: r.ControlAt, ControlOK: r.ControlOk, ControlWhy: r.ControlWhy, Due: int(r.Due),
		Lag: journal.Lag{Samples: int(r.Samples), Lost: int(r.Lost), P50: fromMS(r.P50), P99: fromMS(r.P99), Max: fromMS(r.Longest)}}
	if r.Samples > 0 {
		p.Lag.Newest = &r.Newest
	}
	if r.PausedUntil != nil && r.PausedUntil.After(r.DbNow) {
		p.PausedUntil = r.PausedUntil
	}
	return p, nil
}

// NoteProvider remembers how a look went.
func (s *Store) NoteProvider(ctx context.Context, n journal.ProviderNote) error {
	err := s.q.NoteProvider(ctx, s.pool, sqlc.NoteProviderParams{Provider: n.Provider, Fault: clean(n.Fault, 500), PauseMs: ms(n.Pause),
		Controls: n.Controls, Passed: n.Passed, Why: clean(n.Why, 500)})
	return mapError("keeping the state of provider "+n.Provider, err)
}

// ClaimLagProbe hands out the provider's probe if it is due, or makes one of
// a commit that is younger than fresh, at most one in every; nil if there is
// nothing to do. A claim that is not followed up comes due again.
func (s *Store) ClaimLagProbe(ctx context.Context, provider string, fresh, every, claim time.Duration) (*journal.LagProbe, error) {
	if err := s.q.StartLagProbe(ctx, s.pool, sqlc.StartLagProbeParams{Provider: provider, FreshMs: ms(fresh), EveryMs: ms(every)}); err != nil {
		return nil, mapError("starting a lag probe", err)
	}
	r, err := s.q.ClaimLagProbe(ctx, s.pool, sqlc.ClaimLagProbeParams{Provider: provider, ClaimMs: ms(claim)})
	if errors.Is(err, pgx.ErrNoRows) {
		return nil, nil
	}
	if err != nil {
		return nil, mapError("claiming a lag probe", err)
	}
	return &journal.LagProbe{Provider: provider, EffectID: r.EffectID, Ref: r.Ref, BegunAt: r.BegunAt, CommittedAt: r.CommittedAt,
		MissedAt: timeOf(r.MissedAt), Tries: int(r.Tries), Now: r.DbNow}, nil
}

// PostponeLagProbe lets the provider have some more time. A look that did not find
// it is kept: missedAt is when that began, zero if it could not tell.
func (s *Store) PostponeLagProbe(ctx context.Context, p journal.LagProbe, wait time.Duration, missedAt time.Time) error {
	err := s.q.PostponeLagProbe(ctx, s.pool, sqlc.PostponeLagProbeParams{Provider: p.Provider, EffectID: p.EffectID, WaitMs: ms(wait), MissedAt: timePtr(missedAt)})
	return mapError("postponing a lag probe", err)
}

// EndLagProbe keeps what the probe told; nil says that it told nothing. Of two
// that end one probe, one counts.
func (s *Store) EndLagProbe(ctx context.Context, p journal.LagProbe, told *journal.LagSample) error {
	err := pgx.BeginFunc(ctx, s.pool, func(tx pgx.Tx) error {
		n, err := s.q.EndLagProbe(ctx, tx, sqlc.EndLagProbeParams{Provider: p.Provider, EffectID: p.EffectID})
		if err != nil || n == 0 || told == nil {
			return err
		}
		sample := sqlc.AddLagSampleParams{Provider: p.Provider, EffectID: p.EffectID, CommittedAt: p.CommittedAt, LagMs: ms(max(told.Lag, 0)), Lost: told.Lost}
		if err := s.q.AddLagSample(ctx, tx, sample); err != nil {
			return fmt.Errorf("adding the sample: %w", err)
		}
		return s.q.TrimLagSamples(ctx, tx, p.Provider)
	})
	return mapError("keeping a sample of the lag of provider "+p.Provider, err)
}
