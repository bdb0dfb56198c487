package client_test

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/landedhq/landed/handlers/api/apitest"
	"github.com/landedhq/landed/journal"
	"github.com/landedhq/landed/journal/journaltest"
	"github.com/landedhq/landed/journal/postgres"
)

const pythonExample = "examples/python"

// python returns a command of the example.
func python(t *testing.T, args ...string) *exec.Cmd {
	t.Helper()
	bin, err := exec.LookPath("python3")
	if err != nil {
		journaltest.Missing(t, "python3", "apt-get install --no-install-recommends python3 (3.11 or newer)")
	}
	cmd := exec.CommandContext(t.Context(), bin, args...)
	cmd.Dir, cmd.Stderr, cmd.WaitDelay = pythonExample, &tail{t: t}, 10*time.Second
	cmd.Env = []string{"PYTHONDONTWRITEBYTECODE=1", "PATH=" + os.Getenv("PATH")}
	return cmd
}

// tail shows what a child says on standard error.
type tail struct{ t *testing.T }

func (w *tail) Write(p []byte) (int, error) { w.t.Logf("worker: %s", p); return len(p), nil }

// tickets is a ticket system that counts what it made. Its answers are scripted.
type tickets struct {
	*httptest.Server
	mu   sync.Mutex
	refs []string
	says []string      // their titles
	made chan struct{} // one element per ticket that was made
	hold chan struct{} // closed: answers go out
}

func newTickets(t *testing.T) *tickets {
	t.Helper()
	p := &tickets{made: make(chan struct{}, 10), hold: make(chan struct{})}
	p.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var ticket struct {
			Ref   string `json:"external_ref"`
			Title string `json:"title"`
		}
		if err := json.NewDecoder(r.Body).Decode(&ticket); err != nil {
			t.Errorf("the ticket can't be read: %v", err)
		}
		p.mu.Lock()
		p.refs, p.says = append(p.refs, ticket.Ref), append(p.says, ticket.Title)
		n := len(p.refs)
		p.mu.Unlock()
		p.made <- struct{}{}
		select { // it is made; the answer may come too late for the worker
		case <-p.hold:
		case <-r.Context().Done():
			return
		}
		w.WriteHeader(http.StatusCreated)
		_, _ = fmt.Fprintf(w, "{\"id\": \"T-%d\"}\n", n)
	}))
	t.Cleanup(p.Close)
	return p
}

func (p *tickets) list() []string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return slices.Clone(p.refs)
}

// example is a journal, its API, and runs of the worker against a provider.
type example struct {
	*testing.T
	store *postgres.Store
	url   string
	token string
	to    []string // where the worker sends: flags
}

func newExample(t *testing.T, to ...string) *example {
	t.Helper()
	s := openStore(t)
	return &example{t, s, apitest.Serve(t, s), apitest.Token(t, s, "python"), to}
}

// event is one line of the worker.
type event map[string]any

// child is a worker that runs.
type child struct {
	*example
	cmd    *exec.Cmd
	events chan event
}

func (e *example) start(flags ...string) *child {
	e.Helper()
	return e.run(python(e.T, slices.Concat([]string{"worker.py", "--landed", e.url, "--thread", "order-17"}, e.to, flags)...))
}

// run starts a worker of any language that says one JSON line per step.
func (e *example) run(cmd *exec.Cmd) *child {
	e.Helper()
	cmd.Env = append(cmd.Env, "LANDED_TOKEN="+e.token)
	out, err := cmd.StdoutPipe()
	if err != nil {
		e.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		e.Fatal(err)
	}
	c := &child{e, cmd, make(chan event, 100)}
	go func() {
		defer close(c.events)
		for lines := bufio.NewScanner(out); lines.Scan(); {
			var ev event
			if err := json.Unmarshal(lines.Bytes(), &ev); err != nil {
				ev = event{"event": "unreadable: " + lines.Text()}
			}
			c.events <- ev
		}
	}()
	return c
}

// next returns the next line, which must be of a kind.
func (c *child) next(kind string) event {
	c.Helper()
	select {
	case ev, ok := <-c.events:
		if !ok || ev["event"] != kind {
			c.Fatalf("the worker says %v, want %s", ev, kind)
		}
		return ev
	case <-time.After(30 * time.Second):
		c.Fatalf("the worker says nothing for 30 s, want %s", kind)
	}
	return nil
}

func (c *child) exit(status int) {
	c.Helper()
	select {
	case ev, more := <-c.events:
		if more {
			c.Fatalf("the worker says more: %v", ev)
		}
	case <-time.After(time.Minute):
		c.Fatal("the worker does not end within a minute")
	}
	_ = c.cmd.Wait()
	if got := c.cmd.ProcessState.ExitCode(); got != status {
		c.Fatalf("the worker ended with status %d, want %d", got, status)
	}
}

// kill is kill -9.
func (c *child) kill() {
	c.Helper()
	if err := c.cmd.Process.Kill(); err != nil {
		c.Fatal(err)
	}
	for range c.events {
	}
	_ = c.cmd.Wait()
}

// leaseOver lets the time pass in which a killed worker owns its effect.
func (e *example) leaseOver(id string) {
	e.Helper()
	_, err := e.store.Pool().Exec(e.Context(), `update effects set granted_at = granted_at - interval '1 hour', lease_until = lease_until - interval '1 hour',
		send_by = send_by - interval '1 hour', attempt_deadline = attempt_deadline - interval '1 hour' where id = $1`, id)
	if err != nil {
		e.Fatal(err)
	}
}

func (e *example) decide(id string, v journal.Verb, m journal.ReissueMode) {
	e.Helper()
	s, err := e.store.Snapshot(e.Context(), id)
	if err == nil {
		_, err = e.store.Decide(e.Context(), journal.Decision{EffectID: id, Verb: v, Mode: m, Expected: s.Effect.Version, Digest: s.EvidenceDigest(),
			Actor: journal.Actor{Issuer: "i", Subject: "olga", Name: "Olga"}, Source: "page", ReasonCode: "confirmed_by_person", Reason: "asked the help desk"})
	}
	if err != nil {
		e.Fatalf("deciding %s: %v", v, err)
	}
}

// killedAfterSuccess kills a worker once the provider has done its work, and
// starts it again until it waits for a decision.
func killedAfterSuccess(t *testing.T, p *tickets) (*example, *child, string) {
	t.Helper()
	e := newExample(t, "--ticket-url", p.URL+"/tickets")
	first := e.start()
	id := fmt.Sprint(first.next("executing")["effect_id"])
	<-p.made
	first.kill()
	close(p.hold)

	second := e.start("--patience", "0")
	if ev := second.next("stopped"); ev["directive"] != "in_progress" || ev["effect_id"] != id || ev["retry_after"] == nil {
		t.Errorf("while the lease lasts the worker is told %v", ev)
	}
	second.exit(7)

	e.leaseOver(id)
	third := e.start("--title", "Reworded by a model") // the same call: title is no identity field
	if ev := third.next("stopped"); ev["directive"] != "parked" || ev["status"] != "unknown" || ev["reason"] != "at_most_once" || ev["effect_id"] != id {
		t.Errorf("after the lease the worker is told %v", ev)
	}
	if n := len(p.list()); n != 1 {
		t.Fatalf("the provider made %d tickets, want 1", n)
	}
	return e, third, id
}

func TestPython_J01_KilledAfterTheProvidersSuccess(t *testing.T) {
	t.Parallel()
	p := newTickets(t)
	e, c, id := killedAfterSuccess(t, p)
	e.decide(id, journal.VerbCloseLanded, "")
	if ev := c.next("resumed"); ev["resolution"] != "close_landed" || ev["by"] != "operator:olga" {
		t.Errorf("the worker hears %v", ev)
	}
	if ev := c.next("finished"); ev["status"] != "done" || ev["settled_by"] != "operator:olga" {
		t.Errorf("the worker ends with %v", ev)
	}
	c.exit(0)
	if n := len(p.list()); n != 1 {
		t.Errorf("the provider made %d tickets, want 1", n)
	}
	s, err := e.store.Snapshot(t.Context(), id)
	if err != nil || s.Effect.OpenDelivery {
		t.Errorf("the delivery is open (%v): the begin that returned the outcome closes it", err)
	}
}

func TestPython_ReissueIsAttempt2(t *testing.T) {
	t.Parallel()
	p := newTickets(t)
	e, c, id := killedAfterSuccess(t, p)
	e.decide(id, journal.VerbReissue, journal.NewKey)
	c.next("resumed")
	if ev := c.next("executing"); ev["attempt"] != 2.0 || ev["effect_id"] != id {
		t.Errorf("the order is executed as %v", ev)
	}
	if ev := c.next("finished"); ev["status"] != "done" || ev["provider_id"] != "T-2" {
		t.Errorf("the worker ends with %v", ev)
	}
	c.exit(0)
	refs := p.list()
	if len(refs) != 2 || refs[0] != refs[1] || !journal.ValidRef(refs[0]) {
		t.Errorf("the provider got the references %v, want one twice", refs)
	}

	if p.says[1] != p.says[0] {
		t.Errorf("attempt 2 ran %q, want what was journaled: %q", p.says[1], p.says[0])
	}

	after := e.start() // a later resume of the thread
	if ev := after.next("finished"); ev["status"] != "done" || ev["result"] != "{\"id\": \"T-2\"}\n" || ev["provider_id"] != "T-2" {
		t.Errorf("a later run gets %v", ev)
	}
	after.exit(0)
	if n := len(p.list()); n != 2 {
		t.Errorf("the provider made %d tickets, want 2", n)
	}
}

func TestPython_AbandonedAndReused(t *testing.T) {
	t.Parallel()
	p := newTickets(t)
	e, c, id := killedAfterSuccess(t, p)
	e.decide(id, journal.VerbCloseNotLanded, "")
	c.next("resumed")
	if ev := c.next("finished"); ev["status"] != "abandoned" {
		t.Errorf("the worker ends with %v", ev)
	}
	c.exit(4)
	other := e.start("--to", "somebody.else@localhost")
	other.exit(1) // the key belongs to another call: an error, nothing sent
	if n := len(p.list()); n != 1 {
		t.Errorf("the provider made %d tickets, want 1", n)
	}
}

// Each answer of a ticket system and what becomes of it.
func TestPython_TicketAnswers(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		answers   []int
		directive string
		status    int
		requests  int
	}{
		"created":               {[]int{201}, "return", 0, 1},
		"refused":               {[]int{422}, "rejected", 3, 1},
		"unclear":               {[]int{503}, "parked", 6, 1},
		"a redirect is unclear": {[]int{302}, "parked", 6, 1},
		"yes without an id":     {[]int{204}, "parked", 6, 1},
		"rate limited, then ok": {[]int{429, 201}, "return", 0, 2},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var mu sync.Mutex
			n := 0
			p := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				_, _ = io.Copy(io.Discard, r.Body)
				mu.Lock()
				defer mu.Unlock()
				w.Header().Set("Location", "/elsewhere")
				w.WriteHeader(c.answers[min(n, len(c.answers)-1)])
				n++
				if c.answers[min(n-1, len(c.answers)-1)] != 204 {
					_, _ = io.WriteString(w, `{"id":7}`)
				}
			}))
			defer p.Close()
			w := newExample(t, "--ticket-url", p.URL).start("--wait", "0")
			var last event
			for ev := range w.events {
				last = ev
			}
			if last["directive"] != c.directive {
				t.Errorf("the worker's last word is %v, want %s", last, c.directive)
			}
			w.exit(c.status)
			if n != c.requests {
				t.Errorf("%d requests, want %d", n, c.requests)
			}
		})
	}
}

func TestPython_NothingListens(t *testing.T) {
	t.Parallel()
	e := newExample(t, "--ticket-url", "http://127.0.0.1:1/")
	c := e.start("--patience", "0")
	c.next("executing")
	ev := c.next("stopped")
	c.exit(7)
	s, err := e.store.Snapshot(t.Context(), fmt.Sprint(ev["effect_id"]))
	if err != nil || s.Attempts[0].Phase != journal.PhaseNotSent || ev["directive"] != "retry" {
		t.Errorf("the attempt is %+v, %v; the worker is told %v", s.Attempts, err, ev)
	}
}

func TestPython_Mail(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		script    map[string]string
		directive string
		status    int
		mails     int
	}{
		"taken":                    {nil, "return", 0, 1},
		"cut after the final dot":  {map[string]string{".": ""}, "parked", 6, 1},
		"refused at the final dot": {map[string]string{".": "554 no"}, "rejected", 3, 1},
		"recipient refused":        {map[string]string{"RCPT": "550 no"}, "rejected", 3, 0},
		"cut before the message":   {map[string]string{"DATA": ""}, "retry", 7, 0},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			m := newMailServer(t, c.script)
			e := newExample(t, "--smtp", m.addr)
			w := e.start("--wait", "0", "--patience", "0")
			ref := w.next("executing")["ref"]
			var last event
			for ev := range w.events {
				last = ev
			}
			if last["directive"] != c.directive {
				t.Errorf("the worker's last word is %v, want %s", last, c.directive)
			}
			w.exit(c.status)
			mails := m.mails()
			if len(mails) != c.mails {
				t.Fatalf("%d mails arrived, want %d", len(mails), c.mails)
			}
			if c.mails == 1 {
				got := headers(mails[0])
				want := map[string]string{"Message-ID": fmt.Sprintf("<%s@effects.landed>", ref), "X-Landed-Ref": fmt.Sprint(ref)}
				maps.DeleteFunc(got, func(k, _ string) bool { return want[k] == "" })
				if diff := cmp.Diff(want, got); diff != "" {
					t.Errorf("the mail's references:\n%s", diff)
				}
			}
			if c.directive == "retry" {
				return
			}
			for range e.start("--wait", "0", "--patience", "0").events { // once more: nothing is sent
			}
			if n := len(m.mails()); n != c.mails {
				t.Errorf("a second run sent: %d mails", n)
			}
		})
	}
}

func headers(mail string) map[string]string {
	out := map[string]string{}
	for line := range strings.SplitSeq(mail, "\n") {
		if name, value, ok := strings.Cut(strings.TrimSpace(line), ": "); ok {
			out[name] = value
		}
	}
	return out
}

func TestPython_Module(t *testing.T) {
	t.Parallel()
	if out, err := python(t, "-m", "unittest").Output(); err != nil {
		t.Errorf("%v\n%s", err, out)
	}
}
