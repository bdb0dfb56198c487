package e2e_test

import (
	"context"
	"errors"
	"net/http/httptest"
	"sync/atomic"
	"testing"
	"time"

	"github.com/landedhq/landed/journal"
	"github.com/landedhq/landed/journal/client"
	"github.com/landedhq/landed/providers/resume/webhook"
)

// TestHandedOverAgain: a runtime that fails keeps the outcome on the list, with
// what it said; a person has it handed over again once it is mended. On every
// screen.
func TestHandedOverAgain(t *testing.T) {
	t.Parallel()
	readAxe(t)
	browser := startBrowser(t)
	var provider sandbox
	var broken atomic.Bool
	woken := make(chan webhook.Woken, 10)
	var serve *webhook.Receiver
	hook := httptest.NewUnstartedServer(nil)
	d := startDesk(t, setup{Provider: provider.start, More: "resume:\n  - {name: hook, webhook: {url: \"http://" + hook.Listener.Addr().String() +
		"/landed\", secret: env:LANDED_ALERT_SECRET, allow_private: true}}\n"})
	serve, err := webhook.NewReceiver(func(_ context.Context, w webhook.Woken) error {
		if broken.Load() {
			return errors.New("the queue is down")
		}
		woken <- w
		return nil
	}, d.sink.Secret)
	if err != nil {
		t.Fatal(err)
	}
	hook.Config.Handler = serve
	hook.Start()
	t.Cleanup(hook.Close)
	api, err := client.New(client.Config{BaseURL: d.URL, Token: d.Token})
	if err != nil {
		t.Fatal(err)
	}
	if err := api.RegisterTool(t.Context(), journal.Tool{Name: "order.place", Class: journal.ClassAtMostOnce, Provider: "shop", ClientTimeout: time.Second}); err != nil {
		t.Fatal(err)
	}
	for _, s := range screens() {
		t.Run(s.Name, func(t *testing.T) { // one after the other: they share the runtime
			broken.Store(true)
			id := parkAtHook(t, api, "order-"+s.Name)
			b := newTab(t, browser, d.URL, s, "handover")
			b.open(d.URL + "/")
			b.pick(d.URL, olivia)
			b.opensUntil(d.URL+"/e/"+id, "main", "Decide")
			b.review("close_not_landed", "confirmed_by_person", "The shop has no such order.")
			b.click(confirmed)
			b.sees("main", "The decision is recorded")
			b.opensUntil(d.URL+"/e/"+id, "#delivery", "answered 500")
			b.shot("pending")
			b.opensUntil(d.URL+"/outcomes", "main", "answered 500")
			b.sees("main", "Runtimes")
			b.shot("outcomes")
			broken.Store(false)
			b.opensUntil(d.URL+"/e/"+id, "#delivery", "Hand over again")
			b.click(`#delivery form button[type="submit"]`)
			b.sees("main", "It is handed over again")
			b.opensUntil(d.URL+"/e/"+id, "#delivery", "Sent")
			b.shot("sent")
			select {
			case w := <-woken:
				if w.EffectID != id || string(w.Work) != `"order-`+s.Name+`"` {
					t.Errorf("woken with %+v", w)
				}
			case <-time.After(patience):
				t.Error("nobody was woken")
			}
		})
	}
}

func parkAtHook(t *testing.T, api *client.Client, key string) string {
	t.Helper()
	a, err := api.Begin(t.Context(), journal.BeginRequest{Key: key, ClaimID: journal.NewToken(), Tool: "order.place", RootRun: key, Operation: "place",
		Subject: "Order " + key, Resume: []byte(`{"to":"hook","work":"` + key + `"}`)})
	if err != nil {
		t.Fatal(err)
	}
	_, err = api.Fail(t.Context(), journal.FailRequest{Report: journal.Report{EffectID: a.EffectID, Attempt: a.Attempt, LeaseToken: a.LeaseToken,
		Key: key, Tool: "order.place"}, Phase: journal.PhaseSent, Error: "the answer was lost"})
	if err != nil {
		t.Fatal(err)
	}
	return a.EffectID
}
