package postgres_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/landedhq/landed/journal"
	"github.com/landedhq/landed/journal/journaltest/fault"
)

// TestHalfOpen: a connection goes silent under what several callers write
// together. They come back when their own time is over, whoever writes for
// them, and others go on.
func TestHalfOpen(t *testing.T) {
	t.Parallel()
	d := openDesk(t)
	s, p := d.faulty()
	const n = 16
	requests, came := make([]journal.BeginRequest, n), make([]time.Duration, n)
	for i := range requests {
		requests[i] = request("mail.send", fmt.Sprintf("h%d", i))
	}
	at := fault.Point{Kind: fault.CommandComplete, SQL: "BeginEffect", Nth: 2}
	trap := crowd(t, p, at, fault.Halt(0), n, func(i int) {
		began := time.Now()
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if _, err := s.Begin(ctx, requests[i]); err != nil && !errors.Is(err, context.DeadlineExceeded) && !errors.Is(err, journal.ErrUnavailable) {
			t.Errorf("begin on a silent connection: %v", err)
		}
		came[i] = time.Since(began)
	})
	if took := slices.Max(came); !trap.Met() || took > 5*time.Second {
		t.Errorf("a caller with one second came back after %s (a connection went silent: %v)", took, trap.Met())
	}
	began := time.Now()
	for _, r := range requests {
		if a := beginAgain(t, s, r); a.Directive != journal.DirectiveExecute || a.Attempt != 1 {
			t.Errorf("begin again answers %s, attempt %d", a.Directive, a.Attempt)
		}
	}
	if took := time.Since(began); took > 10*time.Second {
		t.Errorf("the store needed %s to go on", took)
	}
}
