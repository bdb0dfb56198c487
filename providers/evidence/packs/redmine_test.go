package packs_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/landedhq/landed/journal"
	"github.com/landedhq/landed/providers/evidence"
	"github.com/landedhq/landed/providers/evidence/declared"
	"github.com/landedhq/landed/providers/evidence/evidencetest"
	"github.com/landedhq/landed/providers/evidence/packs"
	"github.com/landedhq/landed/providers/evidence/packs/redminetest"
)

// redmineConfig is the pack's configuration for an account of a real Redmine.
func redmineConfig(s *redminetest.Server, account, field string, params map[string]string) declared.Config {
	c := declared.Config{
		Params:       map[string]string{"url": s.URL, "field": strconv.Itoa(s.Fields[field])},
		Secrets:      map[string]evidence.Secret{"api_key": evidence.Fixed(s.Key(account))},
		AllowPrivate: true, AllowPlainHTTP: true, Timeout: time.Minute, TestMode: true,
	}
	for k, v := range params {
		c.Params[k] = v
	}
	return c
}

func openRedmine(t *testing.T, c declared.Config) evidence.Adapter {
	t.Helper()
	a, err := packs.Open("redmine.issue", c)
	if err != nil {
		t.Fatalf("opening the pack: %v", err)
	}
	return a
}

func lookRedmine(t *testing.T, c declared.Config, ref string) evidence.Answer {
	t.Helper()
	s, err := openRedmine(t, c).Session(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	a, err := s.Find(t.Context(), evidence.Query{Ref: ref, From: time.Now().Add(-time.Hour), To: time.Now().Add(time.Hour)})
	if err != nil {
		t.Fatalf("Find: %v", err)
	}
	return a
}

// TestRealRedmine runs what only a real Redmine can prove. One server serves all
// parts: starting one takes seconds.
func TestRealRedmine(t *testing.T) {
	t.Parallel()
	s := redminetest.Start(t)
	// First: it counts all issues.
	t.Run("T05 a field that is no filter", func(t *testing.T) { redmineIgnoresFilter(t, s) })
	t.Run("others", func(t *testing.T) {
		for _, c := range []struct {
			name string
			run  func(*testing.T, *redminetest.Server)
		}{
			{"conformance", redmineConforms},
			{"found, not found, controls", redmineControls},
			{"states", redmineStates},
			{"what the account does not see is no miss", redmineVisibility},
			{"archived project", redmineArchived},
		} {
			t.Run(c.name, func(t *testing.T) {
				t.Parallel()
				c.run(t, s)
			})
		}
	})
}

// redmineIgnoresFilter: Redmine leaves a filter out that it can't apply, and
// gives everything: two pages of it. What is ours among them is found all the
// same, and nothing among them is no miss.
func redmineIgnoresFilter(t *testing.T, s *redminetest.Server) {
	ref := journal.RandomRef()
	s.Create(t, redminetest.Issue{Field: redminetest.FieldUnfiltered, Ref: ref}) // the last one: on the second page
	for _, row := range []struct {
		field, ref string
		matches    int
	}{
		{redminetest.FieldUnfiltered, ref, 1},
		{redminetest.FieldUnfiltered, journal.RandomRef(), 0},
		{redminetest.FieldHidden, journal.RandomRef(), 0},
		{"no such field", journal.RandomRef(), 0},
	} {
		a := lookRedmine(t, redmineConfig(s, redminetest.Reader, row.field, nil), row.ref)
		if len(a.Matches) != row.matches || a.Unrelated != 111-row.matches || !a.AllPagesRead {
			t.Errorf("%s: %d matches, %d unrelated, all read %v; want %d, %d, true", row.field, len(a.Matches), a.Unrelated, a.AllPagesRead, row.matches, 111-row.matches)
		}
	}
}

// redmineControls asks as the collector does, and lets the judge decide.
func redmineControls(t *testing.T, s *redminetest.Server) {
	known, ref := journal.RandomRef(), journal.RandomRef()
	s.Create(t, redminetest.Issue{Ref: known})
	a := openRedmine(t, redmineConfig(s, redminetest.Reader, redminetest.Field, map[string]string{"project": strconv.Itoa(s.Projects["desk"])}))
	now := time.Now()
	canary := &journal.Canary{Ref: known, BegunAt: now.Add(-time.Minute), CommittedAt: now}
	timing := evidence.Timing{StartedAt: now, FirstGrant: now.Add(-time.Hour), FencedAt: now.Add(-50 * time.Minute), SendBy: now.Add(-55 * time.Minute), ClientTimeout: time.Minute, Attempt: 1, Attempts: 1}
	ask := func() (evidence.Facts, evidence.Judgement) {
		f := evidence.Ask(t.Context(), a, evidence.Question{Ref: ref, From: now.Add(-time.Hour), To: now.Add(time.Hour), Canary: canary})
		return f, evidence.Judge(f, a.Sheet(), timing)
	}
	if f, j := ask(); j.Verdict != journal.NotFound || !f.Negative.Passed || !f.Positive.Passed {
		t.Errorf("nothing there: %s %s (%s), controls %+v, %+v, %v", j.Verdict, j.Reason, j.Explanation, f.Negative, f.Positive, f.Err)
	}
	canary = &journal.Canary{Ref: journal.RandomRef(), BegunAt: now.Add(-time.Minute), CommittedAt: now}
	if _, j := ask(); j.Verdict != journal.CannotTell || j.Reason != journal.CannotControl {
		t.Errorf("a committed effect that is not there: %s %s", j.Verdict, j.Reason)
	}
	id := s.Create(t, redminetest.Issue{Ref: ref})
	f, j := ask()
	if j.Verdict != journal.Found {
		t.Fatalf("one there: %s %s, %+v, %v", j.Verdict, j.Reason, f.Answer, f.Err)
	}
	m := f.Answer.Matches[0]
	if m.ID != strconv.Itoa(id) || m.Title != "Order" || m.Status != "New" || m.URL != fmt.Sprintf("%s/issues/%d", s.URL, id) || !hasFact(m, "project") || !hasFact(m, "author") {
		t.Errorf("match %+v, want issue %d", m, id)
	}
	s.Create(t, redminetest.Issue{Ref: ref})
	if _, j := ask(); j.Verdict != journal.Duplicate {
		t.Errorf("two there: %s %s", j.Verdict, j.Reason)
	}
}

// redmineStates: closed issues are found, and the one status that does not count.
func redmineStates(t *testing.T, s *redminetest.Server) {
	for status, want := range map[string]journal.MatchState{"New": journal.MatchEffective, "Closed": journal.MatchEffective, "Rejected": journal.MatchNotEffective} {
		ref := journal.RandomRef()
		s.SetStatus(t, s.Create(t, redminetest.Issue{Ref: ref}), status)
		a := lookRedmine(t, redmineConfig(s, redminetest.Reader, redminetest.Field, nil), ref)
		if len(a.Matches) != 1 || a.Matches[0].State != want || a.Matches[0].Status != status {
			t.Errorf("%s: %+v, want %s", status, a.Matches, want)
		}
	}
}

// redmineVisibility: Redmine says nothing of what an account may not see.
func redmineVisibility(t *testing.T, s *redminetest.Server) {
	private, elsewhere, open := journal.RandomRef(), journal.RandomRef(), journal.RandomRef()
	s.Create(t, redminetest.Issue{Ref: private, Private: true})
	s.Create(t, redminetest.Issue{Ref: elsewhere, Project: "other"})
	s.Create(t, redminetest.Issue{Ref: open})
	desk, other := map[string]string{"project": strconv.Itoa(s.Projects["desk"])}, map[string]string{"project": strconv.Itoa(s.Projects["other"])}
	for _, row := range []struct {
		name, account, ref string
		params             map[string]string
		matches            int
		unseen             string // what an empty answer says
	}{
		{"private, seen by all", redminetest.Reader, private, desk, 1, ""},
		{"private, hidden from the role", redminetest.Narrow, private, desk, 0, "a role of the account does not see all issues"},
		{"public, though the role is narrow", redminetest.Narrow, open, nil, 1, "a role of the account does not see all issues"},
		{"somebody else's", redminetest.Own, open, nil, 0, "a role of the account does not see all issues"},
		{"no right to view", redminetest.Blind, open, nil, 0, "a role of the account does not see all issues"},
		{"no membership", redminetest.Stranger, open, nil, 0, "the account is a member of no project"},
		{"another project", redminetest.Reader, elsewhere, other, 0, "not of the one that workers write to"},
		{"administrator", redminetest.Admin, elsewhere, other, 1, ""},
	} {
		a := lookRedmine(t, redmineConfig(s, row.account, redminetest.Field, row.params), row.ref)
		var unseen string
		for _, sc := range a.Scopes {
			if !sc.Seen {
				unseen += sc.Name + ": " + sc.Detail + "\n"
			}
		}
		if len(a.Matches) != row.matches || (row.unseen == "") != (unseen == "") || !strings.Contains(unseen, row.unseen) {
			t.Errorf("%s: %d matches, want %d; unseen %q, want %q", row.name, len(a.Matches), row.matches, unseen, row.unseen)
		}
	}
}

// redmineArchived: archiving a project takes its issues out of sight. Landed
// notices where the project is configured.
func redmineArchived(t *testing.T, s *redminetest.Server) {
	ref := journal.RandomRef()
	s.Create(t, redminetest.Issue{Ref: ref, Project: "archive"})
	c := redmineConfig(s, redminetest.Reader, redminetest.Field, map[string]string{"project": strconv.Itoa(s.Projects["archive"])})
	if a := lookRedmine(t, c, ref); len(a.Matches) != 1 {
		t.Errorf("before: %+v", a)
	}
	s.ArchiveProject(t, "archive")
	if a := lookRedmine(t, c, ref); len(a.Matches) != 0 || cleanEmpty(a, nil) {
		t.Errorf("afterwards: %+v", a)
	}
}

// redmineConforms runs the suite of all adapters behind a tap.
func redmineConforms(t *testing.T, s *redminetest.Server) {
	tap := evidencetest.NewTap(t, strings.TrimPrefix(s.URL, "http://"))
	c := redmineConfig(s, redminetest.Reader, redminetest.Field, map[string]string{"url": "http://" + tap.Addr()})
	evidencetest.Conformance(t, evidencetest.Fixture{
		Open:     func(t *testing.T) evidence.Adapter { return openRedmine(t, c) },
		Put:      func(t *testing.T, carrier string) { s.Create(t, redminetest.Issue{Ref: carrier}) },
		Break:    func(t *testing.T, b evidencetest.Breakage) evidence.Adapter { return brokenRedmine(t, s, b) },
		Requests: tap.Bytes,
		ReadOnly: func(t *testing.T) {
			lines := regexp.MustCompile(`(?m)^([A-Z]+) \S+ HTTP/1\.1\r$`).FindAllStringSubmatch(tap.Sent(), -1)
			for _, l := range lines {
				if l[1] != http.MethodGet {
					t.Errorf("the pack sent %s", strings.TrimSpace(l[0]))
				}
			}
			if len(lines) == 0 {
				t.Error("the tap saw no request")
			}
		},
		Secrets: []string{s.Key(redminetest.Reader)},
		Prompt:  15 * time.Second,
	})
}

// brokenRedmine opens the pack on a server that fails; a wrong key is refused by
// the real one.
func brokenRedmine(t *testing.T, s *redminetest.Server, b evidencetest.Breakage) evidence.Adapter {
	t.Helper()
	c := redmineConfig(s, redminetest.Reader, redminetest.Field, nil)
	if b == evidencetest.BreakAuth {
		c.Secrets["api_key"] = evidence.Fixed(s.Key(redminetest.Reader) + "0")
		return openRedmine(t, c)
	}
	release := make(chan struct{})
	broken := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch b {
		case evidencetest.BreakHang:
			select {
			case <-r.Context().Done():
			case <-release:
			}
		case evidencetest.BreakGarbage:
			fmt.Fprint(w, "<!doctype html><title>Redmine</title>")
		default:
			w.WriteHeader(http.StatusInternalServerError)
		}
	}))
	t.Cleanup(func() {
		close(release)
		broken.Close()
	})
	c.Params["url"] = broken.URL
	return openRedmine(t, c)
}
