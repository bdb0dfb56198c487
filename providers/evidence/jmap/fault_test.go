package jmap_test

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/landedhq/landed/journal"
	"github.com/landedhq/landed/providers/evidence"
	"github.com/landedhq/landed/providers/evidence/jmap/jmapfake"
)

func TestT10_FailingServerNeverReadsAsAMiss(t *testing.T) {
	t.Parallel()
	elsewhere := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {
		t.Error("the token was taken to another host")
	}))
	t.Cleanup(elsewhere.Close)
	for _, row := range []struct {
		trouble jmapfake.Trouble
		want    evidence.FaultKind
		after   time.Duration
	}{
		{jmapfake.TroubleUnauthorized, evidence.FaultAuth, 0},
		{jmapfake.TroubleForbidden, evidence.FaultForbidden, 0},
		{jmapfake.TroubleNotFound, evidence.FaultRefused, 0},
		{jmapfake.TroubleRateLimited, evidence.FaultRateLimited, 7 * time.Second},
		{jmapfake.TroubleLimit, evidence.FaultRateLimited, 0},
		{jmapfake.TroubleServerError, evidence.FaultUnavailable, 0},
		{jmapfake.TroubleHTML, evidence.FaultBadAnswer, 0},
		{jmapfake.TroubleGarbage, evidence.FaultBadAnswer, 0},
		{jmapfake.TroubleNull, evidence.FaultBadAnswer, 0},
		{jmapfake.TroubleHuge, evidence.FaultTooLarge, 0},
		{jmapfake.TroubleRedirect, evidence.FaultBadAnswer, 0},
		{jmapfake.TroubleHang, evidence.FaultUnavailable, 0},
	} {
		for _, apiOnly := range []bool{false, true} {
			name := string(row.trouble) + " at the session"
			if apiOnly {
				name = string(row.trouble) + " at the API"
			}
			t.Run(name, func(t *testing.T) {
				t.Parallel()
				account := jmapfake.New(token)
				account.SetFaults(jmapfake.Faults{Trouble: row.trouble, APIOnly: apiOnly, RedirectTo: elsewhere.URL})
				c := serve(t, account)
				c.Timeout = 2 * time.Second
				_, err := look(t, c, journal.RandomRef())
				if apiOnly && row.trouble == jmapfake.TroubleNull && err == nil {
					t.Fatal("null reads as an answer")
				}
				pe := fault(t, err)
				if row.trouble == jmapfake.TroubleNull && pe.Kind == evidence.FaultForbidden {
					return // no account in an empty session is a fault as well
				}
				if pe.Kind != row.want || pe.RetryAfter != row.after || pe.Detail == "" || len(pe.Exchanges) == 0 {
					t.Errorf("fault %+v, want kind %q, retry after %v", pe, row.want, row.after)
				}
				for _, x := range pe.Exchanges {
					if strings.Contains(x.Request+x.Response+pe.Error(), token) {
						t.Errorf("the token is in the evidence: %+v", x)
					}
				}
			})
		}
	}
}

func TestMethodErrorsNeverReadAsAMiss(t *testing.T) {
	t.Parallel()
	for _, row := range []struct {
		method, kind string
		want         evidence.FaultKind
	}{
		{"Mailbox/get", "forbidden", evidence.FaultForbidden},
		{"Email/query", "unsupportedFilter", evidence.FaultRefused},
		{"Email/query", "accountNotFound", evidence.FaultForbidden},
		{"Email/query", "serverUnavailable", evidence.FaultUnavailable},
		{"Email/query", token, evidence.FaultRefused},
		{"Email/get", "serverFail", evidence.FaultUnavailable},
		{"EmailSubmission/query", "unsupportedFilter", evidence.FaultRefused},
		{"EmailSubmission/get", "invalidArguments", evidence.FaultRefused},
	} {
		t.Run(row.method+" "+row.kind, func(t *testing.T) {
			t.Parallel()
			account := jmapfake.New(token)
			ref := journal.RandomRef()
			account.Add(jmapfake.Message{Ref: ref})
			account.SetFaults(jmapfake.Faults{Method: row.method, MethodError: row.kind})
			_, err := look(t, serve(t, account), ref)
			pe := fault(t, err)
			if pe.Kind != row.want || !strings.Contains(pe.Detail, row.method) || strings.Contains(pe.Detail, token) || len(pe.Exchanges) == 0 {
				t.Errorf("fault %+v, want %q about %s", pe, row.want, row.method)
			}
		})
	}
}

func TestAnswersThatCannotBeTrustedNeverReadAsAMiss(t *testing.T) {
	t.Parallel()
	ref := journal.RandomRef()
	for _, row := range []struct {
		name   string
		faults jmapfake.Faults
		want   evidence.FaultKind
	}{
		{"the first page again and again", jmapfake.Faults{SamePage: true}, evidence.FaultBadAnswer},
		{"the result changes while it is read", jmapfake.Faults{Changing: true}, evidence.FaultUnavailable},
		{"messages that can't be read", jmapfake.Faults{Unread: true}, evidence.FaultUnavailable},
		{"header properties are not known", jmapfake.Faults{NoHeader: true}, evidence.FaultBadAnswer},
		{"the API is on another host", jmapfake.Faults{APIURL: "https://elsewhere.example/jmap/api/"}, evidence.FaultBadAnswer},
		{"the API's address holds credentials", jmapfake.Faults{APIURL: "https://u:p@elsewhere.example/"}, evidence.FaultBadAnswer},
	} {
		t.Run(row.name, func(t *testing.T) {
			t.Parallel()
			account := jmapfake.New(token)
			for range 60 {
				account.Add(jmapfake.Message{Ref: ref + "0"})
			}
			account.SetFaults(row.faults)
			_, err := look(t, serve(t, account), ref)
			if pe := fault(t, err); pe.Kind != row.want {
				t.Errorf("fault %+v, want %q", pe, row.want)
			}
		})
	}
}

// T-05: a filter that is ignored brings strangers.
func TestT05_FilterThatIsIgnored(t *testing.T) {
	t.Parallel()
	account := jmapfake.New(token)
	for range 3 {
		account.Add(jmapfake.Message{Ref: journal.RandomRef()})
	}
	account.SetFaults(jmapfake.Faults{Ignore: true})
	if a := mustLook(t, serve(t, account), journal.RandomRef()); a.Unrelated != 3 {
		t.Errorf("unrelated %d, want 3", a.Unrelated)
	}
}

func TestAnotherAccountIsRefused(t *testing.T) {
	t.Parallel()
	c := serve(t, jmapfake.New(token))
	c.AccountID = "A2"
	_, err := look(t, c, journal.RandomRef())
	if pe := fault(t, err); pe.Kind != evidence.FaultForbidden {
		t.Errorf("fault %+v", pe)
	}
}

func TestClosedSessionRefuses(t *testing.T) {
	t.Parallel()
	s, err := open(t, serve(t, jmapfake.New(token))).Session(t.Context())
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
