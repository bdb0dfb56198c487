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

// acted is what one act of a person on an effect leaves: an audit row, and an
// event on the timeline.
type acted struct {
	audit, event string // their kinds; no event if that is empty
	actor        journal.Actor
	reason       string
	detail       map[string]string
}

// act writes the audit row and the event; the number is the audit row's.
func (s *Store) act(ctx context.Context, tx pgx.Tx, l *loaded, a acted) (int64, error) {
	e := s.entry(l, journal.Change{Effect: l.Effect}, a.audit, "operator:"+a.actor.Subject, a.reason)
	e.Issuer, e.Name, e.Source, e.Detail = a.actor.Issuer, clean(a.actor.Name, 200), "page", a.detail
	seq, err := s.audit(ctx, tx, e)
	if err != nil || a.event == "" {
		return seq, err
	}
	said := map[string]string{"name": clean(a.actor.Name, 200), "reason": clean(a.reason, journal.MaxReasonBytes)}
	for k, v := range a.detail {
		said[k] = v
	}
	detail, err := json.Marshal(said)
	if err != nil {
		return seq, fmt.Errorf("writing down what was done: %w", err)
	}
	p := sqlc.AddEventParams{EffectID: l.Effect.ID, At: l.Now, Kind: a.event, Actor: clean("operator:"+a.actor.Subject, 200), Detail: detail}
	return seq, s.q.AddEvent(ctx, tx, p)
}

// Claim carries what a person asks of an effect's claim, with an audit row, and
// returns what is left of it; nil if nobody holds it. Of several at once one
// wins; the others get a *journal.ClaimedError that says who.
func (s *Store) Claim(ctx context.Context, o journal.ClaimOrder) (*journal.Claim, error) {
	if o.Verb == journal.ClaimHandOver && o.To.Subject != "" {
		r, err := s.q.PersonBySubject(ctx, s.pool, sqlc.PersonBySubjectParams{Issuer: clean(o.To.Issuer, 1000), Subject: clean(o.To.Subject, 1000)})
		if errors.Is(err, pgx.ErrNoRows) {
			return nil, &journal.InvalidError{Field: "to", Detail: "names nobody who signed in before: pick the person from the list"}
		}
		if err != nil {
			return nil, mapError("finding a person", err)
		}
		o.To = toPerson(r).Actor
	}
	for range maxTries {
		c, err := s.claimOnce(ctx, o)
		if !errors.Is(err, errConflict) {
			return c, err
		}
	}
	return nil, journal.ErrConflict
}

func (s *Store) claimOnce(ctx context.Context, o journal.ClaimOrder) (next *journal.Claim, err error) {
	var stop error
	var kind string
	err = pgx.BeginFunc(ctx, s.pool, func(tx pgx.Tx) error {
		l, err := s.byID(o.EffectID)(ctx, tx)
		if err != nil {
			stop = err
			return err
		}
		was, err := s.claimOf(ctx, tx, o.EffectID)
		if err != nil {
			return err
		}
		if next, kind, stop = l.Claim(o, was); stop != nil {
			return stop
		}
		if err := s.putClaim(ctx, tx, o.EffectID, was, next); err != nil {
			return err
		}
		a := acted{audit: kind, event: kind, actor: o.Actor, reason: o.Reason, detail: map[string]string{}}
		if kind == journal.EventClaimRenewed {
			a.event = ""
		}
		if next != nil {
			a.detail["claim"], a.detail["until"] = next.ID, next.Until.UTC().Format(time.RFC3339)
		}
		switch o.Verb {
		case journal.ClaimHandOver:
			a.detail["to"], a.detail["to_issuer"], a.detail["to_name"] = "operator:"+o.To.Subject, o.To.Issuer, clean(o.To.Name, 200)
		case journal.ClaimTakeOver:
			if was != nil {
				a.detail["from"], a.detail["from_name"] = "operator:"+was.Holder.Subject, clean(was.Holder.Name, 200)
			}
		}
		_, err = s.act(ctx, tx, l, a)
		return err
	})
	if stop != nil {
		return nil, stop
	}
	if errors.Is(err, errConflict) {
		return nil, err
	}
	if kind != journal.EventClaimRenewed {
		s.counts.forget()
	}
	return next, mapError("claiming effect "+o.EffectID, err)
}

func (s *Store) claimOf(ctx context.Context, tx sqlc.DBTX, id string) (*journal.Claim, error) {
	r, err := s.q.ClaimOf(ctx, tx, id)
	if errors.Is(err, pgx.ErrNoRows) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	return &journal.Claim{ID: r.ID, Holder: journal.Actor{Issuer: r.Issuer, Subject: r.Subject, Name: r.Name},
		By: journal.Actor{Issuer: r.ByIssuer, Subject: r.BySubject, Name: r.ByName}, Since: r.Since, Until: r.Until}, nil
}

// putClaim writes next over was, if it still is.
func (s *Store) putClaim(ctx context.Context, tx pgx.Tx, id string, was, next *journal.Claim) error {
	var n int64
	var err error
	if next == nil {
		n, err = s.q.DropClaim(ctx, tx, sqlc.DropClaimParams{EffectID: id, ID: was.ID, Until: was.Until})
	} else {
		p := sqlc.PutClaimParams{EffectID: id, ID: next.ID, Issuer: next.Holder.Issuer, Subject: next.Holder.Subject, Name: clean(next.Holder.Name, 200),
			ByIssuer: next.By.Issuer, BySubject: next.By.Subject, ByName: clean(next.By.Name, 200), Since: next.Since, Until: next.Until}
		if was != nil {
			p.WasID, p.WasUntil = &was.ID, &was.Until
		}
		n, err = s.q.PutClaim(ctx, tx, p)
	}
	if err == nil && n == 0 {
		return errConflict
	}
	return err
}

// RenewClaim keeps a person's claim while they act. Whoever holds none, or whose
// claim is over, gets none by it.
func (s *Store) RenewClaim(ctx context.Context, effectID string, who journal.Actor) error {
	if !journal.ValidID(effectID) {
		return nil
	}
	p := sqlc.RenewClaimParams{LeaseMs: ms(journal.ClaimLease), EffectID: effectID, Issuer: who.Issuer, Subject: who.Subject}
	return mapError("renewing a claim", s.q.RenewClaim(ctx, s.pool, p))
}

// Snooze takes an effect off the default list for a while, or puts it back, with
// an audit row. What moves the effect meanwhile ends the snooze.
func (s *Store) Snooze(ctx context.Context, o journal.SnoozeOrder) (*journal.Snooze, error) {
	if !journal.ValidID(o.EffectID) {
		return nil, journal.ErrNotFound
	}
	var z *journal.Snooze
	var stop error
	err := pgx.BeginFunc(ctx, s.pool, func(tx pgx.Tx) error {
		if err := s.q.HoldEffect(ctx, tx, o.EffectID); err != nil {
			return err
		}
		l, err := s.byID(o.EffectID)(ctx, tx)
		if err != nil {
			stop = err
			return err
		}
		if z, stop = l.Snooze(o); stop != nil {
			return stop
		}
		if z == nil {
			return s.wakeByPerson(ctx, tx, l, o)
		}
		p := sqlc.PutSnoozeParams{EffectID: o.EffectID, Until: z.Until, Issuer: o.Actor.Issuer, Subject: o.Actor.Subject, Name: clean(o.Actor.Name, 200),
			Reason: clean(o.Reason, journal.MaxReasonBytes), At: z.At}
		if err := s.q.PutSnooze(ctx, tx, p); err != nil {
			return err
		}
		_, err = s.act(ctx, tx, l, acted{audit: "snoozed", event: journal.EventSnoozed, actor: o.Actor, reason: o.Reason,
			detail: map[string]string{"until": z.Until.UTC().Format(time.RFC3339)}})
		return err
	})
	if stop != nil {
		return nil, stop
	}
	s.counts.forget()
	return z, mapError("snoozing effect "+o.EffectID, err)
}

func (s *Store) wakeByPerson(ctx context.Context, tx pgx.Tx, l *loaded, o journal.SnoozeOrder) error {
	n, err := s.q.DropSnooze(ctx, tx, o.EffectID)
	if err != nil || n == 0 {
		return err
	}
	_, err = s.act(ctx, tx, l, acted{audit: "snooze_ended", event: journal.EventWoken, actor: o.Actor, reason: o.Reason,
		detail: map[string]string{"why": journal.WokePerson}})
	return err
}

// wake ends the effect's snooze if the change is one that does.
func (s *Store) wake(ctx context.Context, tx pgx.Tx, l *loaded, c journal.Change) error {
	why := l.Wakes(c)
	if why == "" {
		return nil
	}
	n, err := s.q.DropSnooze(ctx, tx, l.Effect.ID)
	if err != nil {
		return s.applyError(err)
	}
	if n == 0 {
		return nil
	}
	detail, err := json.Marshal(map[string]string{"why": why})
	if err != nil {
		return fmt.Errorf("writing down why a snooze ended: %w", err)
	}
	if err := s.q.AddEvent(ctx, tx, sqlc.AddEventParams{EffectID: l.Effect.ID, At: l.Now, Kind: journal.EventWoken, Detail: detail}); err != nil {
		return s.applyError(err)
	}
	return nil
}

// DropOldTeam removes snoozes, claims and windows that are long over.
func (s *Store) DropOldTeam(ctx context.Context) error {
	return mapError("tidying up after the team", errors.Join(s.q.DropOldSnoozes(ctx, s.pool), s.q.DropOldClaims(ctx, s.pool),
		s.q.DropOldPresence(ctx, s.pool, ms(journal.PresenceLife))))
}
