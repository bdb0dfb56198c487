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
	"strings"

	"github.com/landedhq/landed/journal"
)

// ErrNotAllowed: the actor's roles do not allow deciding.
var ErrNotAllowed = errors.New("your role may not decide: an operator or approver can")

// Store is what deciding needs of the journal.
type Store interface {
	Snapshot(ctx context.Context, id string) (journal.Snapshot, error)
	Decide(ctx context.Context, d journal.Decision) (journal.Decision, error)
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
	// Repeated: the same person had already decided the same on this ground (a
	// second click, a second tab); Decision is that first one.
	Repeated bool
}

// Decide carries an operator's decision. Errors: *journal.InvalidError,
// ErrNotAllowed, journal.ErrNotFound, *journal.StaleError with what changed and
// who was faster, *journal.BlockedError.
func (u *UseCase) Decide(ctx context.Context, d journal.Decision) (Result, error) {
	d.Reason = strings.TrimSpace(d.Reason)
	if err := d.Validate(); err != nil {
		return Result{}, err
	}
	if !d.Actor.MayDecide() {
		return Result{}, u.refuse(ctx, d, ErrNotAllowed)
	}
	d, err := u.refresh(ctx, d)
	if err != nil {
		return u.refusedOrRepeated(ctx, d, err)
	}
	done, err := u.store.Decide(ctx, d)
	if err != nil {
		return u.refusedOrRepeated(ctx, d, err)
	}
	return Result{Decision: done}, nil
}

// refresh pulls the evidence again when it is older than the policy allows. If
// the provider says what it said before, the decision goes on against the new
// version; if not, it is stale and the person sees the news.
func (u *UseCase) refresh(ctx context.Context, d journal.Decision) (journal.Decision, error) {
	s, err := u.store.Snapshot(ctx, d.EffectID)
	if err != nil {
		return d, err
	}
	if !u.looker.CanLook(s.Effect.Provider) || !s.Decidable() || s.Effect.Version != d.Expected || s.EvidenceDigest() != d.Digest {
		return d, nil // the transaction says what is wrong, if anything is
	}
	last, looked := s.LastLook()
	if looked && s.Now.Sub(last.StartedAt) <= s.Policy.EvidenceMaxAge {
		return d, nil
	}
	if _, err := u.looker.LookNow(ctx, d.EffectID, "operator:"+d.Actor.Subject); err != nil {
		return d, fmt.Errorf("pulling fresh evidence: %w", err)
	}
	after, err := u.store.Snapshot(ctx, d.EffectID)
	if err != nil {
		return d, err
	}
	fresh, _ := after.LastLook()
	same := looked && fresh.Verdict == last.Verdict && fresh.Reason == last.Reason
	if same && after.Effect.Version == s.Effect.Version+1 && after.Effect.State == s.Effect.State {
		d.Expected, d.Digest = after.Effect.Version, after.EvidenceDigest()
	}
	return d, nil
}

// refusedOrRepeated turns a second click into the first one's outcome, and
// records every true refusal.
func (u *UseCase) refusedOrRepeated(ctx context.Context, d journal.Decision, err error) (Result, error) {
	var stale *journal.StaleError
	if errors.As(err, &stale) && stale.Winner != nil {
		w := stale.Winner
		if w.Actor.Issuer == d.Actor.Issuer && w.Actor.Subject == d.Actor.Subject && w.Verb == d.Verb && w.Mode == d.Mode && w.Reason == d.Reason {
			return Result{Decision: *w, Repeated: true}, nil
		}
	}
	var blocked *journal.BlockedError
	if errors.As(err, &stale) || errors.As(err, &blocked) {
		return Result{}, u.refuse(ctx, d, err)
	}
	return Result{}, err
}

func (u *UseCase) refuse(ctx context.Context, d journal.Decision, why error) error {
	if err := u.store.Refused(ctx, d, why.Error()); err != nil && !errors.Is(err, journal.ErrNotFound) {
		u.log.ErrorContext(ctx, "a refusal could not be recorded", "effect", d.EffectID, "error", err)
		return errors.Join(why, err)
	}
	return why
}
