package postgres_test

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/landedhq/landed/journal"
)

// TestGroupCommit: many callers at once each get what they would have got
// alone: one execute per key, in_progress for the same key in the same batch,
// and every answer is durable when it is given.
func TestGroupCommit(t *testing.T) {
	t.Parallel()
	d := openDesk(t)
	const callers, keys = 64, 200
	var mu sync.Mutex
	got := map[journal.Directive]int{}
	var wg sync.WaitGroup
	for c := range callers {
		wg.Go(func() {
			for k := range keys {
				if k%callers != c && k%callers != (c+1)%callers { // two callers per key
					continue
				}
				r := request("mail.send", fmt.Sprintf("g-%d", k))
				a, err := d.Begin(t.Context(), r)
				if err != nil {
					t.Errorf("begin: %v", err)
					return
				}
				if a.Directive == journal.DirectiveExecute {
					if n := d.count("select count(*) from effects where id = $1 and lease_token = $2", a.EffectID, a.LeaseToken); n != 1 {
						t.Errorf("%s was told to execute and is not there", r.Key)
					}
					out, err := d.Commit(t.Context(), journal.CommitRequest{Report: report(r, a), ProviderID: r.Key, Result: []byte(r.Key)})
					if err != nil || out.State != journal.StateCommitted {
						t.Errorf("commit: %+v, %v", out, err)
					}
				}
				mu.Lock()
				got[a.Directive]++
				mu.Unlock()
			}
		})
	}
	wg.Wait()
	if got[journal.DirectiveExecute] != keys || got[journal.DirectiveExecute]+got[journal.DirectiveReturn]+got[journal.DirectiveInProgress] != 2*keys {
		t.Errorf("directives %v, want %d times execute and as many others", got, keys)
	}
	if n := d.count("select count(*) from effects where state = 'COMMITTED' and result = convert_to(key, 'UTF8') and provider_id = key"); n != keys {
		t.Errorf("%d effects hold their own result, want %d", n, keys)
	}
}

// TestGroupCommit_FailingRowFailsItsCallerAlone: a row that the database
// refuses takes nobody in its batch along.
func TestGroupCommit_FailingRowFailsItsCallerAlone(t *testing.T) {
	t.Parallel()
	d := openDesk(t)
	d.exec("alter table effects add constraint poison check (subject <> 'poison')")
	var wg sync.WaitGroup
	for i := range 200 {
		wg.Go(func() {
			r := request("mail.send", fmt.Sprintf("p-%d", i))
			bad := i%10 == 0
			if bad {
				r.Subject = "poison"
			}
			a, err := d.Begin(t.Context(), r)
			if bad != (err != nil) || !bad && a.Directive != journal.DirectiveExecute {
				t.Errorf("%s (poison %v): %s, %v", r.Key, bad, a.Directive, err)
			}
		})
	}
	wg.Wait()
	if n := d.count("select count(*) from effects"); n != 180 {
		t.Errorf("%d effects, want 180", n)
	}
}

// TestGroupCommit_CancelledCallerNeverExecutes: a caller that gives up hears
// its context's error, never a grant, and holds nobody up.
func TestGroupCommit_CancelledCallerNeverExecutes(t *testing.T) {
	t.Parallel()
	d := openDesk(t)
	var wg sync.WaitGroup
	for i := range 300 {
		wg.Go(func() {
			ctx, cancel := context.WithTimeout(t.Context(), time.Duration(i%30)*100*time.Microsecond)
			defer cancel()
			if i%3 != 0 {
				ctx = t.Context()
			}
			a, err := d.Begin(ctx, request("mail.send", fmt.Sprintf("c-%d", i)))
			switch {
			case err == nil && a.Directive != journal.DirectiveExecute:
				t.Errorf("c-%d: %s", i, a.Directive)
			case err != nil && (i%3 != 0 || !errors.Is(err, context.DeadlineExceeded)):
				t.Errorf("c-%d: %v", i, err)
			}
		})
	}
	wg.Wait()
	if a := d.begin(request("mail.send", "afterwards")); a.Directive != journal.DirectiveExecute {
		t.Errorf("afterwards: %s", a.Directive)
	}
}
