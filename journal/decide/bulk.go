package decide

import (
	"context"
	"errors"
	"log/slog"
	"time"

	"github.com/landedhq/landed/journal"
)

// BulkStore is what running bulks needs of the journal.
type BulkStore interface {
	ClaimBulk(ctx context.Context, claim string, lease time.Duration) (*journal.Bulk, error)
	KeepBulk(ctx context.Context, id, claim string, lease time.Duration) (bool, error)
	ReleaseBulk(ctx context.Context, id, claim string) error
	NextBulkItem(ctx context.Context, id string) (*journal.BulkItem, error)
	EndBulkItem(ctx context.Context, id string, it journal.BulkItem) error
	DeferBulkItem(ctx context.Context, id string, no int, wait time.Duration) error
	EndBulk(ctx context.Context, id string) error
}

// How bulks are run.
const (
	// bulkLease is how long a runner that says nothing keeps a bulk: longer than
	// the look of one item takes.
	bulkLease = 2 * time.Minute
	// bulkRound is how long one round takes on further items: a server that stops
	// waits for it.
	bulkRound = 10 * time.Second
	// bulkTries is how often an item is tried that nobody could refuse or decide,
	// bulkWait how long it waits after the first time.
	bulkTries = 3
	bulkWait  = 15 * time.Second
)

// BulkRunner decides what people ordered for many effects, item by item, each
// through the use case. Any number may run: a bulk is leased, and where two
// overlap, or one died, a decision is found instead of taken again.
type BulkRunner struct {
	store BulkStore
	one   *UseCase
	log   *slog.Logger
	lease time.Duration
}

// NewBulkRunner makes a runner.
func NewBulkRunner(store BulkStore, one *UseCase, log *slog.Logger) *BulkRunner {
	return &BulkRunner{store: store, one: one, log: log, lease: bulkLease}
}

// WithLease returns a runner whose leases are as long as lease.
func (r BulkRunner) WithLease(lease time.Duration) *BulkRunner {
	r.lease = lease
	return &r
}

// Round works on the bulks that are due until none is, or its time is over.
func (r *BulkRunner) Round(ctx context.Context) error {
	claim, until := journal.NewToken(), time.Now().Add(bulkRound)
	for time.Now().Before(until) {
		b, err := r.store.ClaimBulk(ctx, claim, r.lease)
		if err != nil || b == nil {
			return err
		}
		err = r.work(ctx, b, claim, until)
		if rel := r.store.ReleaseBulk(context.WithoutCancel(ctx), b.ID, claim); err == nil {
			err = rel
		}
		if err != nil {
			return err
		}
	}
	return ctx.Err()
}

// work decides item after item while the bulk is this runner's.
func (r *BulkRunner) work(ctx context.Context, b *journal.Bulk, claim string, until time.Time) error {
	for time.Now().Before(until) {
		mine, err := r.store.KeepBulk(ctx, b.ID, claim, r.lease)
		if err != nil || !mine {
			return err
		}
		it, err := r.store.NextBulkItem(ctx, b.ID)
		if err != nil {
			return err
		}
		if it == nil {
			return r.store.EndBulk(ctx, b.ID) // unless one waits for another try
		}
		if err := r.item(ctx, b, *it); err != nil {
			return err
		}
	}
	return nil
}

func (r *BulkRunner) item(ctx context.Context, b *journal.Bulk, it journal.BulkItem) error {
	res, err := r.one.Decide(ctx, b.Decision(it, *b.Order))
	var known bool
	switch {
	case err == nil:
		it = outcome(b, it, res)
	case errors.Is(err, ErrNotAllowed):
		it.Outcome, it.Code, it.Why = journal.BulkRefused, "policy:"+journal.PolicyRole, ErrNotAllowed.Error()
	case ctx.Err() != nil || errors.Is(err, journal.ErrUnavailable):
		return err // it is tried again, by whoever comes next
	default:
		if it.Outcome, it.Code, it.Why, known = journal.BulkRefusal(err); !known {
			return r.later(ctx, b, it, err)
		}
	}
	return r.store.EndBulkItem(context.WithoutCancel(ctx), b.ID, it)
}

// outcome reads what the use case did. What this bulk recorded before, and its
// runner did not live to note, is its own.
func outcome(b *journal.Bulk, it journal.BulkItem, res Result) journal.BulkItem {
	switch p := res.Proposal; {
	case p != nil && p.Decision.BulkID == b.ID:
		it.Outcome, it.ProposalID = journal.BulkProposed, p.ID
	case p == nil && res.Decision.BulkID == b.ID:
		it.Outcome, it.DecisionID = journal.BulkDecided, res.Decision.ID
	default:
		it.Outcome, it.Code = journal.BulkStale, journal.BulkCodeTwice
	}
	return it
}

// later gives an item that could not be tried some time, and gives up after
// several tries: the rest must not wait for ever.
func (r *BulkRunner) later(ctx context.Context, b *journal.Bulk, it journal.BulkItem, cause error) error {
	r.log.WarnContext(ctx, "an item of a bulk could not be decided", "bulk", b.ID, "effect", it.EffectID, "tries", it.Tries+1, "err", cause)
	if it.Tries+1 < bulkTries {
		return r.store.DeferBulkItem(ctx, b.ID, it.No, bulkWait<<it.Tries)
	}
	it.Outcome, it.Code = journal.BulkRefused, journal.BulkCodeFailed
	return r.store.EndBulkItem(ctx, b.ID, it)
}
