package handlers

import (
	"encoding/json"
	"net/http"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/PuerkitoBio/goquery"
	"github.com/google/go-cmp/cmp"

	"github.com/landedhq/landed/journal"
	"github.com/landedhq/landed/web"
)

// sameText compares texts as they are read.
func sameText() cmp.Option {
	return cmp.Comparer(func(a, b web.Text) bool { return a.String() == b.String() })
}

func TestNewAnswer(t *testing.T) {
	t.Parallel()
	type brief struct {
		Tone                    web.Tone
		Text, Recommend, Reason string
		Countdown               string
	}
	for _, tt := range []struct {
		name string
		want brief
	}{
		{"found", brief{web.ToneGood, "Yes, it landed.", "Close it as landed.", "The provider shows it: an object there carries this effect's reference.", ""}},
		{"not found", brief{web.ToneInfo, "No, it did not land.", "Re-issue it, if it is still wanted.", "The provider was asked after everything could have landed, every page and place was read, both controls passed, and it is not there.", ""}},
		{"too early", brief{web.ToneWait, "It is too early to tell.", "Wait. Asking again makes sense", "It is too early to tell: a request may still land, or show up late in the search.", ""}},
		{"same key", brief{web.ToneInfo, "Not known, but safe to repeat.", "Re-issue it under the same key.", "Attempt 1 may have landed: nothing proves that it did not.", "The same key is safe to repeat until in 3 h 30 min"}},
		{"window over", brief{web.ToneWarn, "Nobody can tell yet.", "Investigate: look at the provider yourself before deciding.", "The newest look at the provider could not tell.", "The same key stopped being safe to repeat 2 h ago"}},
		{"twice", brief{web.ToneStop, "It landed more than once.", "Investigate: look at the provider yourself before deciding.", "The provider shows it more than once.", ""}},
		{"no adapter", brief{web.ToneWarn, "Landed can’t tell.", "Investigate: look at the provider yourself before deciding.", "No evidence adapter is set up for this provider, so Landed can't ask it.", ""}},
		{"no look", brief{web.ToneWait, "Not known yet.", "Wait for the next look at the provider.", "The provider has not been asked yet.", ""}},
		{"ordered", brief{web.ToneWait, "One more attempt is ordered.", "", "", "The order expires in 45 min"}},
		{"picked up", brief{web.ToneWait, "It is under way.", "", "", ""}},
		{"closed", brief{web.ToneGood, "Yes, it landed.", "", "", ""}},
		{"contradicted", brief{web.ToneStop, "It has landed after all.", "Close it as landed.", "It was closed as not landed, and then shown to have landed.", ""}},
		{"double", brief{web.ToneStop, "It probably landed twice.", "Check at the provider, then acknowledge.", "Two landings are known or likely.", ""}},
		{"refused", brief{web.ToneInfo, "No, it did not land.", "Close it as not landed.", "The provider refused it and did nothing.", ""}},
		{"gave up", brief{web.ToneInfo, "No, it did not land.", "Re-issue it, if it is still wanted.", "No byte of any request left the worker.", ""}},
		{"rejected", brief{web.ToneInfo, "No, it did not land.", "", "", ""}},
		{"live", brief{web.ToneWait, "It is under way.", "", "", ""}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			k := byName(tt.name)
			a := newAnswer(clock{k.Now}, &k.Snapshot, journal.Assess(&k.Snapshot))
			got := brief{Tone: a.Tone, Text: a.Text, Recommend: a.Recommend}
			if len(a.Reasons) > 0 {
				got.Reason = a.Reasons[0].Text
			}
			if len(a.Countdowns) > 0 {
				got.Countdown = a.Countdowns[0].Label + " " + a.Countdowns[0].At.Rel
			}
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("answer (-want +got):\n%s", diff)
			}
		})
	}
}

func stampAt(full, rel string) *web.Stamp {
	at, err := time.Parse("2 Jan 2006, 15:04:05 MST", full)
	if err != nil {
		panic(err)
	}
	return &web.Stamp{ISO: at.Format(time.RFC3339), Full: full, Rel: rel, Form: web.FormAgo}
}

func TestNewOutcome(t *testing.T) {
	t.Parallel()
	recorded := web.Step{Name: "Recorded", State: web.StepDone, At: stampAt("2 Nov 2026, 02:57:45 UTC", "15 min ago")}
	expired := func(k *journal.Case) {
		k.Now = testNow().Add(2 * time.Hour)
		k.Effect.State = journal.StateParked
		o := *k.Order
		o.Ended = "expired"
		k.Order = &o
	}
	unknownAgain := func(k *journal.Case) { k.Effect.State = journal.StateParked }
	for _, tt := range []struct {
		name string
		k    journal.Case
		want []web.Step
	}{
		{"recorded only", byName("ordered"), []web.Step{recorded,
			{Name: "Delivered", State: web.StepNow, Detail: "waiting for the runtime to ask"},
			{Name: "Picked up", State: web.StepLater, Detail: "the order expires", At: stampAt("2 Nov 2026, 03:57:45 UTC", "in 45 min")},
			{Name: "Settled", State: web.StepLater}}},
		{"picked up", byName("picked up"), []web.Step{recorded,
			{Name: "Delivered", State: web.StepDone, Detail: "to worker mailer-3", At: stampAt("2 Nov 2026, 03:12:25 UTC", "20 s ago")},
			{Name: "Picked up", State: web.StepDone, Detail: "as attempt 2", At: stampAt("2 Nov 2026, 03:12:25 UTC", "20 s ago")},
			{Name: "Settled", State: web.StepNow, Detail: "attempt 2 is under way"}}},
		{"unknown again", newCase(20, notFound(20*time.Minute), decided(journal.VerbReissue, journal.NewKey, 15*time.Minute), acked(10*time.Minute), pickedUp(10*time.Minute), unknownAgain), []web.Step{recorded,
			{Name: "Delivered", State: web.StepDone, Detail: "to worker mailer-3", At: stampAt("2 Nov 2026, 03:02:45 UTC", "10 min ago")},
			{Name: "Picked up", State: web.StepDone, Detail: "as attempt 2", At: stampAt("2 Nov 2026, 03:02:45 UTC", "10 min ago")},
			{Name: "Unknown again", State: web.StepFailed, Detail: "it waits for a decision once more"}}},
		{"expired", newCase(20, notFound(20*time.Minute), decided(journal.VerbReissue, journal.NewKey, 15*time.Minute), expired), []web.Step{
			{Name: "Recorded", State: web.StepDone, At: stampAt("2 Nov 2026, 02:57:45 UTC", "2 h 15 min ago")},
			{Name: "Delivered", State: web.StepFailed, Detail: "not in time"},
			{Name: "Picked up", State: web.StepFailed, Detail: "the order expired"},
			{Name: "Not settled", State: web.StepFailed, Detail: "it waits for a decision once more"}}},
		{"closed, nobody asked yet", byName("closed"), []web.Step{
			{Name: "Recorded", State: web.StepDone, At: stampAt("2 Nov 2026, 02:52:45 UTC", "20 min ago")},
			{Name: "Picked up", State: web.StepNow, Detail: "waiting for the runtime to ask"},
			{Name: "Settled", State: web.StepLater}}},
		{"closed and settled", byName("settled"), []web.Step{
			{Name: "Recorded", State: web.StepDone, At: stampAt("2 Nov 2026, 02:52:45 UTC", "20 min ago")},
			{Name: "Picked up", State: web.StepDone, Detail: "by worker mailer-3", At: stampAt("2 Nov 2026, 02:53:45 UTC", "19 min ago")},
			{Name: "Settled", State: web.StepDone, Detail: "Committed"}}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			o := newOutcome(clock{tt.k.Now}, &tt.k, namesOf(&tt.k, operator()), true)
			if diff := cmp.Diff(tt.want, o.Steps, sameText()); diff != "" {
				t.Errorf("steps (-want +got):\n%s", diff)
			}
			if got := o.By.String(); got != "Grace Hopper" {
				t.Errorf("by %q", got)
			}
		})
	}
}

func TestDecideBoxWhole(t *testing.T) {
	t.Parallel()
	k := byName("found")
	a := journal.Assess(&k.Snapshot)
	shown := "The provider shows it, so this would record something untrue or double it."
	want := web.DecideBox{
		Open: true, URL: "/e/" + caseID(1) + "/decide/confirm", Matches: []string{"<4711.5f0c@northwind.example>"},
		Draft: web.Draft{Version: "7", Digest: a.Digest, ProviderID: "<4711.5f0c@northwind.example>"},
		Choices: []web.Choice{
			{Value: "close_landed", Title: "It landed: close it", Means: "The workflow goes on as if the worker had reported success.", Advised: true},
			{Value: "close_not_landed", Title: "It did not land: close it", Means: "The workflow is told that it did not happen and will not. It is never repeated under this key.", Blocked: shown},
			{Value: "reissue/new_key", Title: "Re-issue it as a new request", Means: "The worker may try once more. If an earlier request landed, this one doubles it.", Blocked: shown},
		},
		Codes: []web.Option{{Value: "", Text: "Pick one", Selected: true},
			{Value: "evidence_found", Text: "The evidence shows that it landed"}, {Value: "evidence_not_found", Text: "The evidence shows that it did not land"},
			{Value: "confirmed_by_person", Text: "Somebody confirmed it (the customer, the provider)"}, {Value: "done_by_hand", Text: "It was done by hand"},
			{Value: "no_longer_needed", Text: "It is no longer needed"}, {Value: "provider_incident", Text: "The provider had an incident"},
			{Value: "test", Text: "It is a test"}, {Value: "other", Text: "Something else"}},
	}
	got := newDecideBox(clock{k.Now}, &k, a, effectView{Who: operator()})
	if diff := cmp.Diff(want, got, sameText()); diff != "" {
		t.Errorf("decide box (-want +got):\n%s", diff)
	}
}

func TestEffectPageAnswersTheQuestion(t *testing.T) {
	t.Parallel()
	s := newSite(t, everything())
	w := s.get(web.EffectURL(caseID(1)))
	wantStatus(t, w, http.StatusOK)
	doc := parse(t, w)
	wantText(t, doc, "h1 .question", "Did it land?")
	wantText(t, doc, "h1 .subject", "Reminder for invoice 4711")
	wantText(t, doc, "#answer h2", "Yes, it landed.")
	wantText(t, doc, ".recommend", "Close it as landed.")
	wantText(t, doc, ".look-now", "The newest evidence was pulled 7 min ago 2 Nov 2026, 03:05:45 UTC")
	wantText(t, doc, "#evidence .match a", "Invoice 4711 is due")
	link := doc.Find("#evidence .match a")
	if href, rel := link.AttrOr("href", ""), link.AttrOr("rel", ""); href != "https://mail.example.org/m/88123" || rel != "noopener noreferrer" {
		t.Errorf("link %q rel %q", href, rel)
	}
	if n := doc.Find(`input[name=choice][checked]`).Length(); n != 0 {
		t.Error("a choice is made beforehand")
	}
	if n := doc.Find(`input[name=choice][disabled]`).Length(); n != 2 {
		t.Errorf("%d choices are blocked, want 2", n)
	}
	wantText(t, doc, "#siblings tbody tr:nth-child(2)", "12.50 EUR")
}

func TestViewersSeeNoForm(t *testing.T) {
	t.Parallel()
	for _, role := range []journal.Role{journal.RoleViewer, journal.RoleAuditor, journal.RoleAdmin} {
		s := newSite(t, everything(), role)
		doc := parse(t, s.get(web.EffectURL(caseID(1))))
		if n := doc.Find("main form").Length(); n != 0 {
			t.Errorf("%s sees %d forms", role, n)
		}
		wantText(t, doc, "#decide", "operators and approvers decide")
		for _, path := range []string{web.LookURL(caseID(1)), web.AcknowledgeURL(caseID(13)), web.ConfirmURL(caseID(1)), web.DecideURL(caseID(1))} {
			w := s.post(path, web.FieldReason, "long enough a reason")
			wantStatus(t, w, http.StatusForbidden)
			wantText(t, parse(t, w), ".message", "operator or approver")
		}
		if len(s.f.writes) > 0 {
			t.Errorf("%s wrote %v", role, s.f.writes)
		}
	}
}

func TestV02_ArgsKeepTheirDigits(t *testing.T) {
	t.Parallel()
	s := newSite(t, everything())
	doc := parse(t, s.get(web.EffectURL(caseID(18))))
	wantText(t, doc, "#arguments .members", "1970670598291982290")
	wantText(t, doc, "#arguments .members", "10.10")
}

func TestV04_PaddingHidesNothing(t *testing.T) {
	t.Parallel()
	s := newSite(t, everything())
	doc := parse(t, s.get(web.EffectURL(caseID(18))))
	row := doc.Find("#arguments .members tbody tr").First()
	if got := squash(row.Text()); !strings.Contains(got, "… 5 000 spaces …") || !strings.Contains(got, "mallory@evil.example") {
		t.Errorf("the first row is %q", got)
	}
	wantText(t, doc, "#arguments .members", "THE END")
	wantText(t, doc, "#arguments .cut-note", "characters are not shown")
	wantText(t, doc, "#arguments .payload-note", "SHA-256")
	wantText(t, doc, "#arguments .payload-note", "13 932 bytes")
	all, _ := doc.Find("#arguments .cut-note a").Attr("href")
	all, _, _ = strings.Cut(all, "#")
	doc = parse(t, s.get(all))
	if doc.Find("#arguments .cut-note").Length() != 0 || strings.Count(doc.Find("#arguments").Text(), "All work and no play.") != 400 {
		t.Error("all is not all")
	}
	if raw, _ := doc.Html(); strings.ContainsAny(raw, "\u202e\u200b") {
		t.Error("the page holds an invisible character as such")
	}
}

func TestV04_ReissueShowsAllArguments(t *testing.T) {
	t.Parallel()
	s := newSite(t, everything())
	w := s.post(web.ConfirmURL(caseID(18)), decision(byName("padded"), "reissue/new_key")...)
	wantStatus(t, w, http.StatusOK)
	if n := strings.Count(w.Body.String(), "All work and no play."); n != 400 {
		t.Errorf("the confirmation shows %d of 400 sentences", n)
	}
}

func TestDisplayFields(t *testing.T) {
	t.Parallel()
	k := byName("found")
	k.Tool.DisplayFields = []string{"to", "vat"}
	p := newPayload(k.Effect.Args, &k, true)
	var names []string
	for _, m := range p.Members {
		names = append(names, m.Name.String())
	}
	if diff := cmp.Diff([]string{"to", "vat"}, names); diff != "" {
		t.Errorf("members (-want +got):\n%s", diff)
	}
	if want := "3 further members are left out: the tool’s display_fields do not name them."; p.Hidden != want {
		t.Errorf("hidden: %q", p.Hidden)
	}
}

func TestSafeLink(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name, in string
		hosts    []string
		want     string
	}{
		{"https", "https://rt.example.org/T?id=1", nil, "https://rt.example.org/T?id=1"},
		{"http", "http://rt.example.org/", nil, ""},
		{"http, although allowed by name", "http://rt.example.org/", []string{"rt.example.org"}, ""},
		{"http on loopback, not named", "http://127.0.0.1:8080/T", nil, ""},
		{"http on loopback, named", "http://127.0.0.1:8080/T", []string{"127.0.0.1"}, "http://127.0.0.1:8080/T"},
		{"script", "javascript:alert(1)", nil, ""},
		{"script in capitals", " JaVaScRiPt:alert(1)", nil, ""},
		{"data", "data:text/html,x", nil, ""},
		{"relative", "/logout", nil, ""},
		{"other host without scheme", "//evil.example", nil, ""},
		{"user info", "https://rt.example.org@evil.example/", nil, ""},
		{"opaque", "https:evil.example", nil, ""},
		{"allowed host", "https://RT.example.org/T", []string{"rt.example.org"}, "https://RT.example.org/T"},
		{"another host", "https://evil.example/", []string{"rt.example.org"}, ""},
		{"a host that ends alike", "https://evilrt.example.org/", []string{"rt.example.org"}, ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			if got, _ := safeLink(tt.in, tt.hosts); got != tt.want {
				t.Errorf("got %q, want %q", got, tt.want)
			}
		})
	}
}

func TestD09_UnknownKindIsReadable(t *testing.T) {
	t.Parallel()
	s := newSite(t, everything())
	doc := parse(t, s.get(web.EffectURL(caseID(7))))
	wantText(t, doc, "#answer", "Landed can’t tell.")
	wantText(t, doc, ".look-act", "names no provider")
	if doc.Find(`input[value=close_landed]:not([disabled])`).Length() != 1 {
		t.Error("it can't be closed")
	}
}

func TestVersionFollowsWhatThePageShows(t *testing.T) {
	t.Parallel()
	f := &fakeJournal{cases: []journal.Case{byName("ordered")}}
	s := newSite(t, f)
	ask := func() string {
		var v versionAnswer
		if err := json.Unmarshal(s.get(web.VersionURL(caseID(9))).Body.Bytes(), &v); err != nil {
			t.Fatal(err)
		}
		return v.Version
	}
	first := ask()
	doc := parse(t, s.get(web.EffectURL(caseID(9))))
	if got := doc.Find("[data-effect]").AttrOr("data-version", ""); got != first {
		t.Errorf("the page says %q, the version is %q", got, first)
	}
	if _, watching := doc.Find("[data-effect]").Attr("data-watching"); !watching {
		t.Error("a page without a form does not refresh by itself")
	}
	acked(0)(&f.cases[0])
	second := ask()
	pickedUp(0)(&f.cases[0])
	third := ask()
	f.cases[0].Now = testNow().Add(time.Hour) // the lease runs out without a write
	if fourth := ask(); first == second || second == third || third == fourth {
		t.Errorf("versions %q %q %q %q", first, second, third, fourth)
	}
}

func TestNotFoundTellsNothing(t *testing.T) {
	t.Parallel()
	s := newSite(t, everything())
	for _, id := range []string{caseID(99), "x", "..%2f..%2fetc", "' or 1=1 --", strings.Repeat("a", 5000)} {
		w := s.get(strings.ReplaceAll(web.EffectURL(id), "%25", "%"))
		if w.Code != http.StatusNotFound {
			t.Errorf("%.20q: status %d", id, w.Code)
		}
	}
}

// TestPagesKeepTheRules walks every page state.
func TestPagesKeepTheRules(t *testing.T) {
	t.Parallel()
	s := newSite(t, everything(), journal.RoleOperator, journal.RoleAuditor)
	pages := []string{"/", "/?tool=mail.send&q=x", web.RouteAudit, web.RouteProviders, "/nope"}
	for _, n := range allCases() {
		pages = append(pages, web.EffectURL(n.k.Effect.ID))
	}
	for _, path := range pages {
		checkPage(t, s, path, parse(t, s.get(path)))
	}
	checkPage(t, s, "confirm", parse(t, s.post(web.ConfirmURL(caseID(2)), decision(byName("not found"), "reissue/new_key")...)))
	checkPage(t, s, "invalid", parse(t, s.post(web.ConfirmURL(caseID(2)))))
}

func checkPage(t *testing.T, s site, name string, doc *goquery.Document) {
	t.Helper()
	if doc.Find("h1").Length() != 1 || doc.Find("main#main").Length() != 1 || doc.Find("a.skip[href='#main']").Length() != 1 {
		t.Errorf("%s: needs one h1, one main and a skip link", name)
	}
	checkNoInline(t, name, doc)
	ids := map[string]int{}
	doc.Find("[id]").Each(func(_ int, n *goquery.Selection) { ids[n.AttrOr("id", "")]++ })
	for id, n := range ids {
		if n > 1 {
			t.Errorf("%s: id %s is there %d times", name, id, n)
		}
	}
	doc.Find("label[for], [aria-labelledby], [aria-describedby]").Each(func(_ int, n *goquery.Selection) {
		for _, id := range strings.Fields(n.AttrOr("for", "") + " " + n.AttrOr("aria-labelledby", "") + " " + n.AttrOr("aria-describedby", "")) {
			if ids[id] == 0 {
				t.Errorf("%s: nothing has the id %s", name, id)
			}
		}
	})
	doc.Find("main table").Each(func(_ int, n *goquery.Selection) {
		if n.Find("caption").Length() != 1 || n.Find("thead th:not([scope])").Length() != 0 || n.Find("tbody tr").Length() != n.Find("tbody th[scope=row]").Length() {
			t.Errorf("%s: a table lacks caption or scopes: %.80s", name, squash(n.Text()))
		}
	})
	doc.Find("input:not([type=hidden]), select, textarea:not([hidden])").Each(func(_ int, n *goquery.Selection) {
		id := n.AttrOr("id", "")
		if doc.Find("label[for='"+id+"']").Length() == 0 && n.AttrOr("aria-label", "") == "" {
			t.Errorf("%s: field %s has no label", name, n.AttrOr("name", id))
		}
	})
	doc.Find("form[method=post]").Each(func(_ int, n *goquery.Selection) {
		if n.Find("input[name="+web.FieldToken+"]").AttrOr("value", "") != testToken {
			t.Errorf("%s: form %s has no token", name, n.AttrOr("action", ""))
		}
	})
	checkLinks(t, s, name, doc, ids)
}

func checkLinks(t *testing.T, s site, name string, doc *goquery.Document, ids map[string]int) {
	t.Helper()
	doc.Find("a[href], form[action]").Each(func(_ int, n *goquery.Selection) {
		to := n.AttrOr("href", n.AttrOr("action", ""))
		if anchor, ok := strings.CutPrefix(to, "#"); ok {
			if ids[anchor] == 0 {
				t.Errorf("%s: no place %s", name, to)
			}
			return
		}
		if strings.HasPrefix(to, "https://") {
			if n.AttrOr("rel", "") != "noopener noreferrer" {
				t.Errorf("%s: link %s leaves without rel", name, to)
			}
			return
		}
		path, _, _ := strings.Cut(strings.SplitN(to, "#", 2)[0], "?")
		if to == web.RouteLogout { // the login's own
			return
		}
		method := strings.ToUpper(n.AttrOr("method", "get"))
		c := s.e.NewContext(nil, nil)
		s.e.Router().Find(method, path, c)
		if c.Path() == "" {
			t.Errorf("%s: %s %s leads nowhere", name, method, to)
		}
	})
}

// inline are attributes that a strict content policy refuses.
func checkNoInline(t *testing.T, name string, doc *goquery.Document) {
	t.Helper()
	handler := regexp.MustCompile(`^on[a-z]+$`)
	doc.Find("*").Each(func(_ int, n *goquery.Selection) {
		for _, a := range n.Nodes[0].Attr {
			if a.Key == "style" || handler.MatchString(a.Key) {
				t.Errorf("%s: <%s %s=%q>", name, n.Nodes[0].Data, a.Key, a.Val)
			}
			if (a.Key == "href" || a.Key == "src" || a.Key == "action") && strings.Contains(strings.ToLower(a.Val), "javascript:") {
				t.Errorf("%s: link to %s", name, a.Val)
			}
		}
	})
	doc.Find("script, style").Each(func(_ int, n *goquery.Selection) {
		if strings.TrimSpace(n.Text()) != "" {
			t.Errorf("%s: inline %s", name, n.Nodes[0].Data)
		}
	})
	if doc.Find("img, iframe, object, embed, base").Length() > 0 {
		t.Errorf("%s: holds an element that no page of ours has", name)
	}
}

// decision is a filled form for an effect.
func decision(k journal.Case, choice string) []string {
	a := journal.Assess(&k.Snapshot)
	return []string{web.FieldChoice, choice, web.FieldCode, "evidence_not_found", web.FieldReason, "Nothing in the sent folder; customer asked.",
		web.FieldVersion, "7", web.FieldDigest, a.Digest}
}
