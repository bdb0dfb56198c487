package handlers

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/PuerkitoBio/goquery"
	"github.com/google/go-cmp/cmp"

	"github.com/landedhq/landed/journal"
	"github.com/landedhq/landed/web"
)

// fakeBulks is what the fake journal knows of sets.
type fakeBulks struct {
	change  func(*journal.Bulk)
	rules   []journal.Rule
	filter  journal.ListFilter
	kept    string
	order   journal.BulkOrder
	aside   []journal.BulkItem
	causes  journal.CausePage
	already bool
}

func (f *fakeJournal) Causes(_ context.Context, l journal.ListFilter) (journal.CausePage, error) {
	f.bulks.filter = l
	if f.bulks.causes.Now.IsZero() {
		f.bulks.causes.Now = testNow()
	}
	return f.bulks.causes, f.readErr
}

func (f *fakeJournal) FreezeBulk(_ context.Context, who journal.Actor, filter string, l journal.ListFilter) (journal.Bulk, error) {
	f.wrote("freeze " + filter + " by " + who.Subject)
	f.bulks.filter, f.bulks.kept = l, filter
	if f.answer != nil {
		return journal.Bulk{}, f.answer
	}
	return journal.Bulk{ID: caseID(1)}, nil
}

// Bulk is a set of every case, frozen five minutes ago.
func (f *fakeJournal) Bulk(_ context.Context, id string) (journal.Bulk, error) {
	b := journal.Bulk{ID: id, Actor: operator(), Filter: "tool=mail.send", Count: len(f.cases), Matched: len(f.cases), CreatedAt: before(5 * time.Minute), State: journal.BulkFrozen, Now: testNow()}
	for i, k := range f.cases {
		l, _ := k.LastLook()
		b.Items = append(b.Items, journal.BulkItem{No: i + 1, EffectID: k.Effect.ID, Version: k.Effect.Version, Digest: k.EvidenceDigest(), State: k.Effect.State, Verdict: l.Verdict,
			Effect: journal.Sibling{ID: k.Effect.ID, Tool: k.Effect.Tool, Operation: k.Effect.Operation, Subject: k.Effect.Subject, State: k.Effect.State}})
	}
	if f.bulks.change != nil {
		f.bulks.change(&b)
	}
	return b, f.readErr
}

func (f *fakeJournal) BulkNow(context.Context, journal.Bulk) (map[string]*journal.Snapshot, error) {
	now := map[string]*journal.Snapshot{}
	for i := range f.cases {
		s := f.cases[i].Snapshot
		s.Policy.Rules = f.bulks.rules
		now[s.Effect.ID] = &s
	}
	return now, f.readErr
}

func (f *fakeJournal) OrderBulk(_ context.Context, o journal.BulkOrder, aside []journal.BulkItem) error {
	f.wrote(fmt.Sprintf("order %s %s %d", o.Verb, o.Mode, o.Eligible))
	f.bulks.order, f.bulks.aside = o, aside
	if f.bulks.already {
		return journal.ErrConflict
	}
	return f.answer
}

func (f *fakeJournal) StopBulk(_ context.Context, id string, who journal.Actor) error {
	f.wrote("stop " + id + " by " + who.Subject)
	return f.answer
}

// some is a set of six: found, not found ×2, too early, can't tell, settled.
func some() *fakeJournal {
	return &fakeJournal{cases: []journal.Case{
		newCase(1, found(7*time.Minute)), newCase(2, notFound(4*time.Minute)), newCase(3, notFound(4*time.Minute)),
		newCase(4, tooEarly(40*time.Second, 4*time.Minute)),
		newCase(5, looked(journal.CannotTell, time.Hour, func(e *journal.Evidence) { e.Reason = journal.CannotProvider })),
		newCase(6, found(7*time.Minute), set(func(e *journal.Effect) { e.State, e.SettledBy = journal.StateCommitted, "operator:u-17" })),
	}}
}

func orderFields(choice, count string) []string {
	return []string{web.FieldChoice, choice, web.FieldCode, "provider_incident", web.FieldReason, "The mail server was down from nine to ten.", web.FieldCount, count}
}

// cells joins the texts of what a selector finds.
func cells(in *goquery.Selection, selector string) string {
	var out []string
	for _, c := range in.Find(selector).EachIter() {
		out = append(out, squash(c.Text()))
	}
	return strings.Join(out, " ")
}

func TestBulk_DryRun(t *testing.T) {
	t.Parallel()
	s := newSite(t, some())
	w := s.get(web.BulkURL(caseID(1)))
	wantStatus(t, w, http.StatusOK)
	doc := parse(t, w)
	wantText(t, doc, "h1", "Decide 6 effects together")
	wantText(t, doc, ".facts", "Toolmail.send")
	var rows []string
	for _, tr := range doc.Find(".dry-run tbody tr").EachIter() {
		rows = append(rows, cells(tr, "th, td"))
	}
	// evidence, effects, landed, not landed, new request
	want := []string{"Found 2 1 0 0", "Not found 2 2 2 2", "Can’t tell 2 2 2 0"}
	if diff := cmp.Diff(want, rows); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	again := doc.Find(".choice").Last().Text()
	for _, text := range []string{"It reaches 2 of 6 effects.", "1 effect: The provider shows it", "no longer waits for a decision", "Many are repeated together only where", "A request may still land"} {
		if !strings.Contains(squash(again), text) {
			t.Errorf("a re-issue does not say %q:\n%s", text, squash(again))
		}
	}
	if doc.Find(".choice").Length() != 3 || doc.Find("input[name=choice][checked]").Length() != 0 {
		t.Error("three choices, none taken beforehand, are wanted")
	}
	if got := w.Header().Get("Refresh"); got != "" {
		t.Errorf("a form reloads: %q", got)
	}
}

// TestBulk_Order: from the form over the confirmation to the order, which reaches
// what the page said and sets the rest aside.
func TestBulk_Order(t *testing.T) {
	t.Parallel()
	s := newSite(t, some())
	w := s.post(web.BulkConfirmURL(caseID(1)), orderFields("reissue/new_key", "2")...)
	wantStatus(t, w, http.StatusOK)
	doc := parse(t, w)
	wantText(t, doc, ".facts-wide", "Re-issue it as a new request")
	wantText(t, doc, ".facts-wide", "4 effects of the set are not reached")
	wantText(t, doc, "form[data-once] button", "Order 2 decisions")
	if len(s.f.writes) > 0 {
		t.Fatalf("the confirmation wrote %v", s.f.writes)
	}
	var fields []string // as the confirmation sends them on
	for _, in := range doc.Find("form[data-once] input, form[data-once] textarea").EachIter() {
		fields = append(fields, in.AttrOr("name", ""), in.AttrOr("value", in.Text()))
	}
	w = s.post(web.BulkURL(caseID(1)), fields...)
	wantStatus(t, w, http.StatusSeeOther)
	if diff := cmp.Diff([]string{"order reissue new_key 2"}, s.f.writes); diff != "" {
		t.Errorf("writes (-want +got):\n%s", diff)
	}
	var aside []string
	for _, it := range s.f.bulks.aside {
		aside = append(aside, fmt.Sprintf("%d %s %s", it.No, it.Outcome, it.Code))
	}
	want := []string{"1 skipped blocked:found", "4 skipped blocked:too_early", "5 skipped blocked:not_proved", "6 stale stale"}
	if diff := cmp.Diff(want, aside); diff != "" {
		t.Errorf("set aside (-want +got):\n%s", diff)
	}
	if o := s.f.bulks.order; o.Actor.Subject != "u-17" || o.ReasonCode != "provider_incident" || o.Reason == "" {
		t.Errorf("ordered %+v", o)
	}
	s.f.bulks.already = true // the second click
	wantStatus(t, s.post(web.BulkURL(caseID(1)), fields...), http.StatusSeeOther)
}

func TestBulk_RefusedForms(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name   string
		fields []string
		status int
		text   string
	}{
		{"count typed wrong", orderFields("reissue/new_key", "6"), http.StatusUnprocessableEntity, "This re-issue reaches 2 effects"},
		{"count not typed", orderFields("reissue/new_key", ""), http.StatusUnprocessableEntity, "This re-issue reaches 2 effects"},
		{"nothing chosen", orderFields("", ""), http.StatusUnprocessableEntity, "Choose what is true"},
		{"reaches nothing", orderFields("reissue/same_key", "0"), http.StatusUnprocessableEntity, "reaches none"},
		{"taking back many", orderFields("reopen", ""), http.StatusUnprocessableEntity, "closes or re-issues"},
		{"a reason too short", []string{web.FieldChoice, "close_landed", web.FieldCode, "test", web.FieldReason, "short"}, http.StatusUnprocessableEntity, "at least 8"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			s := newSite(t, some())
			for _, path := range []string{web.BulkConfirmURL(caseID(1)), web.BulkURL(caseID(1))} { // nobody has to come by the confirmation
				w := s.post(path, tt.fields...)
				wantStatus(t, w, tt.status)
				wantText(t, parse(t, w), ".notice", tt.text)
				if len(s.f.writes) > 0 {
					t.Errorf("%s wrote %v", path, s.f.writes)
				}
			}
		})
	}
}

func TestBulk_Roles(t *testing.T) {
	t.Parallel()
	for _, role := range []journal.Role{journal.RoleViewer, journal.RoleAuditor, journal.RoleAdmin} {
		s := newSite(t, some(), role)
		for _, path := range []string{web.RouteBulks, web.BulkURL(caseID(1)), web.BulkConfirmURL(caseID(1)), web.BulkStopURL(caseID(1))} {
			wantStatus(t, s.post(path, orderFields("close_landed", "")...), http.StatusForbidden)
		}
		doc := parse(t, s.get(web.BulkURL(caseID(1))))
		wantText(t, doc, "[aria-labelledby=order-h]", "operators and approvers decide")
		if doc.Find("main form").Length() != 0 || parse(t, s.get("/")).Find(".bulk-start").Length() != 0 {
			t.Errorf("%s is shown a form", role)
		}
		if len(s.f.writes) > 0 {
			t.Errorf("%s wrote %v", role, s.f.writes)
		}
	}
	other := newSite(t, some())
	other.f.bulks.change = func(b *journal.Bulk) { b.Actor.Subject = "u-18" }
	wantText(t, parse(t, other.get(web.BulkURL(caseID(1)))), "[aria-labelledby=order-h]", "Somebody else froze this set")
	w := other.post(web.BulkURL(caseID(1)), orderFields("close_landed", "")...)
	wantStatus(t, w, http.StatusForbidden)
	wantText(t, parse(t, w), ".notice", "Somebody else froze this set")
	if len(other.f.writes) > 0 {
		t.Errorf("wrote %v", other.f.writes)
	}
}

// TestBulk_FreshLogin: the text survives the way to the identity provider, the
// typed number does not.
func TestBulk_FreshLogin(t *testing.T) {
	t.Parallel()
	s := newSite(t, some())
	s.f.bulks.rules = []journal.Rule{{Name: "fresh", BulkFrom: 6, StepUp: true}}
	wantText(t, parse(t, s.get(web.BulkURL(caseID(1)))), ".choice", "asks for a fresh login for 5 effects")
	w := s.post(web.BulkURL(caseID(1)), orderFields("reissue/new_key", "2")...)
	wantStatus(t, w, http.StatusForbidden)
	doc := parse(t, w)
	wantText(t, doc, ".notice", "This needs a fresh login")
	if to := doc.Find(".notice a").AttrOr("href", ""); !strings.Contains(to, url.QueryEscape(web.BulkURL(caseID(1)))) {
		t.Errorf("signing in leads to %q", to)
	}
	back := parse(t, s.get(web.BulkURL(caseID(1))))
	if got := back.Find("#f-reason").Text(); !strings.Contains(got, "down from nine") || back.Find("#f-count").AttrOr("value", "") != "" || back.Find("input[name=choice][checked]").AttrOr("value", "") != "reissue/new_key" {
		t.Errorf("kept: %q", got)
	}
	s.f.bulks.rules = []journal.Rule{{Name: "more", BulkFrom: 7, StepUp: true}}
	wantStatus(t, s.post(web.BulkURL(caseID(1)), orderFields("reissue/new_key", "2")...), http.StatusSeeOther)
}

func TestBulk_FourEyesOnTheConfirmation(t *testing.T) {
	t.Parallel()
	s := newSite(t, some())
	s.f.bulks.rules = []journal.Rule{{Name: "many", BulkFrom: 5, FourEyes: true}}
	doc := parse(t, s.post(web.BulkConfirmURL(caseID(1)), orderFields("close_not_landed", "")...))
	wantText(t, doc, ".facts-wide", "4 effects wait for a second person")
	wantText(t, doc, ".facts-wide", "Policy rule “many” asks so")
	wantText(t, doc, "form[data-once] button", "Propose 4 decisions")
	wantText(t, doc, ".notice", "departs from what is recommended for 4 effects")
}

func running(b *journal.Bulk) {
	b.State = journal.BulkRunning
	b.Order = &journal.BulkOrder{Verb: journal.VerbCloseNotLanded, ReasonCode: "provider_incident", Reason: "The mail server was down.", Actor: b.Actor, At: before(time.Minute), Eligible: 4}
	set := func(i int, o journal.BulkOutcome, code, why string) {
		b.Items[i].Outcome, b.Items[i].Code, b.Items[i].Why, b.Items[i].At = o, code, why, before(30*time.Second)
	}
	set(0, journal.BulkSkipped, "blocked:found", "")
	set(1, journal.BulkDecided, "", "")
	set(2, journal.BulkStale, "stale", "New evidence came in.")
	set(3, journal.BulkProposed, "", "")
	set(5, journal.BulkStale, journal.BulkCodeGone, "")
	b.Items[5].Effect = journal.Sibling{}
}

func TestBulk_Result(t *testing.T) {
	t.Parallel()
	s := newSite(t, some())
	s.f.bulks.change = running
	w := s.get(web.BulkURL(caseID(1)))
	wantStatus(t, w, http.StatusOK)
	if got := w.Header().Get("Refresh"); got != "5" {
		t.Errorf("Refresh is %q", got)
	}
	doc := parse(t, w)
	wantText(t, doc, "h2", "It did not land: close it Under way")
	if got := cells(doc.Find(".counts").First(), "li"); got != "Decided 1 Proposed 1 Changed meanwhile 2 Not reached 1 Not yet 1" {
		t.Errorf("tally: %s", got)
	}
	var rows []string
	for _, tr := range doc.Find("[data-item]").EachIter() {
		rows = append(rows, cells(tr, "[data-label=Outcome] > *"))
	}
	want := []string{
		"Not reached The provider shows it, so this would record something untrue or double it. 30 s ago", "Decided 30 s ago",
		"Changed meanwhile It changed since the set was frozen. New evidence came in. 30 s ago", "Proposed 30 s ago", "Not yet",
		"Changed meanwhile It was purged since the set was frozen. 30 s ago"}
	if diff := cmp.Diff(want, rows); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if doc.Find("a[href='"+web.ReviewsURL(0)+"']").Length() == 0 {
		t.Error("no way to what was proposed")
	}
	still := s.get(web.BulkWatchOffURL(caseID(1)))
	if got := still.Header().Get("Refresh"); got != "" {
		t.Errorf("reloads although it was switched off: %q", got)
	}
	wantStatus(t, s.post(web.BulkURL(caseID(1)), orderFields("close_landed", "")...), http.StatusSeeOther) // ordered already
	wantStatus(t, s.post(web.BulkStopURL(caseID(1))), http.StatusSeeOther)
	if diff := cmp.Diff([]string{"stop " + caseID(1) + " by u-17"}, s.f.writes); diff != "" {
		t.Errorf("writes (-want +got):\n%s", diff)
	}
	s.f.answer = journal.ErrConflict // it ended meanwhile
	wantStatus(t, s.post(web.BulkStopURL(caseID(1))), http.StatusSeeOther)
	s.f.bulks.change = func(b *journal.Bulk) {
		running(b)
		b.State, b.EndedAt, b.StoppedBy = journal.BulkStopped, before(10*time.Second), journal.Actor{Name: "Anna"}
	}
	w = s.get(web.BulkURL(caseID(1)))
	wantText(t, parse(t, w), "[aria-labelledby=state-h]", "stopped by Anna")
	if w.Header().Get("Refresh") != "" || parse(t, w).Find("form[action='"+web.BulkStopURL(caseID(1))+"']").Length() != 0 {
		t.Error("what is over reloads, or can be stopped")
	}
}

func TestBulk_Freeze(t *testing.T) {
	t.Parallel()
	s := newSite(t, some())
	cause := journal.CauseFilter{Key: "0123456789abcdef", From: before(time.Hour), To: before(time.Minute)}
	list := s.get("/?tool=mail.send&after=x&cause=" + cause.String())
	wantStatus(t, list, http.StatusOK)
	form := parse(t, list).Find(".list-head .bulk-start")
	wantText(t, parse(t, list), ".list-head .bulk-start", "Decide several")
	filter := form.Find("input[name=filter]").AttrOr("value", "")
	w := s.post(form.AttrOr("action", ""), web.FieldFilter, filter)
	wantStatus(t, w, http.StatusSeeOther)
	if got := w.Header().Get("Location"); got != web.BulkURL(caseID(1)) {
		t.Errorf("leads to %q", got)
	}
	f := s.f.bulks.filter
	if s.f.bulks.kept != "cause="+cause.String()+"&tool=mail.send" || f.Tool != "mail.send" || f.Cause.Key != cause.Key || f.After != "" {
		t.Errorf("froze %q, %+v", s.f.bulks.kept, f)
	}
	wantStatus(t, s.post(web.RouteBulks, web.FieldFilter, "%zz"), http.StatusUnprocessableEntity)
	s.f.answer = &journal.InvalidError{Field: "filter", Detail: "matches no effect any more"}
	wantText(t, parse(t, s.post(web.RouteBulks, web.FieldFilter, "")), ".message", "matches no effect")
	for _, id := range []string{"x", "01936f6e"} {
		wantStatus(t, s.get("/bulk/"+id), http.StatusNotFound)
	}
}

func TestBulk_UnsafeRequests(t *testing.T) {
	t.Parallel()
	s := newSite(t, some())
	for _, path := range []string{web.RouteBulks, web.BulkURL(caseID(1)), web.BulkConfirmURL(caseID(1)), web.BulkStopURL(caseID(1))} {
		wantStatus(t, s.do(formRequest(path, orderFields("close_landed", "")...)), http.StatusForbidden) // no token
		r := formRequest(path, append(orderFields("close_landed", ""), web.FieldToken, testToken)...)
		r.Header.Set("Sec-Fetch-Site", "cross-site")
		wantStatus(t, s.do(r), http.StatusForbidden)
	}
	if len(s.f.writes) > 0 {
		t.Errorf("wrote %v", s.f.writes)
	}
}

// TestBulk_HostileText: names and errors of others stay text.
func TestBulk_HostileText(t *testing.T) {
	t.Parallel()
	const evil = `<script>alert(1)</script>"'><img src=x>`
	f := some()
	f.cases[1].Effect.Subject = evil
	f.bulks.causes = journal.CausePage{Read: 1, Groups: []journal.CauseGroup{{Cause: journal.Cause{Tool: evil, Provider: evil, Error: evil}, Count: 1, Sample: journal.Sibling{ID: caseID(1), Subject: evil}}}}
	f.bulks.change = func(b *journal.Bulk) { b.Filter, b.Actor.Name = "q="+url.QueryEscape(evil), evil }
	s := newSite(t, f)
	pages := []*httptest.ResponseRecorder{s.get("/?group=cause"), s.get(web.BulkURL(caseID(1))),
		s.post(web.BulkConfirmURL(caseID(1)), web.FieldChoice, "close_landed", web.FieldCode, "test", web.FieldReason, evil)}
	f.bulks.change = func(b *journal.Bulk) {
		running(b)
		b.Order.Reason, b.Items[2].Why = evil, evil
	}
	pages = append(pages, s.get(web.BulkURL(caseID(1))))
	for i, w := range pages {
		wantStatus(t, w, http.StatusOK)
		doc := parse(t, w)
		if doc.Find("main script, main img").Length() > 0 || strings.Contains(w.Body.String(), "<script>alert") {
			t.Errorf("page %d takes text for markup", i)
		}
		if !strings.Contains(doc.Find("main").Text(), "alert(1)") {
			t.Errorf("page %d does not show it", i)
		}
	}
}

func TestCauseList(t *testing.T) {
	t.Parallel()
	f := some()
	f.bulks.causes = journal.CausePage{Read: 2000, Cut: true, Total: 2400, Counts: []journal.ListCount{{Tool: "mail.send", Provider: "smtp", Count: 2400, Oldest: before(time.Hour)}},
		Groups: []journal.CauseGroup{
			{Cause: journal.Cause{Tool: "mail.send", Provider: "smtp", Error: "dial tcp #: i/o timeout", Status: 421, Verdict: journal.NotFound}, Count: 1997, Oldest: before(time.Hour), Newest: before(20 * time.Minute),
				Sample: journal.Sibling{ID: caseID(1), Subject: "Reminder 4711"}, Recommend: []journal.RecommendCount{{Recommend: journal.RecommendReissue, Mode: journal.NewKey, Count: 1990}, {Recommend: journal.RecommendWait, Count: 7}}},
			{Cause: journal.Cause{Tool: "pay"}, Count: 3, Oldest: before(2 * time.Hour), Newest: before(2 * time.Hour), Sample: journal.Sibling{ID: caseID(2), Operation: "capture"}},
		}}
	s := newSite(t, f)
	w := s.get("/?group=cause&tool=mail.send&class=at_most_once")
	wantStatus(t, w, http.StatusOK)
	if f.bulks.filter.Tool != "mail.send" || f.bulks.filter.Class != journal.ClassAtMostOnce {
		t.Errorf("asked for %+v", f.bulks.filter)
	}
	doc := parse(t, w)
	wantText(t, doc, "h1", "2 causes behind 2 000 effects")
	wantText(t, doc, ".notice", "Only 2 000 effects are grouped, the oldest ones first: there are more.")
	wantText(t, doc, ".list-acts a", "One by one")
	row := doc.Find("[data-cause]").First()
	for _, text := range []string{"dial tcp #: i/o timeout", "421", "Not found", "1 997 effects", "oldest 1 h ago", "newest 20 min ago", "Re-issue " + "1 990", "Wait 7", "for example Reminder 4711", "Decide these"} {
		if !strings.Contains(squash(row.Text()), strings.ReplaceAll(text, " ", " ")) && !strings.Contains(strings.ReplaceAll(squash(row.Text()), "\u202f", " "), text) {
			t.Errorf("the line does not say %q: %s", text, squash(row.Text()))
		}
	}
	cause := f.bulks.causes.Groups[0].Filter().String()
	if got, want := row.Find("a").First().AttrOr("href", ""), "/?cause="+cause+"&class=at_most_once&provider=smtp&tool=mail.send"; got != want {
		t.Errorf("the line leads to %q, want %q", got, want)
	}
	if got := row.Find("input[name=filter]").AttrOr("value", ""); got != "cause="+cause+"&class=at_most_once&provider=smtp&tool=mail.send" {
		t.Errorf("the button decides %q", got)
	}
	wantText(t, doc, "[data-cause]:nth-child(2)", "No error was reported")
	if doc.Find("input[name=group][value=cause]").Length() != 1 || doc.Find("a[href='/?group=cause&provider=smtp&tool=mail.send']").Length() == 0 {
		t.Error("narrowing ends the grouping")
	}
	narrowed := parse(t, s.get("/?cause="+cause))
	wantText(t, narrowed, ".active", "Cause: one, begun 2 Nov 02:12 to 2 Nov 02:52 UTC")
	if narrowed.Find("input[name=cause]").AttrOr("value", "") != cause {
		t.Error("a search drops the cause")
	}
	empty := newSite(t, &fakeJournal{})
	wantText(t, parse(t, empty.get("/?group=cause")), ".empty", "Every effect is known")
}
