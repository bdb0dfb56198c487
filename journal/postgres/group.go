package postgres

import (
	"context"
	"runtime"
	"sync"
	"time"
)

// group lets concurrent callers of one process share a statement pipeline and
// its one transaction. There is no timer: a batch is what gathered while the
// last one was being written, so that a caller who is alone writes at once and
// pays nothing. Where there was company a moment ago, the first one of a batch
// lets those who were just answered come back before it takes what waits. Each
// caller returns only when its own row is durable.
//
//	alone:     do ──run([1])──► result
//	in company: do ─► queue ─┬─ the first takes all that wait ──run([n])──► results
//	                         └─ the others wait for theirs, or are handed the lead
type group[P, R any] struct {
	// run writes a batch in one transaction: a result per parameter, or an error
	// if none of them is known to be written.
	run func(ctx context.Context, batch []P) ([]outcome[R], error)
	// size is what one parameter weighs against maxGroupBytes.
	size func(P) int

	mu      sync.Mutex
	queue   []*waiter[P, R]
	writing bool
	last    int // how many the newest batch had
}

// outcome is what became of one row of a batch.
type outcome[R any] struct {
	value R
	err   error
}

// Bounds of one batch.
const (
	maxGroup      = 256
	maxGroupBytes = 4 << 20
	groupTimeout  = 30 * time.Second
)

type waiter[P, R any] struct {
	param P
	batch *batch        // once it was taken out of the queue
	done  chan struct{} // closed or signalled: out is set, or lead is
	out   outcome[R]
	alone bool // the batch failed: the caller writes by itself
	lead  bool // take what waits and write it
}

// batch is what is being written for several callers. It outlives the context of
// any one of them, but not of all.
type batch struct {
	ctx    context.Context
	cancel context.CancelFunc
	left   int // how many still wait for it; the group's lock guards it
}

// do writes p with whoever waits. ok is false if the batch failed as a whole:
// nothing is known of the row, and the caller goes on alone, so that a failing
// row fails its own caller only. A caller whose ctx ends never hears a result.
func (g *group[P, R]) do(ctx context.Context, p P) (out outcome[R], ok bool) {
	g.mu.Lock()
	w := &waiter[P, R]{param: p}
	if g.writing {
		w.done = make(chan struct{}, 1)
		g.queue = append(g.queue, w)
		g.mu.Unlock()
		select {
		case <-w.done:
		case <-ctx.Done():
			return outcome[R]{err: ctx.Err()}, g.leave(w)
		}
		if !w.lead {
			return w.out, !w.alone
		}
		g.mu.Lock()
	} else {
		g.writing = true
		g.queue = append(g.queue, w)
	}
	g.gather()
	ws := g.take()
	g.last = len(ws)
	if len(ws) == 1 {
		g.mu.Unlock()
		g.write(ctx, ws)
		g.pass()
		return w.out, !w.alone
	}
	b := g.together(ctx, ws)
	g.mu.Unlock()
	written := make(chan struct{})
	go func() {
		defer b.cancel()
		g.write(b.ctx, ws)
		close(written)
		g.pass()
	}()
	select {
	case <-written:
		return w.out, !w.alone
	case <-ctx.Done():
		return outcome[R]{err: ctx.Err()}, g.leave(w)
	}
}

// together makes the context of several callers; the lock is held.
func (g *group[P, R]) together(ctx context.Context, ws []*waiter[P, R]) *batch {
	b := &batch{left: len(ws)}
	b.ctx, b.cancel = context.WithTimeout(context.WithoutCancel(ctx), groupTimeout)
	for _, w := range ws {
		w.batch, w.lead = b, false
	}
	return b
}

// gather lets goroutines that are ready to run join, as long as some do. The lock
// is held, and let go meanwhile.
func (g *group[P, R]) gather() {
	for n := 0; g.last > 1 && n != len(g.queue); {
		n = len(g.queue)
		g.mu.Unlock()
		runtime.Gosched()
		g.mu.Lock()
	}
}

// leave takes a caller that gives up out of the queue, or out of the batch that
// is being written: the last one to leave ends it, so that those who come later
// do not wait for a connection that is silent. A caller that was handed the lead
// meanwhile passes it on.
func (g *group[P, R]) leave(w *waiter[P, R]) bool {
	g.mu.Lock()
	if b := w.batch; b != nil {
		if b.left--; b.left == 0 {
			b.cancel()
		}
	}
	for i, q := range g.queue {
		if q == w {
			g.queue = append(g.queue[:i], g.queue[i+1:]...)
			break
		}
	}
	lead := w.lead
	g.mu.Unlock()
	if lead {
		g.pass()
	}
	return true
}

// take removes one batch from the head of the queue; the lock is held.
func (g *group[P, R]) take() []*waiter[P, R] {
	n, bytes := 0, 0
	for n < len(g.queue) && n < maxGroup {
		bytes += g.size(g.queue[n].param)
		if n > 0 && bytes > maxGroupBytes {
			break
		}
		n++
	}
	batch := g.queue[:n:n]
	g.queue = append([]*waiter[P, R](nil), g.queue[n:]...)
	return batch
}

// write runs a batch and tells everybody in it.
func (g *group[P, R]) write(ctx context.Context, batch []*waiter[P, R]) {
	params := make([]P, len(batch))
	for i, w := range batch {
		params[i] = w.param
	}
	results, err := g.run(ctx, params)
	for i, w := range batch {
		switch {
		case err == nil:
			w.out = results[i]
		case len(batch) == 1:
			w.out = outcome[R]{err: err}
		default:
			w.alone = true
		}
		if w.done != nil {
			w.done <- struct{}{}
		}
	}
}

// pass hands the lead to the first that waits, or ends it.
func (g *group[P, R]) pass() {
	g.mu.Lock()
	defer g.mu.Unlock()
	if len(g.queue) == 0 {
		g.writing = false
		return
	}
	w := g.queue[0]
	w.lead = true
	w.done <- struct{}{}
}
