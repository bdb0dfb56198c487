package river_test

import (
	"fmt"
	"strings"
	"sync"
	"testing"

	"github.com/landedhq/landed/journal/journaltest"
)

// TestO02_ThroughPgBouncer hands over through a pooler in transaction mode with
// fewer connections than tries, without any word of it in the connection string.
func TestO02_ThroughPgBouncer(t *testing.T) {
	t.Parallel()
	d := open(t)
	var database string
	if err := d.pool.QueryRow(t.Context(), "select current_database()").Scan(&database); err != nil {
		t.Fatal(err)
	}
	dsn, _, _ := strings.Cut(journaltest.PgBouncer(t, 2)(database), "&default_query_exec_mode")
	one, two := d.other(dsn), d.other(dsn)
	var wg sync.WaitGroup
	for n := range 9 {
		wg.Go(func() {
			for range 3 {
				if _, err := one.Deliver(t.Context(), message(fmt.Sprint(n))); err != nil {
					t.Error(err)
				}
				if _, err := two.Deliver(t.Context(), message(fmt.Sprint(n))); err != nil {
					t.Error(err)
				}
			}
		})
	}
	wg.Wait()
	if n := d.jobs(); n != 9 {
		t.Errorf("%d jobs", n)
	}
}
