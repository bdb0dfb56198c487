package postgres

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/landedhq/landed/journal"
	"github.com/landedhq/landed/journal/audit"
	"github.com/landedhq/landed/journal/postgres/internal/sqlc"
)

// decisionEntry is the audit row of a decision, and of a refusal of one.
func (s *Store) decisionEntry(l *loaded, c journal.Change, d journal.Decision) audit.Entry {
	e := s.entry(l, c, "decided:"+string(d.Verb), "operator:"+d.Actor.Subject, d.Reason)
	e.Issuer, e.Name, e.Source, e.Code = d.Actor.Issuer, d.Actor.Name, d.Source, string(d.ReasonCode)
	e.Detail = map[string]string{}
	put := func(k, v string) {
		if v != "" {
			e.Detail[k] = v
		}
	}
	put("decision", d.ID)
	put("recommended", d.AssessmentSummary)
	put("mode", string(d.Mode))
	put("provider_id", d.ProviderID)
	put("overrides", strings.Join(d.Overrides, " "))
	put("rules", strings.Join(d.Rules, ", "))
	if d.BreakGlass {
		put("break_glass", "yes")
	}
	if a := d.Approval; a != nil {
		put("proposal", a.ProposalID)
		put("approver", "operator:"+a.Actor.Subject)
		put("approver_issuer", a.Actor.Issuer)
		put("approver_name", a.Actor.Name)
		put("approver_reason", clean(a.Reason, journal.MaxReasonBytes))
	}
	if d.Order != nil {
		put("order", d.Order.ID)
		put("order_expires_at", d.Order.ExpiresAt.UTC().Format(time.RFC3339Nano))
	}
	return e
}

func decisionParams(l *loaded, d journal.Decision, seq int64) sqlc.AddDecisionParams {
	p := sqlc.AddDecisionParams{ID: d.ID, AuditSeq: seq, EffectID: d.EffectID, EffectVersion: d.Expected, Verb: string(d.Verb), Mode: string(d.Mode),
		Issuer: d.Actor.Issuer, Subject: d.Actor.Subject, Name: d.Actor.Name, Source: d.Source, ReasonCode: string(d.ReasonCode), Reason: d.Reason,
		ProviderID: d.ProviderID, EvidenceDigest: d.Digest, Recommended: d.AssessmentSummary, PolicyVersion: l.Policy.Version, At: d.At,
		Overrides: list(d.Overrides), BreakGlass: d.BreakGlass, Rules: list(d.Rules)}
	if d.Order != nil {
		p.OrderID = &d.Order.ID
	}
	if a := d.Approval; a != nil {
		p.ProposalID, p.ApproverIssuer, p.ApproverSubject = strPtr(a.ProposalID), a.Actor.Issuer, a.Actor.Subject
		p.ApproverName, p.ApproverReason = a.Actor.Name, clean(a.Reason, journal.MaxReasonBytes)
	}
	return p
}

// applyProposal writes a proposal or its end. Each has an audit row of its own,
// but an approval: the decision's says it.
func (s *Store) applyProposal(ctx context.Context, tx pgx.Tx, l *loaded, c journal.Change) error {
	p := c.Proposal
	if p.Ended == "" {
		return s.addProposal(ctx, tx, l, c)
	}
	if p.Ended != journal.ProposalApproved {
		by := "sweeper"
		if p.EndedBy.Subject != "" {
			by = "operator:" + p.EndedBy.Subject
		}
		e := s.entry(l, c, "proposal_"+p.Ended, by, p.EndedReason)
		e.Issuer, e.Name = p.EndedBy.Issuer, p.EndedBy.Name
		e.Detail = map[string]string{"proposal": p.ID, "proposer": "operator:" + p.Decision.Actor.Subject, "verb": string(p.Decision.Verb)}
		if _, err := s.audit(ctx, tx, e); err != nil {
			return err
		}
	}
	params := sqlc.EndProposalParams{ID: p.ID, Ended: p.Ended, EndedAt: p.EndedAt, EndedReason: clean(p.EndedReason, journal.MaxReasonBytes)}
	if p.EndedBy.Subject != "" {
		var err error
		if params.EndedBy, err = person(p.EndedBy); err != nil {
			return err
		}
	}
	n, err := s.q.EndProposal(ctx, tx, params)
	if err != nil {
		return s.applyError(err)
	}
	if n == 0 {
		return errConflict
	}
	return nil
}

func (s *Store) addProposal(ctx context.Context, tx pgx.Tx, l *loaded, c journal.Change) error {
	p, d := c.Proposal, c.Proposal.Decision
	// One that nobody answered in time makes room.
	if old := l.Proposal; old != nil && old.Ended == "" {
		ended := sqlc.EndProposalParams{ID: old.ID, Ended: journal.ProposalExpired, EndedAt: l.Now}
		if _, err := s.q.EndProposal(ctx, tx, ended); err != nil {
			return s.applyError(err)
		}
	}
	e := s.decisionEntry(l, c, d)
	e.Kind, e.Detail["proposal"], e.Detail["expires_at"] = "proposed:"+string(d.Verb), p.ID, p.ExpiresAt.UTC().Format(time.RFC3339Nano)
	seq, err := s.audit(ctx, tx, e)
	if err != nil {
		return err
	}
	p.AuditSeq = seq
	who, err := person(d.Actor)
	if err != nil {
		return err
	}
	params := sqlc.AddProposalParams{ID: p.ID, AuditSeq: seq, EffectID: l.Effect.ID, EffectVersion: p.Version, Verb: string(d.Verb), Mode: string(d.Mode),
		Actor: who, Source: d.Source, ReasonCode: string(d.ReasonCode), Reason: d.Reason, ProviderID: d.ProviderID, Overrides: list(d.Overrides),
		Rules: list(d.Rules), EvidenceDigest: d.Digest, Recommended: d.AssessmentSummary, CreatedAt: p.CreatedAt, ExpiresAt: p.ExpiresAt}
	if err := s.q.AddProposal(ctx, tx, params); err != nil {
		return s.applyError(err)
	}
	return nil
}

func person(a journal.Actor) ([]byte, error) {
	b, err := json.Marshal(a)
	if err != nil {
		return nil, fmt.Errorf("writing down a person: %w", err)
	}
	return b, nil
}

// openReview asks for a later look at a decision that was taken alone.
func (s *Store) openReview(ctx context.Context, tx pgx.Tx, l *loaded, d journal.Decision) error {
	if !d.BreakGlass {
		return nil
	}
	p := sqlc.AddReviewParams{ID: journal.NewID(l.Now), EffectID: d.EffectID, DecisionID: d.ID, OpenedAt: l.Now, DueAt: l.Now.Add(l.Policy.ReviewWithin)}
	if err := s.q.AddReview(ctx, tx, p); err != nil {
		return s.applyError(err)
	}
	return nil
}
