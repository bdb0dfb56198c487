package postgres_test

import (
	"testing"

	"github.com/landedhq/landed/journal/postgres"
)

// TestMigrations_UpDownUp: the schema goes as it came, and comes again.
func TestMigrations_UpDownUp(t *testing.T) {
	t.Parallel()
	d := openDesk(t)
	tables := func() int {
		t.Helper()
		return d.count("select count(*) from information_schema.tables where table_schema = 'public' and table_name <> 'goose_db_version'")
	}
	before := tables()
	if err := postgres.MigrateDown(t.Context(), d.dsn); err != nil {
		t.Fatal(err)
	}
	if n := tables(); n != 0 {
		t.Errorf("%d tables stay", n)
	}
	for range 2 { // the second does nothing
		if err := postgres.Migrate(t.Context(), d.dsn); err != nil {
			t.Fatal(err)
		}
	}
	if n := tables(); n != before {
		t.Errorf("%d tables, there were %d", n, before)
	}
}
