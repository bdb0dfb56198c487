package postgres

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
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
	put("successor", d.SuccessorID)
	if k := d.Correction; k != nil {
		sum := sha256.Sum256(k.Args)
		put("args_sha256", hex.EncodeToString(sum[:]))
		put("subject", clean(k.Subject, journal.MaxTextBytes))
		put("amount", strings.TrimSpace(k.Amount+" "+k.Currency))
	}
	put("overrides", strings.Join(d.Overrides, " "))
	put("rules", strings.Join(d.Rules, ", "))
	put("bulk", d.BulkID)
	if d.BreakGlass {
		put("break_glass", "yes")
	}
	if len(c.Resolutions) > 0 && c.Resolutions[0].Compensate {
		put("compensate_run", "yes")
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
		Overrides: list(d.Overrides), BreakGlass: d.BreakGlass, Rules: list(d.Rules), BulkID: strPtr(d.BulkID), Bulk: int32(d.Bulk)}
	if d.Order != nil {
		p.OrderID = &d.Order.ID
	}
	p.SuccessorID = strPtr(d.SuccessorID)
	if a := d.Approval; a != nil {
		p.ProposalID, p.ApproverIssuer, p.ApproverSubject = strPtr(a.ProposalID), a.Actor.Issuer, a.Actor.Subject
		p.ApproverName, p.ApproverReason = a.Actor.Name, clean(a.Reason, journal.MaxReasonBytes)
	}
	return p
}

// applyProposal writes a proposal or its end. Each has an audit row of its own,
// but an approval: the decision's says it.
func (s *Store) applyProposal(ctx context.Context, tx pgx.Tx, l *loaded, c journal.Change) error {
	if c.Proposal.Ended == "" {
		return s.addProposal(ctx, tx, l, c)
	}
	return s.endProposal(ctx, tx, l, c, c.Proposal)
}

func (s *Store) endProposal(ctx context.Context, tx pgx.Tx, l *loaded, c journal.Change, p *journal.Proposal) error {
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
	if gone := l.ExpireProposal().Proposal; gone != nil {
		if err := s.endProposal(ctx, tx, l, c, gone); err != nil {
			return err
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
		Rules: list(d.Rules), EvidenceDigest: d.Digest, Recommended: d.AssessmentSummary, CreatedAt: p.CreatedAt, ExpiresAt: p.ExpiresAt,
		BulkID: strPtr(d.BulkID), Bulk: int32(d.Bulk)}
	if k := d.Correction; k != nil {
		params.Args, params.Subject, params.Amount, params.Currency = k.Args, k.Subject, k.Amount, k.Currency
	}
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

// besideDecision writes what a decision brings with it beyond its effect.
func (s *Store) besideDecision(ctx context.Context, tx pgx.Tx, l *loaded, c journal.Change, d journal.Decision) error {
	if n := c.Successor; n != nil {
		if err := s.insertSuccessor(ctx, tx, n, d.Actor); err != nil {
			return err
		}
	}
	return s.openReview(ctx, tx, l, d)
}

// insertSuccessor puts the corrected effect beside the old one, with its order.
// Whoever was faster under the derived key has it.
func (s *Store) insertSuccessor(ctx context.Context, tx pgx.Tx, n *journal.Successor, by journal.Actor) error {
	e, o := &n.Effect, &n.Order
	p := sqlc.InsertSuccessorParams{ID: e.ID, Namespace: e.Namespace, Key: e.Key, Ref: e.Ref, Tool: e.Tool, Class: string(e.Class), Provider: e.Provider,
		KeyWindowMs: ms(e.KeyWindow), ClientTimeoutMs: ms(e.ClientTimeout), RootRun: e.RootRun, RootRunStartedAt: timePtr(e.RootRunStartedAt),
		Turn: e.Turn, Run: e.Run, Step: e.Step, Operation: e.Operation, Subject: e.Subject, Amount: e.Amount, Currency: e.Currency, Labels: labels(e.Labels),
		Args: e.Args, Fingerprint: e.Fingerprint, FingerprintRule: int16(e.FingerprintRule), Resume: e.Resume, Traceparent: e.Traceparent,
		Supersedes: e.Supersedes, At: e.CreatedAt}
	if err := s.q.InsertSuccessor(ctx, tx, p); err != nil {
		if isCode(err, "23505") {
			return journal.ErrSupersedesOpen
		}
		return s.applyError(err)
	}
	order := sqlc.PutOrderParams{ID: o.ID, EffectID: e.ID, DecisionID: o.DecisionID, Mode: string(o.Mode), Issue: int32(o.Issue), KnownUpTo: o.KnownUpTo,
		CreatedAt: o.CreatedAt, ExpiresAt: o.ExpiresAt}
	if err := s.q.PutOrder(ctx, tx, order); err != nil {
		return s.applyError(err)
	}
	detail, err := json.Marshal(map[string]string{"corrects": e.Supersedes})
	if err != nil {
		return fmt.Errorf("noting a correction: %w", err)
	}
	event := sqlc.AddEventParams{EffectID: e.ID, At: e.CreatedAt, Kind: journal.EventCorrected, Actor: "operator:" + clean(by.Subject, 180), Detail: detail}
	if err := s.q.AddEvent(ctx, tx, event); err != nil {
		return s.applyError(err)
	}
	return nil
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
