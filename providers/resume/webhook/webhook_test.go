package webhook_test

import (
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/landedhq/landed/journal"
	"github.com/landedhq/landed/providers/resume"
	"github.com/landedhq/landed/providers/resume/webhook"
	signed "github.com/landedhq/landed/providers/webhook"
)

const (
	secretA = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"
	secretB = "whsec_AAECAwQFBgcICQoLDA0ODxAREhMUFRYX"
	private = "whsk_AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8="
	public  = "whpk_A6EHv/POEL4dcN0Y50vAmWfk1jCbpQ1fHdyGZBJVMbg="
)

// receiver is an endpoint as the package's documentation asks for one: it
// verifies, answers challenges, and wakes each piece of work once.
type receiver struct {
	*httptest.Server
	mu     sync.Mutex
	keys   []string
	echo   bool
	answer int // to resolutions; 0 = 204
	header http.Header
	bodies []string
	kinds  []string
	seen   map[string]int
	woken  []string // effect ids
}

func receive(t *testing.T, keys ...string) *receiver {
	t.Helper()
	r := &receiver{keys: keys, echo: true, seen: map[string]int{}}
	r.Server = httptest.NewServer(r)
	t.Cleanup(r.Close)
	return r
}

func (r *receiver) ServeHTTP(w http.ResponseWriter, req *http.Request) {
	r.mu.Lock()
	defer r.mu.Unlock()
	b, _ := io.ReadAll(req.Body)
	v, err := signed.NewVerifier(r.keys...)
	if err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
		return
	}
	id, err := v.Verify(time.Now(), req.Header, b)
	if err != nil {
		http.Error(w, err.Error(), http.StatusUnauthorized)
		return
	}
	var m struct {
		Type string `json:"type"`
		Data struct {
			Challenge string `json:"challenge"`
			EffectID  string `json:"effect_id"`
		} `json:"data"`
	}
	if err := json.Unmarshal(b, &m); err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	if m.Type == webhook.TypeChallenge {
		if r.echo {
			_ = json.NewEncoder(w).Encode(map[string]string{"challenge": m.Data.Challenge})
		}
		return
	}
	r.bodies, r.kinds = append(r.bodies, string(b)), append(r.kinds, req.Header.Get("Content-Type"))
	if r.answer != 0 {
		for k := range r.header {
			w.Header().Set(k, r.header.Get(k))
		}
		w.WriteHeader(r.answer)
		return
	}
	if r.seen[id]++; r.seen[id] == 1 {
		r.woken = append(r.woken, m.Data.EffectID)
	}
	w.WriteHeader(http.StatusNoContent)
}

func open(t *testing.T, c webhook.Config) *webhook.Target {
	t.Helper()
	c.Name = "hook"
	if c.Secret == nil {
		c.Secret = signed.Fixed(secretA)
	}
	out, err := c.Open()
	if err != nil {
		t.Fatal(err)
	}
	return out
}

func message() resume.Message {
	at := time.Date(2026, 11, 30, 10, 15, 0, 0, time.UTC)
	return resume.Message{ID: "0198c000-0000-7000-8000-000000000001", At: at, Try: 1, Resume: []byte(`{"to":"hook","work":{"thread":"t-7"}}`),
		Data: resume.Data{ResolutionID: "0198c000-0000-7000-8000-000000000001", Cursor: 7, EffectID: "0198c000-0000-7000-8000-000000000002",
			EffectVersion: 3, Key: "run-1/mail", Tool: "mail.send", Resolution: journal.ResolvedReissue, OrderID: "o-1", OrderExpiresAt: &at,
			At: at, URL: "https://desk.test/e/0198c000-0000-7000-8000-000000000002"}}
}

func TestBody(t *testing.T) {
	t.Parallel()
	r := receive(t, secretA)
	if _, err := open(t, webhook.Config{URL: r.URL}).Deliver(t.Context(), message()); err != nil {
		t.Fatal(err)
	}
	const want = `{"type":"effect.resolution.v1","timestamp":"2026-11-30T10:15:00Z","data":{"resolution_id":"0198c000-0000-7000-8000-000000000001","cursor":7,` +
		`"effect_id":"0198c000-0000-7000-8000-000000000002","effect_version":3,"key":"run-1/mail","tool":"mail.send","resolution":"reissue","order_id":"o-1",` +
		`"order_expires_at":"2026-11-30T10:15:00Z","at":"2026-11-30T10:15:00Z","url":"https://desk.test/e/0198c000-0000-7000-8000-000000000002","work":{"thread":"t-7"}}}`
	if diff := cmp.Diff(want, r.bodies[0]); diff != "" || r.kinds[0] != "application/json" {
		t.Errorf("the body (-want +got), %s:\n%s", r.kinds[0], diff)
	}
}

func TestCloudEvent(t *testing.T) {
	t.Parallel()
	r := receive(t, public)
	to := open(t, webhook.Config{URL: r.URL, PrivateKey: signed.Fixed(private), CloudEvents: true, Source: "https://desk.test"})
	if _, err := to.Deliver(t.Context(), message()); err != nil {
		t.Fatal(err)
	}
	var got map[string]any
	if err := json.Unmarshal([]byte(r.bodies[0]), &got); err != nil {
		t.Fatal(err)
	}
	data, _ := got["data"].(map[string]any)
	delete(got, "data")
	want := map[string]any{"specversion": "1.0", "id": "0198c000-0000-7000-8000-000000000001", "source": "https://desk.test", "type": "dev.landed.effect.resolution.v1",
		"subject": "0198c000-0000-7000-8000-000000000002", "time": "2026-11-30T10:15:00Z", "datacontenttype": "application/json"}
	if diff := cmp.Diff(want, got); diff != "" || data["key"] != "run-1/mail" || r.kinds[0] != "application/cloudevents+json" {
		t.Errorf("the event (-want +got), %s, data %v:\n%s", r.kinds[0], data, diff)
	}
	if _, err := (webhook.Config{Name: "hook", URL: r.URL, Secret: signed.Fixed(secretA), CloudEvents: true}).Open(); err == nil {
		t.Error("a CloudEvent without a source was accepted")
	}
}

// TestRotationMidRetry: the same message fails under the old secret, and arrives
// under the new one; while both hold, a receiver may know either.
func TestRotationMidRetry(t *testing.T) {
	t.Parallel()
	r := receive(t, secretB)
	current, old := secretA, ""
	to := open(t, webhook.Config{URL: r.URL, Secret: func() (string, error) { return current, nil }, OldSecret: func() (string, error) { return old, nil }})
	var f *resume.Failure
	if _, err := to.Deliver(t.Context(), message()); !errors.As(err, &f) || f.Outcome != journal.HandoverAuth {
		t.Fatalf("a receiver that has the new secret already: %v", err)
	}
	current, old = secretB, secretA
	if _, err := to.Deliver(t.Context(), message()); err != nil {
		t.Errorf("after the rotation: %v", err)
	}
	r.mu.Lock()
	r.keys = []string{secretA} // one that lags behind
	r.mu.Unlock()
	if _, err := to.Deliver(t.Context(), message()); err != nil {
		t.Errorf("a receiver that lags behind: %v", err)
	}
	if r.seen[message().ID] != 2 || !slices.Equal(r.woken, []string{message().Data.EffectID}) {
		t.Errorf("%v woken, ids %v", r.woken, r.seen)
	}
}

func TestThriceWakesOnce(t *testing.T) {
	t.Parallel()
	r := receive(t, secretA)
	to := open(t, webhook.Config{URL: r.URL})
	for range 3 {
		if _, err := to.Deliver(t.Context(), message()); err != nil {
			t.Fatal(err)
		}
	}
	if len(r.bodies) != 3 || len(r.woken) != 1 {
		t.Errorf("%d messages woke %d", len(r.bodies), len(r.woken))
	}
}

func TestAnswers(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name   string
		status int
		header http.Header
		want   resume.Failure
	}{
		{"nobody by that name", 404, nil, resume.Failure{Outcome: journal.HandoverUnknown}},
		{"does not wait yet", 409, nil, resume.Failure{Outcome: journal.HandoverNotWaiting}},
		{"too early", 425, nil, resume.Failure{Outcome: journal.HandoverNotWaiting}},
		{"wants no more", 410, nil, resume.Failure{Outcome: journal.HandoverGone, Stop: true}},
		{"not let in", 401, nil, resume.Failure{Outcome: journal.HandoverAuth}},
		{"forbidden", 403, nil, resume.Failure{Outcome: journal.HandoverAuth}},
		{"too large", 413, nil, resume.Failure{Outcome: journal.HandoverTooLarge}},
		{"throttled", 429, http.Header{"Retry-After": {"120"}}, resume.Failure{Outcome: journal.HandoverTransient, RetryAfter: 2 * time.Minute}},
		{"overloaded", 502, nil, resume.Failure{Outcome: journal.HandoverTransient, RetryAfter: time.Minute}},
		{"a redirect", 302, http.Header{"Location": {"https://elsewhere.test/"}}, resume.Failure{Outcome: journal.HandoverTransient}},
		{"broken", 500, nil, resume.Failure{Outcome: journal.HandoverTransient}},
		{"a bad request", 400, nil, resume.Failure{Outcome: journal.HandoverTransient}},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			r := receive(t, secretA)
			r.answer, r.header = c.status, c.header
			_, err := open(t, webhook.Config{URL: r.URL + "/verysecret"}).Deliver(t.Context(), message())
			var f *resume.Failure
			if !errors.As(err, &f) {
				t.Fatalf("%v is no failure", err)
			}
			if strings.Contains(f.Error(), "verysecret") {
				t.Errorf("the error shows the path: %v", f)
			}
			if f.Outcome != c.want.Outcome || f.Stop != c.want.Stop || f.RetryAfter != c.want.RetryAfter || len(r.bodies) != 1 {
				t.Errorf("%s, stop %v, after %v, %d requests", f.Outcome, f.Stop, f.RetryAfter, len(r.bodies))
			}
		})
	}
}

func TestChallenge(t *testing.T) {
	t.Parallel()
	r := receive(t, secretA)
	to := open(t, webhook.Config{URL: r.URL})
	if err := to.Challenge(t.Context()); err != nil {
		t.Errorf("an endpoint that answers: %v", err)
	}
	r.mu.Lock()
	r.echo = false
	r.mu.Unlock()
	var f *resume.Failure
	if err := to.Challenge(t.Context()); !errors.As(err, &f) || f.Outcome != journal.HandoverAuth || !strings.Contains(f.Error(), "data.challenge") {
		t.Errorf("an endpoint that says 200 to everything: %v", err)
	}
	if len(r.bodies) != 0 {
		t.Errorf("a challenge was taken for a resolution: %v", r.bodies)
	}
	if other := open(t, webhook.Config{URL: r.URL + "/other"}); other.Endpoint() == to.Endpoint() {
		t.Error("two addresses have one fingerprint")
	}
}

func TestCheck(t *testing.T) {
	t.Parallel()
	to := open(t, webhook.Config{URL: "https://hooks.example.com/x"})
	if err := to.Check([]byte(`{"to":"hook","work":[1,"x"]}`)); err != nil {
		t.Error(err)
	}
	if err := to.Check([]byte(`{"to":"hook","thread":"t-7"}`)); err == nil || !strings.Contains(err.Error(), "thread") {
		t.Errorf("an unknown member: %v", err)
	}
}
