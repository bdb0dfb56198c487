package staged

import (
	"context"
	"errors"
	"fmt"
	"net/http/httptrace"
	"sync"

	"github.com/landedhq/landed/journal/worker"
)

// gate announces the second step to the worker once a connection for it stands:
// until then no byte of the request can have left. What it can't watch counts as
// sent.
type gate struct {
	ctx    context.Context
	cancel context.CancelCauseFunc

	mu        sync.Mutex
	dialing   bool  // net/http looks for a connection: it will report one
	announced bool  // the worker counts the attempt as sent
	refused   error // the worker said no when the connection stood
}

func newGate(parent context.Context) *gate {
	g := &gate{}
	ctx, cancel := context.WithCancelCause(parent)
	g.cancel = cancel
	g.ctx = httptrace.WithClientTrace(ctx, &httptrace.ClientTrace{
		GetConn: func(string) { g.mu.Lock(); defer g.mu.Unlock(); g.dialing = true },
		GotConn: func(httptrace.GotConnInfo) { g.announce(parent) },
	})
	return g
}

func (g *gate) announce(ctx context.Context) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if err := worker.Sending(ctx); err != nil {
		g.refused = err
		g.cancel(err)
		return
	}
	g.announced = true
}

func (g *gate) close() { g.cancel(nil) }

// judge says what an error of the second step proves.
func (g *gate) judge(err error) error {
	g.mu.Lock()
	defer g.mu.Unlock()
	var f *worker.Failure
	switch told := errors.As(err, &f); {
	case g.announced, told && f.Verdict.Status != 0:
		return err // the worker's record and the error's own word join
	case g.refused != nil:
		// The transport may have begun to write while it was being cancelled.
		return worker.Unknown(fmt.Errorf("%w: %w", g.refused, err))
	case g.dialing:
		return worker.NotSent(err)
	case told:
		return err
	}
	return worker.Unknown(err)
}
