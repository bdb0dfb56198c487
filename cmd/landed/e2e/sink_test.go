package e2e_test

import (
	"crypto/rand"
	"encoding/base64"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/landedhq/landed/providers/webhook"
)

// sink receives signed alerts, as a chat bridge of a customer would.
type sink struct {
	URL, Secret string
	alerts      chan alertData
}

type alertData struct {
	Tool      string `json:"tool"`
	Count     int    `json:"count"`
	EffectID  string `json:"first_effect_id"`
	OldestURL string `json:"oldest_url"`
}

func startSink(t *testing.T) *sink {
	t.Helper()
	key := make([]byte, 32)
	rand.Read(key)
	s := &sink{Secret: "whsec_" + base64.StdEncoding.EncodeToString(key), alerts: make(chan alertData, 256)}
	verifier, err := webhook.NewVerifier(s.Secret)
	if err != nil {
		t.Fatal(err)
	}
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(io.LimitReader(r.Body, 64<<10))
		if err == nil {
			_, err = verifier.Verify(time.Now(), r.Header, body)
		}
		if err != nil {
			t.Errorf("an alert came that can't be trusted: %v", err)
			http.Error(w, "no", http.StatusBadRequest)
			return
		}
		var msg struct{ Data alertData }
		if err := json.Unmarshal(body, &msg); err != nil {
			t.Errorf("reading an alert: %v", err)
		}
		s.alerts <- msg.Data
	}))
	t.Cleanup(srv.Close)
	s.URL = srv.URL
	return s
}

// next waits for the next alert.
func (s *sink) next(t *testing.T) alertData {
	t.Helper()
	select {
	case a := <-s.alerts:
		return a
	case <-time.After(time.Minute):
		t.Fatal("no alert came within a minute")
		return alertData{}
	}
}
