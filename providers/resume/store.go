package resume

import (
	"context"

	"github.com/landedhq/landed/journal"
)

// Store is the queue in the journal's database. Every method is a
// compare-and-set: any number of replicas may call it at the same time.
type Store interface {
	// ClaimHandovers takes up to limit resolutions that are due, for journal.HandoverLease, and
	// counts the try.
	ClaimHandovers(ctx context.Context, limit int) ([]journal.Handover, error)
	// HandoverTried records what came of the try that h is; another try that began
	// in the meantime, or an acknowledgement, makes it a row of the history and no more.
	HandoverTried(ctx context.Context, h journal.Handover, r journal.HandoverResult) error
	// TargetMark reads what is known of a target; the zero mark if nothing is.
	TargetMark(ctx context.Context, name string) (journal.TargetMark, error)
	// SetTargetMark writes it.
	SetTargetMark(ctx context.Context, m journal.TargetMark) error
}
