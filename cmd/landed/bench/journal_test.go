package bench

import (
	"bytes"
	"encoding/json"
	"testing"

	"github.com/landedhq/landed/journal/journaltest"
	"github.com/landedhq/landed/journal/postgres/cluster"
)

// TestJournal runs the writing benchmark in its shortest form: every variant
// does its work, and the output holds what a reader of --json expects. No figure
// is asserted.
func TestJournal(t *testing.T) {
	if _, err := cluster.FindBinaries(t.Context(), cluster.Config{}); err != nil {
		journaltest.Missing(t, "PostgreSQL", "apt-get install --no-install-recommends postgresql")
	}
	var out bytes.Buffer
	rows, err := Journal(t.Context(), JournalOptions{Seconds: 0.5, Workers: []int{1, 4}, JSON: true}, &out)
	if err != nil {
		t.Fatal(err)
	}
	var printed struct {
		Rows []map[string]float64 `json:"rows"`
	}
	if err := json.Unmarshal(out.Bytes(), &printed); err != nil || len(printed.Rows) != 2 || len(rows) != 2 {
		t.Fatalf("printed %s (%v)", out.Bytes(), err)
	}
	for _, r := range printed.Rows {
		for _, name := range []string{"workers", "ratio", "group_ratio", "pgx_per_s", "library_per_s", "group_per_s", "wal_bytes", "allocs"} {
			if r[name] <= 0 {
				t.Errorf("%s is %v", name, r[name])
			}
		}
	}
}
