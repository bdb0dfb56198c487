// Package decide is the one way to decide: page, API and command line call it,
// so that the same rules hold everywhere.
//
// It owns the order of things: who may, what they gave, whether the ground they
// saw still holds, whether the evidence is fresh enough, and only then the one
// transaction. The rules themselves are journal's; the transaction is the
// store's. Every refusal of a decision that could be understood leaves an
// audit row.
package decide

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"

	"github.com/landedhq/landed/journal"
	"github.com/landedhq/landed/journal/argschema"
)

// ErrNotAllowed: the actor's roles do not allow deciding.
var ErrNotAllowed = errors.New("your role may not decide: an operator or approver can")

// Store is what deciding needs of the journal.
type Store interface {
	Snapshot(ctx context.Context, id string) (journal.Snapshot, error)
	Decide(ctx context.Context, d journal.Decision) (journal.Decision, error)
	Propose(ctx context.Context, d journal.Decision) (journal.Proposal, error)
	Approve(ctx context.Context, a journal.Approval) (journal.Decision, error)
	Reject(ctx context.Context, a journal.Approval) error
	Tools(ctx context.Context) ([]journal.Tool, error)
	// DecisionOf is the decision that a proposal led to.
	DecisionOf(ctx context.Context, effectID, proposalID string) (journal.Decision, error)
	// Refused records a refusal in the audit trail.
	Refused(ctx context.Context, d journal.Decision, why string) error
}

// Looker asks the provider for fresh evidence.
type Looker interface {
	CanLook(provider string) bool
	LookNow(ctx context.Context, id, requestedBy string) (journal.Evidence, error)
}

// UseCase decides. Safe for concurrent use.
type UseCase struct {
	store  Store
	looker Looker
	log    *slog.Logger
}

// New makes the use case.
func New(store Store, looker Looker, log *slog.Logger) *UseCase {
	return &UseCase{store: store, looker: looker, log: log}
}

// Result is what became of a decision.
type Result struct {
	Decision journal.Decision
	// Proposal is set instead where the policy asks for a second person: it waits,
	// and nothing is ordered or closed yet.
	Proposal *journal.Proposal
	// Repeated: the same person had already decided or proposed the same on this
	// ground (a second click, a second tab); the result is that first one.
	Repeated bool
}

// Decide carries an operator's decision, or proposes it where the policy asks for
// a second person. Errors: *journal.InvalidError, ErrNotAllowed,
// journal.ErrNotFound, *journal.StaleError with what changed and who was faster,
// *journal.BlockedError, *journal.PolicyError.
func (u *UseCase) Decide(ctx context.Context, d journal.Decision) (Result, error) {
	d.Reason = strings.TrimSpace(d.Reason)
	d.Approval = nil // comes from Approve only
	if err := d.Validate(); err != nil {
		return Result{}, err
	}
	if !d.Actor.MayDecide() {
		return Result{}, u.refuse(ctx, d, ErrNotAllowed)
	}
	if err := u.fits(ctx, d); err != nil {
		return Result{}, err
	}
	ground, err := u.refresh(ctx, ground{d.EffectID, d.Expected, d.Digest}, d)
	if err != nil {
		return u.refusedOrRepeated(ctx, d, err)
	}
	d.Expected, d.Digest = ground.version, ground.digest
	done, err := u.store.Decide(ctx, d)
	if asks(err, journal.PolicySecondPerson) {
		p, err := u.store.Propose(ctx, d)
		if err != nil {
			return u.refusedOrRepeated(ctx, d, err)
		}
		return Result{Proposal: &p}, nil
	}
	if err != nil {
		return u.refusedOrRepeated(ctx, d, err)
	}
	return Result{Decision: done}, nil
}

// Approve carries what somebody proposed, on the word of a second person.
// Evidence that is too old is pulled again first. Errors as of Decide.
func (u *UseCase) Approve(ctx context.Context, a journal.Approval) (Result, error) {
	a.Reason = strings.TrimSpace(a.Reason)
	if err := a.Validate(); err != nil {
		return Result{}, err
	}
	s, err := u.store.Snapshot(ctx, a.EffectID)
	if err != nil {
		return Result{}, err
	}
	d := journal.Decision{EffectID: a.EffectID, Expected: a.Expected, Actor: a.Actor, Reason: a.Reason, Approval: &a}
	if p := s.Proposal; p != nil && p.ID == a.ProposalID {
		d.Verb, d.Mode, d.Bulk = p.Decision.Verb, p.Decision.Mode, p.Decision.Bulk
		if p.Ended == journal.ProposalApproved && p.EndedBy.Same(a.Actor) {
			return u.approvedBefore(ctx, a)
		}
	}
	ground, err := u.refresh(ctx, ground{a.EffectID, a.Expected, a.Digest}, d)
	if err != nil {
		return u.refusedOrRepeated(ctx, d, err)
	}
	a.Expected, a.Digest = ground.version, ground.digest
	done, err := u.store.Approve(ctx, a)
	if err != nil {
		return u.refusedOrRepeated(ctx, d, err)
	}
	return Result{Decision: done}, nil
}

// approvedBefore: a second click of the same approver.
func (u *UseCase) approvedBefore(ctx context.Context, a journal.Approval) (Result, error) {
	done, err := u.store.DecisionOf(ctx, a.EffectID, a.ProposalID)
	return Result{Decision: done, Repeated: true}, err
}

// Reject ends a proposal without a decision; by its own proposer it is a
// withdrawal.
func (u *UseCase) Reject(ctx context.Context, a journal.Approval) error {
	a.Reason = strings.TrimSpace(a.Reason)
	if err := a.Validate(); err != nil {
		return err
	}
	return u.store.Reject(ctx, a)
}

// fits holds corrected arguments to the schema that the tool registered.
func (u *UseCase) fits(ctx context.Context, d journal.Decision) error {
	if d.Verb != journal.VerbCorrect {
		return nil
	}
	s, err := u.store.Snapshot(ctx, d.EffectID)
	if err != nil {
		return err
	}
	tools, err := u.store.Tools(ctx)
	if err != nil {
		return err
	}
	i := slices.IndexFunc(tools, func(t journal.Tool) bool { return t.Name == s.Effect.Tool })
	if i < 0 || len(tools[i].ArgsSchema) == 0 {
		return nil
	}
	schema, err := argschema.Compile(tools[i].ArgsSchema)
	if err != nil {
		return fmt.Errorf("tool %s: %w", s.Effect.Tool, err)
	}
	if bad := argschema.Problems(schema, d.Correction.Args); len(bad) > 0 {
		return &journal.InvalidError{Field: "args", Detail: "do not fit the tool: " + strings.Join(bad, "; ")}
	}
	return nil
}

func asks(err error, code string) bool {
	var pe *journal.PolicyError
	return errors.As(err, &pe) && pe.Code == code
}

// ground is what a person saw when they decided.
type ground struct {
	effect  string
	version int64
	digest  string
}

// refresh pulls evidence that is older than the policy allows. If it says the
// same as before, the decision goes on upon it; if not, the transaction refuses
// and the person sees why.
func (u *UseCase) refresh(ctx context.Context, g ground, d journal.Decision) (ground, error) {
	s, err := u.store.Snapshot(ctx, g.effect)
	if err != nil {
		return g, err
	}
	if !u.looker.CanLook(s.Effect.Provider) || !s.Decidable() || s.Effect.Version != g.version || s.EvidenceDigest() != g.digest {
		return g, nil // the transaction says what is wrong, if anything is
	}
	last, looked := s.LastLook()
	if looked && s.Now.Sub(last.StartedAt) <= s.Policy.Asks(&s, &d).EvidenceMaxAge {
		return g, nil
	}
	if _, err := u.looker.LookNow(ctx, g.effect, "operator:"+d.Actor.Subject); err != nil {
		return g, fmt.Errorf("pulling fresh evidence: %w", err)
	}
	after, err := u.store.Snapshot(ctx, g.effect)
	if err != nil {
		return g, err
	}
	fresh, _ := after.LastLook()
	same := looked && fresh.Verdict == last.Verdict && fresh.Reason == last.Reason
	if same && after.Effect.Version == s.Effect.Version+1 && after.Effect.State == s.Effect.State {
		g.version, g.digest = after.Effect.Version, after.EvidenceDigest()
	}
	return g, nil
}

// refusedOrRepeated turns a second click into the first one's outcome, and
// records every true refusal.
func (u *UseCase) refusedOrRepeated(ctx context.Context, d journal.Decision, err error) (Result, error) {
	var (
		stale   *journal.StaleError
		blocked *journal.BlockedError
		policy  *journal.PolicyError
	)
	isStale, isPolicy := errors.As(err, &stale), errors.As(err, &policy)
	if isStale && stale.Winner != nil && same(*stale.Winner, d) {
		return Result{Decision: *stale.Winner, Repeated: true}, nil
	}
	if isStale || isPolicy && policy.Code == journal.PolicyProposed {
		s, loadErr := u.store.Snapshot(ctx, d.EffectID)
		if p := s.Proposal; loadErr == nil && p.Open(s.Now) && same(p.Decision, d) {
			return Result{Proposal: p, Repeated: true}, nil
		}
	}
	// Who has to sign in again was not refused.
	if isStale || errors.As(err, &blocked) || isPolicy && policy.Code != journal.PolicyStepUp {
		return Result{}, u.refuse(ctx, d, err)
	}
	return Result{}, err
}

// same: one person's same word.
func same(a, b journal.Decision) bool {
	return a.Actor.Same(b.Actor) && a.Verb == b.Verb && a.Mode == b.Mode && a.Reason == b.Reason
}

func (u *UseCase) refuse(ctx context.Context, d journal.Decision, why error) error {
	if err := u.store.Refused(ctx, d, why.Error()); err != nil && !errors.Is(err, journal.ErrNotFound) {
		u.log.ErrorContext(ctx, "a refusal could not be recorded", "effect", d.EffectID, "error", err)
		return errors.Join(why, err)
	}
	return why
}
