package jira_test

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/landedhq/landed/journal"
	"github.com/landedhq/landed/providers/evidence"
	"github.com/landedhq/landed/providers/evidence/jira"
	"github.com/landedhq/landed/providers/evidence/jira/jirafake"
)

func TestMatchHoldsTheFacts(t *testing.T) {
	t.Parallel()
	site := newSite()
	ref := journal.RandomRef()
	at := time.Now().Add(-time.Minute).UTC().Truncate(time.Millisecond)
	site.Add(jirafake.Issue{Key: "OPS-7", Summary: "Order", Labels: append(label(ref), "shop"), Status: "Done", Resolved: "Won't Do", Created: at})
	a := mustLook(t, serve(t, site), ref)
	want := []journal.Match{{
		ID: "OPS-7", URL: "https://acme.atlassian.net/browse/OPS-7", Title: "Order", Status: "Done", State: journal.MatchEffective, At: at,
		Where: "acme.atlassian.net, project OPS", Carrier: "label landed-" + ref,
		Facts: []journal.MatchFact{{Name: "type", Value: "Task"}, {Name: "resolution", Value: "Won't Do"}},
	}}
	if diff := cmp.Diff(want, a.Matches); diff != "" {
		t.Error(diff)
	}
	for _, x := range a.Exchanges {
		if strings.Contains(x.Response, jirafake.Private) || strings.Contains(x.Response, "Order") {
			t.Errorf("evidence holds what it must not: %s", x.Response)
		}
	}
}

func TestStatusesThatDidNotTakeEffect(t *testing.T) {
	t.Parallel()
	site := newSite()
	ref := journal.RandomRef()
	site.Add(jirafake.Issue{Labels: label(ref), Status: "Rejected"})
	c := serve(t, site)
	for _, row := range []struct {
		list []string
		want journal.MatchState
	}{{nil, journal.MatchEffective}, {[]string{"rejected"}, journal.MatchNotEffective}} {
		c.NotEffective = row.list
		if a := mustLook(t, c, ref); len(a.Matches) != 1 || a.Matches[0].State != row.want {
			t.Errorf("%q: %+v", row.list, a.Matches)
		}
	}
}

// T-01, T-11: a new issue is not found for minutes; inside the declared lag that is
// too early, and a handle finds it at once.
func TestT01_SearchLags(t *testing.T) {
	t.Parallel()
	site := newSite()
	site.SetFaults(jirafake.Faults{SearchLag: 8 * time.Minute})
	ref, old := journal.RandomRef(), journal.RandomRef()
	_, key := site.Add(jirafake.Issue{Labels: label(ref)})
	site.Add(jirafake.Issue{Labels: label(old), Created: time.Now().Add(-time.Hour)})
	c := serve(t, site)
	if a := mustLook(t, c, ref, handle(key)); len(a.Matches) != 1 {
		t.Errorf("by its key: %+v", a.Matches)
	}
	a := open(t, c)
	now := time.Now()
	hourAgo := now.Add(-time.Hour)
	f := evidence.Ask(t.Context(), a, evidence.Question{Ref: ref, From: hourAgo, To: now, Canary: &journal.Canary{Ref: old, BegunAt: hourAgo, CommittedAt: hourAgo}})
	sent := now.Add(-5 * time.Minute) // the processing horizon is just over
	timing := evidence.Timing{FirstGrant: sent, FencedAt: sent, SendBy: sent, Attempt: 1, Attempts: 1}
	for _, row := range []struct {
		name  string
		after time.Duration
		want  journal.Verdict
	}{
		{"at once", 0, journal.CannotTell},
		{"after 2 minutes", 2 * time.Minute, journal.CannotTell},
		{"after 12 minutes, still not there", 12 * time.Minute, journal.NotFound},
	} {
		timing.StartedAt = now.Add(row.after)
		if j := evidence.Judge(f, a.Sheet(), timing); j.Verdict != row.want || row.want == journal.CannotTell && j.Reason != journal.CannotTooEarly {
			t.Errorf("%s: %+v", row.name, j)
		}
	}
}

// T-03: the search is a pre-filter: an issue whose label only resembles the reference
// is a stranger, and makes the query doubtful.
func TestT03_ResemblingReference(t *testing.T) {
	t.Parallel()
	site := newSite()
	ref := journal.RandomRef()
	site.Add(jirafake.Issue{Labels: []string{"landed-" + strings.ToUpper(ref)}})
	site.Add(jirafake.Issue{Labels: []string{"landed-" + ref + "0"}, Summary: ref})
	if a := mustLook(t, serve(t, site), ref); len(a.Matches) != 0 || a.Unrelated != 1 || unseen(a) != "" {
		t.Errorf("matches %+v, unrelated %d, unseen %q", a.Matches, a.Unrelated, unseen(a))
	}
}

// T-05: a search that ignores its query is noticed.
func TestT05_QueryThatIsIgnored(t *testing.T) {
	t.Parallel()
	site := newSite()
	for range 3 {
		site.Add(jirafake.Issue{Labels: []string{"shop"}})
	}
	site.SetFaults(jirafake.Faults{IgnoreFilter: true})
	c := serve(t, site)
	if a := mustLook(t, c, journal.RandomRef()); a.Unrelated != 3 || len(a.Matches) != 0 {
		t.Errorf("unrelated %d, matches %+v", a.Unrelated, a.Matches)
	}
	if believed, reason, _ := trust(t, c, ""); believed || reason != journal.CannotFilter {
		t.Errorf("believed %v, %s", believed, reason)
	}
}

// T-06: two issues with one reference are two matches, one of them moved.
func TestT06_TwoIssuesWithOneReference(t *testing.T) {
	t.Parallel()
	site := newSite()
	ref := journal.RandomRef()
	_, first := site.Add(jirafake.Issue{Labels: label(ref), Created: time.Now().Add(-48 * time.Hour)})
	site.Add(jirafake.Issue{Labels: label(ref)})
	moved := site.Move(first, "ENG")
	a := mustLook(t, serve(t, site), ref)
	if len(a.Matches) != 2 || a.Matches[0].ID != moved || a.Matches[0].Where != "acme.atlassian.net, project ENG" {
		t.Errorf("matches %+v", a.Matches)
	}
	if got := a.Matches[0].Facts[len(a.Matches[0].Facts)-1]; got.Name != "moved" || got.Value != "it is not in project OPS" {
		t.Errorf("the move is not told: %+v", got)
	}
}

func TestHandles(t *testing.T) {
	t.Parallel()
	ref := journal.RandomRef()
	for _, row := range []struct {
		name    string
		issue   jirafake.Issue
		after   func(s *jirafake.Site, key string)
		value   func(id, key string) journal.Handle
		carrier string // of the match; "" = none
		fact    string
		unseen  string
	}{
		{"labelled, by key", jirafake.Issue{Labels: label(ref)}, nil, nil, "label landed-" + ref, "", ""},
		{"labelled, by id", jirafake.Issue{Labels: label(ref)}, nil, func(id, _ string) journal.Handle { return handle(id) }, "label landed-" + ref, "", ""},
		{"label taken away, property there", jirafake.Issue{Property: property(ref)}, nil, nil, "issue property landed", "", ""},
		{"no mark at all", jirafake.Issue{}, nil, nil, "handle issue", "", ""},
		{"another's label", jirafake.Issue{Labels: label(journal.RandomRef())}, nil, nil, "", "", ""},
		{"another's property", jirafake.Issue{Property: property(journal.RandomRef())}, nil, nil, "", "", ""},
		{"moved, by its former key", jirafake.Issue{Labels: label(ref)}, func(s *jirafake.Site, key string) { s.Move(key, "ENG") }, nil, "label landed-" + ref, "it was OPS-", ""},
		{"moved where the account can't see", jirafake.Issue{Labels: label(ref)}, func(s *jirafake.Site, key string) { s.Move(key, "SEC") }, nil, "", "", "can't be read (404)"},
		{"deleted", jirafake.Issue{Labels: label(ref)}, func(s *jirafake.Site, key string) { s.Delete(key) }, nil, "", "", "can't be read (404)"},
		{"archived", jirafake.Issue{Labels: label(ref), Archived: true}, nil, nil, "", "", "archived"},
		{"at another security level", jirafake.Issue{Labels: label(ref), Level: "staff"}, nil, nil, "", "", "security level"},
		{"no key", jirafake.Issue{}, nil, func(_, key string) journal.Handle { return handle(key + "/../x") }, "", "", ""},
		{"another provider's", jirafake.Issue{}, nil, func(id, _ string) journal.Handle { return journal.Handle{Kind: "ticket", Value: id} }, "", "", ""},
	} {
		t.Run(row.name, func(t *testing.T) {
			t.Parallel()
			site := newSite()
			id, key := site.Add(row.issue)
			if row.after != nil {
				row.after(site, key)
			}
			h := handle(key)
			if row.value != nil {
				h = row.value(id, key)
			}
			a := mustLook(t, serve(t, site), ref, h, h, journal.Handle{Kind: "other", Value: id})
			switch {
			case row.carrier == "" && len(a.Matches) != 0, row.carrier != "" && (len(a.Matches) != 1 || a.Matches[0].Carrier != row.carrier):
				t.Errorf("matches %+v, want %q", a.Matches, row.carrier)
			case row.fact != "" && !strings.Contains(a.Matches[0].Facts[1].Value, row.fact):
				t.Errorf("facts %+v, want %q", a.Matches[0].Facts, row.fact)
			case !strings.Contains(unseen(a), row.unseen), row.unseen == "" && unseen(a) != "":
				t.Errorf("unseen %q, want %q", unseen(a), row.unseen)
			}
		})
	}
}

// One issue under several names is one match.
func TestOneIssueUnderSeveralNames(t *testing.T) {
	t.Parallel()
	site := newSite()
	ref := journal.RandomRef()
	id, key := site.Add(jirafake.Issue{Labels: label(ref)})
	now := site.Move(key, "ENG")
	for _, order := range [][]string{{id, key, now}, {key, now, id}, {now, id, key}} {
		var hs []journal.Handle
		for _, name := range order {
			hs = append(hs, handle(name))
		}
		if a := mustLook(t, serve(t, site), ref, hs...); len(a.Matches) != 1 || a.Matches[0].ID != now {
			t.Errorf("%q: %+v", order, a.Matches)
		}
	}
}

// The search goes on finding an issue whose label was taken away: the copy from the
// database decides, and the property still proves it.
func TestHitsAreReadAgain(t *testing.T) {
	t.Parallel()
	for _, row := range []struct {
		name    string
		issue   jirafake.Issue
		matches int
		unseen  string
	}{
		{"property left", jirafake.Issue{Property: nil}, 1, ""},
		{"nothing left", jirafake.Issue{}, 0, "does not carry it any more"},
	} {
		t.Run(row.name, func(t *testing.T) {
			t.Parallel()
			site := newSite()
			ref := journal.RandomRef()
			row.issue.Labels = label(ref)
			if row.matches == 1 {
				row.issue.Property = property(ref)
			}
			_, key := site.Add(row.issue)
			a := mustLook(t, serve(t, between(site, func() { site.Edit(key, func(i *jirafake.Issue) { i.Labels = nil }) })), ref)
			if len(a.Matches) != row.matches || !strings.Contains(unseen(a), row.unseen) || row.unseen == "" && unseen(a) != "" {
				t.Errorf("matches %+v, unseen %q", a.Matches, unseen(a))
			}
		})
	}
}

// A search by property that no app has indexed is empty and no error: only the
// positive control tells.
func TestPropertyThatIsNotIndexedIsFoundOut(t *testing.T) {
	t.Parallel()
	site := newSite()
	committed := journal.RandomRef()
	site.Add(jirafake.Issue{Labels: label(committed), Property: property(committed)})
	c := serve(t, site)
	c.Carrier = jira.Property
	if believed, reason, _ := trust(t, c, committed); believed || reason != journal.CannotControl {
		t.Errorf("believed %v, %s", believed, reason)
	}
	site.IndexProperty()
	if believed, reason, why := trust(t, c, committed); !believed {
		t.Errorf("with an index: %s: %s", reason, why)
	}
}
