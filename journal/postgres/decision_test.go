package postgres_test

import (
	"context"
	"errors"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/landedhq/landed/journal"
)

// TestDecision_ManyWaitAtOnce: a long poll costs the database what it asks when it
// comes, when it is woken and when it ends; what is asked while they wait is asked
// once for all.
func TestDecision_ManyWaitAtOnce(t *testing.T) {
	t.Parallel()
	d := openDesk(t)
	x := &tracer{}
	s := d.beside(x)
	const waiting = 40
	ids, cursors := make([]string, waiting), make([]int64, waiting)
	for i := range waiting {
		a := parked(d, request("mail.send", journal.NewToken()))
		ids[i], cursors[i] = a.EffectID, d.snap(a.EffectID).Cursor
	}
	var wg sync.WaitGroup
	got := make([]*journal.Resolution, waiting)
	begun := time.Now()
	for i := range waiting {
		wait := 4 * time.Second
		if i < 3 { // which are decided, however slow the machine is
			wait = time.Minute
		}
		wg.Go(func() {
			res, err := s.Decision(t.Context(), ids[i], cursors[i], wait)
			if err != nil {
				t.Error(err)
			}
			got[i] = res
		})
	}
	for i := range 3 {
		d.decide(ids[i], journal.VerbCloseLanded, "")
	}
	wg.Wait()
	for i, r := range got {
		if (r != nil) != (i < 3) || r != nil && (r.EffectID != ids[i] || string(r.Kind) != string(journal.VerbCloseLanded)) {
			t.Errorf("waiter %d: %+v", i, r)
		}
	}
	looked, tailed := 0, 0
	for _, sql := range x.sql {
		switch {
		case strings.Contains(sql, "name: NextResolution"):
			looked++
		case strings.Contains(sql, "name: ResolutionTail"):
			tailed++
		}
	}
	if most := 4 * waiting; looked > most { // comes, the watch begins (twice, if it had ended), ends
		t.Errorf("%d waiters looked %d times, at most %d", waiting, looked, most)
	}
	if most := int(time.Since(begun)/(200*time.Millisecond)) + 5; tailed > most || tailed == 0 {
		t.Errorf("asked what is new %d times, at most %d", tailed, most)
	}
}

// TestDecision_AnswersWhoAsksForNothing: an effect that is not there is no reason
// to wait, and a client that goes away is none either.
func TestDecision_AnswersWhoAsksForNothing(t *testing.T) {
	t.Parallel()
	d := openDesk(t)
	for _, wait := range []time.Duration{0, time.Hour} {
		_, err := d.Decision(t.Context(), journal.NewID(time.Now()), 0, wait)
		if !errors.Is(err, journal.ErrNotFound) {
			t.Errorf("no such effect, waiting %v: %v", wait, err)
		}
	}
	a := d.begin(request("mail.send", "k"))
	ctx, gone := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer gone()
	if r, err := d.Decision(ctx, a.EffectID, 0, time.Hour); r != nil || err == nil {
		t.Errorf("the client went away: %+v, %v", r, err)
	}
}
