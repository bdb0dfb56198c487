package bench

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"

	"github.com/landedhq/landed/journal/journaltest"
	"github.com/landedhq/landed/journal/postgres/cluster"
)

// TestProxy runs the proxy's benchmark in its shortest form: every way does its
// work, the storm makes one effect per key, and the output holds what a reader of
// --json expects. No figure of time is asserted.
func TestProxy(t *testing.T) {
	if _, err := cluster.FindBinaries(t.Context(), cluster.Config{}); err != nil {
		journaltest.Missing(t, "PostgreSQL", "apt-get install --no-install-recommends postgresql")
	}
	var out bytes.Buffer
	r, err := Proxy(t.Context(), ProxyOptions{Seconds: 0.3, Clients: []int{1, 4}, Retries: 200, Keys: 10}, &out, true)
	if err != nil {
		t.Fatal(err)
	}
	var printed ProxyReport
	if err := json.Unmarshal(out.Bytes(), &printed); err != nil || len(printed.Rows) != 2 {
		t.Fatalf("printed %s (%v)", out.Bytes(), err)
	}
	for _, x := range printed.Rows {
		if x.Bare <= 0 || x.Journal <= 0 || x.Proxied <= 0 || x.Ratio <= 0 || x.JournalRatio <= 0 || x.BareP50 <= 0 || x.ProxiedP99 < x.ProxiedP50 {
			t.Errorf("%+v", x)
		}
	}
	if s := printed.Storm; s.Effects != 10 || s.Agreed != 200 || s.Requests < 200 || s != r.Storm {
		t.Errorf("storm %+v", s)
	}
	out.Reset()
	if err := printed.print(&out, false); err != nil || !strings.Contains(out.String(), "storm: 200 requests at once under 10 keys made 10 effects") {
		t.Errorf("printed %s (%v)", out.Bytes(), err)
	}
	if err := (ProxyStorm{Retries: 2, Keys: 1, Effects: 2, Agreed: 2}).check(); err == nil {
		t.Error("two effects under one key pass")
	}
}
