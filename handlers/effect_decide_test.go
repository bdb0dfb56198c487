package handlers

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/PuerkitoBio/goquery"
	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/landedhq/landed/journal"
	"github.com/landedhq/landed/web"
)

func TestDecideNeedsTwoStepsWithoutScript(t *testing.T) {
	t.Parallel()
	s := newSite(t, everything())
	k := byName("not found")
	w := s.post(web.ConfirmURL(caseID(2)), decision(k, "reissue/new_key")...)
	wantStatus(t, w, http.StatusOK)
	doc := parse(t, w)
	wantText(t, doc, "h1", "Re-issue it as a new request")
	wantText(t, doc, "blockquote", "Nothing in the sent folder; customer asked.")
	wantText(t, doc, ".confirm", "This can’t be taken back.")
	if len(s.f.writes) > 0 {
		t.Fatalf("the first step wrote %v", s.f.writes)
	}
	form := doc.Find(".acts form").First()
	var fields []string
	form.Find("input, textarea").Each(func(i int, _ *goquery.Selection) {
		n := form.Find("input, textarea").Eq(i)
		fields = append(fields, n.AttrOr("name", ""), n.AttrOr("value", n.Text()))
	})
	w = s.post(form.AttrOr("action", ""), fields...)
	wantStatus(t, w, http.StatusSeeOther)
	if got := w.Header().Get("Location"); got != web.EffectNoteURL(caseID(2), noteDecided) {
		t.Errorf("leads to %q", got)
	}
	a := journal.Assess(&k.Snapshot)
	want := journal.Decision{EffectID: caseID(2), Verb: journal.VerbReissue, Mode: journal.NewKey, Expected: 7, Digest: a.Digest, Actor: operator(),
		Source: "page", ReasonCode: "evidence_not_found", Reason: "Nothing in the sent folder; customer asked."}
	if diff := cmp.Diff(want, s.f.last, cmpopts.EquateEmpty()); diff != "" {
		t.Errorf("decision (-want +got):\n%s", diff)
	}
}

func TestChangeItKeepsEverything(t *testing.T) {
	t.Parallel()
	s := newSite(t, everything())
	w := s.post(web.ConfirmURL(caseID(2)), append(decision(byName("not found"), "close_not_landed"), web.FieldEdit, "1")...)
	wantStatus(t, w, http.StatusOK)
	doc := parse(t, w)
	wantText(t, doc, "#f-reason", "Nothing in the sent folder")
	if doc.Find(`input[value=close_not_landed][checked]`).Length() != 1 || doc.Find(`#f-code option[value=evidence_not_found][selected]`).Length() != 1 {
		t.Error("choice or reason code is lost")
	}
}

func TestD01_SecondPostShowsTheFirstOutcome(t *testing.T) {
	t.Parallel()
	f := everything()
	posts := 0
	f.decide = func(d journal.Decision) (DecideResult, error) {
		posts++
		return DecideResult{Decision: d, Repeated: posts > 1}, nil
	}
	s := newSite(t, f)
	first := s.post(web.DecideURL(caseID(2)), decision(byName("not found"), "close_not_landed")...)
	second := s.post(web.DecideURL(caseID(2)), decision(byName("not found"), "close_not_landed")...)
	wantStatus(t, first, http.StatusSeeOther)
	wantStatus(t, second, http.StatusSeeOther)
	wantText(t, parse(t, s.get(second.Header().Get("Location"))), ".notice", "This decision was recorded already")
}

func TestD02_LoserSeesTheWinnerAndKeepsTheText(t *testing.T) {
	t.Parallel()
	winner := journal.Decision{Verb: journal.VerbCloseLanded, Actor: journal.Actor{Subject: "u-2", Name: "Ada <b>L</b>"}, At: before(40 * time.Second)}
	stale := &journal.StaleError{EffectID: caseID(2), State: journal.StateCommitted, Changed: []string{"The effect is COMMITTED now."}, Winner: &winner}
	f := everything()
	f.decide = func(journal.Decision) (DecideResult, error) {
		f.cases[1].Effect.State = journal.StateCommitted // by the winner, in between
		return DecideResult{}, wrap(stale)
	}
	s := newSite(t, f)
	w := s.post(web.DecideURL(caseID(2)), decision(byName("not found"), "reissue/new_key")...)
	wantStatus(t, w, http.StatusConflict)
	doc := parse(t, w)
	wantText(t, doc, ".notice h2", "Not recorded: Ada <b>L</b> decided first")
	wantText(t, doc, ".notice", "Ada <b>L</b> chose “It landed: close it” 40 s ago (2 Nov 2026, 03:12:05 UTC).")
	wantText(t, doc, ".kept", "Nothing in the sent folder; customer asked.")
	wantText(t, doc, "#answer", "Yes, it landed.")
}

func TestD08_StaleEvidenceAsksAgain(t *testing.T) {
	t.Parallel()
	for _, step := range []string{web.ConfirmURL(caseID(2)), web.DecideURL(caseID(2))} {
		f := everything()
		f.decide = func(journal.Decision) (DecideResult, error) {
			return DecideResult{}, &journal.StaleError{Changed: []string{"New evidence came in."}}
		}
		s := newSite(t, f)
		w := s.post(step, web.FieldChoice, "reissue/new_key", web.FieldCode, "evidence_not_found", web.FieldReason, "It was not there at nine o'clock.",
			web.FieldVersion, "6", web.FieldDigest, "an older set")
		wantStatus(t, w, http.StatusConflict)
		doc := parse(t, w)
		wantText(t, doc, ".notice", "New evidence came in.")
		wantText(t, doc, "#f-reason", "It was not there at nine o'clock.")
		if doc.Find("input[name=choice][checked]").Length() != 0 {
			t.Error("the old choice stands although the evidence changed")
		}
		if got := doc.Find("form[action='"+web.ConfirmURL(caseID(2))+"'] input[name=version]").AttrOr("value", ""); got != "7" {
			t.Errorf("the form carries version %q, want the new one", got)
		}
	}
}

func TestBlockedAndInvalidDecisionsKeepTheText(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name   string
		err    error
		status int
		want   string
	}{
		{"blocked", &journal.BlockedError{Verb: journal.VerbReissue, Reason: journal.WhyTooEarly, Until: testNow().Add(4 * time.Minute)}, 409, "It opens in 4 min (2 Nov 2026, 03:16:45 UTC)."},
		{"invalid", &journal.InvalidError{Field: "reason", Detail: "is too vague"}, 422, "Your text is too vague."},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			f := everything()
			f.decide = func(journal.Decision) (DecideResult, error) { return DecideResult{}, tt.err }
			s := newSite(t, f)
			w := s.post(web.DecideURL(caseID(2)), decision(byName("not found"), "reissue/new_key")...)
			wantStatus(t, w, tt.status)
			doc := parse(t, w)
			wantText(t, doc, ".notice", tt.want)
			wantText(t, doc, "#f-reason", "Nothing in the sent folder")
		})
	}
}

func TestConfirmRefusesWhatIsBlocked(t *testing.T) {
	t.Parallel()
	s := newSite(t, everything())
	w := s.post(web.ConfirmURL(caseID(1)), decision(byName("found"), "reissue/new_key")...)
	wantStatus(t, w, http.StatusConflict)
	wantText(t, parse(t, w), ".notice", "The provider shows it")
}

func TestConfirmSaysWhenItDepartsFromTheAdvice(t *testing.T) {
	t.Parallel()
	s := newSite(t, everything())
	doc := parse(t, s.post(web.ConfirmURL(caseID(4)), decision(byName("same key"), "reissue/new_key")...))
	wantText(t, doc, ".confirm .notice", "Re-issue it under the same key. An attempt may have landed: a new request would then double it.")
	doc = parse(t, s.post(web.ConfirmURL(caseID(4)), decision(byName("same key"), "reissue/same_key")...))
	if doc.Find(".confirm .notice").Length() != 0 {
		t.Error("warns of the advised choice")
	}
}

func TestEveryMissingFieldIsNamedAndLinked(t *testing.T) {
	t.Parallel()
	s := newSite(t, everything())
	w := s.post(web.ConfirmURL(caseID(2)), web.FieldReason, "too few", web.FieldProviderID, strings.Repeat("x", 501), web.FieldVersion, "7")
	wantStatus(t, w, http.StatusUnprocessableEntity)
	doc := parse(t, w)
	var got []string
	for _, a := range doc.Find(".notice[role=alert] li a").Nodes {
		got = append(got, a.Attr[0].Val)
	}
	if diff := cmp.Diff([]string{"#f-choice", "#f-code", "#f-reason"}, got); diff != "" {
		t.Errorf("summary (-want +got):\n%s", diff)
	}
	if id := doc.Find("#f-reason").AttrOr("aria-describedby", ""); !strings.Contains(id, "e-reason") {
		t.Errorf("the field's error is not tied to it: %q", id)
	}
	wantText(t, doc, "#e-reason", "Your text has 7 characters")
	wantText(t, doc, "#f-reason", "too few")
}

func TestUndecidableEffectsTakeNoDecision(t *testing.T) {
	t.Parallel()
	s := newSite(t, everything())
	w := s.post(web.ConfirmURL(caseID(9)), decision(byName("ordered"), "close_landed")...)
	wantStatus(t, w, http.StatusConflict)
	wantText(t, parse(t, w), ".notice h2", "Grace Hopper decided first")
}

func TestLookAndAcknowledge(t *testing.T) {
	t.Parallel()
	s := newSite(t, everything())
	wantStatus(t, s.post(web.LookURL(caseID(1))), http.StatusSeeOther)
	wantStatus(t, s.post(web.LookURL(caseID(7))), http.StatusConflict)  // no adapter
	wantStatus(t, s.post(web.LookURL(caseID(19))), http.StatusConflict) // live
	wantStatus(t, s.post(web.AcknowledgeURL(caseID(14)), web.FieldReason, "short"), http.StatusUnprocessableEntity)
	wantStatus(t, s.post(web.AcknowledgeURL(caseID(14)), web.FieldReason, "Refunded the second one."), http.StatusSeeOther)
	want := []string{"look " + caseID(1) + " u-17", "acknowledge " + caseID(14) + " u-17: Refunded the second one."}
	if diff := cmp.Diff(want, s.f.writes); diff != "" {
		t.Errorf("writes (-want +got):\n%s", diff)
	}
}

const markup = `<img src=x onerror=alert(1)>`

// hostileCase has markup in every field that somebody else writes.
func hostileCase() journal.Case {
	k := newCase(1, found(time.Minute), decided(journal.VerbReissue, journal.NewKey, time.Hour), acked(time.Minute), siblings)
	e := &k.Effect
	e.State, e.ParkedReason = journal.StateParked, markup
	for _, p := range []*string{&e.Namespace, &e.Key, &e.Ref, &e.Tool, &e.Provider, &e.RootRun, &e.Turn, &e.Run, &e.Step, &e.Operation, &e.Subject, &e.Amount,
		&e.Currency, &e.Fingerprint, &e.Traceparent, &e.ProviderID, &e.SettledBy, &e.Refusal} {
		*p = markup
	}
	e.Contradicted = true
	e.Labels = map[string]string{markup: markup}
	e.Args, e.Result = []byte(`{"`+markup+`":"`+markup+`"}`), []byte(markup)
	a := &k.Attempts[0]
	a.Worker, a.Error, a.ProviderID, a.Phase = markup, markup, markup, journal.Phase(markup)
	ev := &k.Evidence[0]
	ev.Adapter, ev.Kind, ev.Explanation, ev.Digest, ev.RequestedBy = markup, markup, markup, markup, markup
	ev.Scopes = []journal.Scope{{Name: markup, Detail: markup}}
	ev.Exchanges = []journal.Exchange{{Request: markup, Response: markup}}
	ev.Negative.Detail, ev.Positive.Detail = markup, markup
	ev.Matches = []journal.Match{{ID: markup, URL: "javascript:alert(1)", Title: markup, Status: markup, State: journal.MatchState(markup), Where: markup, Carrier: markup,
		Facts: []journal.MatchFact{{Name: markup, Value: markup}}}, {ID: "2", URL: `https://evil.example/"><img src=x onerror=alert(1)>`}}
	cannot := *ev
	cannot.Verdict, cannot.Reason = journal.CannotTell, markup
	k.Evidence = append(k.Evidence, cannot)
	k.Events = append(k.Events, journal.Event{At: testNow(), Kind: markup, Actor: markup, Detail: []byte(`{"a":"` + markup + `"}`)},
		journal.Event{At: testNow(), Kind: journal.EventDrift, Actor: "worker:" + markup, Detail: []byte(`"` + markup + `"`)})
	d := &k.Decisions[0]
	d.Reason, d.ReasonCode, d.Actor.Name, d.AssessmentSummary = markup, markup, markup, markup
	r := &k.Resolutions[0]
	r.Reason, r.By, r.AckedBy = markup, markup, markup
	k.Resolutions = append([]journal.Resolution{{Kind: journal.ResolutionKind(markup), By: markup, Reason: markup}}, k.Resolutions...)
	k.Siblings[0].Subject, k.Siblings[0].Tool, k.Siblings[0].Operation, k.Siblings[0].Amount = markup, markup, markup, markup
	k.Tool.IdentityFields, k.Policy.Version = nil, markup
	return k
}

func TestV01_MarkupIsTextEverywhere(t *testing.T) {
	t.Parallel()
	k := hostileCase()
	f := &fakeJournal{cases: []journal.Case{k}, audit: []journal.AuditRecord{{Seq: 1, At: testNow(), Kind: markup, EffectID: markup, Actor: markup, Name: markup,
		Source: markup, Was: markup, State: markup, Tool: markup, Code: markup, Reason: markup, Result: markup, Evidence: markup, Body: []byte(markup)}}}
	f.decide = func(journal.Decision) (DecideResult, error) {
		return DecideResult{}, &journal.StaleError{Changed: []string{markup}, Winner: &journal.Decision{Verb: markup, Actor: journal.Actor{Name: markup}}}
	}
	who := operator()
	who.Name, who.Roles = markup, append(who.Roles, journal.RoleAuditor, journal.Role(markup))
	s := newSiteAs(t, f, session{who: who}, "https://landed.example.org")
	q := "?q=" + strings.ReplaceAll(markup, " ", "+")
	fields := append(decision(k, "close_landed"), web.FieldProviderID, markup, web.FieldReason, markup, web.FieldCode, "other")
	for name, w := range map[string]*httptest.ResponseRecorder{
		"list":   s.get("/" + q + strings.ReplaceAll("&tool=M&provider=M&ns=M&run=M&after=M", "M", strings.ReplaceAll(markup, " ", "+"))),
		"effect": s.get(web.EffectURL(caseID(1)) + "?args=all"), "audit": s.get(web.RouteAudit), "not found": s.get("/" + strings.ReplaceAll(markup, " ", "%20")),
		"confirm": s.post(web.ConfirmURL(caseID(1)), fields...), "stale": s.post(web.DecideURL(caseID(1)), fields...),
		"invalid":     s.post(web.ConfirmURL(caseID(1)), append(fields, web.FieldChoice, markup, web.FieldCode, markup)...),
		"acknowledge": s.post(web.AcknowledgeURL(caseID(1)), web.FieldReason, "<img"),
	} {
		doc := parse(t, w)
		checkNoInline(t, name, doc)
		if strings.Contains(w.Body.String(), "<img") {
			t.Errorf("%s: the markup came through", name)
		}
		if name != "not found" && name != "acknowledge" && !strings.Contains(doc.Text(), "onerror=alert(1)") {
			t.Errorf("%s: the markup is not shown as text", name)
		}
	}
}
