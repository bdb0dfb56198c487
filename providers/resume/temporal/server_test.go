package temporal_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/landedhq/landed/journal"
	"github.com/landedhq/landed/providers/resume"
	"github.com/landedhq/landed/providers/resume/temporal"
	"github.com/landedhq/landed/providers/resume/temporal/temporaltest"
)

// open opens a target on a real server.
func open(t *testing.T, s *temporaltest.Server, edit func(*temporal.Config)) *temporal.Target {
	t.Helper()
	c := temporal.Config{Name: "temporal", URL: s.URL, Namespace: temporaltest.Namespace, AllowPrivate: true, AllowPlainHTTP: true, Timeout: 5 * time.Second}
	if edit != nil {
		edit(&c)
	}
	target, err := c.Open()
	if err != nil {
		t.Fatal(err)
	}
	return target
}

func message(id string, address map[string]string) resume.Message {
	raw, err := json.Marshal(address)
	if err != nil {
		panic(err)
	}
	at := time.Date(2026, 11, 30, 12, 0, 0, 0, time.UTC)
	return resume.Message{ID: id, At: at, Resume: raw, Try: 1, Data: resume.Data{
		ResolutionID: id, Cursor: 7, EffectID: "e", Key: "k", Tool: "refund", Resolution: journal.ResolvedLanded, At: at, URL: "https://desk.example.com/e/e"}}
}

// to is an address of a workflow.
func to(workflow string) map[string]string {
	return map[string]string{"to": "temporal", "workflow_id": workflow}
}

// begin starts a workflow that no worker runs, and returns its run id.
func begin(t *testing.T, s *temporaltest.Server, id string) string {
	t.Helper()
	code, body := s.Call(t.Context(), t, http.MethodPost, "/workflows/"+path(id), `{"workflowType":{"name":"wf"},"taskQueue":{"name":"nobody"}}`)
	var started struct{ RunID string }
	if err := json.Unmarshal([]byte(body), &started); err != nil || code != http.StatusOK {
		t.Fatalf("starting workflow %q: %d %s", id, code, body)
	}
	return started.RunID
}

func terminate(t *testing.T, s *temporaltest.Server, id string) {
	t.Helper()
	if code, body := s.Call(t.Context(), t, http.MethodPost, "/workflows/"+path(id)+"/terminate", `{}`); code != http.StatusOK {
		t.Fatalf("terminating workflow %q: %d %s", id, code, body)
	}
}

// path escapes an id by other means than the code under test.
func path(id string) string {
	escaped := ""
	for _, b := range []byte(id) {
		escaped += fmt.Sprintf("%%%02X", b)
	}
	return escaped
}

// signal is one signal in a history.
type signal struct {
	Name, Identity string
	Input          []json.RawMessage
}

// signals reads the signals in a workflow's history.
func signals(t *testing.T, s *temporaltest.Server, id string) []signal {
	t.Helper()
	code, body := s.Call(t.Context(), t, http.MethodGet, "/workflows/"+path(id)+"/history", "")
	var got struct {
		History struct {
			Events []struct {
				Signal *struct {
					SignalName, Identity string
					Input                []json.RawMessage
				} `json:"workflowExecutionSignaledEventAttributes"`
			}
		}
	}
	if err := json.Unmarshal([]byte(body), &got); err != nil || code != http.StatusOK {
		t.Fatalf("reading the history of %q: %d %s", id, code, body)
	}
	var out []signal
	for _, e := range got.History.Events {
		if e.Signal != nil {
			out = append(out, signal{e.Signal.SignalName, e.Signal.Identity, e.Signal.Input})
		}
	}
	return out
}

// outcome is what a delivery came to: accepted, resumed, or its failure's.
func outcome(t *testing.T, target resume.Target, m resume.Message) journal.HandoverOutcome {
	t.Helper()
	r, err := target.Deliver(t.Context(), m)
	var f *resume.Failure
	switch {
	case errors.As(err, &f):
		t.Logf("%s: %v", f.Outcome, f)
		return f.Outcome
	case err != nil:
		t.Fatalf("an untyped error: %v", err)
	case r.Resumed:
		return journal.HandoverResumed
	}
	return journal.HandoverAccepted
}

func TestServer_TheSameResolutionIsOneSignal(t *testing.T) {
	t.Parallel()
	s := temporaltest.Start(t)
	target := open(t, s, nil)
	begin(t, s, "w")
	for range 3 {
		if got := outcome(t, target, message("r-1", to("w"))); got != journal.HandoverAccepted {
			t.Fatalf("outcome %s, want accepted", got)
		}
	}
	got := signals(t, s, "w")
	if len(got) != 1 || len(got[0].Input) != 1 || got[0].Name != "landed" || got[0].Identity != "landed" {
		t.Fatalf("signals %+v, want one named landed with one input", got)
	}
	want, err := json.Marshal(message("r-1", to("w")).Payload())
	if err != nil {
		t.Fatal(err)
	}
	var a, b any
	if err := errors.Join(json.Unmarshal(want, &a), json.Unmarshal(got[0].Input[0], &b)); err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(a, b); d != "" {
		t.Errorf("payload (-want +got):\n%s", d)
	}
	if outcome(t, target, message("r-2", to("w"))); len(signals(t, s, "w")) != 2 {
		t.Error("another resolution is another signal")
	}
}

func TestServer_Answers(t *testing.T) {
	t.Parallel()
	s := temporaltest.Start(t)
	target := open(t, s, func(c *temporal.Config) { c.Timeout = 2 * time.Second })
	run := begin(t, s, "running")
	ended := begin(t, s, "ended")
	if got := outcome(t, target, message("seen", to("ended"))); got != journal.HandoverAccepted {
		t.Fatalf("outcome %s, want accepted", got)
	}
	terminate(t, s, "ended")
	first := begin(t, s, "again")
	terminate(t, s, "again")
	begin(t, s, "again")
	with := func(a map[string]string, more ...string) map[string]string {
		for i := 0; i < len(more); i += 2 {
			a[more[i]] = more[i+1]
		}
		return a
	}
	for _, row := range []struct {
		name    string
		address map[string]string
		id      string
		want    journal.HandoverOutcome
	}{
		{"never existed", to("never"), "r", journal.HandoverUnknown},
		{"never existed, update", with(to("never"), "update", "landed"), "r", journal.HandoverUnknown},
		{"ended", to("ended"), "r", journal.HandoverGone},
		{"ended, update", with(to("ended"), "update", "landed"), "r", journal.HandoverGone},
		{"ended after it was told: the server knows the id", to("ended"), "seen", journal.HandoverAccepted},
		{"ended, pinned", with(to("ended"), "run_id", ended), "r", journal.HandoverGone},
		{"an earlier run of the id, pinned", with(to("again"), "run_id", first), "r", journal.HandoverGone},
		{"the current run of the id", to("again"), "r", journal.HandoverAccepted},
		{"another chain", with(to("again"), "update", "landed", "first_run_id", first), "r", journal.HandoverUnknown},
		{"pinned to the current run", with(to("running"), "run_id", run), "r", journal.HandoverAccepted},
		{"a run id that never was", with(to("running"), "run_id", "0197f0a0-0000-7000-8000-000000000001"), "r", journal.HandoverUnknown},
		{"an update, and no worker", with(to("running"), "update", "landed"), "r", journal.HandoverTransient},
	} {
		t.Run(row.name, func(t *testing.T) {
			if got := outcome(t, target, message(row.id, row.address)); got != row.want {
				t.Errorf("outcome %s, want %s", got, row.want)
			}
		})
	}
}

// A workflow's id is anything: it has to survive a router that reads dots, colons
// and percent signs.
func TestServer_OddNames(t *testing.T) {
	t.Parallel()
	s := temporaltest.Start(t)
	target := open(t, s, nil)
	for i, id := range []string{"a%2Fb", "a%b", "a:b", "a b+c?d#e&f=g", "Größe 7 €", "..", `q"u'o<t>e\`, strings.Repeat("ü", 400)} {
		t.Run(fmt.Sprintf("%.12q", id), func(t *testing.T) {
			begin(t, s, id)
			a := to(id)
			a["signal"] = "sig:na:l %" + fmt.Sprint(i)
			if got := outcome(t, target, message("r", a)); got != journal.HandoverAccepted {
				t.Fatalf("outcome %s, want accepted", got)
			}
			ss := signals(t, s, id)
			if len(ss) != 1 || ss[0].Name != a["signal"] {
				t.Errorf("signals %+v, want one named %q", ss, a["signal"])
			}
		})
	}
}

func TestServer_Limits(t *testing.T) {
	t.Parallel()
	for _, row := range []struct {
		name     string
		settings []string
		before   int // deliveries that pass
		want     journal.HandoverOutcome
	}{
		{"payload", []string{"limit.blobSize.warn=50", "limit.blobSize.error=100"}, 0, journal.HandoverTooLarge},
		{"signals of a run", []string{"history.maximumSignalsPerExecution=1"}, 1, journal.HandoverNotWaiting},
		{"our host", []string{`frontend.httpAllowedHosts=["temporal.example.com"]`}, 0, journal.HandoverAuth},
	} {
		t.Run(row.name, func(t *testing.T) {
			t.Parallel()
			var flags []string
			for _, one := range row.settings {
				flags = append(flags, "--dynamic-config-value", one)
			}
			s := temporaltest.Start(t, flags...)
			target := open(t, s, nil)
			if row.want != journal.HandoverAuth {
				begin(t, s, "w")
			}
			for i := range row.before {
				if got := outcome(t, target, message(fmt.Sprint("before-", i), to("w"))); got != journal.HandoverAccepted {
					t.Fatalf("outcome %s, want accepted", got)
				}
			}
			if got := outcome(t, target, message("r", to("w"))); got != row.want {
				t.Errorf("outcome %s, want %s", got, row.want)
			}
		})
	}
}

func TestServer_Probe(t *testing.T) {
	t.Parallel()
	s := temporaltest.Start(t)
	if err := open(t, s, nil).Probe(t.Context()); err != nil {
		t.Errorf("a good server: %v", err)
	}
	elsewhere := open(t, s, func(c *temporal.Config) { c.Namespace = "elsewhere" })
	if err := elsewhere.Probe(t.Context()); err == nil || !strings.Contains(err.Error(), "elsewhere") {
		t.Errorf("a namespace that is not there: %v, want an error that names it", err)
	}
	if got := outcome(t, elsewhere, message("r", to("w"))); got != journal.HandoverAuth {
		t.Errorf("delivering into it: %s, want auth", got)
	}
}
