package model

import (
	"context"
	"strings"
	"sync"
	"time"

	"github.com/jackc/pgx/v5"
)

// gate stops an act of the store at one of its statements, so that others can
// come in between, every time alike.
type gate struct {
	at       []string // how the statements to stop before begin
	once     sync.Once
	reached  chan struct{} // the act stands there, or is over
	released chan struct{}
}

type gateKey struct{}

// How acts happen at once.
const (
	freely       = iota // as the machine likes
	beforeSave          // the first is stopped between its reading and its writing
	whileRead           // the first is stopped when it has read the effect, and not yet its attempts
	beforeCommit        // the first is stopped when all is written and not yet committed
	ways
)

func newGate(how int) *gate {
	g := &gate{reached: make(chan struct{}), released: make(chan struct{})}
	switch how {
	case beforeSave:
		g.at = []string{"-- name: SaveEffect "}
	case whileRead:
		g.at = []string{"-- name: Attempts "}
	case beforeCommit:
		g.at = []string{"commit"}
	}
	return g
}

func (g *gate) reach() { g.once.Do(func() { close(g.reached) }) }

// stop holds the act up the first time that it comes here, not when it tries
// again.
func (g *gate) stop() {
	first := false
	g.once.Do(func() { first = true; close(g.reached) })
	if first {
		<-g.released
	}
}

// releaseAfter lets the act go on when the others are done, or wait for
// a row that it holds.
func (g *gate) releaseAfter(others *sync.WaitGroup) {
	done := make(chan struct{})
	go func() { others.Wait(); close(done) }()
	select {
	case <-done:
	case <-time.After(150 * time.Millisecond):
	}
	close(g.released)
}

// tracer stops an act whose context holds a gate.
type tracer struct{}

func (tracer) TraceQueryStart(ctx context.Context, _ *pgx.Conn, d pgx.TraceQueryStartData) context.Context {
	g, ok := ctx.Value(gateKey{}).(*gate)
	if !ok {
		return ctx
	}
	for _, name := range g.at {
		if strings.HasPrefix(d.SQL, name) {
			g.stop()
		}
	}
	return ctx
}

func (tracer) TraceQueryEnd(context.Context, *pgx.Conn, pgx.TraceQueryEndData) {}
