package temporal

import (
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/landedhq/landed/journal"
	"github.com/landedhq/landed/providers/resume"
)

// open opens a target on a server of this process.
func open(t *testing.T, h http.HandlerFunc, edit func(*Config)) *Target {
	t.Helper()
	s := httptest.NewServer(h)
	t.Cleanup(s.Close)
	c := Config{Name: "temporal", URL: s.URL, Namespace: "ns", AllowPrivate: true, AllowPlainHTTP: true}
	if edit != nil {
		edit(&c)
	}
	target, err := c.Open()
	if err != nil {
		t.Fatal(err)
	}
	return target
}

// message is a resolution for an address.
func message(id, address string) resume.Message {
	at := time.Date(2026, 11, 30, 12, 0, 0, 0, time.UTC)
	return resume.Message{ID: id, At: at, Resume: []byte(address), Try: 1, Data: resume.Data{
		ResolutionID: id, Cursor: 7, EffectID: "0197f0a0-0000-7000-8000-00000000000e", EffectVersion: 3, Key: "order-17/refund",
		Tool: "refund", Resolution: journal.ResolvedReissue, OrderID: "0197f0a0-0000-7000-8000-00000000000f", At: at,
		URL: "https://desk.example.com/e/0197f0a0-0000-7000-8000-00000000000e"}}
}

func TestSignalAndUpdateOnTheWire(t *testing.T) {
	t.Parallel()
	const data = `{"type":"effect.resolution.v1","timestamp":"2026-11-30T12:00:00Z","data":{"resolution_id":"r-1","cursor":7,` +
		`"effect_id":"0197f0a0-0000-7000-8000-00000000000e","effect_version":3,"key":"order-17/refund","tool":"refund","resolution":"reissue",` +
		`"order_id":"0197f0a0-0000-7000-8000-00000000000f","at":"2026-11-30T12:00:00Z","url":"https://desk.example.com/e/0197f0a0-0000-7000-8000-00000000000e"}}`
	for _, row := range []struct{ name, address, path, body string }{
		{
			"signal", `{"to":"temporal","workflow_id":"order-17"}`, "/api/v1/namespaces/ns/workflows/order-17/signal/landed",
			`{"workflowExecution":{},"input":[` + data + `],"identity":"landed","requestId":"r-1"}`,
		},
		{
			"pinned signal, odd names", `{"to":"temporal","workflow_id":"a%b c+d:e","run_id":"0197f0a0-0000-7000-8000-000000000001","signal":"x:y"}`,
			"/api/v1/namespaces/ns/workflows/a%25b%20c%2Bd%3Ae/signal/x%3Ay",
			`{"workflowExecution":{"runId":"0197f0a0-0000-7000-8000-000000000001"},"input":[` + data + `],"identity":"landed","requestId":"r-1"}`,
		},
		{
			"update", `{"to":"temporal","workflow_id":"..","update":"landed"}`, "/api/v1/namespaces/ns/workflows/%2E%2E/update/landed",
			`{"workflowExecution":{},"waitPolicy":{"lifecycleStage":"UPDATE_WORKFLOW_EXECUTION_LIFECYCLE_STAGE_ACCEPTED"},` +
				`"request":{"meta":{"updateId":"r-1","identity":"landed"},"input":{"args":[` + data + `]}}}`,
		},
	} {
		t.Run(row.name, func(t *testing.T) {
			t.Parallel()
			keys := []string{"k-1", "k-2"}
			calls := 0
			target := open(t, func(w http.ResponseWriter, r *http.Request) {
				body, _ := io.ReadAll(r.Body)
				var want, got any
				if err := errors.Join(json.Unmarshal(body, &got), json.Unmarshal([]byte(row.body), &want)); err != nil {
					t.Error(err)
				}
				if d := cmp.Diff(want, got); d != "" {
					t.Errorf("body (-want +got):\n%s", d)
				}
				if r.Method != http.MethodPost || r.URL.EscapedPath() != row.path {
					t.Errorf("%s %s, want POST %s", r.Method, r.URL.EscapedPath(), row.path)
				}
				if want := "Bearer " + keys[calls-1]; r.Header.Get("Authorization") != want {
					t.Errorf("Authorization %q, want %q: the key is read for every call", r.Header.Get("Authorization"), want)
				}
				_, _ = io.WriteString(w, `{"stage":"UPDATE_WORKFLOW_EXECUTION_LIFECYCLE_STAGE_ACCEPTED"}`)
			}, func(c *Config) { c.APIKey = func() (string, error) { calls++; return keys[calls-1], nil } })
			for range keys {
				if r, err := target.Deliver(t.Context(), message("r-1", row.address)); err != nil || r.Resumed || r.Detail == "" {
					t.Fatalf("Deliver() = %+v, %v", r, err)
				}
			}
		})
	}
}

func TestDeliverFailures(t *testing.T) {
	t.Parallel()
	const address = `{"to":"temporal","workflow_id":"w"}`
	elsewhere := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { t.Error("a redirect was followed") }))
	t.Cleanup(elsewhere.Close)
	for _, row := range []struct {
		name, address string
		serve         http.HandlerFunc
		edit          func(*Config)
		want          journal.HandoverOutcome
		says          string
	}{
		{"bad address", `{"to":"temporal"}`, nil, nil, journal.HandoverBadAddress, "names no workflow"},
		{"no key to be had", address, nil, func(c *Config) {
			c.APIKey = func() (string, error) { return "", errors.New("the vault is sealed") }
		}, journal.HandoverAuth, "sealed"},
		{"redirect", address, func(w http.ResponseWriter, r *http.Request) {
			http.Redirect(w, r, elsewhere.URL, http.StatusTemporaryRedirect)
		}, nil, journal.HandoverTransient, "307"},
		{"no answer", address, func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) }, nil, journal.HandoverTransient, "calling Temporal"},
		{"slow", address, func(_ http.ResponseWriter, r *http.Request) {
			_, _ = io.Copy(io.Discard, r.Body) // only then the server sees the client leave
			<-r.Context().Done()
		}, func(c *Config) { c.Timeout = 50 * time.Millisecond }, journal.HandoverTransient, "calling Temporal"},
	} {
		t.Run(row.name, func(t *testing.T) {
			t.Parallel()
			target := open(t, row.serve, row.edit)
			_, err := target.Deliver(t.Context(), message("r-1", row.address))
			f := asFailure(err)
			if f == nil || f.Outcome != row.want || !strings.Contains(f.Error(), row.says) {
				t.Fatalf("Deliver() = %v, want %s that says %q", err, row.want, row.says)
			}
			if strings.Contains(f.Error(), "/workflows/") {
				t.Errorf("the error holds the address: %v", f)
			}
		})
	}
}

func TestProbeOfSomethingElse(t *testing.T) {
	t.Parallel()
	for _, row := range []struct {
		name  string
		serve http.HandlerFunc
		says  string
	}{
		{"a server that takes everything", func(http.ResponseWriter, *http.Request) {}, "no Temporal server"},
		{"a server that knows nothing", http.NotFound, "is not one of Temporal's"},
	} {
		t.Run(row.name, func(t *testing.T) {
			t.Parallel()
			if err := open(t, row.serve, nil).Probe(t.Context()); err == nil || !strings.Contains(err.Error(), row.says) {
				t.Errorf("Probe() = %v, want an error that says %q", err, row.says)
			}
		})
	}
}
