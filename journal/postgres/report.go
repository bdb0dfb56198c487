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

// Commit records that the provider confirmed the effect. In time and on the
// first attempt it is one UPDATE. An unknown id is never refused: a known key
// makes it a late fact on that row, an unknown one an orphan.
func (s *Store) Commit(ctx context.Context, r journal.CommitRequest) (journal.CommitAnswer, error) {
	if err := r.Validate(); err != nil {
		return journal.CommitAnswer{}, err
	}
	r.ProviderID = clean(r.ProviderID, 1000)
	err := pgx.ErrNoRows // an id that is none belongs to no row
	if journal.ValidID(r.EffectID) {
		err = s.commitRow(ctx, sqlc.CommitEffectParams{ID: r.EffectID, Attempt: int32(r.Attempt), LeaseToken: r.LeaseToken,
			Result: r.Result, ProviderID: r.ProviderID})
	}
	if err == nil {
		return journal.CommitAnswer{EffectID: r.EffectID, State: journal.StateCommitted}, nil
	}
	if !errors.Is(err, pgx.ErrNoRows) {
		return journal.CommitAnswer{}, mapError("committing effect "+r.EffectID, err)
	}
	var a journal.CommitAnswer
	err = s.report(ctx, r.Report, func(_ context.Context, _ pgx.Tx, l *loaded) (journal.Change, bool, error) {
		c, ans, err := l.Commit(r)
		a = ans
		return c, err == nil || errors.Is(err, journal.ErrCommitConflict), err
	})
	if !errors.Is(err, journal.ErrNotFound) {
		return a, err
	}
	a, err = s.orphanCommit(ctx, r)
	if errors.Is(err, errConflict) { // another report kept the row first: now it is a late fact
		return s.Commit(ctx, r)
	}
	return a, err
}

// commitRow writes with whoever writes now; pgx.ErrNoRows sends the caller to the
// slow path, which also recognises a commit that a failed batch had written.
func (s *Store) commitRow(ctx context.Context, p sqlc.CommitEffectParams) error {
	if s.commits != nil {
		if out, ok := s.commits.do(ctx, p); ok {
			return out.err
		}
	}
	_, err := s.q.CommitEffect(ctx, s.pool, p)
	return err
}

// Fail records that an attempt ended without a confirmation and answers what
// follows. It never grants.
func (s *Store) Fail(ctx context.Context, r journal.FailRequest) (journal.FailAnswer, error) {
	if err := r.Validate(); err != nil {
		return journal.FailAnswer{}, err
	}
	r.Error = clean(r.Error, 4000)
	var a journal.FailAnswer
	err := s.report(ctx, r.Report, func(_ context.Context, _ pgx.Tx, l *loaded) (journal.Change, bool, error) {
		c, ans, err := l.Fail(r)
		a = ans
		return c, err == nil, err
	})
	if !errors.Is(err, journal.ErrNotFound) {
		return a, err
	}
	a, err = s.orphanFail(ctx, r)
	if errors.Is(err, errConflict) {
		return s.Fail(ctx, r)
	}
	return a, err
}

// report runs a step on the effect of a report: by id, else by key.
func (s *Store) report(ctx context.Context, r journal.Report, do step) error {
	err := s.transition(ctx, s.byID(r.EffectID), do)
	if !errors.Is(err, journal.ErrNotFound) || journal.ValidateKey(r.Key) != nil {
		return err
	}
	return s.transition(ctx, s.byKey(r.Namespace, r.Key), do)
}

// Heartbeat renews the lease. *LeaseLostError says that it is over.
func (s *Store) Heartbeat(ctx context.Context, r journal.Report) (journal.HeartbeatAnswer, error) {
	if !journal.ValidID(r.EffectID) {
		return journal.HeartbeatAnswer{}, fmt.Errorf("renewing a lease: %w", journal.ErrNotFound)
	}
	left, err := s.q.Heartbeat(ctx, s.pool, sqlc.HeartbeatParams{ID: r.EffectID, Attempt: int32(r.Attempt), LeaseToken: r.LeaseToken})
	if errors.Is(err, pgx.ErrNoRows) {
		return journal.HeartbeatAnswer{}, s.leaseLost(ctx, r)
	}
	if err != nil {
		return journal.HeartbeatAnswer{}, mapError("renewing the lease of effect "+r.EffectID, err)
	}
	return journal.HeartbeatAnswer{LeaseFor: fromMS(left)}, nil
}

func (s *Store) leaseLost(ctx context.Context, r journal.Report) error {
	l, err := s.byID(r.EffectID)(ctx, s.pool)
	if err != nil {
		return err
	}
	return &journal.LeaseLostError{EffectID: l.Effect.ID, State: l.Effect.State, Decision: l.Newest}
}

// Handle journals a provider-side id. Of a fenced attempt it is stored all the
// same, and *LeaseLostError returned.
func (s *Store) Handle(ctx context.Context, r journal.HandleRequest) error {
	if err := r.Validate(); err != nil {
		return err
	}
	l, err := s.byID(r.EffectID)(ctx, s.pool)
	if err != nil {
		return err
	}
	a, ok := l.AttemptByToken(r.Attempt, r.LeaseToken)
	if !ok {
		return fmt.Errorf("journaling a handle: %w", journal.ErrUnknownAttempt)
	}
	p := sqlc.PutHandleParams{EffectID: r.EffectID, Attempt: int32(r.Attempt), Kind: r.Kind, Value: clean(r.Value, 1000)}
	if err := s.q.PutHandle(ctx, s.pool, p); err != nil {
		return mapError("journaling a handle of effect "+r.EffectID, err)
	}
	if !a.FencedAt.IsZero() {
		return &journal.LeaseLostError{EffectID: l.Effect.ID, State: l.Effect.State, Decision: l.Newest}
	}
	return nil
}

// orphanCommit keeps a confirmation that no row expects.
func (s *Store) orphanCommit(ctx context.Context, r journal.CommitRequest) (journal.CommitAnswer, error) {
	p, err := s.orphan(ctx, r.Report)
	if err != nil {
		return journal.CommitAnswer{}, err
	}
	p.State, p.SettledBy = string(journal.StateCommitted), "worker"
	p.Result, p.ProviderID = r.Result, r.ProviderID
	if err := s.keepOrphan(ctx, p); err != nil {
		return journal.CommitAnswer{}, err
	}
	return journal.CommitAnswer{EffectID: p.ID, State: journal.StateCommitted, Late: true, Orphan: true}, nil
}

// orphanFail keeps a report of unknown outcome as a parked row; a report that
// nothing happened needs none.
func (s *Store) orphanFail(ctx context.Context, r journal.FailRequest) (journal.FailAnswer, error) {
	if r.Phase != journal.PhaseSent {
		d := journal.DirectiveRetry
		if r.Phase == journal.PhaseRefused && r.Final {
			d = journal.DirectiveRejected
		}
		return journal.FailAnswer{EffectID: r.EffectID, Directive: d, Reason: journal.ReasonOrphan, RetryAfter: s.policy.BackoffBase}, nil
	}
	p, err := s.orphan(ctx, r.Report)
	if err != nil {
		return journal.FailAnswer{}, err
	}
	p.State, p.ParkedReason = string(journal.StateParked), journal.ReasonOrphan
	now := time.Now()
	p.NextLookAt = &now
	if err := s.keepOrphan(ctx, p); err != nil {
		return journal.FailAnswer{}, err
	}
	return journal.FailAnswer{EffectID: p.ID, Directive: journal.DirectiveParked, Reason: journal.ReasonOrphan, State: journal.StateParked}, nil
}

// keepOrphan inserts the row; errConflict means that its key is known by now.
func (s *Store) keepOrphan(ctx context.Context, p sqlc.InsertEffectRowParams) error {
	err := s.q.InsertEffectRow(ctx, s.pool, p)
	if isCode(err, "23505") {
		return errConflict
	}
	return mapError("keeping an orphan", err)
}

// orphan shapes the row of a report that no row expects. A tool that nobody
// registered counts as at_most_once; one that can't be read now is an error, as
// a row without its provider would never be looked up.
func (s *Store) orphan(ctx context.Context, r journal.Report) (sqlc.InsertEffectRowParams, error) {
	now := time.Now()
	id := journal.NewID(now)
	key := r.Key
	if journal.ValidateKey(key) != nil {
		key = "orphan/" + id
	}
	t, err := s.tool(ctx, r.Tool)
	switch {
	case errors.Is(err, journal.ErrUnknownTool):
		t.Class = journal.ClassAtMostOnce
	case err != nil:
		return sqlc.InsertEffectRowParams{}, err
	}
	return sqlc.InsertEffectRowParams{ID: id, Namespace: clean(r.Namespace, 120), Key: key, Ref: journal.Ref(r.Namespace, key),
		Tool: clean(r.Tool, 120), Class: string(t.Class), Provider: t.Provider, KeyWindowMs: ms(t.KeyWindow), ClientTimeoutMs: ms(t.ClientTimeout),
		RootRun: "unknown", Operation: "unknown", Fingerprint: "orphan", Orphan: true, At: now,
		Attempt: int32(max(r.Attempt, 1)), LeaseToken: r.LeaseToken, Worker: r.Worker}, nil
}
