package dbosworker_test

import (
	"fmt"
	"strings"
	"sync"
	"testing"

	"github.com/landedhq/landed/journal/journaltest"
	target "github.com/landedhq/landed/providers/resume/dbos"
)

// TestO02_ThroughPgBouncer sends through a pooler in transaction mode with fewer
// connections than tries, without any word of it in the connection string.
func TestO02_ThroughPgBouncer(t *testing.T) {
	t.Parallel()
	d := open(t)
	d.exec("insert into dbos.workflow_status (workflow_uuid, status, name) values ('w-1', 'PENDING', 'flow')")
	var database string
	if err := d.pool.QueryRow(t.Context(), "select current_database()").Scan(&database); err != nil {
		t.Fatal(err)
	}
	dsn, _, _ := strings.Cut(journaltest.PgBouncer(t, 2)(database), "&default_query_exec_mode")
	open := func() *target.Target {
		return d.target(target.Config{Name: "dbos", DSN: func() (string, error) { return dsn, nil }})
	}
	one, two := open(), open()
	var wg sync.WaitGroup
	for n := range 9 {
		wg.Go(func() {
			for range 3 {
				if _, err := one.Deliver(t.Context(), message("w-1", fmt.Sprint(n))); err != nil {
					t.Error(err)
				}
				if _, err := two.Deliver(t.Context(), message("w-1", fmt.Sprint(n))); err != nil {
					t.Error(err)
				}
			}
		})
	}
	wg.Wait()
	if n := d.messages(); n != 9 {
		t.Errorf("%d messages", n)
	}
}
