package recipes_test

import (
	"context"
	"io"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/landedhq/landed/journal"
	"github.com/landedhq/landed/providers/resume/recipes/recipestest"
)

// runtime starts the runtime of one recipe.
func runtime(t *testing.T, name string) *recipestest.Fake {
	t.Helper()
	for _, d := range recipestest.Dialects() {
		if d.Recipe == name {
			return recipestest.New(t, d)
		}
	}
	t.Fatalf("there is no runtime for %s", name)
	return nil
}

// LangGraph knows no ids, so Landed looks for its earlier run: a try whose answer
// was lost must not resume the next interrupt.
func TestLangGraph_TheEarlierRunIsFound(t *testing.T) {
	t.Parallel()
	f := runtime(t, "langgraph.resume")
	effect := newID()
	f.Wait(effect)
	m := message(f, t, effect)
	target := f.Target(t)
	deliver(t, target, m)
	f.Wait(effect)
	before := len(f.Requests())
	r := deliver(t, target, m)
	if !strings.Contains(r.Detail, "was created before") || len(f.Seen(effect)) != 1 {
		t.Errorf("%q, resumed %d times", r.Detail, len(f.Seen(effect)))
	}
	for _, q := range f.Requests()[before:] {
		if q.Method != http.MethodGet {
			t.Errorf("it made %s %s", q.Method, q.Path)
		}
	}
	deliver(t, target, message(f, t, effect)) // another resolution is another matter
	if len(f.Seen(effect)) != 2 {
		t.Errorf("resumed %d times", len(f.Seen(effect)))
	}
	_, err := target.Deliver(t.Context(), message(f, t, effect)) // the interrupt is listed, but was answered
	if outcome(t, err) != journal.HandoverNotWaiting || len(f.Seen(effect)) != 2 {
		t.Errorf("%v, resumed %d times", err, len(f.Seen(effect)))
	}
}

func TestLangGraph_Interrupts(t *testing.T) {
	t.Parallel()
	for _, row := range []struct {
		name string
		edit func(a map[string]any, effect string)
		want journal.HandoverOutcome
	}{
		{"found by the effect", func(map[string]any, string) {}, journal.HandoverAccepted},
		{"found by its id", func(a map[string]any, effect string) { a["interrupt_id"] = strings.ReplaceAll(effect, "-", "") }, journal.HandoverAccepted},
		{"another one is pending", func(a map[string]any, _ string) { a["interrupt_id"] = strings.Repeat("ab", 16) }, journal.HandoverNotWaiting},
		{"no such assistant", func(a map[string]any, _ string) { a["assistant_id"] = "nobody" }, journal.HandoverBadAddress},
		{"an id of another form", func(a map[string]any, _ string) { a["interrupt_id"] = "x" }, journal.HandoverBadAddress},
	} {
		t.Run(row.name, func(t *testing.T) {
			t.Parallel()
			f := runtime(t, "langgraph.resume")
			effect := newID()
			f.Wait(effect)
			m := message(f, t, effect)
			m.Resume = f.Resume(t, effect, func(a map[string]any) { row.edit(a, effect) })
			_, err := f.Target(t).Deliver(t.Context(), m)
			if got := outcome(t, err); got != row.want || len(f.Seen(effect)) == 1 != (row.want == journal.HandoverAccepted) {
				t.Errorf("%s, resumed %d times: %v", got, len(f.Seen(effect)), err)
			}
		})
	}
}

// A thread that starts another run between the check and the delivery refuses.
func TestLangGraph_TheThreadIsBusy(t *testing.T) {
	t.Parallel()
	f := runtime(t, "langgraph.resume")
	effect := newID()
	f.Wait(effect)
	f.Busy(effect)
	_, err := f.Target(t).Deliver(t.Context(), message(f, t, effect))
	if outcome(t, err) != journal.HandoverNotWaiting || !strings.Contains(err.Error(), "busy") || len(f.Seen(effect)) != 0 {
		t.Errorf("%v, resumed %d times", err, len(f.Seen(effect)))
	}
}

// Both answers are 409: only the title tells a message that is there from one that
// can't be taken now.
func TestCamunda_TheTwoConflicts(t *testing.T) {
	t.Parallel()
	f := runtime(t, "camunda.message")
	effect := newID()
	f.Begin(effect)
	m := message(f, t, effect)
	target := f.Target(t)
	f.Busy(effect)
	_, err := target.Deliver(t.Context(), m)
	if outcome(t, err) != journal.HandoverTransient || !strings.Contains(err.Error(), "please retry") {
		t.Errorf("not now: %v", err)
	}
	f.Begin(effect)
	if r := deliver(t, target, m); strings.Contains(r.Detail, "already") {
		t.Errorf("the first: %q", r.Detail)
	}
	if r := deliver(t, target, m); !strings.Contains(r.Detail, "already") {
		t.Errorf("the second: %q", r.Detail)
	}
	m.Resume = f.Resume(t, effect, func(a map[string]any) { a["tenant"] = "blue" })
	deliver(t, target, m)
	last := f.Requests()[len(f.Requests())-1].Body
	if !strings.Contains(last, `"tenantId":"blue"`) || !strings.Contains(last, `"timeToLive":345600000`) || !strings.Contains(last, `"messageId":"`+m.ID+`"`) {
		t.Errorf("%s", last)
	}
	if tokens := len(slices.DeleteFunc(f.Requests(), func(r recipestest.Request) bool { return !strings.HasSuffix(r.Path, "/token") })); tokens != 1 {
		t.Errorf("%d tokens were asked for", tokens)
	}
}

// A token that was revoked before its time costs one try, not all until it ends.
func TestCamunda_TheTokenIsRevoked(t *testing.T) {
	t.Parallel()
	f := runtime(t, "camunda.message")
	effect := newID()
	f.Wait(effect)
	target := f.Target(t)
	if err := target.Probe(t.Context()); err != nil {
		t.Fatal(err)
	}
	f.SetFault(recipestest.FaultRevoked)
	m := message(f, t, effect)
	_, err := target.Deliver(t.Context(), m)
	if outcome(t, err) != journal.HandoverAuth {
		t.Fatalf("%v", err)
	}
	f.SetFault("")
	deliver(t, target, m)
	if tokens := len(slices.DeleteFunc(f.Requests(), func(r recipestest.Request) bool { return !strings.HasSuffix(r.Path, "/token") })); tokens != 2 {
		t.Errorf("%d tokens were asked for", tokens)
	}
}

func TestHatchet_SetupIsWrong(t *testing.T) {
	t.Parallel()
	f := runtime(t, "hatchet.webhook")
	c := f.Config(t)
	c.Params["webhook"] = "another"
	target, err := c.Open()
	if err != nil {
		t.Fatal(err)
	}
	_, err = target.Deliver(t.Context(), message(f, t, newID()))
	if outcome(t, err) != journal.HandoverUnknown || !strings.Contains(err.Error(), "webhook another not found") {
		t.Errorf("%v", err)
	}
}

func TestRestate_BadAwakeable(t *testing.T) {
	t.Parallel()
	f := runtime(t, "restate.awakeable")
	m := message(f, t, newID())
	m.Resume = f.Resume(t, newID(), func(a map[string]any) { a["awakeable"] = "inv_1abcdef" })
	_, err := f.Target(t).Deliver(t.Context(), m)
	if outcome(t, err) != journal.HandoverBadAddress || !strings.Contains(err.Error(), "bad awakeable id") || len(f.Requests()) != 1 {
		t.Errorf("%v", err)
	}
}

// Restate's ingress proves nobody by itself: without a configured secret none is sent.
func TestRestate_NoSecretUnlessConfigured(t *testing.T) {
	t.Parallel()
	f := runtime(t, "restate.awakeable")
	c := f.Config(t)
	c.Secrets = nil
	target, err := c.Open()
	if err != nil {
		t.Fatal(err)
	}
	_, err = target.Deliver(t.Context(), message(f, t, newID()))
	if outcome(t, err) != journal.HandoverAuth { // the proxy before it wants one
		t.Errorf("%v", err)
	}
	for name := range f.Requests()[0].Header {
		if !slices.Contains([]string{"Accept", "Accept-Encoding", "Content-Length", "Content-Type", "User-Agent"}, name) {
			t.Errorf("it sends the header %s, and headers may be kept", name)
		}
	}
}

// The runtimes refuse what is not marked as JSON where the vendors' do, so the
// tests above show that the recipes mark it.
func TestRuntimesRefuseTheWrongMediaType(t *testing.T) {
	t.Parallel()
	for name, row := range map[string]struct {
		path, header, value string
		want                int
	}{
		"camunda.message":  {"/v2/messages/publication", "Authorization", "Bearer access-0123456789", http.StatusUnsupportedMediaType},
		"langgraph.resume": {"/threads/" + "7f1b8a52-6c1e-4c55-9d3e-2f0c1f2a4b6d" + "/runs", "X-Api-Key", "lsv2-test-0123456789", http.StatusBadRequest},
	} {
		f := runtime(t, name)
		f.Wait("7f1b8a52-6c1e-4c55-9d3e-2f0c1f2a4b6d")
		req, err := http.NewRequestWithContext(context.Background(), http.MethodPost, f.Server.URL+row.path, strings.NewReader(`{"name":"x","assistant_id":"agent"}`))
		if err != nil {
			t.Fatal(err)
		}
		req.Header.Set(row.header, row.value)
		req.Header.Set("Content-Type", "text/plain")
		resp, err := f.Server.Client().Do(req)
		if err != nil {
			t.Fatal(err)
		}
		b, _ := io.ReadAll(resp.Body)
		resp.Body.Close()
		if resp.StatusCode != row.want {
			t.Errorf("%s: %d %s", name, resp.StatusCode, b)
		}
	}
}
