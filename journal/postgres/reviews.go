package postgres

import (
	"context"
	"errors"

	"github.com/jackc/pgx/v5"

	"github.com/landedhq/landed/journal"
	"github.com/landedhq/landed/journal/audit"
	"github.com/landedhq/landed/journal/postgres/internal/sqlc"
)

// Proposals lists what waits for a second person, what ends first on top.
func (s *Store) Proposals(ctx context.Context, limit int) ([]journal.ProposalItem, error) {
	rows, err := s.q.OpenProposals(ctx, s.pool, int32(limit))
	if err != nil {
		return nil, mapError("listing proposals", err)
	}
	out := make([]journal.ProposalItem, 0, len(rows))
	for _, r := range rows {
		p, err := toProposal(r.Proposal)
		if err != nil {
			return nil, err
		}
		out = append(out, journal.ProposalItem{Proposal: *p, Effect: journal.Sibling{ID: p.Decision.EffectID, Tool: r.Tool, Operation: r.Operation,
			Subject: r.Subject, Amount: r.Amount, Currency: r.Currency}})
	}
	return out, nil
}

// Reviews lists the open reviews, what is due first on top.
func (s *Store) Reviews(ctx context.Context, limit int) ([]journal.ReviewItem, error) {
	rows, err := s.q.OpenReviews(ctx, s.pool, int32(limit))
	if err != nil {
		return nil, mapError("listing reviews", err)
	}
	out := make([]journal.ReviewItem, 0, len(rows))
	for _, r := range rows {
		v, err := toReview(r.Review)
		if err != nil {
			return nil, err
		}
		out = append(out, journal.ReviewItem{Review: v, Decision: toDecision(r.Decision), Effect: journal.Sibling{ID: v.EffectID, Tool: r.Tool,
			Operation: r.Operation, Subject: r.Subject, Amount: r.Amount, Currency: r.Currency}})
	}
	return out, nil
}

// CloseReview records a reviewer's word, with an audit row. A second word on the
// same review is journal.ErrConflict.
func (s *Store) CloseReview(ctx context.Context, r journal.ReviewClose) error {
	if !journal.ValidID(r.ID) {
		return journal.ErrNotFound
	}
	row, err := s.q.ReviewByID(ctx, s.pool, r.ID)
	if errors.Is(err, pgx.ErrNoRows) {
		return journal.ErrNotFound
	}
	if err != nil {
		return mapError("loading a review", err)
	}
	d := toDecision(row.Decision)
	if err := r.Permits(d); err != nil {
		return err
	}
	who, err := person(r.Actor)
	if err != nil {
		return err
	}
	result := "disagreed"
	if r.Agreed {
		result = "agreed"
	}
	l, err := s.byID(d.EffectID)(ctx, s.pool)
	if err != nil {
		return err
	}
	lost := false
	err = pgx.BeginFunc(ctx, s.pool, func(tx pgx.Tx) error {
		e := s.entry(l, journal.Change{Effect: l.Effect}, "reviewed", "operator:"+r.Actor.Subject, r.Reason)
		e.Issuer, e.Name, e.Source, e.Result = r.Actor.Issuer, r.Actor.Name, "page", audit.Done
		e.Detail = map[string]string{"review": r.ID, "decision": d.ID, "finding": result}
		seq, err := s.audit(ctx, tx, e)
		if err != nil {
			return err
		}
		n, err := s.q.CloseReview(ctx, tx, sqlc.CloseReviewParams{ID: r.ID, ClosedBy: who, Agreed: r.Agreed, Reason: clean(r.Reason, journal.MaxReasonBytes), AuditSeq: seq})
		if lost = err == nil && n == 0; lost {
			return pgx.ErrTxCommitRollback
		}
		return err
	})
	if lost {
		return journal.ErrConflict
	}
	return mapError("closing a review", err)
}

// SettledByPolicy lists what policy settled, newest first, before a cursor (0 =
// from the newest).
func (s *Store) SettledByPolicy(ctx context.Context, before int64, limit int) ([]journal.PolicySettled, error) {
	rows, err := s.q.SettledByPolicy(ctx, s.pool, sqlc.SettledByPolicyParams{Before: before, MaxRows: int32(limit)})
	if err != nil {
		return nil, mapError("listing what policy settled", err)
	}
	out := make([]journal.PolicySettled, 0, len(rows))
	for _, r := range rows {
		out = append(out, journal.PolicySettled{Cursor: r.Seq, At: r.At, SettledBy: r.SettledBy, ProviderID: r.ProviderID, Effect: journal.Sibling{
			ID: r.ID, Tool: r.Tool, Operation: r.Operation, Subject: r.Subject, Amount: r.Amount, Currency: r.Currency, State: journal.State(r.State)}})
	}
	return out, nil
}
