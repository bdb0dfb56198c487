package webhook_test

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/landedhq/landed/providers/alert"
	"github.com/landedhq/landed/providers/alert/webhook"
	signed "github.com/landedhq/landed/providers/webhook"
)

const (
	secret    = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"
	oldSecret = "whsec_AAECAwQFBgcICQoLDA0ODxAREhMUFRYX"
	private   = "whsk_AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8="
	public    = "whpk_A6EHv/POEL4dcN0Y50vAmWfk1jCbpQ1fHdyGZBJVMbg="
)

func someMessage() alert.Message {
	return alert.Message{ID: "5f0c1111-0000-4000-8000-000000000001", Type: alert.TypeEffectAlert,
		At: time.Date(2026, 11, 29, 10, 15, 0, 0, time.UTC), Tool: "mail.send", Provider: "imap", Count: 2,
		FirstEffectID: "0198c000-0000-7000-8000-000000000000", URL: "https://landed.example.com/?provider=imap&tool=mail.send",
		OldestURL: "https://landed.example.com/e/0198c000-0000-7000-8000-000000000000"}
}

func open(t *testing.T, c webhook.Config) *webhook.Sink {
	t.Helper()
	if c.Secret == "" && c.PrivateKey == "" {
		c.Secret = secret
	}
	s, err := c.Open()
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// receiver answers every request the same way and keeps the last one.
type receiver struct {
	*httptest.Server
	calls  atomic.Int64
	header http.Header
	body   []byte
}

func receive(t *testing.T, answer http.HandlerFunc) *receiver {
	t.Helper()
	r := &receiver{}
	r.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		r.calls.Add(1)
		r.header = req.Header.Clone()
		r.body, _ = io.ReadAll(req.Body)
		answer(w, req)
	}))
	t.Cleanup(r.Close)
	return r
}

func status(code int) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(code) }
}

func TestRequestIsSignedWithEveryKey(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 11, 29, 12, 0, 0, 0, time.UTC) // of the attempt: later than the event
	r := receive(t, status(http.StatusNoContent))
	s := open(t, webhook.Config{URL: r.URL + "/hook", Secret: secret, OldSecret: oldSecret, PrivateKey: private, Clock: func() time.Time { return now }})
	if err := s.Send(t.Context(), someMessage()); err != nil {
		t.Fatal(err)
	}
	if r.header.Get("webhook-id") != someMessage().ID || r.header.Get("webhook-timestamp") != "1795953600" || r.header.Get("Content-Type") != "application/json" {
		t.Errorf("headers %v", r.header)
	}
	if n := len(strings.Split(r.header.Get("webhook-signature"), " ")); n != 3 {
		t.Errorf("%d signatures in %q", n, r.header.Get("webhook-signature"))
	}
	if s.PublicKey() != public {
		t.Errorf("public key %s", s.PublicKey())
	}
	for _, key := range []string{secret, oldSecret, public} {
		v, err := signed.NewVerifier(key)
		if err != nil {
			t.Fatal(err)
		}
		if id, err := v.Verify(now, r.header, r.body); err != nil || id != someMessage().ID {
			t.Errorf("verified with %.6s…: %q, %v", key, id, err)
		}
	}
	want := `{"type":"effect.alert.v1","timestamp":"2026-11-29T10:15:00Z","data":{"alert_id":"5f0c1111-0000-4000-8000-000000000001","tool":"mail.send","provider":"imap","count":2,` +
		`"first_effect_id":"0198c000-0000-7000-8000-000000000000","url":"https://landed.example.com/?provider=imap\u0026tool=mail.send","oldest_url":"https://landed.example.com/e/0198c000-0000-7000-8000-000000000000"}}`
	if diff := cmp.Diff(want, string(r.body)); diff != "" {
		t.Errorf("body (-want +got):\n%s", diff)
	}
}

func TestN03_HostileNamesStayData(t *testing.T) {
	t.Parallel()
	r := receive(t, status(http.StatusOK))
	s := open(t, webhook.Config{URL: r.URL})
	m := someMessage()
	m.Tool, m.Provider = "<!channel> <https://evil.test|Approve>", "a\"}\r\nBcc: b@evil.test\x00\u2028<script>&"
	if err := s.Send(t.Context(), m); err != nil {
		t.Fatal(err)
	}
	if strings.ContainsAny(string(r.body), "<>\r\n\x00\u2028") || strings.Contains(string(r.body), `a"}`) {
		t.Errorf("markup leaves in the body: %s", r.body)
	}
	for k, v := range r.header {
		if strings.Contains(strings.Join(v, " "), "evil") {
			t.Errorf("header %s carries a name", k)
		}
	}
	var got struct {
		Data struct{ Tool, Provider string }
	}
	if err := json.Unmarshal(r.body, &got); err != nil || got.Data.Tool != m.Tool || got.Data.Provider != m.Provider {
		t.Errorf("decoded %+v, %v", got, err)
	}
}

// an answer counts by its status, and 200 alone is not the only good one;
// everything outside 2xx is a failure.
func TestR09_AnswersAreJudgedByStatus(t *testing.T) {
	t.Parallel()
	now := time.Now().Truncate(time.Second)
	for _, c := range []struct {
		name   string
		answer http.HandlerFunc
		ok     bool
		want   alert.SendError
		says   string
	}{
		{"200", status(200), true, alert.SendError{}, ""},
		{"202", status(202), true, alert.SendError{}, ""},
		{"204", status(204), true, alert.SendError{}, ""},
		{"299", status(299), true, alert.SendError{}, ""},
		{"301", func(w http.ResponseWriter, r *http.Request) {
			http.Redirect(w, r, "/elsewhere", http.StatusMovedPermanently)
		}, false, alert.SendError{Status: 301}, "redirects are not followed"},
		{"307", func(w http.ResponseWriter, r *http.Request) {
			http.Redirect(w, r, "/elsewhere", http.StatusTemporaryRedirect)
		}, false, alert.SendError{Status: 307}, "redirects are not followed"},
		{"304", status(304), false, alert.SendError{Status: 304}, "304"},
		{"400 with a body", func(w http.ResponseWriter, _ *http.Request) { http.Error(w, "no such channel", 400) }, false, alert.SendError{Status: 400}, "no such channel"},
		{"404", status(404), false, alert.SendError{Status: 404}, "404"},
		{"410", status(410), false, alert.SendError{Status: 410, Gone: true}, "no more messages"},
		{"429 with seconds", func(w http.ResponseWriter, _ *http.Request) { w.Header().Set("Retry-After", "90"); w.WriteHeader(429) }, false, alert.SendError{Status: 429, Throttle: true, RetryAfter: 90 * time.Second}, "429"},
		{"503 with a date", func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Retry-After", now.Add(10*time.Minute).UTC().Format(http.TimeFormat))
			w.WriteHeader(503)
		}, false, alert.SendError{Status: 503, RetryAfter: 10 * time.Minute}, "503"},
		{"503 with a date gone by", func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Retry-After", now.Add(-time.Hour).UTC().Format(http.TimeFormat))
			w.WriteHeader(503)
		}, false, alert.SendError{Status: 503}, "503"},
		{"503 with nonsense", func(w http.ResponseWriter, _ *http.Request) { w.Header().Set("Retry-After", "-5"); w.WriteHeader(503) }, false, alert.SendError{Status: 503}, "503"},
		{"500", status(500), false, alert.SendError{Status: 500}, "500"},
		{"502", status(502), false, alert.SendError{Status: 502, Throttle: true}, "502"},
		{"504", status(504), false, alert.SendError{Status: 504, Throttle: true}, "504"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			r := receive(t, c.answer)
			s := open(t, webhook.Config{URL: r.URL, Clock: func() time.Time { return now }})
			err := s.Send(t.Context(), someMessage())
			if c.ok {
				if err != nil {
					t.Errorf("refused: %v", err)
				}
				return
			}
			var se *alert.SendError
			if !errors.As(err, &se) || !strings.Contains(se.Error(), c.says) {
				t.Fatalf("got %v", err)
			}
			got := *se
			got.Err = nil
			if got != c.want {
				t.Errorf("got %+v, want %+v", got, c.want)
			}
			if r.calls.Load() != 1 {
				t.Errorf("%d requests", r.calls.Load())
			}
		})
	}
}

func TestHugeAnswerIsNotRead(t *testing.T) {
	t.Parallel()
	const plenty = 64 << 20 // more than the buffers of a connection
	ended := make(chan int, 1)
	r := receive(t, func(w http.ResponseWriter, req *http.Request) {
		w.WriteHeader(500)
		wrote := 0
		for wrote < plenty && req.Context().Err() == nil {
			n, err := w.Write([]byte(strings.Repeat("x", 64<<10)))
			wrote += n
			if err != nil {
				break // the sink hung up
			}
		}
		ended <- wrote
	})
	err := open(t, webhook.Config{URL: r.URL}).Send(t.Context(), someMessage())
	if err == nil || len(err.Error()) > 400 {
		t.Errorf("got %.500v", err)
	}
	if n := <-ended; n >= plenty {
		t.Errorf("%d bytes were read", n)
	}
}

func TestErrorsKeepTheAddressSecret(t *testing.T) {
	t.Parallel()
	r := receive(t, status(500))
	address := r.URL + "/services/T0/verysecretpath?sig=verysecretquery"
	s := open(t, webhook.Config{URL: address})
	answered := s.Send(t.Context(), someMessage())
	r.Close()
	for _, err := range []error{answered, s.Send(t.Context(), someMessage())} {
		if err == nil || strings.Contains(err.Error(), "verysecret") {
			t.Errorf("got %v", err)
		}
	}
}

func TestDeadlineEndsTheAttempt(t *testing.T) {
	t.Parallel()
	release := make(chan struct{})
	r := receive(t, func(_ http.ResponseWriter, req *http.Request) {
		select {
		case <-release:
		case <-req.Context().Done():
		}
	})
	defer close(release)
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	var se *alert.SendError
	if err := open(t, webhook.Config{URL: r.URL}).Send(ctx, someMessage()); !errors.As(err, &se) || !errors.Is(err, context.DeadlineExceeded) || se.Status != 0 {
		t.Errorf("got %v", err)
	}
}

func TestDefaultClientIgnoresProxies(t *testing.T) {
	r := receive(t, status(500))
	t.Setenv("HTTPS_PROXY", r.URL)
	t.Setenv("NO_PROXY", "")
	// A proxy would be asked for this name, which does not resolve.
	err := open(t, webhook.Config{URL: "https://hooks.invalid/hook"}).Send(t.Context(), someMessage())
	if err == nil || r.calls.Load() != 0 {
		t.Errorf("the proxy was asked %d times: %v", r.calls.Load(), err)
	}
}

func TestUnsignableID(t *testing.T) {
	t.Parallel()
	r := receive(t, status(200))
	for _, id := range []string{"", "a.b", "a b", "a\r\nb", "ä"} {
		m := someMessage()
		m.ID = id
		if err := open(t, webhook.Config{URL: r.URL}).Send(t.Context(), m); err == nil {
			t.Errorf("id %q was sent", id)
		}
	}
	if r.calls.Load() != 0 {
		t.Errorf("%d requests", r.calls.Load())
	}
}

func TestOpenSaysWhatToChange(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name string
		cfg  webhook.Config
		want string // "" = fine
	}{
		{"good", webhook.Config{URL: "https://hooks.example.com/x", Secret: secret}, ""},
		{"ed25519 only", webhook.Config{URL: "https://hooks.example.com/x", PrivateKey: private}, ""},
		{"both halves", webhook.Config{URL: "https://hooks.example.com/x", PrivateKey: "whsk_AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8DoQe/884Qvh1w3RjnS8CZZ+TWMJulDV8d3IZkElUxuA=="}, ""},
		{"loopback", webhook.Config{URL: "http://127.0.0.1:9000/hook", Secret: secret}, ""},
		{"no url", webhook.Config{Secret: secret}, "url is no address"},
		{"http", webhook.Config{URL: "http://hooks.example.com/verysecret", Secret: secret}, "must begin with https"},
		{"file", webhook.Config{URL: "file:///etc/passwd", Secret: secret}, "url is no address"},
		{"user in url", webhook.Config{URL: "https://a:verysecret@hooks.example.com/x", Secret: secret}, "user name"},
		{"no key", webhook.Config{URL: "https://hooks.example.com/x"}, "neither secret nor private_key"},
		{"no prefix", webhook.Config{URL: "https://hooks.example.com/x", Secret: "MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"}, "must begin with whsec_"},
		{"empty secret", webhook.Config{URL: "https://hooks.example.com/x", Secret: "whsec_"}, "holds 0 bytes"},
		{"short secret", webhook.Config{URL: "https://hooks.example.com/x", Secret: "whsec_c2hvcnQ="}, "holds 5 bytes"},
		{"not base64", webhook.Config{URL: "https://hooks.example.com/x", Secret: "whsec_verysecret!"}, "not base64"},
		{"old secret", webhook.Config{URL: "https://hooks.example.com/x", Secret: secret, OldSecret: "x"}, "old_secret must begin"},
		{"public key as private", webhook.Config{URL: "https://hooks.example.com/x", PrivateKey: public}, "private_key must begin with whsk_"},
		{"halves of two keys", webhook.Config{URL: "https://hooks.example.com/x", PrivateKey: "whsk_AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8AAQIDBAUGBwgJCgsMDQ4PEBESExQVFhcYGRobHB0eHw=="}, "do not belong together"},
		{"odd length", webhook.Config{URL: "https://hooks.example.com/x", PrivateKey: "whsk_AAEC"}, "holds 3 bytes"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			_, err := c.cfg.Open()
			switch {
			case c.want == "" && err != nil:
				t.Errorf("refused: %v", err)
			case c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)):
				t.Errorf("got %v, want something about %q", err, c.want)
			case err != nil && strings.Contains(err.Error(), "verysecret"):
				t.Errorf("the error shows a secret: %v", err)
			}
		})
	}
}
