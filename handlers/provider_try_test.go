package handlers

import (
	"context"
	"errors"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/landedhq/landed/journal"
	"github.com/landedhq/landed/providers/evidence"
	"github.com/landedhq/landed/web"
)

const testRef = "0123456789ab4def8123456789abcdef"

// tryForm is the form as a person sends it.
func tryForm(provider, ref, since string) []string {
	return []string{web.FieldTryProvider, provider, web.FieldTryRef, ref, web.FieldTrySince, since}
}

// miss is an empty answer that both controls stand behind.
func miss(change ...func(*evidence.Facts)) evidence.Facts {
	f := evidence.Facts{
		Answer: evidence.Answer{AllPagesRead: true, Scopes: []journal.Scope{{Name: "Sent folder", Seen: true}},
			Exchanges: []journal.Exchange{{Request: "UID SEARCH HEADER X-Landed-Ref " + testRef, Response: "* SEARCH", Took: 40 * time.Millisecond}}},
		Negative: journal.Control{Ran: true, Passed: true, Ref: strings.Repeat("a", 32)},
		Positive: journal.Control{Ran: true, Passed: true, Ref: strings.Repeat("b", 32)},
	}
	for _, c := range change {
		c(&f)
	}
	return f
}

func hit(states ...journal.MatchState) evidence.Facts {
	return miss(func(f *evidence.Facts) {
		f.Negative, f.Positive = journal.Control{}, journal.Control{}
		for _, st := range states {
			f.Answer.Matches = append(f.Answer.Matches, journal.Match{ID: "41", Title: "Reminder", State: st, URL: "https://mail.example.org/41", Where: "Sent"})
		}
	})
}

func fault(kind evidence.FaultKind) evidence.Facts {
	return evidence.Facts{Err: wrap(&evidence.ProviderError{Kind: kind, Detail: "login refused by the mailbox",
		Exchanges: []journal.Exchange{{Request: "LOGIN ***", Response: "NO"}}})}
}

func answering(f evidence.Facts) func(string, time.Duration) (evidence.Facts, evidence.Question, error) {
	return func(ref string, since time.Duration) (evidence.Facts, evidence.Question, error) {
		return f, evidence.Question{Ref: ref, From: before(since), To: testNow(), Canary: &journal.Canary{EffectID: caseID(7), Ref: f.Positive.Ref}}, nil
	}
}

func TestTryShowsWhatWasAskedAndAnswered(t *testing.T) {
	t.Parallel()
	f := everything()
	f.try = answering(miss())
	s := newSite(t, f)
	w := s.post(web.RouteProviders, tryForm("sent-mail", testRef, "168h")...)
	wantStatus(t, w, http.StatusOK)
	doc := parse(t, w)
	checkPage(t, s, "tried", doc)
	if !slices.Equal(f.writes, []string{"try sent-mail " + testRef + " 168h0m0s"}) {
		t.Errorf("did %v", f.writes)
	}
	wantText(t, doc, "#try-sent-mail .answer", "Nothing was found, and the search works.")
	for _, want := range []string{"Reference" + testRef, "26 Oct 2026, 03:12:45 UTC", "2 Nov 2026, 03:12:45 UTC", "every page was read", "Rows that were not ours0",
		"Sent folder Searched", "Negativea fresh random reference must not be found Passed", "Positiveone that was committed lately must be found Passed",
		"it looked for " + strings.Repeat("a", 32), "it looked for " + strings.Repeat("b", 32), "UID SEARCH HEADER X-Landed-Ref", "* SEARCH", "40 ms"} {
		if got := squash(doc.Find("#try-sent-mail").Text()); !strings.Contains(got, want) {
			t.Errorf("no %q in:\n%s", want, got)
		}
	}
	if doc.Find("#try-sent-mail a[href='"+web.EffectURL(caseID(7))+"']").Length() != 1 {
		t.Error("no way to the effect of the positive control")
	}
	if doc.Find(".try").Length() != 1 || doc.Find("#ref-sent-mail").AttrOr("value", "") != testRef || doc.Find("#since-sent-mail option[selected]").AttrOr("value", "") != "168h" {
		t.Error("the form forgot what was asked, or another card answers too")
	}
}

func TestWhatATryMeans(t *testing.T) {
	t.Parallel()
	off := func(f func(*evidence.Facts)) evidence.Facts { return miss(f) }
	for _, tt := range []struct {
		name        string
		facts       evidence.Facts
		since       time.Duration
		random      bool
		title, said string
	}{
		{"empty and proved", miss(), time.Hour, false, "Nothing was found, and the search works.", ""},
		{"nobody's", miss(), time.Hour, true, "The search works.", ""},
		{"beyond retention", miss(), 30 * 24 * time.Hour, false, "proves nothing", "reaches further back"},
		{"a place unseen", off(func(f *evidence.Facts) { f.Answer.Scopes[0].Seen = false }), time.Hour, false, "proves nothing", "Not every place"},
		{"cut short", off(func(f *evidence.Facts) { f.Answer.AllPagesRead = false }), time.Hour, false, "proves nothing", "Not all"},
		{"filter ignored", off(func(f *evidence.Facts) { f.Answer.Unrelated = 9 }), time.Hour, false, "proves nothing", "9 rows"},
		{"negative control failed", off(func(f *evidence.Facts) { f.Negative.Passed = false }), time.Hour, true, "proves nothing", "negative control"},
		{"no positive control", off(func(f *evidence.Facts) { f.Positive = journal.Control{Detail: "no committed effect"} }), time.Hour, true, "proves nothing", "no committed effect"},
		{"found", hit(journal.MatchEffective), time.Hour, false, "Found.", ""},
		{"found twice", hit(journal.MatchEffective, journal.MatchPending), time.Hour, false, "Found 2 times.", ""},
		{"pending", hit(journal.MatchPending), time.Hour, false, "Found, not done yet.", ""},
		{"no effect", hit(journal.MatchNotEffective), time.Hour, false, "took no effect", ""},
		{"nobody's is found", hit(journal.MatchEffective), time.Hour, true, "nobody has was found", ""},
		{"credentials", fault(evidence.FaultAuth), time.Hour, false, "credentials", "login refused"},
		{"a right", fault(evidence.FaultForbidden), time.Hour, false, "lacks a right", "login refused"},
		{"rate", fault(evidence.FaultRateLimited), time.Hour, false, "fewer requests", "login refused"},
		{"bad answer", fault(evidence.FaultBadAnswer), time.Hour, false, "can’t be understood", "login refused"},
		{"refused", fault(evidence.FaultRefused), time.Hour, false, "refused the query", "login refused"},
		{"too large", fault(evidence.FaultTooLarge), time.Hour, false, "larger than", "login refused"},
		{"down", fault(evidence.FaultUnavailable), time.Hour, false, "did not answer properly", "login refused"},
		{"any other error", evidence.Facts{Err: errors.New("dial tcp 10.1.1.1: secret")}, time.Hour, false, "did not answer properly", "could not be reached"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			one := newProvider("p", providerSheet(func(s *evidence.Sheet) { s.Retention = 30 * 24 * time.Hour }))
			r := tryResult(clock{testNow()}, one, tryView{random: tt.random, asked: &asked{facts: tt.facts, since: tt.since}})
			if !strings.Contains(r.Title, tt.title) || !strings.Contains(r.Said.String(), tt.said) || strings.Contains(r.Said.String(), "secret") {
				t.Errorf("title %q, said %q", r.Title, r.Said)
			}
			if r.Advice == "" || r.Tone == "" {
				t.Errorf("no advice or tone: %+v", r)
			}
			if tt.facts.Err != nil && len(r.Controls) > 0 {
				t.Error("controls are shown of a look that was not answered")
			}
		})
	}
}

func TestTryMatchesAndFaults(t *testing.T) {
	t.Parallel()
	f := everything()
	f.try = answering(hit(journal.MatchEffective))
	s := newSite(t, f)
	doc := parse(t, s.post(web.RouteProviders, tryForm("sent-mail", testRef, "1h")...))
	checkPage(t, s, "found", doc)
	if doc.Find("#try-sent-mail .match a[href='https://mail.example.org/41'][rel='noopener noreferrer']").Length() != 1 {
		t.Error("no link to the match")
	}
	wantText(t, doc, "#try-sent-mail table", "Did not runnot needed: the match itself was fetched again")
	f.try = answering(fault(evidence.FaultAuth))
	doc = parse(t, s.post(web.RouteProviders, tryForm("sent-mail", "", "1h")...))
	checkPage(t, s, "fault", doc)
	wantText(t, doc, "#try-sent-mail", "The provider refused Landed’s credentials.")
	wantText(t, doc, "#exchanges-sent-mail", "LOGIN ***")
	wantText(t, doc, "#try-sent-mail .facts", "Reference, which nobody has")
}

func TestTryRefusesAndSaysWhy(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name, provider, ref, since string
		roles                      []journal.Role
		status                     int
		selector, want             string
	}{
		{"viewer", "sent-mail", testRef, "1h", []journal.Role{journal.RoleViewer}, 403, ".message", "role operator or approver"},
		{"auditor", "sent-mail", testRef, "1h", []journal.Role{journal.RoleAuditor}, 403, ".message", "role operator or approver"},
		{"admin", "sent-mail", testRef, "1h", []journal.Role{journal.RoleAdmin}, 403, ".message", "role operator or approver"},
		{"short", "sent-mail", "0123", "1h", nil, 422, "#ref-err-sent-mail", "exactly 32"},
		{"not hex", "sent-mail", strings.Repeat("g", 32), "1h", nil, 422, "#ref-err-sent-mail", "exactly 32"},
		{"quotes", "sent-mail", `" OR 1=1 --`, "1h", nil, 422, "#ref-err-sent-mail", "exactly 32"},
		{"an effect's id", "sent-mail", caseID(3), "1h", nil, 422, "#p-sent-mail a[href='" + web.EffectURL(caseID(3)) + "']", "That effect’s page"},
		{"odd time", "sent-mail", testRef, "9999h", nil, 422, "#since-err-sent-mail", "Choose"},
		{"no time", "sent-mail", testRef, "", nil, 422, ".notice a[href='#since-sent-mail']", "Choose"},
		{"unknown provider", "gone", testRef, "1h", nil, 404, ".notice", "No provider of that name"},
		{"paused", "paused", testRef, "1h", nil, 409, ".notice", "asked to be left alone"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			s := newSite(t, everything(), tt.roles...)
			w := s.post(web.RouteProviders, tryForm(tt.provider, tt.ref, tt.since)...)
			wantStatus(t, w, tt.status)
			doc := parse(t, w)
			wantText(t, doc, tt.selector, tt.want)
			checkPage(t, s, tt.name, doc)
			if len(s.f.writes) > 0 {
				t.Errorf("did %v", s.f.writes)
			}
		})
	}
}

func TestTryTakesAReferenceAsPeopleCopyIt(t *testing.T) {
	t.Parallel()
	for _, ref := range []string{" " + testRef + "\n", strings.ToUpper(testRef), journal.Dashed(testRef)} {
		s := newSite(t, everything(), journal.RoleApprover)
		wantStatus(t, s.post(web.RouteProviders, tryForm("sent-mail", ref, "1h")...), http.StatusOK)
		if !slices.Equal(s.f.writes, []string{"try sent-mail " + testRef + " 1h0m0s"}) {
			t.Errorf("%q: did %v", ref, s.f.writes)
		}
	}
	s := newSite(t, everything())
	wantStatus(t, s.post(web.RouteProviders, tryForm("sent-mail", "", "1h")...), http.StatusOK)
	if len(s.f.writes) != 1 || !journal.ValidRef(strings.Fields(s.f.writes[0])[2]) {
		t.Errorf("without a reference: did %v", s.f.writes)
	}
}

func TestTryThatCannotBeMade(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name string
		err  error
		want string
	}{
		{"no turn", wrap(context.DeadlineExceeded), "Its turn did not come"},
		{"no journal", wrap(journal.ErrUnavailable), "The journal can’t be reached"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			f := everything()
			f.try = func(string, time.Duration) (evidence.Facts, evidence.Question, error) {
				return evidence.Facts{}, evidence.Question{}, tt.err
			}
			w := newSite(t, f).post(web.RouteProviders, tryForm("sent-mail", "", "1h")...)
			wantStatus(t, w, http.StatusServiceUnavailable)
			wantText(t, parse(t, w), "main", tt.want)
		})
	}
	f := everything()
	f.viewErr = journal.ErrUnavailable
	wantStatus(t, newSite(t, f).post(web.RouteProviders, tryForm("sent-mail", "", "1h")...), http.StatusServiceUnavailable)
	if len(f.writes) > 0 {
		t.Errorf("asked, though it could not be recorded who did: %v", f.writes)
	}
}

// TestV01_ProviderTextIsText: everything that a provider or a definition of an
// adapter says is shown, and none of it as markup.
func TestV01_ProviderTextIsText(t *testing.T) {
	t.Parallel()
	bad := newProvider(markup, providerSheet(func(s *evidence.Sheet) {
		s.Kind, s.Version, s.Class, s.Scopes, s.Mode, s.Conclusive, s.InconclusiveWhy = markup, markup, markup, []string{markup}, markup, false, markup
		s.Native.Header = markup
	}), state(func(s *journal.ProviderState) {
		s.LastFaultAt, s.LastFault, s.ControlOK, s.ControlWhy = ago(0), markup, false, markup
	}))
	f := &fakeJournal{configured: map[string]providerView{markup: bad}}
	s := newSite(t, f)
	hostile := evidence.Facts{Answer: evidence.Answer{Scopes: []journal.Scope{{Name: markup, Detail: markup}}, Exchanges: []journal.Exchange{{Request: markup, Response: markup}},
		Matches: []journal.Match{{ID: markup, Title: markup, URL: "javascript:alert(1)", Status: markup, State: markup, Where: markup, Carrier: markup, Facts: []journal.MatchFact{{Name: markup, Value: markup}}}}},
		Negative: journal.Control{Ran: true, Detail: markup, Ref: markup}, Positive: journal.Control{Ran: true, Detail: markup, Ref: markup}}
	failed := evidence.Facts{Err: &evidence.ProviderError{Kind: markup, Detail: markup, Exchanges: []journal.Exchange{{Request: markup, Response: markup}}}}
	check := func(name string, doc string, min int) {
		if strings.Contains(doc, "<img") {
			t.Errorf("%s: the markup came through", name)
		}
		if got := strings.Count(doc, "&lt;img"); got < min {
			t.Errorf("%s: the markup is shown %d times, want at least %d", name, got, min)
		}
	}
	w := s.get(web.RouteProviders)
	checkNoInline(t, "list", parse(t, w))
	check("list", w.Body.String(), 15)
	for name, facts := range map[string]evidence.Facts{"hostile": hostile, "failed": failed} {
		f.try = func(string, time.Duration) (evidence.Facts, evidence.Question, error) {
			return facts, evidence.Question{Ref: markup, Canary: &journal.Canary{EffectID: markup}}, nil
		}
		w := s.post(web.RouteProviders, tryForm(markup, "", "1h")...)
		wantStatus(t, w, http.StatusOK)
		checkNoInline(t, name, parse(t, w))
		check(name, w.Body.String(), 18)
	}
}
