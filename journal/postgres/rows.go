package postgres

import (
	"encoding/json"
	"fmt"
	"time"

	"github.com/landedhq/landed/journal"
	"github.com/landedhq/landed/journal/postgres/internal/sqlc"
)

func toEffect(r sqlc.Effect) (journal.Effect, error) {
	e := journal.Effect{
		ID: r.ID, Namespace: r.Namespace, Key: r.Key, Ref: r.Ref, Tool: r.Tool, Class: journal.Class(r.Class), Provider: r.Provider,
		KeyWindow: fromMS(r.KeyWindowMs), ClientTimeout: fromMS(r.ClientTimeoutMs),
		RootRun: r.RootRun, RootRunStartedAt: timeOf(r.RootRunStartedAt), Turn: r.Turn, Run: r.Run, Step: r.Step,
		Operation: r.Operation, Subject: r.Subject, Amount: r.Amount, Currency: r.Currency,
		Args: r.Args, Fingerprint: r.Fingerprint, FingerprintRule: int(r.FingerprintRule), Resume: r.Resume,
		Supersedes: strOf(r.Supersedes), Compensates: strOf(r.Compensates), Traceparent: r.Traceparent,
		State: journal.State(r.State), Version: r.Version, Attempt: int(r.Attempt), Issue: int(r.Issue),
		ParkedReason: r.ParkedReason, RetryAt: timeOf(r.RetryAt), ClearedAttempt: int(r.ClearedAttempt),
		Result: r.Result, ProviderID: r.ProviderID, SettledBy: r.SettledBy, Refusal: r.Refusal,
		Contradicted: r.Contradicted, ProbablyDouble: r.ProbablyDouble, Orphan: r.Orphan, GaveUp: r.GaveUp, Drifted: r.Drifted, PolicyOff: r.PolicyOff, Corrected: r.Corrected,
		OpenDelivery: r.OpenDelivery, NextLookAt: timeOf(r.NextLookAt), Looks: int(r.Looks),
		CreatedAt: r.CreatedAt, StateAt: r.StateAt,
	}
	if len(r.Labels) > 0 {
		if err := json.Unmarshal(r.Labels, &e.Labels); err != nil {
			return e, fmt.Errorf("reading the labels of effect %s: %w", r.ID, err)
		}
	}
	return e, nil
}

// currentAttempt is the attempt that the effect row itself holds. A commit in
// time leaves no row in attempts: its facts are the effect's.
func currentAttempt(r sqlc.Effect) journal.Attempt {
	a := journal.Attempt{
		Number: int(r.Attempt), Issue: int(r.Issue), ClaimID: r.ClaimID, Token: r.LeaseToken, OrderID: strOf(r.OrderID), Worker: r.Worker,
		GrantedAt: timeOf(r.GrantedAt), LeaseUntil: timeOf(r.LeaseUntil), SendBy: timeOf(r.SendBy), Deadline: timeOf(r.AttemptDeadline),
		ClientTimeout: fromMS(r.AttemptTimeoutMs), FencedAt: timeOf(r.FencedAt),
	}
	if r.State == string(journal.StateCommitted) && r.SettledBy == "worker" {
		a.Phase, a.ProviderID, a.ReportedAt = journal.PhaseConfirmed, r.ProviderID, r.StateAt
	}
	return a
}

func toAttempt(r sqlc.Attempt) journal.Attempt {
	return journal.Attempt{
		Number: int(r.Number), Issue: int(r.Issue), ClaimID: r.ClaimID, Token: r.LeaseToken, OrderID: strOf(r.OrderID), Worker: r.Worker,
		GrantedAt: r.GrantedAt, LeaseUntil: r.LeaseUntil, SendBy: r.SendBy, Deadline: r.AttemptDeadline,
		ClientTimeout: fromMS(r.AttemptTimeoutMs), FencedAt: r.FencedAt,
		Phase: journal.Phase(r.Phase), Final: r.Final, ReportedAt: timeOf(r.ReportedAt), Error: r.Error, Status: int(r.Status),
		Replayed: r.Replayed, ProviderID: r.ProviderID,
	}
}

func attemptParams(effectID string, a journal.Attempt, fenced time.Time) sqlc.PutAttemptParams {
	return sqlc.PutAttemptParams{
		EffectID: effectID, Number: int32(a.Number), Issue: int32(a.Issue), ClaimID: a.ClaimID, LeaseToken: a.Token,
		OrderID: strPtr(a.OrderID), Worker: a.Worker, GrantedAt: a.GrantedAt, LeaseUntil: a.LeaseUntil, SendBy: a.SendBy,
		AttemptDeadline: a.Deadline, AttemptTimeoutMs: ms(a.ClientTimeout), FencedAt: fenced,
		Phase: string(a.Phase), Final: a.Final, ReportedAt: timePtr(a.ReportedAt), Error: clean(a.Error, 4000), Status: int32(a.Status),
		Replayed: a.Replayed, ProviderID: clean(a.ProviderID, 1000),
	}
}

func toOrder(r sqlc.Order) *journal.Order {
	return &journal.Order{ID: r.ID, DecisionID: r.DecisionID, Mode: journal.ReissueMode(r.Mode), Issue: int(r.Issue),
		KnownUpTo: r.KnownUpTo, CreatedAt: r.CreatedAt, ExpiresAt: r.ExpiresAt, Attempt: int(r.Attempt), Ended: r.Ended}
}

func toLook(r sqlc.LooksRow) journal.Look {
	return journal.Look{ID: r.ID, Seq: r.Seq, Verdict: journal.Verdict(r.Verdict), Reason: r.Reason, CoversAttempt: int(r.CoversAttempt),
		StartedAt: r.StartedAt, LookAgainAt: timeOf(r.LookAgainAt), Digest: r.Digest}
}

// resolutionRow is a delivery with its effect's key.
type resolutionRow sqlc.DeliveriesOfRow

func (row resolutionRow) resolution() journal.Resolution {
	r := row.Delivery
	return journal.Resolution{ID: r.ID, Cursor: r.AuditSeq, EffectID: r.EffectID, EffectVersion: r.EffectVersion,
		Namespace: row.Namespace, Key: row.Key, Kind: journal.ResolutionKind(r.Kind), By: r.ByWhom, Reason: r.Reason,
		OrderID: strOf(r.OrderID), OrderExpiresAt: r.OrderExpiresAt, At: r.At, AckedAt: r.AckedAt, AckedBy: r.AckedBy,
		SuccessorID: strOf(r.SuccessorID), SuccessorKey: r.SuccessorKey, Compensate: r.Compensate}
}

func toDecision(r sqlc.Decision) journal.Decision {
	d := journal.Decision{ID: r.ID, EffectID: r.EffectID, Verb: journal.Verb(r.Verb), Mode: journal.ReissueMode(r.Mode),
		Expected: r.EffectVersion, Digest: r.EvidenceDigest, Actor: journal.Actor{Issuer: r.Issuer, Subject: r.Subject, Name: r.Name},
		Source: r.Source, ReasonCode: journal.ReasonCode(r.ReasonCode), Reason: r.Reason, ProviderID: r.ProviderID, At: r.At,
		AuditSeq: r.AuditSeq, AssessmentSummary: r.Recommended, Overrides: r.Overrides, BreakGlass: r.BreakGlass, Rules: r.Rules, SuccessorID: strOf(r.SuccessorID),
		Bulk: int(r.Bulk), BulkID: strOf(r.BulkID)}
	if r.ApproverSubject != "" {
		d.Approval = &journal.Approval{ProposalID: strOf(r.ProposalID), EffectID: r.EffectID, At: r.At, Reason: r.ApproverReason,
			Actor: journal.Actor{Issuer: r.ApproverIssuer, Subject: r.ApproverSubject, Name: r.ApproverName}}
	}
	return d
}

func toProposal(r sqlc.Proposal) (*journal.Proposal, error) {
	p := &journal.Proposal{ID: r.ID, Version: r.EffectVersion, CreatedAt: r.CreatedAt, ExpiresAt: r.ExpiresAt, AuditSeq: r.AuditSeq,
		Ended: r.Ended, EndedAt: timeOf(r.EndedAt), EndedReason: r.EndedReason,
		Decision: journal.Decision{EffectID: r.EffectID, Verb: journal.Verb(r.Verb), Mode: journal.ReissueMode(r.Mode), Expected: r.EffectVersion,
			Digest: r.EvidenceDigest, Source: r.Source, ReasonCode: journal.ReasonCode(r.ReasonCode), Reason: r.Reason, ProviderID: r.ProviderID,
			At: r.CreatedAt, AssessmentSummary: r.Recommended, Overrides: r.Overrides, Rules: r.Rules, Bulk: int(r.Bulk), BulkID: strOf(r.BulkID)}}
	if p.Decision.Verb == journal.VerbCorrect {
		p.Decision.Correction = &journal.Correction{Args: r.Args, Subject: r.Subject, Amount: r.Amount, Currency: r.Currency}
	}
	for _, f := range []struct {
		from []byte
		to   *journal.Actor
	}{{r.Actor, &p.Decision.Actor}, {r.EndedBy, &p.EndedBy}} {
		if len(f.from) == 0 {
			continue
		}
		if err := json.Unmarshal(f.from, f.to); err != nil {
			return nil, fmt.Errorf("reading proposal %s: %w", r.ID, err)
		}
	}
	return p, nil
}

func toReview(r sqlc.Review) (journal.Review, error) {
	v := journal.Review{ID: r.ID, EffectID: r.EffectID, DecisionID: r.DecisionID, OpenedAt: r.OpenedAt, DueAt: r.DueAt,
		ClosedAt: timeOf(r.ClosedAt), Agreed: r.Agreed, Reason: r.Reason}
	if len(r.ClosedBy) > 0 {
		if err := json.Unmarshal(r.ClosedBy, &v.ClosedBy); err != nil {
			return v, fmt.Errorf("reading review %s: %w", r.ID, err)
		}
	}
	return v, nil
}

type toolRow struct {
	journal.Tool
	Version int32
}

func toTool(r sqlc.Tool) toolRow {
	return toolRow{Version: r.Version, Tool: journal.Tool{Name: r.Name, Class: journal.Class(r.Class), Provider: r.Provider,
		KeyWindow: fromMS(r.KeyWindowMs), ClientTimeout: fromMS(r.ClientTimeoutMs), IdentityFields: r.IdentityFields,
		DisplayFields: r.DisplayFields, ArgsSchema: r.ArgsSchema, CompensatedBy: r.CompensatedBy, CompensateRun: r.CompensateRun}}
}
