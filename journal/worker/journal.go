package worker

import (
	"context"
	"time"

	"github.com/landedhq/landed/journal"
)

// Journal is what a worker needs of the effect journal. The store and the HTTP
// client both implement it. Directives come as answers, never as errors; the
// errors are those of package journal.
type Journal interface {
	// RegisterTool makes a tool known or changes it for new effects.
	RegisterTool(ctx context.Context, t journal.Tool) error
	// Begin asks for permission to execute.
	Begin(ctx context.Context, r journal.BeginRequest) (journal.BeginAnswer, error)
	// Commit records a confirmation; repeatable, and never refused for being late.
	Commit(ctx context.Context, r journal.CommitRequest) (journal.CommitAnswer, error)
	// Fail records an end without confirmation; it never grants.
	Fail(ctx context.Context, r journal.FailRequest) (journal.FailAnswer, error)
	// Heartbeat renews the lease; *journal.LeaseLostError once that can't be.
	Heartbeat(ctx context.Context, r journal.Report) (journal.HeartbeatAnswer, error)
	// Handle records a provider-side id before the effect.
	Handle(ctx context.Context, r journal.HandleRequest) error
	// Decision waits up to wait for a resolution of the effect after a cursor;
	// nil means none yet.
	Decision(ctx context.Context, effectID string, after int64, wait time.Duration) (*journal.Resolution, error)
	// Decisions is the feed of all resolutions after a cursor.
	Decisions(ctx context.Context, after int64, limit int) ([]journal.Resolution, error)
	// Ack closes the delivery of a resolution.
	Ack(ctx context.Context, resolutionID string) error
	// Undoable lists what is left to undo of a root run, what was completed last
	// first.
	Undoable(ctx context.Context, q journal.UndoQuery) (journal.UndoPage, error)
}
