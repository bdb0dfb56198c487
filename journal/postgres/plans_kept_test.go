package postgres_test

import (
	"fmt"
	"sync"
	"testing"

	"github.com/landedhq/landed/journal/postgres"
)

// TestPlansOfTheHappyPathAreKept: the server plans the statements of begin and
// commit a few times and then keeps the plan, alone and in batches. Planned
// anew for every call, an insert costs half as much again.
func TestPlansOfTheHappyPathAreKept(t *testing.T) {
	t.Parallel()
	d := openDesk(t, func(o *postgres.Options) { o.MaxConns = 1 })
	both := func(key string) {
		r := request("mail.send", key)
		a, err := d.Begin(t.Context(), r)
		if err != nil {
			t.Errorf("begin %s: %v", key, err)
			return
		}
		d.commit(r, a, key)
	}
	for i := range 10 {
		both(fmt.Sprintf("alone-%d", i))
	}
	for round := range 12 {
		var wg sync.WaitGroup
		for i := range 4 { // fewer than the server takes an unknown array for
			wg.Go(func() { both(fmt.Sprintf("together-%d-%d", round, i)) })
		}
		wg.Wait()
	}
	for _, name := range []string{"BeginEffect :one", "CommitEffect :one", "BeginEffects :many"} {
		// The store's own connection: there is one.
		var kept, anew int
		err := d.Pool().QueryRow(t.Context(), "select generic_plans, custom_plans from pg_prepared_statements where statement like '-- name: ' || $1 || '%'", name).Scan(&kept, &anew)
		if err != nil || kept == 0 || anew > 6 {
			t.Errorf("%s: %d times by a kept plan, %d times planned anew (%v)", name, kept, anew, err)
		}
	}
}
