package bench

import (
	"bytes"
	"encoding/json"
	"testing"

	"github.com/landedhq/landed/journal/journaltest"
	"github.com/landedhq/landed/journal/postgres/cluster"
)

// TestList runs the reading benchmark in a short form: every read gives an
// answer, and the output holds what a reader of --json expects. No figure is
// asserted.
func TestList(t *testing.T) {
	if _, err := cluster.FindBinaries(t.Context(), cluster.Config{}); err != nil {
		journaltest.Missing(t, "PostgreSQL", "apt-get install --no-install-recommends postgresql")
	}
	var out bytes.Buffer
	r, err := List(t.Context(), ListOptions{Effects: 20_000, Open: 400, Seconds: 0.05}, &out, true)
	if err != nil {
		t.Fatal(err)
	}
	var printed ListReport
	if err := json.Unmarshal(out.Bytes(), &printed); err != nil || len(printed.Reads) != len(r.Reads) {
		t.Fatalf("printed %s (%v)", out.Bytes(), err)
	}
	for _, x := range printed.Reads {
		if x.P50 <= 0 || x.P99 < x.P50 || x.Ratio <= 0 || x.Times < 5 {
			t.Errorf("%+v", x)
		}
	}
	if len(printed.Writes) != 1 || printed.Writes[0].Full <= 0 || printed.Writes[0].Empty <= 0 || printed.Writes[0].FullWAL <= 0 {
		t.Errorf("writes %+v", printed.Writes)
	}
	if len(printed.Indexes) < 10 {
		t.Errorf("indexes %+v", printed.Indexes)
	}
	out.Reset()
	if err := printed.print(&out, false); err != nil || !bytes.Contains(out.Bytes(), []byte("first page")) {
		t.Errorf("printed %s (%v)", out.Bytes(), err)
	}
}
