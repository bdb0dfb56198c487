package jira_test

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/landedhq/landed/journal"
	"github.com/landedhq/landed/providers/evidence"
	"github.com/landedhq/landed/providers/evidence/jira/jirafake"
)

// between serves site and does something before an issue is read.
func between(site *jirafake.Site, do func()) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if strings.Contains(r.URL.Path, "/issue/") {
			do()
		}
		site.ServeHTTP(w, r)
	})
}

func TestT10_FailingServerNeverReadsAsAMiss(t *testing.T) {
	t.Parallel()
	elsewhere := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {
		t.Error("the token was taken to another host")
	}))
	t.Cleanup(elsewhere.Close)
	for _, row := range []struct {
		trouble jirafake.Trouble
		want    evidence.FaultKind
		after   time.Duration
	}{
		{jirafake.TroubleRevoked, evidence.FaultAuth, 0},
		{jirafake.TroubleForbidden, evidence.FaultForbidden, 0},
		{jirafake.TroubleNotFound, evidence.FaultRefused, 0},
		{jirafake.TroubleGone, evidence.FaultRefused, 0},
		{jirafake.TroubleBadRequest, evidence.FaultRefused, 0},
		{jirafake.TroubleRateLimited, evidence.FaultRateLimited, 12 * time.Second},
		{jirafake.TroubleLimitReset, evidence.FaultRateLimited, time.Hour},
		{jirafake.TroubleServerError, evidence.FaultUnavailable, 0},
		{jirafake.TroubleOverload, evidence.FaultUnavailable, 30 * time.Second},
		{jirafake.TroubleHTML, evidence.FaultBadAnswer, 0},
		{jirafake.TroubleErrorIn200, evidence.FaultBadAnswer, 0},
		{jirafake.TroubleGarbage, evidence.FaultBadAnswer, 0},
		{jirafake.TroubleNull, evidence.FaultBadAnswer, 0},
		{jirafake.TroubleHuge, evidence.FaultTooLarge, 0},
		{jirafake.TroubleRedirect, evidence.FaultBadAnswer, 0},
		{jirafake.TroubleHang, evidence.FaultUnavailable, 0},
	} {
		for _, place := range []string{"/myself", "/mypermissions", "/search/jql", "/issue/"} {
			t.Run(string(row.trouble)+" at "+place, func(t *testing.T) {
				t.Parallel()
				site := newSite()
				ref := journal.RandomRef()
				if place == "/issue/" {
					site.Add(jirafake.Issue{Labels: label(ref)})
				}
				site.SetFaults(jirafake.Faults{Trouble: row.trouble, Only: place, RedirectTo: elsewhere.URL})
				c := serve(t, site)
				c.Timeout = 2 * time.Second
				a, err := look(t, c, ref)
				if blind(row.trouble, place) {
					if err != nil || len(a.Matches) != 0 || unseen(a) == "" {
						t.Errorf("%+v, %v", a, err)
					}
					return
				}
				pe := fault(t, err)
				if pe.Kind != row.want || (pe.RetryAfter-row.after).Abs() > 2*time.Minute || (row.after == 0) != (pe.RetryAfter == 0) || pe.Detail == "" || len(pe.Exchanges) == 0 {
					t.Errorf("fault %+v, want kind %q, retry after %v", pe, row.want, row.after)
				}
				for _, x := range pe.Exchanges {
					if strings.Contains(x.Request+x.Response, apiToken) {
						t.Errorf("the token is in the evidence: %+v", x)
					}
				}
			})
		}
	}
}

// blind: some refusals leave a place unseen and are no fault of the look.
func blind(trouble jirafake.Trouble, place string) bool {
	switch place {
	case "/mypermissions":
		return trouble == jirafake.TroubleNotFound || trouble == jirafake.TroubleBadRequest
	case "/issue/":
		return trouble == jirafake.TroubleForbidden || trouble == jirafake.TroubleNotFound
	}
	return false
}

func TestAnswersThatCannotBeTrustedNeverReadAsAMiss(t *testing.T) {
	t.Parallel()
	row := `{"id":"1","key":"OPS-1","fields":{"labels":[],"status":{"name":"x"},"created":"2026-01-02T03:04:05.000+0000"}}`
	for _, c := range []struct{ name, path, body string }{
		{"no issues", "/search/jql", `{"isLast":true}`},
		{"issues null", "/search/jql", `{"issues":null,"isLast":true}`},
		{"more without a token", "/search/jql", `{"issues":[],"isLast":false}`},
		{"row without an id", "/search/jql", `{"issues":[{"key":"OPS-1"}],"isLast":true}`},
		{"row without fields", "/search/jql", `{"issues":[{"id":"1","key":"OPS-1"}],"isLast":true}`},
		{"row with a path for an id", "/search/jql", `{"issues":[` + strings.Replace(row, `"1"`, `"1/../2"`, 1) + `],"isLast":true}`},
		{"time that is none", "/search/jql", `{"issues":[` + strings.Replace(row, "2026-01-02T03", "yesterday", 1) + `],"isLast":true}`},
		{"the same issue twice", "/search/jql", `{"issues":[` + row + `,` + row + `],"isLast":true}`},
		{"cut off", "/search/jql", `{"issues":[`},
		{"no account", "/myself", `{"active":true}`},
		{"no permissions", "/mypermissions", `{"permissions":{}}`},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			site := newSite()
			h := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				if r.URL.Path != "/rest/api/3"+c.path {
					site.ServeHTTP(w, r)
					return
				}
				w.Header().Set("Content-Type", "application/json")
				_, _ = w.Write([]byte(c.body))
			})
			_, err := look(t, serve(t, h), journal.RandomRef())
			if pe := fault(t, err); pe.Kind != evidence.FaultBadAnswer {
				t.Errorf("fault %+v", pe)
			}
		})
	}
}

func TestPagesAreReadToTheEnd(t *testing.T) {
	t.Parallel()
	site := newSite()
	ref := journal.RandomRef()
	for range 5 {
		site.Add(jirafake.Issue{Labels: label(ref)})
	}
	c := serve(t, site)
	for name, f := range map[string]jirafake.Faults{
		"three pages":         {PageSize: 2},
		"no isLast":           {PageSize: 2, NoIsLast: true},
		"an empty page first": {PageSize: 2, EmptyPages: true},
	} {
		site.SetFaults(f)
		if a := mustLook(t, c, ref); len(a.Matches) != 5 || !a.AllPagesRead {
			t.Errorf("%s: %d matches, all read %v", name, len(a.Matches), a.AllPagesRead)
		}
	}
	c.MaxPages = 2
	site.SetFaults(jirafake.Faults{PageSize: 2})
	if a := mustLook(t, c, ref); len(a.Matches) != 4 || a.AllPagesRead {
		t.Errorf("two of three pages: %d matches, all read %v", len(a.Matches), a.AllPagesRead)
	}
	c.MaxPages = 10
	site.SetFaults(jirafake.Faults{Circle: true})
	_, err := look(t, c, ref)
	if pe := fault(t, err); pe.Kind != evidence.FaultBadAnswer || !strings.Contains(pe.Detail, "circle") {
		t.Errorf("the same next page for ever: %+v", pe)
	}
}

func TestClosedSessionRefuses(t *testing.T) {
	t.Parallel()
	s, err := open(t, serve(t, newSite())).Session(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	if _, err := s.Find(t.Context(), query(journal.RandomRef())); err == nil {
		t.Error("a closed session answered")
	}
}
