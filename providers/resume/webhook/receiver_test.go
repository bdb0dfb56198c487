package webhook_test

import (
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/landedhq/landed/journal"
	"github.com/landedhq/landed/providers/resume"
	"github.com/landedhq/landed/providers/resume/webhook"
	signed "github.com/landedhq/landed/providers/webhook"
)

// TestReceiver: both sides of the package, over a real connection.
func TestReceiver(t *testing.T) {
	t.Parallel()
	var got []webhook.Woken
	var answer error
	r, err := webhook.NewReceiver(func(_ context.Context, w webhook.Woken) error { got = append(got, w); return answer }, secretA)
	if err != nil {
		t.Fatal(err)
	}
	s := httptest.NewServer(r)
	t.Cleanup(s.Close)
	for _, events := range []bool{false, true} {
		got = nil
		to := open(t, webhook.Config{URL: s.URL, CloudEvents: events, Source: "https://desk.test"})
		if err := to.Challenge(t.Context()); err != nil {
			t.Fatal(err)
		}
		if _, err := to.Deliver(t.Context(), message()); err != nil {
			t.Fatal(err)
		}
		want := []webhook.Woken{{Data: message().Data, Work: []byte(`{"thread":"t-7"}`), ID: message().ID}}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("CloudEvents %v: what it was woken with (-want +got):\n%s", events, diff)
		}
	}
	for _, c := range []struct {
		says error
		want journal.HandoverOutcome
	}{{webhook.ErrUnknown, journal.HandoverUnknown}, {webhook.ErrNotWaiting, journal.HandoverNotWaiting}, {errors.New("verysecret"), journal.HandoverTransient}} {
		answer = c.says
		_, err := open(t, webhook.Config{URL: s.URL}).Deliver(t.Context(), message())
		var f *resume.Failure
		if !errors.As(err, &f) || f.Outcome != c.want || strings.Contains(f.Error(), "verysecret") {
			t.Errorf("%v: %v", c.says, err)
		}
	}
	got = nil
	if _, err := open(t, webhook.Config{URL: s.URL, Secret: signed.Fixed(secretB)}).Deliver(t.Context(), message()); err == nil || len(got) != 0 {
		t.Errorf("a stranger's message: %v, woken %v", err, got)
	}
	for _, c := range []struct {
		name, method, body string
		want               int
	}{{"a look", http.MethodGet, "", 405}, {"unsigned", http.MethodPost, "{}", 401}, {"huge", http.MethodPost, strings.Repeat("x", 1<<20), 413}} {
		w := httptest.NewRecorder()
		r.ServeHTTP(w, httptest.NewRequest(c.method, "/", strings.NewReader(c.body)))
		if w.Code != c.want {
			t.Errorf("%s: %d, want %d", c.name, w.Code, c.want)
		}
	}
}
