package bench

import (
	"bytes"
	"encoding/json"
	"testing"
	"time"

	"github.com/landedhq/landed/journal/journaltest"
	"github.com/landedhq/landed/journal/postgres/cluster"
)

// TestSoak runs a short soak: every kind of effect, dozens of faults, one of
// them a kill of the server. Nothing acknowledged may be lost, nothing done
// twice without an order.
func TestSoak(t *testing.T) {
	t.Parallel()
	if _, err := cluster.FindBinaries(t.Context(), cluster.Config{}); err != nil {
		journaltest.Missing(t, "PostgreSQL", "apt-get install --no-install-recommends postgresql")
	}
	var out bytes.Buffer
	r, err := Soak(t.Context(), SoakOptions{Effects: 1000, Faults: 300, Workers: 12, Settle: 2 * time.Minute}, &out, true)
	if err != nil {
		t.Fatalf("%v\n%s", err, &out)
	}
	t.Logf("%s", &out)
	if r.Effects != 1000 || r.Faults["server_killed"] != 1 || r.Injected < 200 || r.Decisions == 0 || r.Evidence == 0 {
		t.Errorf("it did not do what it should: %+v", r)
	}
	var printed map[string]any
	if err := json.Unmarshal(out.Bytes(), &printed); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"lost", "acknowledged_intents_lost", "acknowledged_commits_lost", "unordered_duplicates"} {
		if printed[name] != 0.0 {
			t.Errorf("%s is %v", name, printed[name])
		}
	}
}
