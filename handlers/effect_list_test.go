package handlers

import (
	"net/http"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/landedhq/landed/journal"
	"github.com/landedhq/landed/web"
)

func TestNewListPageWhole(t *testing.T) {
	t.Parallel()
	k := byName("same key")
	q := web.ListQuery{Tool: "payment.capture", Provider: "psp", After: "c1"}
	page := journal.ListPage{Now: testNow(), Total: 1, Next: "c2", Rows: []journal.Snapshot{k.Snapshot},
		Counts: []journal.ListCount{{Tool: "payment.capture", Provider: "psp", Count: 1, Oldest: k.Effect.CreatedAt}}}
	oldest := web.Stamp{ISO: "2026-11-01T06:42:45Z", Full: "1 Nov 2026, 06:42:45 UTC", Rel: "20 h 30 min", Form: web.FormAge}
	want := web.ListPage{
		Headline: "1 matching effect needs attention", Oldest: &oldest,
		Groups: []web.ListGroup{{Tool: web.Plain("payment.capture"), Provider: web.Plain("psp"), Count: "1", Oldest: oldest, URL: "/?provider=psp&tool=payment.capture", Current: true}},
		Form: web.ListForm{
			States: []web.Option{{Text: "Any"}, {Value: "PARKED", Text: "Parked"}, {Value: "INTENT", Text: "Stuck"}, {Value: "REISSUE", Text: "Re-issue ordered"},
				{Value: "COMMITTED", Text: "Committed"}, {Value: "REJECTED", Text: "Rejected"}, {Value: "ABANDONED", Text: "Abandoned"}},
			Tools: []web.Option{{Text: "Any"}, {Value: "payment.capture", Text: "payment.capture", Selected: true}},
			Classes: []web.Option{{Text: "Any"}, {Value: "at_most_once", Text: "at-most-once"}, {Value: "journal_deduped", Text: "journal-deduped"},
				{Value: "provider_idempotent", Text: "provider-idempotent"}},
			Providers: []web.Option{{Text: "Any"}, {Value: "psp", Text: "psp", Selected: true}},
			Sorts:     []web.Option{{Text: "Oldest first", Selected: true}, {Value: "newest", Text: "Newest first"}},
			Open:      true, Clear: "/", Self: "/?after=c1&provider=psp&tool=payment.capture",
		},
		Active: []web.ActiveFilter{{Name: "Tool", Value: web.Plain("payment.capture"), URL: "/?provider=psp"}, {Name: "Provider", Value: web.Plain("psp"), URL: "/?tool=payment.capture"}},
		Rows: []web.ListRow{{
			URL: "/e/" + caseID(4), Subject: web.Plain("Order 80-1142, Ada Byron"), Tool: web.Plain("payment.capture"), Operation: web.Plain("capture payment"),
			Money: web.Plain("1250.00 EUR"), Age: oldest, State: web.Badge{Tone: web.ToneWarn, Text: "Parked"}, Class: "provider-idempotent",
			ClassMeaning: "The provider drops repeats of one key, for as long as its key window lasts.", Verdict: web.Badge{Tone: web.ToneWarn, Text: "Can’t tell"},
			VerdictWhy: "the provider did not answer properly", Looked: stampAt("2 Nov 2026, 02:42:45 UTC", "30 min ago"),
			Recommend:  web.Badge{Tone: web.ToneInfo, Text: "Re-issue, same key"},
			Countdowns: []web.Countdown{{Label: "key", Tone: web.ToneWarn, At: *stampAt("2 Nov 2026, 06:42:45 UTC", "in 3 h 30 min")}},
		}},
		More: "/?after=c2&provider=psp&tool=payment.capture", First: "/?provider=psp&tool=payment.capture",
	}
	if diff := cmp.Diff(want, newListPage(web.Shell{}, q, page), sameText()); diff != "" {
		t.Errorf("page (-want +got):\n%s", diff)
	}
}

func TestListPageAtAGlance(t *testing.T) {
	t.Parallel()
	s := newSite(t, everything())
	w := s.get("/")
	wantStatus(t, w, http.StatusOK)
	doc := parse(t, w)
	wantText(t, doc, "h1", "19 effects need attention")
	row := doc.Find("tr[data-row]").First()
	if got := row.Find("a.row-link").AttrOr("href", ""); got != web.EffectURL(caseID(1)) {
		t.Errorf("the row leads to %q", got)
	}
	wantText(t, doc, "tr[data-row] .c-age", "3 h 4 min Parked")
	wantText(t, doc, "tr[data-row] .c-evidence .badge", "Found")
	wantText(t, doc, "tr[data-row] .c-evidence .sub", "asked 7 min ago")
	wantText(t, doc, "tr[data-row] .c-recommend", "Close as landed")
	wantText(t, doc, ".lede", "updated just now")
}

func TestEmptyListExplainsItself(t *testing.T) {
	t.Parallel()
	s := newSite(t, &fakeJournal{})
	wantText(t, parse(t, s.get("/")), ".empty", "Every effect is known")
	wantText(t, parse(t, s.get("/?q=x")), ".empty", "No effect matches")
	wantText(t, parse(t, s.get("/?after=x")), ".empty", "settled since")
}

func TestUnknownFiltersNarrowNothing(t *testing.T) {
	t.Parallel()
	s := newSite(t, everything())
	doc := parse(t, s.get("/?state=GONE&class=maybe&sort=sideways"))
	if doc.Find(".active").Length() != 0 {
		t.Error("an unknown value counts as a filter")
	}
}

func TestSpan(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		d    time.Duration
		want string
	}{
		{-time.Second, "0 s"}, {999 * time.Millisecond, "0 s"}, {59 * time.Second, "59 s"}, {time.Minute, "1 min"}, {59*time.Minute + 59*time.Second, "59 min"},
		{time.Hour, "1 h"}, {3*time.Hour + 12*time.Minute, "3 h 12 min"}, {48 * time.Hour, "2 d"}, {5*24*time.Hour + 3*time.Hour, "5 d 3 h"}, {412 * 24 * time.Hour, "412 d"},
	} {
		if got := span(tt.d); got != tt.want {
			t.Errorf("span(%v) is %q, want %q", tt.d, got, tt.want)
		}
	}
}

func TestAuditIsForAuditors(t *testing.T) {
	t.Parallel()
	for role, want := range map[journal.Role]int{journal.RoleViewer: 403, journal.RoleOperator: 403, journal.RoleApprover: 403, journal.RoleAuditor: 200, journal.RoleAdmin: 200} {
		s := newSite(t, everything(), role)
		w := s.get(web.RouteAudit)
		wantStatus(t, w, want)
		if want == 403 {
			wantText(t, parse(t, w), ".message", "auditor or admin")
		}
		if linked := parse(t, s.get("/")).Find("nav a[href='/audit']").Length() == 1; linked != (want == 200) {
			t.Errorf("%s: linked %t", role, linked)
		}
	}
}

func TestAuditPages(t *testing.T) {
	t.Parallel()
	f := everything()
	f.audit = nil
	for n := range 250 {
		f.audit = append(f.audit, journal.AuditRecord{Seq: int64(250 - n), At: testNow(), Kind: "decision", Result: "done", Body: []byte("{}")})
	}
	s := newSite(t, f, journal.RoleAuditor)
	seen := map[string]bool{}
	path, pages := web.RouteAudit, 0
	for ; path != "" && pages < 9; pages++ {
		doc := parse(t, s.get(path))
		for _, n := range doc.Find("tbody th").Nodes {
			seen[n.FirstChild.Data] = true
		}
		path = doc.Find("a[rel=next]").AttrOr("href", "")
	}
	if pages != 3 || len(seen) != 250 {
		t.Errorf("%d pages hold %d of 250 rows", pages, len(seen))
	}
}
