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

// maxHandoverTries bounds what a page reads of an effect's tries.
const maxHandoverTries = 100

// InTx hands a resolution over within the transaction that records it: both
// happen, or neither does. An error, and a result that is not sent, leave the
// resolution to the dispatcher; what they wrote into tx is taken back.
type InTx func(ctx context.Context, tx pgx.Tx, h journal.Handover) (journal.HandoverResult, error)

// ClaimHandovers takes up to limit resolutions that are due, and counts the try. A
// claim that is followed by no HandoverTried comes due again.
func (s *Store) ClaimHandovers(ctx context.Context, limit int) ([]journal.Handover, error) {
	rows, err := s.q.ClaimHandovers(ctx, s.pool, sqlc.ClaimHandoversParams{LeaseMs: ms(journal.HandoverLease), MaxRows: int32(limit)})
	if err != nil {
		return nil, mapError("claiming resolutions to hand over", err)
	}
	out := make([]journal.Handover, 0, len(rows))
	for _, r := range rows {
		out = append(out, journal.Handover{
			Resolution: journal.Resolution{ID: r.ID, Cursor: r.AuditSeq, EffectID: r.EffectID, EffectVersion: r.EffectVersion, Namespace: r.Namespace,
				Key: r.Key, Kind: journal.ResolutionKind(r.Kind), By: r.ByWhom, Reason: r.Reason, OrderID: strOf(r.OrderID),
				OrderExpiresAt: r.OrderExpiresAt, At: r.At, SuccessorID: strOf(r.SuccessorID), SuccessorKey: r.SuccessorKey, Compensate: r.Compensate},
			Tool: r.Tool, Resume: r.Resume, Target: r.Target, State: journal.HandoverState(r.Handover), Tries: int(r.Tries),
			RetryFrom: timeOf(r.RetryFrom), Latest: r.Latest, OrderOpen: r.OrderOpen, Now: r.DbNow})
	}
	return out, nil
}

// HandoverTried records what came of the try that h is. A newer try, or an
// acknowledgement, leaves only the row of the history.
func (s *Store) HandoverTried(ctx context.Context, h journal.Handover, r journal.HandoverResult) error {
	return mapError("recording a handover", pgx.BeginFunc(ctx, s.pool, func(tx pgx.Tx) error {
		if r.AckBy == "" {
			return s.tried(ctx, tx, h, r)
		}
		id, err := s.q.LockDeliveryEffect(ctx, tx, sqlc.LockDeliveryEffectParams{ID: h.ID, Namespaces: list(nil)})
		if err != nil {
			return err
		}
		if err := s.tried(ctx, tx, h, r); err != nil {
			return err
		}
		if err := s.q.AckDelivery(ctx, tx, sqlc.AckDeliveryParams{ID: h.ID, AckedBy: clean(r.AckBy, 200)}); err != nil {
			return err
		}
		return s.q.CloseDeliveryFlag(ctx, tx, id)
	}))
}

func (s *Store) tried(ctx context.Context, tx pgx.Tx, h journal.Handover, r journal.HandoverResult) error {
	next := int64(-1)
	if r.State == journal.HandoverPending {
		next = ms(r.NextIn)
	}
	reason := clean(r.Detail, 1000)
	if r.State == journal.HandoverSent {
		reason = ""
	}
	p := sqlc.HandoverTriedParams{ID: h.ID, Tries: int32(h.Tries), Handover: string(r.State), Target: clean(r.Target, 200), Reason: reason, NextMs: next}
	if _, err := s.q.HandoverTried(ctx, tx, p); err != nil {
		return err
	}
	if r.Outcome == "" {
		return nil
	}
	if r.State == journal.HandoverSent {
		if err := s.q.TargetTaken(ctx, tx, clean(r.Target, 200)); err != nil {
			return err
		}
	}
	return s.q.AddHandoverTry(ctx, tx, sqlc.AddHandoverTryParams{ID: h.ID, Number: int32(h.Tries), TookMs: ms(r.Took), Target: clean(r.Target, 200),
		Outcome: string(r.Outcome), Detail: clean(r.Detail, 1000)})
}

// handOver offers the resolution to InTx within a savepoint of its transaction.
func (s *Store) handOver(ctx context.Context, tx pgx.Tx, l *loaded, r journal.Resolution, seq int64) error {
	if s.inTx == nil {
		return nil
	}
	r.Cursor, r.EffectID, r.EffectVersion, r.Namespace, r.Key = seq, l.Effect.ID, l.Effect.Version+1, l.Effect.Namespace, l.Effect.Key
	h := journal.Handover{Resolution: r, Tool: l.Effect.Tool, Resume: l.Effect.Resume,
		State: journal.HandoverPending, RetryFrom: l.Now, Latest: true, OrderOpen: true, Now: l.Now}
	var res journal.HandoverResult
	err := pgx.BeginFunc(ctx, tx, func(sp pgx.Tx) error {
		var err error
		if res, err = s.inTx(ctx, sp, h); err != nil {
			return err
		}
		if res.State != journal.HandoverSent {
			return errNotSent
		}
		return nil
	})
	switch {
	case errors.Is(err, errNotSent):
		return nil
	case err != nil && (ctx.Err() != nil || tx.Conn().IsClosed()):
		return s.applyError(err)
	case err != nil: // the dispatcher tries, and says what is wrong
		s.log.WarnContext(ctx, "handing over in the decision's transaction failed", "resolution", r.ID, "cause", err)
		return nil
	}
	if err := s.tried(ctx, tx, h, res); err != nil {
		return s.applyError(err)
	}
	return nil
}

// errNotSent takes the savepoint back.
var errNotSent = errors.New("nothing was handed over")

// Redeliver has a resolution handed over once more, whatever became of it; one
// that was acknowledged, or is on its way, is a *journal.InvalidError.
func (s *Store) Redeliver(ctx context.Context, effectID string, r journal.Redelivery) error {
	if !journal.ValidID(r.ResolutionID) || !journal.ValidID(effectID) {
		return fmt.Errorf("handing over again: %w", journal.ErrNotFound)
	}
	var refused error
	err := pgx.BeginFunc(ctx, s.pool, func(tx pgx.Tx) error {
		id, err := s.q.LockDeliveryEffect(ctx, tx, sqlc.LockDeliveryEffectParams{ID: r.ResolutionID, Namespaces: list(nil)})
		if err != nil {
			return err
		}
		if id != effectID {
			return pgx.ErrNoRows
		}
		l, err := s.byID(id)(ctx, tx)
		if err != nil {
			return err
		}
		n, err := s.q.Redeliver(ctx, tx, r.ResolutionID)
		if err != nil {
			return err
		}
		if n == 0 {
			refused = &journal.InvalidError{Field: "resolution", Detail: "is acknowledged or due already: there is nothing to hand over again"}
			return refused
		}
		hs, err := s.q.DeliveriesOf(ctx, tx, id)
		if err != nil {
			return err
		}
		for _, h := range hs {
			if d := h.Delivery; d.ID == r.ResolutionID && d.Target != "" {
				if err := s.q.ClearTargetStop(ctx, tx, d.Target); err != nil {
					return err
				}
			}
		}
		return s.noteRedelivery(ctx, tx, l, r)
	})
	if refused != nil {
		return refused
	}
	return mapError("handing over again", err)
}

func (s *Store) noteRedelivery(ctx context.Context, tx pgx.Tx, l *loaded, r journal.Redelivery) error {
	actor := "operator:" + r.Actor.Subject
	e := s.entry(l, journal.Change{Effect: l.Effect}, "redelivered", actor, "")
	e.Issuer, e.Name = r.Actor.Issuer, r.Actor.Name
	e.Detail = map[string]string{"resolution": r.ResolutionID, "source": r.Source}
	if _, err := s.audit(ctx, tx, e); err != nil {
		return err
	}
	detail, err := json.Marshal(map[string]string{"resolution": r.ResolutionID})
	if err != nil {
		return fmt.Errorf("encoding an event: %w", err)
	}
	return s.q.AddEvent(ctx, tx, sqlc.AddEventParams{EffectID: l.Effect.ID, At: l.Now, Kind: journal.EventRedelivered, Actor: clean(actor, 200), Detail: detail})
}

// TargetMark reads what is known of a target's endpoint; the zero mark if nothing is.
func (s *Store) TargetMark(ctx context.Context, name string) (journal.TargetMark, error) {
	r, err := s.q.TargetMark(ctx, s.pool, name)
	if errors.Is(err, pgx.ErrNoRows) {
		return journal.TargetMark{}, nil
	}
	return targetMark(r), mapError("reading the target "+name, err)
}

// SetTargetMark writes it.
func (s *Store) SetTargetMark(ctx context.Context, m journal.TargetMark) error {
	return mapError("writing the target "+m.Name, s.q.SetTargetMark(ctx, s.pool, sqlc.SetTargetMarkParams{Name: m.Name, Endpoint: m.Endpoint,
		VerifiedAt: timePtr(m.VerifiedAt), StoppedAt: timePtr(m.StoppedAt), StoppedWhy: clean(m.StoppedWhy, 1000)}))
}

// TargetStates reads what is on its way to every target that there is something
// of, by name: configured ones that were never used are missing, and ones that are
// no longer configured are there.
func (s *Store) TargetStates(ctx context.Context) (map[string]journal.TargetState, error) {
	var marks []sqlc.ResumeTarget
	var loads []sqlc.TargetLoadsRow
	err := pipeline(ctx, s.pool,
		func(db sqlc.DBTX) (err error) { marks, err = s.q.TargetMarks(ctx, db); return err },
		func(db sqlc.DBTX) (err error) { loads, err = s.q.TargetLoads(ctx, db); return err })
	if err != nil {
		return nil, mapError("reading the targets", err)
	}
	out := map[string]journal.TargetState{}
	for _, m := range marks {
		out[m.Name] = journal.TargetState{Mark: targetMark(m), LastTaken: timeOf(m.TakenAt)}
	}
	for _, l := range loads {
		t := out[l.Target]
		t.Mark.Name = l.Target
		t.Pending, t.Sent, t.Refused, t.Expired = int(l.Pending), int(l.Sent), int(l.Refused), int(l.Expired)
		if l.OldestPending.Unix() != 0 {
			t.OldestPending = l.OldestPending
		}
		out[l.Target] = t
	}
	return out, nil
}

func targetMark(r sqlc.ResumeTarget) journal.TargetMark {
	return journal.TargetMark{Name: r.Name, Endpoint: r.Endpoint, VerifiedAt: timeOf(r.VerifiedAt), StoppedAt: timeOf(r.StoppedAt), StoppedWhy: r.StoppedWhy}
}

func handoverOf(d sqlc.Delivery) journal.Handover {
	return journal.Handover{State: journal.HandoverState(d.Handover), Target: d.Target, Tries: int(d.Tries), NextAt: timeOf(d.NextAt),
		RetryFrom: timeOf(d.RetryFrom), SentAt: timeOf(d.SentAt), Reason: d.HandoverReason}
}

// caseHandovers reads the tries of handing the effect's resolutions over.
func (s *Store) caseHandovers(ctx context.Context, c *journal.Case) error {
	tries, err := s.q.HandoverTriesOf(ctx, s.pool, sqlc.HandoverTriesOfParams{EffectID: c.Effect.ID, MaxRows: maxHandoverTries})
	if err != nil {
		return mapError("loading the deliveries of effect "+c.Effect.ID, err)
	}
	for _, t := range tries {
		c.HandoverTries = append(c.HandoverTries, journal.HandoverTry{ResolutionID: t.DeliveryID, Number: int(t.Number), At: t.At,
			Took: time.Duration(t.TookMs) * time.Millisecond, Target: t.Target, Outcome: journal.HandoverOutcome(t.Outcome), Detail: t.Detail})
	}
	return nil
}
