package httpkey_test

import (
	"encoding/json"
	"io"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/landedhq/landed/journal"
)

// unknownOnce answers 504 to the first request and creates afterwards.
func unknownOnce() http.HandlerFunc {
	var n atomic.Int32
	return func(w http.ResponseWriter, r *http.Request) {
		if n.Add(1) == 1 {
			w.WriteHeader(504)
			return
		}
		created(w, r)
	}
}

// TestOrder_RunsTheStoredRequest: after a re-issue the next request with that key
// executes what was stored, byte for byte, with the credentials of now; the ones
// after it get its answer.
func TestOrder_RunsTheStoredRequest(t *testing.T) {
	t.Parallel()
	u := newUpstream(t, unknownOnce())
	s := openStore(t)
	front := proxy(t, config(s), u.URL)
	body := "{\"amount\": 500,\n  \"note\":\"a\\u0000b \\ud800\"}\r\n"
	g := post(t, front.URL+"/a%2Fb/refunds?x=1;y=%20", "k", body, header("X-Trace", "one"))
	g.is(t, 409, "outcome_unknown", false)
	decide(t, s, g.problem(t).EffectID, func(d *journal.Decision) { d.Verb, d.Mode = journal.VerbReissue, journal.NewKey })
	first := post(t, front.URL+"/a%2Fb/refunds?x=1;y=%20", "k", body, header("X-Trace", "two"))
	again := post(t, front.URL+"/a%2Fb/refunds?x=1;y=%20", "k", body)
	if first.status != 201 || again.body != first.body || again.header.Get("Idempotency-Replayed") != "true" || u.count() != 2 {
		t.Fatalf("first %+v\nagain %+v, %d requests", first, again, u.count())
	}
	r := u.last()
	sent, _ := io.ReadAll(r.Body)
	if string(sent) != body || r.URL.RequestURI() != "/a%2Fb/refunds?x=1;y=%20" || r.Header.Get("X-Trace") != "two" || r.Header.Get("Content-Type") != "application/json" {
		t.Errorf("executed %s %q %v", r.URL, sent, r.Header)
	}
	snap, err := s.Snapshot(t.Context(), first.header.Get("Landed-Effect"))
	if err != nil {
		t.Fatal(err)
	}
	if args := string(snap.Effect.Args); strings.Contains(args, "sk_1") || strings.Contains(args, "one") {
		t.Errorf("a credential or an odd header was stored: %s", args)
	}
	if snap.Effect.Subject != "POST /a%2Fb/refunds" || snap.Effect.Labels["idempotency_key"] != "k" || snap.Effect.ProviderID != "re_1" {
		t.Errorf("journaled %+v", snap.Effect)
	}
}

// TestOrder_Corrected: a person corrects the body; the next request with the old
// key executes the corrected one, once.
func TestOrder_Corrected(t *testing.T) {
	t.Parallel()
	u := newUpstream(t, unknownOnce())
	s := openStore(t)
	front := proxy(t, config(s), u.URL)
	g := post(t, front.URL+"/refunds", "k", `{"amount":500}`)
	id := g.problem(t).EffectID
	snap, err := s.Snapshot(t.Context(), id)
	if err != nil {
		t.Fatal(err)
	}
	decide(t, s, id, func(d *journal.Decision) {
		d.Verb, d.Approval = journal.VerbCorrect, approval()
		d.Correction = &journal.Correction{Args: []byte(strings.Replace(string(snap.Effect.Args), "500", "5", 1)), Subject: snap.Effect.Subject}
	})
	for i := range 2 {
		if g := post(t, front.URL+"/refunds", "k", `{"amount":500}`); g.status != 201 || g.header.Get("Landed-Effect") == id || (g.header.Get("Idempotency-Replayed") != "") != (i == 1) {
			t.Errorf("answered %+v", g)
		}
	}
	sent, _ := io.ReadAll(u.last().Body)
	if string(sent) != `{"amount":5}` || u.count() != 2 {
		t.Errorf("executed %q, %d requests", sent, u.count())
	}
}

// TestOrder_CorrectedToNonsense: stored args that are no request are refused, and
// nothing is called.
func TestOrder_CorrectedToNonsense(t *testing.T) {
	t.Parallel()
	u := newUpstream(t, unknownOnce())
	s := openStore(t)
	front := proxy(t, config(s), u.URL)
	id := post(t, front.URL+"/refunds", "k", `{}`).problem(t).EffectID
	decide(t, s, id, func(d *journal.Decision) {
		d.Verb, d.Approval, d.Correction = journal.VerbCorrect, approval(), &journal.Correction{Args: []byte(`{"method":"POST","path":"refunds"}`)}
	})
	for range 2 {
		post(t, front.URL+"/refunds", "k", `{}`).is(t, 422, "refused", false)
	}
	if u.count() != 1 {
		t.Errorf("%d requests", u.count())
	}
}

// TestClosedNotLanded: a person closes it as not done; the client is told, and
// nothing is executed under that key any more.
func TestClosedNotLanded(t *testing.T) {
	t.Parallel()
	u := newUpstream(t, unknownOnce())
	s := openStore(t)
	front := proxy(t, config(s), u.URL)
	id := post(t, front.URL+"/refunds", "k", `{}`).problem(t).EffectID
	decide(t, s, id, func(d *journal.Decision) { d.Verb = journal.VerbCloseNotLanded })
	g := post(t, front.URL+"/refunds", "k", `{}`)
	g.is(t, 409, "closed_not_landed", false)
	var p map[string]any
	if err := json.Unmarshal([]byte(g.body), &p); err != nil || p["executed"] != false || p["settled_by"] == nil || u.count() != 1 {
		t.Errorf("answered %s, %d requests", g.body, u.count())
	}
}

// approval is the second person's word.
func approval() *journal.Approval {
	return &journal.Approval{Reason: "checked it with the customer",
		Actor: journal.Actor{Issuer: "https://idp.test", Subject: "anna", Name: "Anna Approver", Roles: []journal.Role{journal.RoleApprover}}}
}
