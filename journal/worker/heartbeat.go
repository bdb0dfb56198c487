package worker

import (
	"context"
	"errors"
	"time"

	"github.com/landedhq/landed/journal"
)

// minBeat bounds how often a short lease is renewed.
const minBeat = 20 * time.Millisecond

// keepAlive renews the lease at a third of its length until the returned
// function is called. A lost lease ends the tool's context; an unreachable
// journal does not, but the transport stops sending when the lease runs out.
func (w *Worker) keepAlive(ctx context.Context, g *Grant) (stop func()) {
	ctx, cancel := context.WithCancel(ctx)
	done := make(chan struct{})
	go func() {
		defer close(done)
		for leaseFor := g.answer.LeaseFor; leaseFor > 0; {
			every := max(leaseFor/3, minBeat)
			if pause(ctx, every) != nil {
				return
			}
			next, alive := w.beat(ctx, g, every)
			if !alive {
				return
			}
			if next > 0 {
				leaseFor = next
			}
		}
	}()
	return func() { cancel(); <-done }
}

// beat sends one heartbeat; 0 means that the journal gave no answer.
func (w *Worker) beat(ctx context.Context, g *Grant, within time.Duration) (leaseFor time.Duration, alive bool) {
	at := w.clock.mark()
	once, cancel := context.WithTimeout(ctx, max(within, minBeat))
	defer cancel()
	b, err := w.journal.Heartbeat(once, g.report)
	var lost *journal.LeaseLostError
	switch {
	case err == nil:
		g.renew(at, b.LeaseFor)
		return b.LeaseFor, b.LeaseFor > 0
	case errors.As(err, &lost):
		w.logger(g.report, g.Ref()).Warn("the lease is lost: the tool is stopped, what it finds out is still reported", "state", lost.State)
		g.lose(lost)
		return 0, false
	case ctx.Err() != nil:
		return 0, false
	}
	w.logger(g.report, g.Ref()).Debug("a heartbeat failed", "error", err)
	return 0, true
}
