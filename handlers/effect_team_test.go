package handlers

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/landedhq/landed/journal"
	"github.com/landedhq/landed/web"
)

// fakeTeam is what the fake journal answers about the team.
type fakeTeam struct {
	err     error
	present []journal.Presence
	people  []journal.Person
	claim   journal.ClaimOrder
	comment journal.Comment
	snooze  journal.SnoozeOrder
	filter  journal.ListFilter
	marks   map[string]journal.TeamMark
	asleep  int
}

func (f *fakeJournal) Claim(_ context.Context, o journal.ClaimOrder) (*journal.Claim, error) {
	f.wrote("claim " + string(o.Verb) + " by " + o.Actor.Subject)
	f.team.claim = o
	return nil, f.team.err
}

func (f *fakeJournal) RenewClaim(_ context.Context, id string, who journal.Actor) error {
	f.wrote("renew " + id + " by " + who.Subject)
	return nil
}

func (f *fakeJournal) Comment(_ context.Context, c journal.Comment) (journal.Comment, error) {
	f.team.comment = c
	if err := c.Validate(); err != nil {
		return c, err
	}
	f.wrote("comment by " + c.Actor.Subject)
	return c, f.team.err
}

func (f *fakeJournal) Snooze(_ context.Context, o journal.SnoozeOrder) (*journal.Snooze, error) {
	f.wrote("snooze by " + o.Actor.Subject)
	f.team.snooze = o
	return nil, f.team.err
}

func (f *fakeJournal) Beat(_ context.Context, b journal.Beat) error {
	f.wrote(fmt.Sprintf("beat of %s %s %t %t", b.Actor.Subject, b.Window, b.Typing, b.Gone))
	return f.team.err
}

func (f *fakeJournal) Present(context.Context, string) ([]journal.Presence, error) {
	return f.team.present, nil
}

func (f *fakeJournal) People(context.Context) ([]journal.Person, error) { return f.team.people, nil }

var (
	olivia      = journal.Actor{Issuer: "https://idp.test", Subject: "olivia", Name: "Olivia", Roles: []journal.Role{journal.RoleOperator}}
	hostileName = `<img src=x onerror=alert(1)>`
)

func claimed(who journal.Actor, left time.Duration) func(*journal.Case) {
	return func(k *journal.Case) {
		k.Team.Claim = &journal.Claim{ID: caseID(90), Holder: who, By: who, Since: before(5 * time.Minute), Until: testNow().Add(left)}
	}
}

func oneCase(change ...func(*journal.Case)) *fakeJournal {
	return &fakeJournal{configured: everyProvider(), cases: []journal.Case{newCase(1, change...)}}
}

func TestTeamOnThePage(t *testing.T) {
	t.Parallel()
	f := oneCase(claimed(olivia, 28*time.Minute))
	f.team.present = []journal.Presence{{Window: "w-1", Actor: olivia}, {Window: "w-2", Actor: olivia, Typing: true}, {Window: "w-3", Actor: operator()}}
	doc := parse(t, newSite(t, f).get(web.EffectURL(caseID(1))))
	wantText(t, doc, "#team-h", "Olivia is on it until 03:40 UTC")
	wantText(t, doc, "#decide .claimed", "Olivia is on this effect until 03:40 UTC. You can decide all the same")
	if got := squash(doc.Find("[data-present]").Text()); got != "Olivia has this open, typing" {
		t.Errorf("present: %q", got)
	}
	wantText(t, doc, "#fold-claim summary", "Take it over from Olivia")
	if doc.Find(`#team form`).Length() != 0 || doc.Find("#fold-hand").Length() != 0 {
		t.Error("another person's claim can be taken, released or handed over")
	}
	if doc.Find(`form[action="`+web.ConfirmURL(caseID(1))+`"] button[type=submit]`).Length() != 1 {
		t.Error("a claim took the decision away")
	}
	if got := doc.Find("[data-effect]").AttrOr("data-here", ""); got != web.PresenceURL(caseID(1)) {
		t.Errorf("beats go to %q", got)
	}

	confirm := newSite(t, f).post(web.ConfirmURL(caseID(1)), web.FieldChoice, "close_not_landed", web.FieldCode, "test", web.FieldReason, "asked them by phone",
		web.FieldVersion, "7", web.FieldDigest, digestOf(f))
	wantStatus(t, confirm, http.StatusOK)
	wantText(t, parse(t, confirm), ".confirm .claimed", "Olivia is on this effect")

	viewer := parse(t, newSite(t, f, journal.RoleViewer, journal.RoleAuditor).get(web.EffectURL(caseID(1))))
	wantText(t, viewer, "#team-h", "Olivia is on it until 03:40 UTC")
	if viewer.Find("#together, #team form").Length() != 0 {
		t.Error("a viewer is offered what only operators and approvers may do")
	}
}

func digestOf(f *fakeJournal) string { return f.cases[0].EvidenceDigest() }

// TestTeam_MyClaim: the holder may renew, release and hand over, and acting
// renews; after its end it is anybody's.
func TestTeam_MyClaim(t *testing.T) {
	t.Parallel()
	f := oneCase(claimed(operator(), 10*time.Minute))
	viewer := journal.Actor{Issuer: "https://idp.test", Subject: "vera", Name: "Vera", Roles: []journal.Role{journal.RoleViewer}}
	f.team.people = []journal.Person{{Actor: olivia}, {Actor: operator()}, {Actor: viewer}}
	s := newSite(t, f)
	doc := parse(t, s.get(web.EffectURL(caseID(1))))
	wantText(t, doc, "#team-h", "You are on it until 03:22 UTC")
	if got := squash(doc.Find("#team button").Text()); got != "RenewRelease it" {
		t.Errorf("buttons %q", got)
	}
	if got := squash(doc.Find("#f-to").Text()); got != "Pick a personOlivia (olivia)" {
		t.Errorf("hand over to %q", got)
	}
	if len(f.writes) > 0 {
		t.Errorf("reading wrote %v", f.writes)
	}
	w := s.post(web.ClaimURL(caseID(1)), web.FieldWord, web.WordHandOver, web.FieldTo, "https://idp.test olivia", web.FieldReason, "my shift ends")
	wantStatus(t, w, http.StatusSeeOther)
	if o := f.team.claim; o.Verb != journal.ClaimHandOver || o.To.Subject != "olivia" || o.To.Issuer != "https://idp.test" || o.Reason != "my shift ends" || !o.Actor.Same(operator()) {
		t.Errorf("asked for %+v", o)
	}
	f.writes = nil
	s.post(web.ConfirmURL(caseID(1)), web.FieldChoice, "close_not_landed")
	s.post(web.CommentURL(caseID(1)), web.FieldComment, "hm")
	want := []string{"renew " + caseID(1) + " by " + operator().Subject, "renew " + caseID(1) + " by " + operator().Subject, "comment by " + operator().Subject}
	if diff := cmp.Diff(want, f.writes); diff != "" {
		t.Errorf("acting (-want +got):\n%s", diff)
	}
	over := parse(t, newSite(t, oneCase(claimed(olivia, -time.Second))).get(web.EffectURL(caseID(1))))
	wantText(t, over, "#team-h", "Nobody is on it")
	wantText(t, over, "#team button", "Take it")
}

// TestD02_ClaimLost: who comes second learns who was first, and keeps their text.
func TestD02_ClaimLost(t *testing.T) {
	t.Parallel()
	f := oneCase(claimed(olivia, 28*time.Minute))
	f.team.err = &journal.ClaimedError{EffectID: caseID(1), Holder: olivia, Until: testNow().Add(28 * time.Minute)}
	w := newSite(t, f).post(web.ClaimURL(caseID(1)), web.FieldWord, web.WordTakeOver, web.FieldReason, "I know the customer")
	wantStatus(t, w, http.StatusConflict)
	doc := parse(t, w)
	wantText(t, doc, ".notice-title", "Olivia has it")
	wantText(t, doc, ".notice", "until 03:40 UTC")
	wantText(t, doc, "#f-claim", "I know the customer")
}

// TestV01_HostileTeam: what people write and are called is text.
func TestV01_HostileTeam(t *testing.T) {
	t.Parallel()
	rude := journal.Actor{Issuer: "i", Subject: "u<b>", Name: hostileName}
	f := oneCase(claimed(rude, time.Hour), func(k *journal.Case) {
		k.Team.Comments = []journal.Comment{{ID: caseID(80), Actor: rude, Text: hostileName + "\n</li><script>alert(2)</script>", At: before(time.Minute)}}
		k.Team.Snooze = &journal.Snooze{Until: testNow().Add(time.Hour), Actor: rude, Reason: hostileName, At: before(time.Minute)}
		k.Events = append(k.Events, journal.Event{Seq: 9, At: testNow(), Kind: journal.EventHandedOver, Actor: "operator:u<b>",
			Detail: []byte(`{"name":"<img src=x onerror=alert(1)>","to_name":"<img src=x onerror=alert(1)>","reason":"<img src=x onerror=alert(1)>"}`)})
	})
	f.team.present = []journal.Presence{{Window: "w-1", Actor: rude}}
	f.team.marks = map[string]journal.TeamMark{caseID(1): {Claim: f.cases[0].Team.Claim, Comments: 1, Snooze: f.cases[0].Team.Snooze}}
	s := newSite(t, f)
	for _, path := range []string{web.EffectURL(caseID(1)), "/"} {
		w := s.get(path)
		wantStatus(t, w, http.StatusOK)
		doc := parse(t, w)
		if doc.Find("img, script:not([src])").Length() != 0 || strings.Contains(w.Body.String(), "<img") {
			t.Errorf("%s: markup got through", path)
		}
		if !strings.Contains(doc.Text(), hostileName) {
			t.Errorf("%s: the text is not shown", path)
		}
	}
	// Words that the script puts in go as JSON text.
	beat := s.post(web.PresenceURL(caseID(1)), web.FieldWindow, "window-of-mine")
	var a presentAnswer
	if err := json.Unmarshal(beat.Body.Bytes(), &a); err != nil || len(a.Present) != 1 || !strings.HasPrefix(beat.Header().Get("Content-Type"), "application/json") {
		t.Errorf("answered %s (%v)", beat.Body, err)
	}
}

func TestCommentsInTheTimeline(t *testing.T) {
	t.Parallel()
	f := oneCase(func(k *journal.Case) {
		for i, ago := range []time.Duration{10 * time.Hour, 3*time.Hour + time.Minute, time.Minute} {
			k.Team.Comments = append(k.Team.Comments, journal.Comment{Actor: olivia, Text: fmt.Sprint("comment ", i+1), At: before(ago)})
		}
	})
	var got []string
	for _, sel := range parse(t, newSite(t, f).get(web.EffectURL(caseID(1)))).Find(".timeline .event-text").EachIter() {
		got = append(got, squash(sel.Text()))
	}
	want := []string{"Comment comment 3 Olivia", "Parked", "Attempt 1 was fenced", "Comment comment 2 Olivia", "Attempt 1 ended", "Begun: attempt 1 was granted", "Comment comment 1 Olivia"}
	ok := slices.EqualFunc(got, want, func(g, w string) bool { return strings.HasPrefix(g, w) })
	if !ok {
		t.Errorf("timeline:\n%s", strings.Join(got, "\n"))
	}
}

func TestCommentForm(t *testing.T) {
	t.Parallel()
	f := oneCase()
	s := newSite(t, f)
	id := parse(t, s.get(web.EffectURL(caseID(1)))).Find("input[name="+web.FieldComID+"]").AttrOr("value", "")
	if !journal.ValidID(id) {
		t.Fatalf("the form's id is %q", id)
	}
	wantStatus(t, s.post(web.CommentURL(caseID(1)), web.FieldComID, id, web.FieldComment, " called them \r\n twice "), http.StatusSeeOther)
	if c := f.team.comment; c.ID != id || c.Text != "called them \n twice" || !c.Actor.Same(operator()) {
		t.Errorf("kept %+v", c)
	}
	long := strings.Repeat("ä", journal.MaxCommentBytes)
	w := s.post(web.CommentURL(caseID(1)), web.FieldComment, long)
	wantStatus(t, w, http.StatusUnprocessableEntity)
	doc := parse(t, w)
	wantText(t, doc, "#e-comment", "at most 4000 bytes")
	if doc.Find("#f-comment").Text() != long {
		t.Error("the text is lost")
	}
}

func TestSnoozeForm(t *testing.T) {
	t.Parallel()
	f := oneCase()
	s := newSite(t, f)
	presets := func(w *httptest.ResponseRecorder) (out []string) {
		for _, sel := range parse(t, w).Find("#f-snooze .choice").EachIter() {
			text := sel.Find("input").AttrOr("value", "") + " | " + squash(sel.Text())
			if _, disabled := sel.Find("input").Attr("disabled"); disabled {
				text += " (disabled)"
			}
			out = append(out, text)
		}
		return out
	}
	want := []string{
		"2026-11-02T04:12:00Z | 1 hour 2 Nov 2026, 04:12:00 UTC",
		"2026-11-02T07:12:00Z | 4 hours 2 Nov 2026, 07:12:00 UTC",
		"2026-11-03T08:00:00Z | Tomorrow, 08:00 UTC 3 Nov 2026, 08:00:00 UTC",
		"evidence | Something changes, at the latest 9 Nov 2026, 03:12:45 UTC",
		"at | A time of my own, at most 7 days away",
	}
	if diff := cmp.Diff(want, presets(s.get(web.EffectURL(caseID(1))))); diff != "" {
		t.Errorf("presets (-want +got):\n%s", diff)
	}
	for _, tt := range []struct {
		name, preset, own string
		until             time.Time
		status            int
	}{
		{"preset", "2026-11-02T04:12:00Z", "", time.Date(2026, 11, 2, 4, 12, 0, 0, time.UTC), 303},
		{"own time", web.SnoozeAt, "2026-11-04T10:30", time.Date(2026, 11, 4, 10, 30, 0, 0, time.UTC), 303},
		{"as long as nothing changes", web.SnoozeChange, "2026-11-04T10:30", time.Time{}, 303},
		{"nothing chosen", "", "2026-11-04T10:30", time.Time{}, 422},
		{"own time, missing", web.SnoozeAt, "", time.Time{}, 422},
		{"nonsense", "soon", "", time.Time{}, 422},
	} {
		t.Run(tt.name, func(t *testing.T) {
			f.team.snooze = journal.SnoozeOrder{}
			w := s.post(web.SnoozeURL(caseID(1)), web.FieldWord, web.WordSnooze, web.FieldSnooze, tt.preset, web.FieldUntil, tt.own, web.FieldDigest, "d", web.FieldReason, "they call back")
			wantStatus(t, w, tt.status)
			if tt.status == 303 && (!f.team.snooze.Until.Equal(tt.until) || f.team.snooze.Digest != "d" || f.team.snooze.Wake) {
				t.Errorf("asked for %+v", f.team.snooze)
			}
			if tt.status == 422 {
				doc := parse(t, w)
				wantText(t, doc, "#f-why-snooze", "they call back")
				if _, open := doc.Find("#fold-snooze").Attr("open"); !open || f.team.snooze.EffectID != "" {
					t.Error("the refused form is folded away, or was taken")
				}
			}
		})
	}

	window := oneCase(func(k *journal.Case) {
		k.Effect.Class, k.Effect.KeyWindow = journal.ClassProviderIdempotent, 5*time.Hour
	})
	w := newSite(t, window).get(web.EffectURL(caseID(1)))
	got := presets(w)
	if strings.HasSuffix(got[0], "(disabled)") || !strings.HasSuffix(got[1], "(disabled)") || !strings.HasSuffix(got[2], "(disabled)") {
		t.Errorf("inside a key window: %v", got)
	}
	wantText(t, parse(t, w), "#f-snooze .blocked", "may not go past 2 Nov 2026, 05:08:45 UTC: until then the provider’s key makes a repeat safe")
}

// TestD08_SnoozeStale: the page shows what is new instead.
func TestD08_SnoozeStale(t *testing.T) {
	t.Parallel()
	f := oneCase()
	f.team.err = &journal.StaleError{EffectID: caseID(1), Changed: []string{"New evidence came in."}}
	w := newSite(t, f).post(web.SnoozeURL(caseID(1)), web.FieldWord, web.WordSnooze, web.FieldSnooze, web.SnoozeChange)
	wantStatus(t, w, http.StatusConflict)
	wantText(t, parse(t, w), ".notice", "New evidence came in.")
}

func TestSnoozedEffect(t *testing.T) {
	t.Parallel()
	f := oneCase(func(k *journal.Case) {
		k.Team.Snooze = &journal.Snooze{Until: testNow().Add(time.Hour), Actor: olivia, Reason: "they call back", At: before(time.Minute)}
	})
	s := newSite(t, f)
	doc := parse(t, s.get(web.EffectURL(caseID(1))))
	wantText(t, doc, ".team-snooze", "Snoozed by Olivia in 1 h 2 Nov 2026, 04:12:45 UTC")
	wantText(t, doc, ".team-snooze blockquote", "they call back")
	wantStatus(t, s.post(web.SnoozeURL(caseID(1)), web.FieldWord, web.WordWake), http.StatusSeeOther)
	if !f.team.snooze.Wake {
		t.Errorf("asked for %+v", f.team.snooze)
	}
	if newSite(t, f, journal.RoleAuditor).get(web.EffectURL(caseID(1))).Code != http.StatusOK {
		t.Error("an auditor does not see it")
	}
}

func TestListWithATeam(t *testing.T) {
	t.Parallel()
	f := oneCase()
	mine := &journal.Claim{Holder: operator(), Until: testNow().Add(time.Minute)}
	f.team.asleep = 3
	for _, tt := range []struct {
		mark journal.TeamMark
		want string
	}{
		{journal.TeamMark{Claim: &journal.Claim{Holder: olivia, Until: testNow().Add(28 * time.Minute)}, Comments: 2}, "Olivia until 03:40 UTC 2 comments"},
		{journal.TeamMark{Claim: mine, Comments: 1}, "You until 03:13 UTC 1 comment"},
		{journal.TeamMark{Claim: &journal.Claim{Holder: olivia, Until: testNow()}}, ""},
		{journal.TeamMark{Snooze: &journal.Snooze{Until: testNow().Add(time.Hour), Actor: olivia}}, "Snoozed until 2 Nov, 04:12 UTC by Olivia"},
	} {
		f.team.marks = map[string]journal.TeamMark{caseID(1): tt.mark}
		doc := parse(t, newSite(t, f).get("/"))
		var got []string
		for _, b := range doc.Find("tr[data-row] .row-flags .badge").EachIter() {
			got = append(got, squash(b.Text()))
		}
		if strings.Join(got, " ") != tt.want {
			t.Errorf("row shows %q, want %q", got, tt.want)
		}
		if link := doc.Find(".list-head a.snoozed-link"); link.Text() != "3 snoozed" || link.AttrOr("href", "") != "/?snoozed=1" {
			t.Errorf("link %q to %q", link.Text(), link.AttrOr("href", ""))
		}
	}
	doc := parse(t, newSite(t, f).get("/?snoozed=1&claim=mine&tool=mail.send"))
	wantText(t, doc, "h1", "1 effect is snoozed")
	if g := f.team.filter; !g.Snoozed || g.Claim != journal.ClaimMine || !g.Viewer.Same(operator()) {
		t.Errorf("asked for %+v", g)
	}
	if doc.Find(`input[name=snoozed][value="1"]`).Length() != 1 || doc.Find(`#f-claim option[selected]`).AttrOr("value", "") != "mine" {
		t.Error("the form forgets where it is")
	}
	wantText(t, doc, ".active", "On it: Mine")
	if doc.Find(".groups").Length() != 0 {
		t.Error("the groups of the other list are shown")
	}
	newSite(t, f).get("/?claim=someone'--")
	if f.team.filter.Claim != "" {
		t.Errorf("asked for claim %q", f.team.filter.Claim)
	}
	f.cases = nil
	wantText(t, parse(t, newSite(t, f).get("/?snoozed=1")), ".empty", "Nothing is snoozed")
}

// TestTeam_Roles: whoever may not decide may do nothing of it, and nothing is
// done without the session's token.
func TestTeam_Roles(t *testing.T) {
	t.Parallel()
	f := oneCase()
	s := newSite(t, f, journal.RoleViewer, journal.RoleAuditor, journal.RoleAdmin)
	for _, path := range []string{web.ClaimURL(caseID(1)), web.CommentURL(caseID(1)), web.SnoozeURL(caseID(1))} {
		wantStatus(t, s.post(path, web.FieldWord, web.WordTake, web.FieldComment, "hello", web.FieldSnooze, web.SnoozeChange), http.StatusForbidden)
	}
	wantStatus(t, s.post(web.PresenceURL(caseID(1)), web.FieldWindow, "window-of-mine"), http.StatusOK)
	for _, path := range []string{web.ClaimURL(caseID(1)), web.CommentURL(caseID(1)), web.SnoozeURL(caseID(1)), web.PresenceURL(caseID(1))} {
		wantStatus(t, newSite(t, f).do(formRequest(path, web.FieldWord, web.WordTake, web.FieldWindow, "window-of-mine")), http.StatusForbidden)
		wantStatus(t, newSite(t, f).post(strings.Replace(path, caseID(1), caseID(77), 1), web.FieldWord, web.WordTake, web.FieldWindow, "bad"), map[bool]int{true: 422, false: 404}[strings.HasSuffix(path, "/here")])
	}
	if len(f.writes) > 0 {
		t.Errorf("wrote %v", f.writes)
	}
}

func TestBeat(t *testing.T) {
	t.Parallel()
	f := oneCase()
	f.team.present = []journal.Presence{{Window: "window-one", Actor: operator()}, {Window: "window-two", Actor: operator(), Typing: true}, {Window: "window-one", Actor: olivia}}
	s := newSite(t, f)
	v := url.Values{web.FieldWindow: {"window-one"}, web.FieldTyping: {"1"}}
	r := httptest.NewRequest(http.MethodPost, web.PresenceURL(caseID(1)), strings.NewReader(v.Encode()))
	r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	r.Header.Set("Sec-Fetch-Site", "same-origin")
	r.Header.Set(web.HeaderToken, testToken) // as the page script sends it
	w := s.do(r)
	wantStatus(t, w, http.StatusOK)
	var a presentAnswer
	if err := json.Unmarshal(w.Body.Bytes(), &a); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{"You have this open in another window, typing", "Olivia has this open"}, a.Present); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	wantStatus(t, s.post(web.PresenceURL(caseID(1)), web.FieldWindow, "window-one", web.FieldGone, "1"), http.StatusOK)
	me := operator().Subject
	if diff := cmp.Diff([]string{"beat of " + me + " window-one true false", "renew " + caseID(1) + " by " + me, "beat of " + me + " window-one false true"}, f.writes); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if len(f.views) > 0 {
		t.Errorf("a beat is no view: %v", f.views)
	}
}

// TestTeam_PageVersion: what the others do shows on a page that is being read; a
// renewal does not.
func TestTeam_PageVersion(t *testing.T) {
	t.Parallel()
	version := func(change ...func(*journal.Case)) string { k := newCase(1, change...); return pageVersion(&k) }
	base := version()
	if version(claimed(olivia, time.Minute)) == base {
		t.Error("a claim does not show")
	}
	if version(claimed(olivia, -time.Minute)) != base {
		t.Error("a claim that is over still shows")
	}
	if version(claimed(olivia, time.Minute)) != version(claimed(olivia, time.Hour)) {
		t.Error("a renewal shows")
	}
	if version(func(k *journal.Case) { k.Team.Comments = make([]journal.Comment, 1) }) == base {
		t.Error("a comment does not show")
	}
}
