package postgres_test

import (
	"fmt"
	"sync"
	"testing"

	"github.com/landedhq/landed/journal"
)

// TestAckBesideBegin: a runtime that acknowledges an order while a worker
// consumes it: both lock the effect first, so that neither dies in a deadlock.
func TestAckBesideBegin(t *testing.T) {
	t.Parallel()
	d := openDesk(t)
	for i := range 40 {
		r := request("mail.send", fmt.Sprintf("a-%d", i))
		a := parked(d, r)
		d.look(a.EffectID, journal.NotFound)
		d.decide(a.EffectID, journal.VerbReissue, journal.NewKey)
		order := d.snap(a.EffectID).Newest
		var wg sync.WaitGroup
		for range 3 {
			wg.Go(func() {
				if err := d.Ack(t.Context(), order.ID); err != nil {
					t.Errorf("ack: %v", err)
				}
			})
		}
		wg.Go(func() {
			r := r
			r.ClaimID = journal.NewToken()
			if got, err := d.Begin(t.Context(), r); err != nil || got.Directive != journal.DirectiveExecute {
				t.Errorf("begin: %s, %v", got.Directive, err)
			}
		})
		wg.Wait()
		if s := d.snap(a.EffectID); s.Effect.OpenDelivery {
			t.Error("the delivery is still open")
		}
	}
}
