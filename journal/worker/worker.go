package worker

import (
	"context"
	"log/slog"
	"net/http"
	"time"

	"github.com/landedhq/landed/journal"
)

// Options tune a Worker. The zero value is good for production.
type Options struct {
	Logger *slog.Logger // nil = slog.Default()
	// Base gives dialer, proxy and TLS settings of the tools' transport; nil =
	// http.DefaultTransport's.
	Base *http.Transport
	// Patience is how long one Do may spend waiting for what resolves by itself
	// (in_progress, retry_later, verifying, a retry); default 30 s, negative = not
	// at all. After it the answer says when to ask again.
	Patience time.Duration
	// JournalTimeout bounds one request to the journal; default 5 s.
	JournalTimeout time.Duration
	// BeginWithin bounds how long an unreachable journal is tried before a call;
	// default 10 s. Then the call fails and nothing was executed.
	BeginWithin time.Duration
	// ReportWithin bounds how long an outcome is offered to an unreachable
	// journal; default 60 s. It does not depend on the caller's context.
	ReportWithin time.Duration
	Backoff      Backoff
	// OnFinding is called for every suspicious key, for a counter; the log gets
	// each kind once.
	OnFinding func(Finding)
}

// Worker executes tools under the journal. It is safe for concurrent use.
type Worker struct {
	journal   Journal
	registry  *Registry
	opts      Options
	log       *slog.Logger
	transport *Transport
	clock     clock
	keys      *keyCheck
}

// New returns a Worker on a journal and a registry. Sync the registry first.
func New(j Journal, r *Registry, o Options) *Worker {
	if o.Logger == nil {
		o.Logger = slog.Default()
	}
	o.Patience = orDefault(o.Patience, 30*time.Second)
	o.JournalTimeout = orDefault(o.JournalTimeout, 5*time.Second)
	o.BeginWithin = orDefault(o.BeginWithin, 10*time.Second)
	o.ReportWithin = orDefault(o.ReportWithin, time.Minute)
	return &Worker{
		journal: j, registry: r, opts: o, log: o.Logger, transport: NewTransport(o.Base),
		clock: systemClock(), keys: newKeyCheck(o.Logger, o.OnFinding),
	}
}

func orDefault(d, def time.Duration) time.Duration {
	if d == 0 {
		return def
	}
	return d
}

// reportContext is for outcomes: it outlives the caller's cancellation.
func (w *Worker) reportContext(ctx context.Context) (context.Context, context.CancelFunc) {
	return context.WithTimeout(context.WithoutCancel(ctx), w.opts.ReportWithin)
}

func (w *Worker) logger(r journal.Report, ref string) *slog.Logger {
	return w.log.With("effect", r.EffectID, "ref", ref, "tool", r.Tool, "attempt", r.Attempt)
}
