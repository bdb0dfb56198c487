package postgres

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/landedhq/landed/journal"
	"github.com/landedhq/landed/journal/audit"
	"github.com/landedhq/landed/journal/postgres/internal/sqlc"
)

// maxTries bounds how often a transition that lost a race is asked again.
const maxTries = 24

// errConflict: the row moved on between reading and writing.
var errConflict = errors.New("the effect moved on")

// step is one transition. An error ends it; with write true the Change is
// written all the same.
type step func(ctx context.Context, tx pgx.Tx, l *loaded) (c journal.Change, write bool, err error)

// pure adapts a transition that needs no database.
func pure(f func(*journal.Snapshot) (journal.Change, error)) step {
	return func(_ context.Context, _ pgx.Tx, l *loaded) (journal.Change, bool, error) {
		c, err := f(&l.Snapshot)
		return c, err == nil, err
	}
}

// transition reads a snapshot, asks the step and writes its change, all in one
// transaction; a lost race starts over with a fresh snapshot.
func (s *Store) transition(ctx context.Context, load loader, do step) error {
	for try := range maxTries {
		err := s.tryOnce(ctx, load, do)
		if !errors.Is(err, errConflict) && !isCode(err, "40001") && !isCode(err, "40P01") {
			return err
		}
		if try > 3 {
			select {
			case <-ctx.Done():
				return ctx.Err()
			case <-time.After(time.Duration(try) * time.Millisecond):
			}
		}
	}
	return journal.ErrConflict
}

func (s *Store) tryOnce(ctx context.Context, load loader, do step) error {
	tx, err := s.pool.Begin(ctx)
	if err != nil {
		return mapError("opening a transaction", err)
	}
	defer func() { _ = tx.Rollback(context.WithoutCancel(ctx)) }()
	l, err := load(ctx, tx)
	if err != nil {
		return err
	}
	c, write, stop := do(ctx, tx, l)
	if !write || l.Unchanged(c) {
		return s.stillSo(ctx, tx, l, stop)
	}
	if err := s.apply(ctx, tx, l, c); err != nil {
		return err
	}
	if err := tx.Commit(ctx); err != nil {
		return mapError("committing a transition", err)
	}
	return stop
}

// stillSo lets an answer or a refusal that changes nothing stand only if the
// effect did not move while its snapshot was read, statement by statement:
// every change raises the version.
func (s *Store) stillSo(ctx context.Context, tx pgx.Tx, l *loaded, stop error) error {
	now, err := s.q.EffectByID(ctx, tx, l.Effect.ID)
	switch {
	case err != nil && stop != nil:
		return stop // the step's own error
	case err != nil:
		return mapError("loading effect "+l.Effect.ID, err)
	}
	if now.Effect.Version != l.Effect.Version {
		return errConflict
	}
	if err := standing(ctx, tx); err != nil {
		return err
	}
	return stop
}

// standing ends a transaction that only read so that what it read stands on the
// synchronous standby. A commit whose client gave up waiting is visible at once,
// although only the primary has it: an answer from such a row would be lost in a
// failover. Where there are standbys, the transaction writes a record, and its
// own commit waits for everything before it
// (https://www.postgresql.org/docs/current/warm-standby.html#SYNCHRONOUS-REPLICATION-HA).
func standing(ctx context.Context, tx pgx.Tx) error {
	const mark = "select pg_logical_emit_message(true, 'landed', '') where current_setting('synchronous_standby_names') <> ''"
	if _, err := tx.Exec(ctx, mark); err != nil {
		return mapError("waiting for the standby", err)
	}
	return mapError("waiting for the standby", tx.Commit(ctx))
}

// apply writes one Change. The effect's row comes first: its WHERE decides
// whether this transition is the one that happens.
func (s *Store) apply(ctx context.Context, tx pgx.Tx, l *loaded, c journal.Change) error {
	l.Overtaken(&c)
	n, err := s.q.SaveEffect(ctx, tx, saveParams(l, c))
	if err != nil {
		return s.applyError(err)
	}
	if n == 0 {
		return errConflict
	}
	if c.Effect.Contradicted && !l.Effect.Contradicted {
		if err := s.flagSuccessor(ctx, tx, l); err != nil {
			return err
		}
	}
	for _, a := range c.Attempts {
		if a.FencedAt.IsZero() {
			a.FencedAt = l.Now // a report on the live attempt always ends it
		}
		if err := s.q.PutAttempt(ctx, tx, attemptParams(l.Effect.ID, a, a.FencedAt)); err != nil {
			return s.applyError(err)
		}
	}
	if c.SpendBudget {
		p := sqlc.SpendBudgetParams{Namespace: l.Effect.Namespace, RootRun: l.Effect.RootRun, Turn: l.Effect.Turn}
		if err := s.q.SpendBudget(ctx, tx, p); err != nil {
			return s.applyError(err)
		}
	}
	if c.AckOpen != "" {
		if err := s.q.AckDeliveries(ctx, tx, sqlc.AckDeliveriesParams{EffectID: l.Effect.ID, AckedBy: c.AckOpen}); err != nil {
			return s.applyError(err)
		}
	}
	if err := s.applyAudited(ctx, tx, l, c); err != nil {
		return err
	}
	for _, e := range c.Events {
		p := sqlc.AddEventParams{EffectID: l.Effect.ID, At: e.At, Kind: e.Kind, Attempt: int32(e.Attempt), Actor: clean(e.Actor, 200), Detail: e.Detail}
		if err := s.q.AddEvent(ctx, tx, p); err != nil {
			return s.applyError(err)
		}
	}
	return s.wake(ctx, tx, l, c)
}

// flagSuccessor says of what took the effect's place that it probably doubles it.
func (s *Store) flagSuccessor(ctx context.Context, tx pgx.Tx, l *loaded) error {
	ids, err := s.q.FlagSuccessor(ctx, tx, sqlc.FlagSuccessorParams{EffectID: l.Effect.ID, At: l.Now})
	if err != nil {
		return s.applyError(err)
	}
	for _, id := range ids {
		p := sqlc.AddEventParams{EffectID: id, At: l.Now, Kind: journal.EventDouble, Actor: "policy", Detail: []byte(`{"reason":"what it replaces has landed"}`)}
		if err := s.q.AddEvent(ctx, tx, p); err != nil {
			return s.applyError(err)
		}
	}
	return nil
}

// applyError tells a lost race from a fault: two transitions may collide on a
// unique row beside the effect.
func (s *Store) applyError(err error) error {
	if isCode(err, "40001") || isCode(err, "40P01") {
		return errConflict
	}
	if isCode(err, "23505") && (constraint(err) == "orders_open" || constraint(err) == "proposals_open" || constraint(err) == "decisions_effect_id_effect_version_key") {
		return errConflict
	}
	return mapError("writing a transition", err)
}

// applyAudited writes orders, decisions and resolutions with their audit rows.
func (s *Store) applyAudited(ctx context.Context, tx pgx.Tx, l *loaded, c journal.Change) error {
	for _, o := range []*journal.Order{c.EndedOrder, c.Order} {
		if o == nil {
			continue
		}
		p := sqlc.PutOrderParams{ID: o.ID, EffectID: l.Effect.ID, DecisionID: o.DecisionID, Mode: string(o.Mode), Issue: int32(o.Issue),
			KnownUpTo: o.KnownUpTo, CreatedAt: o.CreatedAt, ExpiresAt: o.ExpiresAt, Attempt: int32(o.Attempt), Ended: o.Ended}
		if err := s.q.PutOrder(ctx, tx, p); err != nil {
			return s.applyError(err)
		}
	}
	if c.Proposal != nil {
		if err := s.applyProposal(ctx, tx, l, c); err != nil {
			return err
		}
	}
	for i, r := range c.Resolutions {
		entry := s.entry(l, c, "resolved:"+string(r.Kind), r.By, r.Reason)
		if d := c.Decision; d != nil && i == 0 {
			entry = s.decisionEntry(l, c, *d)
		}
		seq, err := s.audit(ctx, tx, entry)
		if err != nil {
			return err
		}
		if d := c.Decision; d != nil && i == 0 {
			d.AuditSeq = seq
			if err := s.q.AddDecision(ctx, tx, decisionParams(l, *d, seq)); err != nil {
				return s.applyError(err)
			}
			if err := s.besideDecision(ctx, tx, l, c, *d); err != nil {
				return err
			}
		}
		if err := s.deliver(ctx, tx, l, c, r, seq); err != nil {
			return err
		}
	}
	return nil
}

func (s *Store) deliver(ctx context.Context, tx pgx.Tx, l *loaded, c journal.Change, r journal.Resolution, seq int64) error {
	p := sqlc.AddDeliveryParams{ID: r.ID, AuditSeq: seq, EffectID: l.Effect.ID, EffectVersion: l.Effect.Version + 1, Kind: string(r.Kind),
		ByWhom: r.By, Reason: clean(r.Reason, journal.MaxReasonBytes), OrderID: strPtr(r.OrderID), OrderExpiresAt: r.OrderExpiresAt, At: r.At,
		Compensate: r.Compensate, SuccessorID: strPtr(r.SuccessorID), SuccessorKey: r.SuccessorKey}
	if c.AckOpen != "" { // the worker that makes this change learns the outcome by it
		p.AckedAt, p.AckedBy = &l.Now, c.AckOpen
	}
	if err := s.q.AddDelivery(ctx, tx, p); err != nil {
		return s.applyError(err)
	}
	if p.AckedAt != nil {
		return nil
	}
	return s.handOver(ctx, tx, l, r, seq)
}

// audit seals and writes one row; the head row's lock orders the log.
func (s *Store) audit(ctx context.Context, tx pgx.Tx, e audit.Entry) (int64, error) {
	head, err := s.q.LockAuditHead(ctx, tx)
	if err != nil {
		return 0, s.applyError(err)
	}
	e.Seq = head.Seq
	row, err := audit.Seal(head.Hash, e)
	if err != nil {
		return 0, err
	}
	p := sqlc.AddAuditParams{Seq: row.Seq, At: row.At, Kind: row.Kind, EffectID: strPtr(row.EffectID), Actor: row.Actor,
		Salt: row.Salt, Body: row.Body, Hash: row.Hash}
	if err := s.q.AddAudit(ctx, tx, p); err != nil {
		return 0, s.applyError(err)
	}
	if err := s.q.SetAuditHash(ctx, tx, row.Hash); err != nil {
		return 0, s.applyError(err)
	}
	return head.Seq, nil
}

func (s *Store) entry(l *loaded, c journal.Change, kind, actor, reason string) audit.Entry {
	sum := sha256.Sum256([]byte(l.Effect.Key))
	return audit.Entry{At: l.Now, Kind: kind, EffectID: l.Effect.ID, Version: l.Effect.Version, Namespace: l.Effect.Namespace,
		KeyHash: hex.EncodeToString(sum[:]), Tool: l.Effect.Tool, Was: string(l.Effect.State), State: string(c.Effect.State),
		Actor: actor, Reason: clean(reason, journal.MaxReasonBytes), Evidence: l.EvidenceDigest(), Policy: s.policy.Version, Result: audit.Done}
}

// saveParams writes the row after, guarded by the row before.
func saveParams(l *loaded, c journal.Change) sqlc.SaveEffectParams {
	e, was := c.Effect, l.row
	p := sqlc.SaveEffectParams{
		ID: e.ID, Version: l.Effect.Version, WasState: was.State, WasAttempt: was.Attempt, WasToken: was.LeaseToken, Guard: int32(c.Requires),
		State: string(e.State), Issue: int32(e.Issue), ParkedReason: e.ParkedReason, RetryAt: timePtr(e.RetryAt),
		ClearedAttempt: int32(e.ClearedAttempt), Result: e.Result, ProviderID: clean(e.ProviderID, 1000), SettledBy: clean(e.SettledBy, 300),
		Refusal: clean(e.Refusal, 4000), Contradicted: e.Contradicted, ProbablyDouble: e.ProbablyDouble, Orphan: e.Orphan,
		GaveUp: e.GaveUp, Drifted: e.Drifted, PolicyOff: e.PolicyOff, OpenDelivery: e.OpenDelivery, NextLookAt: timePtr(e.NextLookAt), Looks: int32(e.Looks),
		StateAt: e.StateAt, ClientTimeoutMs: ms(e.ClientTimeout),
		Attempt: was.Attempt, ClaimID: was.ClaimID, LeaseToken: was.LeaseToken, OrderID: was.OrderID, Worker: was.Worker,
		GrantedAt: was.GrantedAt, LeaseUntil: was.LeaseUntil, SendBy: was.SendBy, AttemptDeadline: was.AttemptDeadline,
		AttemptTimeoutMs: was.AttemptTimeoutMs, FencedAt: was.FencedAt,
	}
	for _, a := range c.Attempts {
		if int32(a.Number) == was.Attempt && !a.FencedAt.IsZero() {
			p.FencedAt = timePtr(a.FencedAt)
		}
	}
	if g := c.Granted; g != nil {
		p.Attempt, p.ClaimID, p.LeaseToken, p.OrderID, p.Worker = int32(g.Number), g.ClaimID, g.Token, strPtr(g.OrderID), g.Worker
		p.GrantedAt, p.LeaseUntil, p.SendBy, p.AttemptDeadline = &g.GrantedAt, &g.LeaseUntil, &g.SendBy, &g.Deadline
		p.AttemptTimeoutMs, p.FencedAt = ms(g.ClientTimeout), nil
	}
	return p
}
