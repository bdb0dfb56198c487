package handlers

import (
	"net/http"
	"strings"
	"testing"

	"github.com/landedhq/landed/journal"
	"github.com/landedhq/landed/web"
)

// TestCorrect: what the tool hides is neither shown nor lost; the confirm page
// shows what changes; nothing is written before it is confirmed, and what was
// typed stays.
func TestCorrect(t *testing.T) {
	t.Parallel()
	f := everything()
	k := &f.cases[0]
	for i := range f.cases {
		if c := &f.cases[i]; c.Decidable() && journal.Assess(&c.Snapshot).BlockFor(journal.VerbCorrect, "") == nil {
			k = c
			break
		}
	}
	k.Effect.Args, k.Tool.DisplayFields = []byte(`{"to":"ann@example.com","iban":"DE02","n":1970670598291982290}`), []string{"to", "n"}
	s := newSite(t, f)
	form := s.get(web.CorrectURL(k.Effect.ID)).Body.String()
	if strings.Contains(form, "DE02") || !strings.Contains(form, "1970670598291982290") || !strings.Contains(form, "1 member is not shown") {
		t.Fatalf("the form: %s", form)
	}
	ground := func(args, reason string) []string {
		_, version, _ := strings.Cut(form, `name="version" value="`)
		version, _, _ = strings.Cut(version, `"`)
		_, digest, _ := strings.Cut(form, `name="evidence" value="`)
		digest, _, _ = strings.Cut(digest, `"`)
		return []string{web.FieldChoice, "correct", web.FieldArgs, args, web.FieldSubject, k.Effect.Subject, web.FieldAmount, k.Effect.Amount, web.FieldCurrency, k.Effect.Currency,
			web.FieldCode, "confirmed_by_person", web.FieldReason, reason, web.FieldVersion, version, web.FieldDigest, digest}
	}
	w := s.post(web.CorrectURL(k.Effect.ID), ground(`{"to":"bob@example.com","n":1970670598291982290}`, "the customer moved")...)
	if body := w.Body.String(); w.Code != http.StatusOK || !strings.Contains(body, "What changes") || !strings.Contains(body, "bob@example.com") || strings.Contains(body, "DE02") || !strings.Contains(body, "Propose it") {
		t.Fatalf("%d %s", w.Code, body)
	}
	for _, bad := range []string{`{"to":`, `{"to":"ann@example.com","n":1970670598291982290}`} {
		w := s.post(web.CorrectURL(k.Effect.ID), ground(bad, "the customer moved")...)
		if w.Code != http.StatusUnprocessableEntity || !strings.Contains(w.Body.String(), "The arguments ") || !strings.Contains(w.Body.String(), "the customer moved") {
			t.Errorf("%s: %d", bad, w.Code)
		}
	}
	if body := s.post(web.CorrectURL(k.Effect.ID), ground(`{"to":`, "the customer moved")...).Body.String(); !strings.Contains(body, "The arguments are not valid JSON") {
		t.Error("what is wrong is not said as a sentence")
	}
	for field, values := range map[string][2]string{"amount": {"ten", "EUR"}, "currency": {"10", "euro"}, "subject": {"10", "EUR"}} {
		form := ground(`{"to":"bob@example.com"}`, "the customer moved")
		for i, name := range form {
			switch {
			case i%2 == 1:
			case name == web.FieldAmount:
				form[i+1] = values[0]
			case name == web.FieldCurrency:
				form[i+1] = values[1]
			case name == web.FieldSubject && field == "subject":
				form[i+1] = strings.Repeat("x", 5000)
			}
		}
		w := s.post(web.CorrectURL(k.Effect.ID), form...)
		body := w.Body.String()
		if w.Code != http.StatusUnprocessableEntity || !strings.Contains(body, `id="e-`+field+`"`) || !strings.Contains(body, `href="#f-`+field+`">The `+field+" ") || strings.Contains(body, `id="e-args"`) {
			t.Errorf("a wrong %s is answered with %d, and not said at its field", field, w.Code)
		}
	}
	if len(f.writes) != 0 {
		t.Errorf("written before it was confirmed: %v", f.writes)
	}
	s.post(web.DecideURL(k.Effect.ID), ground(`{"to":"bob@example.com","n":1970670598291982290}`, "the customer moved")...)
	if x := f.last.Correction; x == nil || !strings.Contains(string(x.Args), `"iban": "DE02"`) || !strings.Contains(string(x.Args), "bob@example.com") {
		t.Errorf("decided with %+v", f.last.Correction)
	}
	f.decide = func(d journal.Decision) (DecideResult, error) {
		return DecideResult{}, &journal.StaleError{EffectID: d.EffectID, Version: 9, State: journal.StateCommitted}
	}
	w = s.post(web.DecideURL(k.Effect.ID), ground(`{"to":"x@example.com"}`, "the customer moved")...)
	if w.Code != http.StatusConflict || !strings.Contains(w.Body.String(), "x@example.com") || !strings.Contains(w.Body.String(), "the customer moved") {
		t.Errorf("refused, %d: what was typed is lost", w.Code)
	}
	if w := newSite(t, f, journal.RoleViewer).get(web.CorrectURL(k.Effect.ID)); w.Code != http.StatusForbidden {
		t.Errorf("a viewer gets %d", w.Code)
	}
}
