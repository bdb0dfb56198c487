package recipe_test

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/landedhq/landed/journal"
	"github.com/landedhq/landed/providers/evidence"
	"github.com/landedhq/landed/providers/resume"
	"github.com/landedhq/landed/providers/resume/recipe"
)

func fixed() map[string]evidence.Secret {
	return map[string]evidence.Secret{"token": evidence.Fixed(secret)}
}

// What goes out is what the file says, with the message whole and its numbers exact.
func TestDeliverSendsWhatTheFileSays(t *testing.T) {
	t.Parallel()
	var got *http.Request
	var body string
	target := open(t, base, runtime(waits(), func(w http.ResponseWriter, r *http.Request) {
		b, _ := io.ReadAll(r.Body)
		got, body = r, string(b)
		answer(w, 200, m{"ok": true})
	}))
	msg := message(`{"to":"mine","run":"r 1?x=#%","step":7}`)
	r, err := target.Deliver(t.Context(), msg)
	if err != nil || r.Resumed || r.Detail == "" {
		t.Fatalf("%+v, %v", r, err)
	}
	if got.Method != "POST" || got.URL.EscapedPath() != "/runs/r%201%3Fx=%23%25/wake" || got.URL.RawQuery != "step=7" || got.Header.Get("X-Key") != msg.ID ||
		got.Header.Get("Authorization") != "Bearer "+secret || got.Header.Get("Content-Type") != "application/json" || got.Header.Get("User-Agent") != "landed/recipe" {
		t.Errorf("%s %s %v", got.Method, got.URL, got.Header)
	}
	var in struct {
		Token   string
		Payload json.RawMessage
	}
	if err := json.Unmarshal([]byte(body), &in); err != nil || in.Token != "t-1" {
		t.Fatalf("%s: %v", body, err)
	}
	var back resume.Payload
	if err := json.Unmarshal(in.Payload, &back); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(msg.Payload(), back); diff != "" {
		t.Errorf("the payload changed on its way:\n%s", diff)
	}
}

func TestOutcomeByStatus(t *testing.T) {
	t.Parallel()
	for _, row := range []struct {
		status int
		want   journal.HandoverOutcome
		stop   bool
	}{
		{200, journal.HandoverAccepted, false}, {204, journal.HandoverAccepted, false}, {301, journal.HandoverTransient, false}, {308, journal.HandoverTransient, false},
		{400, journal.HandoverTransient, false}, {401, journal.HandoverAuth, false}, {403, journal.HandoverAuth, false}, {404, journal.HandoverUnknown, false},
		{408, journal.HandoverTransient, false}, {410, journal.HandoverGone, true}, {413, journal.HandoverTooLarge, false}, {415, journal.HandoverTransient, false},
		{422, journal.HandoverTransient, false}, {429, journal.HandoverTransient, false}, {500, journal.HandoverTransient, false}, {503, journal.HandoverTransient, false},
	} {
		for _, at := range []string{"check", "delivery"} {
			target := open(t, edited(t, "  proof: body.ok == true\n", ""), func(w http.ResponseWriter, r *http.Request) {
				if at == "delivery" && r.Method == http.MethodGet {
					waits()(w, r)
					return
				}
				w.Header().Set("Location", "https://evil.example/")
				w.Header().Set("Retry-After", "30")
				w.WriteHeader(row.status)
			})
			_, err := target.Deliver(t.Context(), message(`{"run":"r1"}`))
			if row.want == journal.HandoverAccepted {
				if at == "check" && row.status == 200 && err == nil { // an answer that the check can't read lets nothing through
					t.Errorf("%d of the check: it went on", row.status)
				} else if at == "delivery" && err != nil {
					t.Errorf("%d of the delivery: %v", row.status, err)
				}
				continue
			}
			if f := failure(t, err); f.Outcome != row.want || f.Stop != row.stop || f.RetryAfter != 30*time.Second {
				t.Errorf("%d of the %s: %+v", row.status, at, f)
			}
		}
	}
}

func TestChecksAndRules(t *testing.T) {
	t.Parallel()
	woken := says(200, m{"ok": true})
	for _, row := range []struct {
		name        string
		check, wake http.HandlerFunc
		want        journal.HandoverOutcome
		says        string
		after       time.Duration
		sent        int64 // deliveries
	}{
		{"it waits", waits(), woken, journal.HandoverAccepted, "", 0, 1},
		{"it is over", says(200, m{"state": "done"}), woken, journal.HandoverGone, "it is over", 0, 0},
		{"the check's answer has another form", says(200, m{"status": "done"}), woken, journal.HandoverTransient, "expected form", 0, 0},
		{"the check's answer lacks what is saved", says(200, m{"state": "waits"}), woken, journal.HandoverTransient, "expected form", 0, 0},
		{"the check's answer is no JSON", func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "<html>") }, woken, journal.HandoverTransient, "expected form", 0, 0},
		{"the check finds nothing", says(404, m{"error": "no such run"}), woken, journal.HandoverUnknown, "it says: no such run", 0, 0},
		{"it does not wait", waits(), func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("X-Wait", "90")
			answer(w, 409, m{"error": "busy\r\nX: 1"})
		}, journal.HandoverNotWaiting, "it does not wait; it says: busy", 90 * time.Second, 1},
		{"its words hold the secret", waits(), says(500, m{"error": "bad key " + secret}), journal.HandoverTransient, "bad key [secret]", 0, 1},
		{"its words are long", waits(), says(500, m{"error": strings.Repeat("ä", 5000)}), journal.HandoverTransient, "ä…", 0, 1},
		{"a good status without the proof", waits(), says(200, m{"ok": false}), journal.HandoverTransient, "perhaps a login page", 0, 1},
		{"a good status with nothing", waits(), func(http.ResponseWriter, *http.Request) {}, journal.HandoverTransient, "perhaps a login page", 0, 1},
	} {
		t.Run(row.name, func(t *testing.T) {
			t.Parallel()
			var sent atomic.Int64
			target := open(t, base, runtime(row.check, func(w http.ResponseWriter, r *http.Request) { sent.Add(1); row.wake(w, r) }))
			_, err := target.Deliver(t.Context(), message(`{"run":"r1"}`))
			if sent.Load() != row.sent {
				t.Errorf("%d deliveries", sent.Load())
			}
			if row.want == journal.HandoverAccepted {
				if err != nil {
					t.Error(err)
				}
				return
			}
			f := failure(t, err)
			if f.Outcome != row.want || f.RetryAfter != row.after || !strings.Contains(f.Error(), row.says) || len(f.Error()) > 600 || strings.Contains(f.Error(), secret) {
				t.Errorf("%s after %v: %s", f.Outcome, f.RetryAfter, f)
			}
		})
	}
}

// A check can be left out, end a delivery well, or confirm it.
func TestCheckThatEndsWell(t *testing.T) {
	t.Parallel()
	text := edited(t, "  - id: state\n", "  - id: state\n    when: address.step > 1\n", "outcome: gone", "outcome: resumed", "confirms: false", "confirms: true")
	var asked, sent atomic.Int64
	target := open(t, text, runtime(func(w http.ResponseWriter, r *http.Request) { asked.Add(1); answer(w, 200, m{"state": "done"}) },
		func(w http.ResponseWriter, r *http.Request) { sent.Add(1); answer(w, 200, m{"ok": true}) }))
	if r, err := target.Deliver(t.Context(), message(`{"run":"r1"}`)); err != nil || r.Resumed || asked.Load() != 0 || sent.Load() != 1 {
		t.Errorf("left out: %+v, %v, asked %d, sent %d", r, err, asked.Load(), sent.Load())
	}
	if r, err := target.Deliver(t.Context(), message(`{"run":"r1","step":2}`)); err != nil || !r.Resumed || r.Detail != "it is over" || asked.Load() != 1 || sent.Load() != 1 {
		t.Errorf("asked: %+v, %v, asked %d, sent %d", r, err, asked.Load(), sent.Load())
	}
}

func TestCheckRefusesAddresses(t *testing.T) {
	t.Parallel()
	var requests atomic.Int64
	target := open(t, base, func(http.ResponseWriter, *http.Request) { requests.Add(1) })
	for _, row := range []struct{ name, address, want string }{
		{"nothing", ``, "run is missing: the run"},
		{"no object", `7`, "no JSON object"},
		{"broken", `{"run":`, "can't be read"},
		{"two values", `{"run":"a"} {}`, "follows"},
		{"an unknown member", `{"run":"a","rnu":"b"}`, `"rnu" is not known, test.runtime has run, step`},
		{"another type", `{"run":7}`, "run is not of type string"},
		{"a number with a point", `{"run":"a","step":1.5}`, "step is not of type int"},
		{"a text for a number", `{"run":"a","step":"1"}`, "step is not of type int"},
		{"a line break", `{"run":"a\r\nX: 1"}`, "control characters"},
		{"empty", `{"run":""}`, "is empty"},
		{"a dot segment", `{"run":".."}`, "dot segment"},
		{"a dot segment in disguise", `{"run":"%2E%2e"}`, "dot segment"},
		{"a slash", `{"run":"a/b"}`, "holds a slash"},
		{"a slash in disguise", `{"run":"a%2fb"}`, "holds a slash"},
		{"a backslash", `{"run":"a\\b"}`, "holds a slash"},
		{"too long", `{"run":"` + strings.Repeat("a", 1001) + `"}`, "too long"},
		{"much too long", `{"run":"` + strings.Repeat("a", 20000) + `"}`, "at most 16384"},
		{"a target that is no name", `{"to":["x"],"run":"a"}`, `"to" is the name`},
	} {
		err := target.Check([]byte(row.address))
		if err == nil || !strings.Contains(err.Error(), row.want) {
			t.Errorf("%s: %v, want %q", row.name, err, row.want)
		}
		_, err = target.Deliver(t.Context(), message(row.address))
		if f := failure(t, err); f.Outcome != journal.HandoverBadAddress {
			t.Errorf("%s: outcome %s", row.name, f.Outcome)
		}
	}
	if requests.Load() != 0 {
		t.Errorf("%d requests went out", requests.Load())
	}
	if err := target.Check([]byte(`{"to":"mine","run":"r-1"}`)); err != nil {
		t.Error(err)
	}
}

func TestOpenRefuses(t *testing.T) {
	t.Parallel()
	for _, row := range []struct {
		name string
		edit func(*recipe.Config)
		want string
	}{
		{"no recipe", func(c *recipe.Config) { c.Definition = nil }, "names no recipe"},
		{"no name", func(c *recipe.Config) { c.Name = "" }, "no name"},
		{"no address", func(c *recipe.Config) { delete(c.Params, "url") }, "params.url is not set: the address"},
		{"no secret", func(c *recipe.Config) { c.Secrets = nil }, "none are given, but test.runtime takes token"},
		{"a secret too many", func(c *recipe.Config) { c.Secrets["other"] = evidence.Fixed("x") }, "takes token"},
		{"a secret among the parameters", func(c *recipe.Config) { c.Params["token"] = "x" }, "is a secret"},
		{"an unknown parameter", func(c *recipe.Config) { c.Params["plcae"] = "x" }, "has place, url"},
		{"plain HTTP", func(c *recipe.Config) { c.Params["url"] = "http://runtime.example.com" }, "in the clear"},
		{"a private address", func(c *recipe.Config) { c.Params["url"], c.AllowPrivate = "https://10.0.0.1", false }, "private address"},
		{"credentials in the address", func(c *recipe.Config) { c.BaseURL = "https://u:p@runtime.example.com" }, "credentials"},
		{"an unknown member", func(c *recipe.Config) { c.Address = map[string]string{"rnu": "x"} }, "address.rnu is not known"},
		{"a member that does not fit", func(c *recipe.Config) { c.Address = map[string]string{"step": "x"} }, "no whole number"},
		{"a member with a slash", func(c *recipe.Config) { c.Address = map[string]string{"run": "a/b"} }, "slash"},
		{"a negative timeout", func(c *recipe.Config) { c.Timeout = -1 }, "negative"},
	} {
		t.Run(row.name, func(t *testing.T) {
			t.Parallel()
			c := config(t, base, nil)
			row.edit(&c)
			if _, err := c.Open(); err == nil || !strings.Contains(err.Error(), row.want) {
				t.Errorf("error %v, want %q", err, row.want)
			}
		})
	}
}

// Of several ways of proving who sends the secrets choose one.
func TestSecretsChooseTheWay(t *testing.T) {
	t.Parallel()
	text := edited(t, `  - {kind: bearer, value: "${secrets.token}"}`, `  - {kind: basic, user: "${secrets.user}", password: "${secrets.token}"}
  - {kind: header, name: X-Api-Key, value: "${secrets.token}"}
  - {kind: none}`, `  token: {type: string, secret: true, about: "the token"}`, `  token: {type: string, secret: true, about: "the token"}
  user: {type: string, secret: true, about: "the user"}`)
	for _, row := range []struct{ secrets, basic, key string }{
		{"user token", "user-value:token-value", ""}, {"token", "", "token-value"}, {"", "", ""}, {"user", "error", ""},
	} {
		var got http.Header
		c := config(t, text, runtime(waits(), func(w http.ResponseWriter, r *http.Request) { got = r.Header; answer(w, 200, m{"ok": true}) }))
		c.Secrets = map[string]evidence.Secret{}
		for _, name := range strings.Fields(row.secrets) {
			c.Secrets[name] = evidence.Fixed(name + "-value")
		}
		target, err := c.Open()
		if row.basic == "error" {
			if err == nil || !strings.Contains(err.Error(), "given are user, but test.runtime takes token and user, or token, or none") {
				t.Errorf("%q: %v", row.secrets, err)
			}
			continue
		}
		if err != nil {
			t.Fatal(err)
		}
		if _, err := target.Deliver(t.Context(), message(`{"run":"r1"}`)); err != nil {
			t.Fatal(err)
		}
		user, password, ok := (&http.Request{Header: got}).BasicAuth()
		if basic := user + ":" + password; ok != (row.basic != "") || ok && basic != row.basic || got.Get("X-Api-Key") != row.key {
			t.Errorf("%q: %v", row.secrets, got)
		}
	}
}

func TestSecretThatCantBeRead(t *testing.T) {
	t.Parallel()
	c := config(t, base, func(http.ResponseWriter, *http.Request) { t.Error("a request went out") })
	c.Secrets["token"] = func() (string, error) { return "", errors.New("the file is gone") }
	target, err := c.Open()
	if err != nil {
		t.Fatal(err)
	}
	_, err = target.Deliver(t.Context(), message(`{"run":"r1"}`))
	if f := failure(t, err); f.Outcome != journal.HandoverAuth || !strings.Contains(f.Error(), "the file is gone") {
		t.Errorf("%s: %v", f.Outcome, f)
	}
	if err := target.Probe(t.Context()); failure(t, err).Outcome != journal.HandoverAuth {
		t.Errorf("Probe: %v", err)
	}
}

func TestAnswerOverTheCap(t *testing.T) {
	t.Parallel()
	for _, announced := range []bool{true, false} {
		c := config(t, base, runtime(waits(), func(w http.ResponseWriter, _ *http.Request) {
			big := `{"ok":true,"x":"` + strings.Repeat("x", 5000) + `"}`
			if !announced {
				w.WriteHeader(200)
				w.(http.Flusher).Flush()
			}
			_, _ = io.WriteString(w, big)
		}))
		c.MaxBody = 1000
		target, err := c.Open()
		if err != nil {
			t.Fatal(err)
		}
		_, err = target.Deliver(t.Context(), message(`{"run":"r1"}`))
		if f := failure(t, err); f.Outcome != journal.HandoverTransient || !strings.Contains(f.Error(), "larger") {
			t.Errorf("announced %v: %s: %v", announced, f.Outcome, f)
		}
	}
}

func TestDeadline(t *testing.T) {
	t.Parallel()
	done := make(chan struct{})
	target := open(t, base, runtime(waits(), func(http.ResponseWriter, *http.Request) { <-done }))
	t.Cleanup(func() { close(done) }) // before the server is closed
	ctx, cancel := context.WithTimeout(t.Context(), 200*time.Millisecond)
	defer cancel()
	_, err := target.Deliver(ctx, message(`{"run":"r1"}`))
	if f := failure(t, err); f.Outcome != journal.HandoverTransient || !strings.Contains(f.Error(), "in time") {
		t.Errorf("%v", f)
	}
}

// One target serves several goroutines.
func TestDeliverInParallel(t *testing.T) {
	t.Parallel()
	var sent atomic.Int64
	target := open(t, base, runtime(waits(), func(w http.ResponseWriter, _ *http.Request) { sent.Add(1); answer(w, 200, m{"ok": true}) }))
	errs := make(chan error)
	for range 16 {
		go func() {
			_, err := target.Deliver(t.Context(), message(`{"run":"r1"}`))
			errs <- err
		}()
	}
	for range 16 {
		if err := <-errs; err != nil {
			t.Error(err)
		}
	}
	if sent.Load() != 16 {
		t.Errorf("%d deliveries", sent.Load())
	}
}
