package rt_test

import (
	"crypto/tls"
	"errors"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/landedhq/landed/journal"
	"github.com/landedhq/landed/providers/evidence"
	"github.com/landedhq/landed/providers/evidence/rt"
	"github.com/landedhq/landed/providers/evidence/rt/rtdesk"
)

// clientFor trusts the test server of c.
func clientFor(c rt.Config) *http.Client {
	return &http.Client{Transport: &http.Transport{TLSClientConfig: &tls.Config{RootCAs: c.RootCAs}, DisableKeepAlives: true}}
}

func TestT10_FailingServerNeverReadsAsAMiss(t *testing.T) {
	t.Parallel()
	elsewhere := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {
		t.Error("the token was taken to another host")
	}))
	t.Cleanup(elsewhere.Close)
	for _, row := range []struct {
		trouble rtdesk.Trouble
		want    evidence.FaultKind
		after   time.Duration
	}{
		{rtdesk.TroubleUnauthorized, evidence.FaultAuth, 0},
		{rtdesk.TroubleForbidden, evidence.FaultForbidden, 0},
		{rtdesk.TroubleNotFound, evidence.FaultRefused, 0},
		{rtdesk.TroubleGone, evidence.FaultRefused, 0},
		{rtdesk.TroubleRateLimited, evidence.FaultRateLimited, 7 * time.Second},
		{rtdesk.TroubleServerError, evidence.FaultUnavailable, 0},
		{rtdesk.TroubleHTML, evidence.FaultBadAnswer, 0},
		{rtdesk.TroubleErrorIn200, evidence.FaultBadAnswer, 0},
		{rtdesk.TroubleGarbage, evidence.FaultBadAnswer, 0},
		{rtdesk.TroubleHuge, evidence.FaultTooLarge, 0},
		{rtdesk.TroubleRedirect, evidence.FaultBadAnswer, 0},
		{rtdesk.TroubleHang, evidence.FaultUnavailable, 0},
	} {
		t.Run(string(row.trouble), func(t *testing.T) {
			t.Parallel()
			desk := newDesk(nil)
			ref := journal.RandomRef()
			desk.Add("ours", ref)
			c := serve(t, desk)
			c.Timeout = 2 * time.Second
			faults := rtdesk.Faults{Trouble: row.trouble, RedirectTo: elsewhere.URL}
			desk.SetFaults(faults)
			_, err := look(t, c, ref)
			check := func(err error) {
				t.Helper()
				pe := fault(t, err)
				if pe.Kind != row.want || pe.RetryAfter != row.after || pe.Detail == "" || len(pe.Exchanges) == 0 {
					t.Errorf("fault %+v, want kind %q, retry after %v", pe, row.want, row.after)
				}
			}
			check(err)

			// The same once queue and field are known: now the search itself fails.
			desk.SetFaults(rtdesk.Faults{})
			s, err := open(t, c).Session(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			defer s.Close()
			if _, err := s.Find(t.Context(), evidence.Query{Ref: ref}); err != nil {
				t.Fatal(err)
			}
			desk.SetFaults(faults)
			_, err = s.Find(t.Context(), evidence.Query{Ref: ref})
			check(err)
		})
	}
}

func TestT10_OneFailingReadNeverReadsAsAMiss(t *testing.T) {
	t.Parallel()
	answer := func(code int, kind, body string) http.HandlerFunc {
		return func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", kind)
			w.WriteHeader(code)
			_, _ = w.Write([]byte(body))
		}
	}
	const js = "application/json"
	for _, row := range []struct {
		name, path string
		h          http.HandlerFunc
		want       evidence.FaultKind // empty: an answer with something unseen
	}{
		{"ticket gone", "/REST/2.0/ticket/", answer(404, js, `{"message":"Not Found"}`), ""},
		{"ticket forbidden", "/REST/2.0/ticket/", answer(403, js, `{"message":"Forbidden"}`), ""},
		{"ticket of another number", "/REST/2.0/ticket/", answer(200, js, `{"id":99,"Status":"new","CustomFields":[{"id":"2","values":["x"]}]}`), ""},
		{"ticket without fields", "/REST/2.0/ticket/", answer(200, js, `{"id":1,"Status":"new","CustomFields":""}`), ""},
		{"ticket without status", "/REST/2.0/ticket/", answer(200, js, `{"id":1}`), evidence.FaultBadAnswer},
		{"ticket broken", "/REST/2.0/ticket/", answer(500, js, `{}`), evidence.FaultUnavailable},
		{"ticket is no object", "/REST/2.0/ticket/", answer(200, js, `[]`), evidence.FaultBadAnswer},
		{"search without items", "/REST/2.0/tickets", answer(200, js, `{"total":0,"count":0}`), evidence.FaultBadAnswer},
		{"search with items null", "/REST/2.0/tickets", answer(200, js, `{"total":0,"count":0,"page":1,"items":null}`), evidence.FaultBadAnswer},
		{"search without count", "/REST/2.0/tickets", answer(200, js, `{"items":[],"page":1}`), evidence.FaultBadAnswer},
		{"search with another count", "/REST/2.0/tickets", answer(200, js, `{"items":[],"count":1,"page":1,"total":1}`), evidence.FaultBadAnswer},
		{"search gives another page", "/REST/2.0/tickets", answer(200, js, `{"items":[],"count":0,"page":2,"total":0}`), evidence.FaultBadAnswer},
		{"search with a row without id", "/REST/2.0/tickets", answer(200, js, `{"items":[{}],"count":1,"page":1,"total":1}`), evidence.FaultBadAnswer},
		{"search with a path for an id", "/REST/2.0/tickets", answer(200, js, `{"items":[{"id":"../user/1"}],"count":1,"page":1,"total":1}`), evidence.FaultBadAnswer},
		{"search cut off", "/REST/2.0/tickets", answer(200, js, `{"items":[{"id":"1"}`), evidence.FaultBadAnswer},
		{"search refused", "/REST/2.0/tickets", answer(400, js, `{"message":"Wrong query"}`), evidence.FaultRefused},
		{"queue is no queue", "/REST/2.0/queue/", answer(200, js, `{"id":3,"Name":"Desk"}`), evidence.FaultBadAnswer},
		{"queue spelled otherwise", "/REST/2.0/queue/", answer(200, js, `{"id":3,"Name":"desk","TicketCustomFields":[]}`), evidence.FaultRefused},
		{"two fields of the name", "/REST/2.0/queue/", answer(200, js, `{"id":3,"Name":"Desk","TicketCustomFields":[{"id":"2","name":"Landed Ref"},{"id":"9","name":"Landed Ref"}]}`), evidence.FaultRefused},
		{"deleted list broken", "/REST/2.0/transactions", answer(502, "text/html", `<h1>Bad Gateway</h1>`), evidence.FaultUnavailable},
	} {
		t.Run(row.name, func(t *testing.T) {
			t.Parallel()
			desk := newDesk(nil)
			ref := journal.RandomRef()
			if row.path != "/REST/2.0/transactions" {
				desk.Add("ours", ref)
			}
			a, err := look(t, serve(t, override(row.path, row.h, desk)), ref)
			if row.want != "" {
				if pe := fault(t, err); pe.Kind != row.want {
					t.Errorf("kind %q, want %q (%v)", pe.Kind, row.want, pe)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			if len(a.Matches) != 0 || len(unseen(a)) == 0 {
				t.Errorf("matches %v, unseen %v: a hit that can't be read must be named", a.Matches, unseen(a))
			}
		})
	}
}

func TestRowsThatRTAnnouncesAndKeepsMakeTheAnswerIncomplete(t *testing.T) {
	t.Parallel()
	desk := newDesk(nil)
	desk.Add("stays", "")
	h := func(w http.ResponseWriter, r *http.Request) {
		if !strings.Contains(r.URL.Query().Get("query"), "CF.") {
			desk.ServeHTTP(w, r)
			return
		}
		w.Header().Set("Content-Type", "application/json")
		_, _ = w.Write([]byte(`{"items":[],"count":0,"page":1,"total":5}`))
	}
	a := mustLook(t, serve(t, override("/REST/2.0/tickets", h, desk)), journal.RandomRef())
	if a.AllPagesRead {
		t.Error("five rows were announced, none came, and that counts as all")
	}
}

// The link is built from the configured address, never from the desk's answer.
func TestLinkComesFromTheConfiguration(t *testing.T) {
	t.Parallel()
	desk := newDesk(nil)
	ref := journal.RandomRef()
	desk.Add("ours", ref)
	s := httptest.NewServer(desk)
	t.Cleanup(s.Close)
	c := rt.Config{BaseURL: s.URL, Token: evidence.Fixed(readerToken), Queue: "Desk", AllowPrivate: true, AllowPlainHTTP: true}
	if a := mustLook(t, c, ref); len(a.Matches) != 1 || a.Matches[0].URL != s.URL+"/Ticket/Display.html?id=1" {
		t.Errorf("matches %+v, want one that links to the configured desk", a.Matches)
	}
}

func TestMissingRightsNeverReadAsAMiss(t *testing.T) {
	t.Parallel()
	full := rtdesk.Reader("reader")
	for _, row := range []struct {
		name string
		take func(*rtdesk.Account)
		kind evidence.FaultKind
		want string
	}{
		{"SeeQueue", func(a *rtdesk.Account) { a.SeeQueue = false }, evidence.FaultForbidden, "SeeQueue"},
		{"SeeCustomField", func(a *rtdesk.Account) { a.SeeField = false }, evidence.FaultForbidden, "SeeCustomField"},
		{"ShowTicket", func(a *rtdesk.Account) { a.Show = false }, "", "ShowTicket"},
	} {
		t.Run(row.name, func(t *testing.T) {
			t.Parallel()
			account := full
			row.take(&account)
			desk := newDesk(map[string]rtdesk.Account{readerToken: account})
			ref := journal.RandomRef()
			desk.Add("ours", ref)
			a, err := look(t, serve(t, desk), ref)
			checkRights(t, a, err, row.kind, row.want)
		})
	}
}

// checkRights wants a fault of a kind, or with an empty kind an unseen scope,
// that names the right.
func checkRights(t *testing.T, a evidence.Answer, err error, kind evidence.FaultKind, right string) {
	t.Helper()
	if kind != "" {
		if pe := fault(t, err); pe.Kind != kind || !strings.Contains(pe.Detail, right) {
			t.Errorf("fault %v, want %q naming %s", pe, kind, right)
		}
		return
	}
	if err != nil {
		t.Fatal(err)
	}
	if u := strings.Join(unseen(a), "; "); len(a.Matches) != 0 || !strings.Contains(u, right) {
		t.Errorf("matches %v, unseen %q: want none, and %s named", a.Matches, u, right)
	}
}

func TestSecretIsReadPerSessionAndNeverShown(t *testing.T) {
	t.Parallel()
	desk := newDesk(nil)
	c := serve(t, desk)
	c.Token = func() (string, error) { return "", errors.New("vault is sealed") }
	if _, err := open(t, c).Session(t.Context()); err == nil || !strings.Contains(err.Error(), "vault is sealed") {
		t.Errorf("Session: %v", err)
	}
	for _, bad := range []string{"", "two words", "a\r\nX-Evil: 1", "naïve"} {
		c.Token = evidence.Fixed(bad)
		if _, err := open(t, c).Session(t.Context()); err == nil || bad != "" && strings.Contains(err.Error(), bad) {
			t.Errorf("Session with token %q: %v", bad, err)
		}
	}
	// A server that echoes the token back does not get it into the evidence.
	echo := override("/REST/2.0/tickets", func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(http.StatusBadRequest)
		_, _ = w.Write([]byte(`{"message":"` + r.Header.Get("Authorization") + `"}`))
	}, desk)
	_, err := look(t, serve(t, echo), journal.RandomRef())
	for _, x := range fault(t, err).Exchanges {
		if strings.Contains(x.Request+x.Response, readerToken) {
			t.Errorf("the token is in the evidence: %+v", x)
		}
	}
}

func TestClosedSessionRefuses(t *testing.T) {
	t.Parallel()
	s, err := open(t, serve(t, newDesk(nil))).Session(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	if _, err := s.Find(t.Context(), evidence.Query{Ref: journal.RandomRef()}); err == nil {
		t.Error("a closed session answered")
	}
}
