package postgres

import (
	"context"
	"sync"
	"time"
)

const (
	// clockMargin is how far the database's clock may step before it is suspected.
	clockMargin = 5 * time.Second
	// suspectFor is how long a step forward suspends what the clock alone would
	// allow: by then no lease, deadline or lag that spans it is left.
	suspectFor = time.Hour
)

// clockWatch compares the database's clock with this process's monotonic one.
type clockWatch struct {
	mu   sync.Mutex
	db   time.Time // the database's clock at the last look
	mono time.Time // when that was
}

// WatchClock raises the stored high-water mark and suspects the database's
// clock if it stepped: backwards below the mark (until it has caught up), or
// forwards by more than passed here. While it is suspected, automatic attempts
// and settlement by policy wait, and looks can't tell. It returns the step that
// it found, 0 if none.
func (s *Store) WatchClock(ctx context.Context) (time.Duration, error) {
	asked := time.Now()
	r, err := s.q.RaiseClock(ctx, s.pool)
	if err != nil {
		return 0, mapError("watching the clock", err)
	}
	step := s.clock.step(r.DbNow, asked, time.Now())
	if back := r.Was.Sub(r.DbNow); back > clockMargin {
		s.log.ErrorContext(ctx, "the database's clock is behind what it was", "by", back)
		return -back, nil // suspected as long as the mark is ahead
	}
	if step <= clockMargin {
		return 0, nil
	}
	s.log.ErrorContext(ctx, "the database's clock stepped forward", "by", step)
	return step, mapError("suspecting the clock", s.q.SuspectClock(ctx, s.pool, ms(suspectFor)))
}

// step is by how much the database's clock went ahead of ours since the last
// look, beyond what the two requests can explain.
func (w *clockWatch) step(db, asked, answered time.Time) time.Duration {
	w.mu.Lock()
	defer w.mu.Unlock()
	was, mono := w.db, w.mono
	w.db, w.mono = db, asked
	if mono.IsZero() {
		return 0
	}
	return db.Sub(was) - answered.Sub(mono)
}
