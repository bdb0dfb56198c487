package postgres

import (
	"context"
	"sync"
	"time"

	"github.com/landedhq/landed/journal/postgres/internal/sqlc"
)

const (
	// pollEvery is how often a process with long polls asks the database, once for
	// all of them. Polling is the base: it needs no session and survives a pooler.
	pollEvery = 250 * time.Millisecond
	// recheckEvery is how long a long poll relies on being woken. After a failover
	// that lost transactions, places in the audit log are taken a second time.
	recheckEvery = 5 * time.Second
	// maxTail bounds the answer to one question; what is left is asked for at once.
	maxTail = 1000
)

// waiters wakes the long polls whose effect has a new resolution. While anybody
// waits, it reads what follows the newest resolution that it knows. None is passed
// over: a resolution takes its place in the audit log under the lock of the log's
// head, which it holds until it is visible.
type waiters struct {
	// tail reads the resolutions after a place, in order; last, the newest place.
	tail func(ctx context.Context, after int64) ([]sqlc.ResolutionTailRow, error)
	last func(context.Context) (int64, error)

	mu      sync.Mutex
	of      map[string]map[chan struct{}]bool // by effect
	running bool
}

// join makes a waiter of the effect's resolutions. Whoever looks after joining
// misses none.
func (w *waiters) join(effectID string) (woken <-chan struct{}, leave func()) {
	ch := make(chan struct{}, 1)
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.of == nil {
		w.of = map[string]map[chan struct{}]bool{}
	}
	if w.of[effectID] == nil {
		w.of[effectID] = map[chan struct{}]bool{}
	}
	w.of[effectID][ch] = true
	if !w.running {
		w.running = true
		go w.watch()
	}
	return ch, func() {
		w.mu.Lock()
		defer w.mu.Unlock()
		if delete(w.of[effectID], ch); len(w.of[effectID]) == 0 {
			delete(w.of, effectID)
		}
	}
}

// watch runs until nobody waits. When it begins, and while and after questions
// fail, it doesn't know what is new: then everybody looks.
func (w *waiters) watch() {
	const unknown = -1
	for after := int64(unknown); w.wanted(); {
		ctx, cancel := context.WithTimeout(context.Background(), recheckEvery)
		var rows []sqlc.ResolutionTailRow
		var err error
		lost := after == unknown
		if lost {
			after, err = w.last(ctx)
		} else {
			rows, err = w.tail(ctx, after)
		}
		cancel()
		if err != nil {
			after = unknown
		}
		if lost {
			w.wakeAll()
		}
		for _, r := range rows {
			w.wake(r.EffectID)
			after = r.AuditSeq
		}
		if len(rows) < maxTail {
			time.Sleep(pollEvery)
		}
	}
}

// wanted ends the watch if nobody waits.
func (w *waiters) wanted() bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.running = len(w.of) > 0
	return w.running
}

func (w *waiters) wake(effectID string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for ch := range w.of[effectID] {
		select {
		case ch <- struct{}{}:
		default: // is about to look
		}
	}
}

func (w *waiters) wakeAll() {
	w.mu.Lock()
	ids := make([]string, 0, len(w.of))
	for id := range w.of {
		ids = append(ids, id)
	}
	w.mu.Unlock()
	for _, id := range ids {
		w.wake(id)
	}
}
