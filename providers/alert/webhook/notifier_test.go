package webhook_test

import (
	"encoding/json"
	"net/http"
	"testing"

	"github.com/landedhq/landed/providers/alert"
	"github.com/landedhq/landed/providers/alert/webhook"
	"github.com/landedhq/landed/providers/evidence/egress"
)

// The client that production uses refuses private addresses at dial time.
func TestEgressClientRefusesLoopback(t *testing.T) {
	t.Parallel()
	r := receive(t, status(http.StatusOK))
	s := open(t, webhook.Config{URL: r.URL, HTTPClient: egress.Client(egress.Config{AllowPlainHTTP: true})})
	if err := s.Send(t.Context(), someMessage()); err == nil || r.calls.Load() != 0 {
		t.Errorf("got %v after %d calls", err, r.calls.Load())
	}
}

// A message says nothing about the business, whatever the contract grows.
func TestBodyHoldsOnlyTheAgreedFields(t *testing.T) {
	t.Parallel()
	r := receive(t, status(http.StatusOK))
	if err := open(t, webhook.Config{URL: r.URL}).Send(t.Context(), someMessage()); err != nil {
		t.Fatal(err)
	}
	var got struct {
		Type string
		Data map[string]any
	}
	if err := json.Unmarshal(r.body, &got); err != nil || got.Type != alert.TypeEffectAlert {
		t.Fatalf("%s: %v", r.body, err)
	}
	agreed := []string{"alert_id", "tool", "provider", "count", "first_effect_id", "url", "oldest_url"}
	for _, k := range agreed {
		if _, ok := got.Data[k]; !ok {
			t.Errorf("field %s is missing", k)
		}
	}
	if len(got.Data) != len(agreed) {
		t.Errorf("data %v", got.Data)
	}
}
