package postgres

import (
	"context"
	"errors"

	"github.com/jackc/pgx/v5"

	"github.com/landedhq/landed/journal"
)

// Decide carries an operator's decision: state, decision, audit row and
// delivery row in one transaction. The decision must be valid and its actor
// derived by the server. A *journal.StaleError carries the decision that was
// faster, if there was one.
func (s *Store) Decide(ctx context.Context, d journal.Decision) (journal.Decision, error) {
	return s.decide(ctx, d, func(sn *journal.Snapshot) (journal.Change, error) { return sn.Decide(d) })
}

// Approve carries what was proposed, on the second person's word.
func (s *Store) Approve(ctx context.Context, a journal.Approval) (journal.Decision, error) {
	d := journal.Decision{EffectID: a.EffectID, Expected: a.Expected}
	return s.decide(ctx, d, func(sn *journal.Snapshot) (journal.Change, error) { return sn.Approve(a) })
}

func (s *Store) decide(ctx context.Context, d journal.Decision, move func(*journal.Snapshot) (journal.Change, error)) (journal.Decision, error) {
	done := d
	err := s.transition(ctx, s.byID(d.EffectID), func(ctx context.Context, tx pgx.Tx, l *loaded) (journal.Change, bool, error) {
		if err := s.readAround(ctx, tx, &l.Snapshot); err != nil {
			return journal.Change{}, false, err
		}
		if err := s.readPolicy(ctx, tx, &l.Snapshot); err != nil {
			return journal.Change{}, false, err
		}
		c, err := move(&l.Snapshot)
		if err != nil {
			return c, false, err
		}
		done = *c.Decision
		c.Decision = &done // apply fills the audit number
		return c, true, nil
	})
	var stale *journal.StaleError
	if errors.As(err, &stale) {
		stale.Winner = s.winner(ctx, d)
	}
	return done, err
}

// Propose records a decision that waits for its second person, with an audit
// row. It orders nothing.
func (s *Store) Propose(ctx context.Context, d journal.Decision) (journal.Proposal, error) {
	var done journal.Proposal
	err := s.transition(ctx, s.byID(d.EffectID), func(ctx context.Context, tx pgx.Tx, l *loaded) (journal.Change, bool, error) {
		if err := s.readAround(ctx, tx, &l.Snapshot); err != nil {
			return journal.Change{}, false, err
		}
		c, err := l.Propose(d)
		if err != nil {
			return c, false, err
		}
		done = *c.Proposal
		c.Proposal = &done
		return c, true, nil
	})
	var stale *journal.StaleError
	if errors.As(err, &stale) {
		stale.Winner = s.winner(ctx, d)
	}
	return done, err
}

// Reject ends a proposal without a decision.
func (s *Store) Reject(ctx context.Context, a journal.Approval) error {
	return s.transition(ctx, s.byID(a.EffectID), pure(func(sn *journal.Snapshot) (journal.Change, error) { return sn.Reject(a) }))
}

// DecisionOf is the decision that a proposal led to.
func (s *Store) DecisionOf(ctx context.Context, effectID, proposalID string) (journal.Decision, error) {
	rows, err := s.q.DecisionsOf(ctx, s.pool, effectID)
	if err != nil {
		return journal.Decision{}, mapError("loading the decisions on effect "+effectID, err)
	}
	for _, r := range rows {
		if strOf(r.ProposalID) == proposalID {
			return toDecision(r), nil
		}
	}
	return journal.Decision{}, journal.ErrNotFound
}

// winner finds the decision on the version that d was made for, or the newest.
func (s *Store) winner(ctx context.Context, d journal.Decision) *journal.Decision {
	rows, err := s.q.DecisionsOf(ctx, s.pool, d.EffectID)
	if err != nil || len(rows) == 0 {
		return nil
	}
	for _, r := range rows {
		if r.EffectVersion == d.Expected {
			w := toDecision(r)
			return &w
		}
	}
	if newest := toDecision(rows[len(rows)-1]); newest.Expected > d.Expected {
		return &newest
	}
	return nil
}

// Acknowledge clears the flags contradicted, probably double and orphan, with
// an audit row; the state stays.
func (s *Store) Acknowledge(ctx context.Context, id string, actor journal.Actor, reason string) error {
	return s.transition(ctx, s.byID(id), func(ctx context.Context, tx pgx.Tx, l *loaded) (journal.Change, bool, error) {
		c, err := l.Acknowledge(actor, reason)
		if err != nil {
			return c, false, err
		}
		e := s.entry(l, c, "acknowledged", "operator:"+actor.Subject, reason)
		e.Issuer, e.Name = actor.Issuer, actor.Name
		if _, err := s.audit(ctx, tx, e); err != nil {
			return c, false, err
		}
		return c, true, nil
	})
}

// Refused records that somebody was refused a decision, and why: reviewers ask
// for refusals as well.
func (s *Store) Refused(ctx context.Context, d journal.Decision, why string) error {
	l, err := s.byID(d.EffectID)(ctx, s.pool)
	if err != nil {
		return err
	}
	return mapError("recording a refusal", pgx.BeginFunc(ctx, s.pool, func(tx pgx.Tx) error {
		e := s.decisionEntry(l, journal.Change{Effect: l.Effect}, d)
		e.Kind, e.Result = "refused:"+string(d.Verb), "refused"
		e.Detail["why"] = clean(why, 500)
		_, err := s.audit(ctx, tx, e)
		return err
	}))
}
