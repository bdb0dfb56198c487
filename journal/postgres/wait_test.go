package postgres

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/landedhq/landed/journal/postgres/internal/sqlc"
)

// waitLog stands for the deliveries: places in order, and how often it was asked.
type waitLog struct {
	mu    sync.Mutex
	rows  []sqlc.ResolutionTailRow
	asked int
	down  bool
}

var errDown = errors.New("the database is down")

func (l *waitLog) add(effect string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.rows = append(l.rows, sqlc.ResolutionTailRow{EffectID: effect, AuditSeq: int64(len(l.rows) + 1)})
}

func (l *waitLog) has(effect string) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, r := range l.rows {
		if r.EffectID == effect {
			return true
		}
	}
	return false
}

func (l *waitLog) waiters() *waiters {
	return &waiters{
		last: func(context.Context) (int64, error) {
			l.mu.Lock()
			defer l.mu.Unlock()
			if l.down {
				return 0, errDown
			}
			return int64(len(l.rows)), nil
		},
		tail: func(_ context.Context, after int64) ([]sqlc.ResolutionTailRow, error) {
			l.mu.Lock()
			defer l.mu.Unlock()
			if l.asked++; l.down {
				return nil, errDown
			}
			return l.rows[after:min(int(after)+maxTail, len(l.rows))], nil
		},
	}
}

// TestWaiters_MissNothing: whoever joins and then looks is woken for everything
// that comes later, however joining, coming and asking fall; and one question is
// asked for all of them.
func TestWaiters_MissNothing(t *testing.T) {
	t.Parallel()
	for seed := range uint64(200) {
		synctest.Test(t, func(t *testing.T) {
			dice, log := rand.New(rand.NewPCG(seed, 7)), &waitLog{}
			w := log.waiters()
			var wg sync.WaitGroup
			begun := time.Now()
			for i := range 60 {
				effect := fmt.Sprintf("effect-%d", i/2) // two wait for the same
				joins, comes := time.Duration(dice.IntN(3000))*time.Millisecond, time.Duration(dice.IntN(3000))*time.Millisecond
				if i%2 == 0 {
					wg.Go(func() { time.Sleep(comes); log.add(effect) })
				}
				wg.Go(func() {
					time.Sleep(joins)
					woken, leave := w.join(effect)
					defer leave()
					untilWoken(t, woken, func() bool { return log.has(effect) })
				})
			}
			wg.Wait()
			if most := int(time.Since(begun)/pollEvery) + 1; log.asked > most {
				t.Errorf("asked %d times in %v, at most %d", log.asked, time.Since(begun), most)
			}
			time.Sleep(2 * pollEvery) // or the bubble would not end: the watch does
			synctest.Wait()
			if w.running || len(w.of) != 0 {
				t.Errorf("still watching, for %d effects", len(w.of))
			}
		})
	}
}

// TestWaiters_EverybodyLooksWhenItCantTell: while the database can't be asked the
// waiters look themselves, and hear of it; afterwards nothing of that time is
// missed.
func TestWaiters_EverybodyLooksWhenItCantTell(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		log := &waitLog{}
		w := log.waiters()
		woken, leave := w.join("a")
		<-woken // it begins
		set := func(down bool) { log.mu.Lock(); log.down = down; log.mu.Unlock() }
		set(true)
		heard := 0
		go func() {
			time.Sleep(2 * time.Second)
			log.add("a")
			set(false)
		}()
		untilWoken(t, woken, func() bool {
			heard++
			log.mu.Lock()
			defer log.mu.Unlock()
			return !log.down && len(log.rows) > 0
		})
		if heard < 4 {
			t.Errorf("looked %d times while the database was down", heard)
		}
		leave()
		time.Sleep(2 * pollEvery)
	})
}

// untilWoken looks until it sees, each time it is woken.
func untilWoken(t *testing.T, woken <-chan struct{}, sees func() bool) {
	t.Helper()
	for !sees() {
		select {
		case <-woken:
		case <-time.After(time.Minute):
			t.Error("never woken")
			return
		}
	}
}

// TestWaiters_AFloodIsReadAtOnce: more resolutions than one answer holds are not
// read at one answer a turn.
func TestWaiters_AFloodIsReadAtOnce(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		log := &waitLog{}
		w := log.waiters()
		woken, leave := w.join("last")
		<-woken
		for i := range 5 * maxTail {
			log.add(fmt.Sprint(i))
		}
		log.add("last")
		begun := time.Now()
		<-woken
		if took := time.Since(begun); took > pollEvery {
			t.Errorf("took %v, want one turn", took)
		}
		leave()
		time.Sleep(2 * pollEvery)
	})
}
