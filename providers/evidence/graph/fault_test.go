package graph_test

import (
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/landedhq/landed/journal"
	"github.com/landedhq/landed/providers/evidence"
	"github.com/landedhq/landed/providers/evidence/graph"
	"github.com/landedhq/landed/providers/evidence/graph/graphfake"
)

func TestT10_FailingServerNeverReadsAsAMiss(t *testing.T) {
	t.Parallel()
	elsewhere, _ := listen(t, http.HandlerFunc(func(http.ResponseWriter, *http.Request) {
		t.Error("the token was taken to another host")
	}))
	for _, row := range []struct {
		trouble      graphfake.Trouble
		token, mails evidence.FaultKind // at the token server, at Graph
		after        time.Duration
	}{
		{graphfake.TroubleRateLimited, evidence.FaultRateLimited, evidence.FaultRateLimited, 7 * time.Second},
		{graphfake.TroubleBandwidth, evidence.FaultUnavailable, evidence.FaultRateLimited, 0},
		{graphfake.TroubleDenied, evidence.FaultAuth, evidence.FaultForbidden, 0},
		{graphfake.TroubleNoUser, evidence.FaultRefused, evidence.FaultForbidden, 0},
		{graphfake.TroubleNoItem, evidence.FaultRefused, evidence.FaultForbidden, 0},
		{graphfake.TroubleUnauthorized, evidence.FaultAuth, evidence.FaultAuth, 0},
		{graphfake.TroubleServerError, evidence.FaultUnavailable, evidence.FaultUnavailable, 0},
		{graphfake.TroubleTimeout, evidence.FaultUnavailable, evidence.FaultUnavailable, 0},
		{graphfake.TroubleHTML, evidence.FaultBadAnswer, evidence.FaultBadAnswer, 0},
		{graphfake.TroubleGarbage, evidence.FaultBadAnswer, evidence.FaultBadAnswer, 0},
		{graphfake.TroubleNull, evidence.FaultBadAnswer, evidence.FaultBadAnswer, 0},
		{graphfake.TroubleHuge, evidence.FaultTooLarge, evidence.FaultTooLarge, 0},
		{graphfake.TroubleRedirect, evidence.FaultBadAnswer, evidence.FaultBadAnswer, 0},
		{graphfake.TroubleHang, evidence.FaultUnavailable, evidence.FaultUnavailable, 0},
	} {
		for _, api := range []bool{false, true} {
			name, want := string(row.trouble)+" at the token server", row.token
			if api {
				name, want = string(row.trouble)+" at Graph", row.mails
			}
			t.Run(name, func(t *testing.T) {
				t.Parallel()
				box := graphfake.New(user)
				box.SetFaults(graphfake.Faults{Trouble: row.trouble, APIOnly: api, TokenOnly: !api, RedirectTo: elsewhere})
				c := serve(t, box)
				c.Timeout = 2 * time.Second
				_, err := find(t, c, journal.RandomRef())
				pe := fault(t, err)
				if pe.Kind != want || pe.RetryAfter != row.after || pe.Detail == "" || len(pe.Exchanges) == 0 {
					t.Errorf("fault %+v, want kind %q, retry after %v", pe, want, row.after)
				}
				for _, x := range pe.Exchanges {
					if text := x.Request + x.Response + pe.Error(); strings.Contains(text, box.Secret) || strings.Contains(text, box.Access) {
						t.Errorf("a secret is in the evidence: %+v", x)
					}
				}
			})
		}
	}
}

// A mailbox that the application may not see is a blind spot: never "nothing
// there".
func TestMailboxOutOfScopeIsABlindSpot(t *testing.T) {
	t.Parallel()
	for _, trouble := range []graphfake.Trouble{graphfake.TroubleDenied, graphfake.TroubleNoUser, graphfake.TroubleNoItem} {
		box, ref := graphfake.New(user), journal.RandomRef()
		c := serve(t, box)
		box.SetFaults(graphfake.Faults{Trouble: trouble, APIOnly: true})
		_, err := find(t, c, ref)
		if pe := fault(t, err); pe.Kind != evidence.FaultForbidden {
			t.Errorf("%s: fault %+v", trouble, pe)
		}
		// Only the recoverable items can't be seen: the rest still answers.
		box.SetFaults(graphfake.Faults{Trouble: trouble, Under: "recoverableitemsdeletions"})
		if a := mustFind(t, c, ref); len(a.Matches) != 0 || !strings.Contains(unseen(a), "can still be recovered") {
			t.Errorf("%s: scopes %+v", trouble, a.Scopes)
		}
		box.SetFaults(graphfake.Faults{Trouble: trouble, Under: "recoverableitemsdeletions"})
		box.Add(graphfake.Message{Ref: ref})
		if a := mustFind(t, c, ref); len(a.Matches) != 1 {
			t.Errorf("%s: matches %+v", trouble, a.Matches)
		}
	}
}

func TestAnswersThatCannotBeTrustedNeverReadAsAMiss(t *testing.T) {
	t.Parallel()
	ref := journal.RandomRef()
	for _, row := range []struct {
		name   string
		faults graphfake.Faults
		want   evidence.FaultKind
	}{
		{"the first page again and again", graphfake.Faults{SamePage: true}, evidence.FaultBadAnswer},
		{"next page on another host", graphfake.Faults{NextLink: "https://elsewhere.example"}, evidence.FaultBadAnswer},
		{"next page with credentials", graphfake.Faults{NextLink: "https://u:p@elsewhere.example"}, evidence.FaultBadAnswer},
		{"next page in the clear", graphfake.Faults{NextLink: "http://127.0.0.1"}, evidence.FaultBadAnswer},
		{"messages that can't be read", graphfake.Faults{Unread: true}, evidence.FaultUnavailable},
		{"another message", graphfake.Faults{Other: true}, evidence.FaultBadAnswer},
	} {
		t.Run(row.name, func(t *testing.T) {
			t.Parallel()
			box := graphfake.New(user)
			for range 2 {
				box.Add(graphfake.Message{Ref: ref})
			}
			box.SetFaults(row.faults)
			_, err := find(t, serve(t, box), ref)
			if pe := fault(t, err); pe.Kind != row.want {
				t.Errorf("fault %+v, want %q", pe, row.want)
			}
		})
	}
}

// The token server may be reached, but never with the token.
func TestNextPageIsNotTakenToTheTokenServer(t *testing.T) {
	t.Parallel()
	box := graphfake.New(user)
	c := serve(t, box)
	login, pool := listen(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Authorization") != "" {
			t.Errorf("the token was sent to the token server: %s", r.URL)
		}
		box.ServeHTTP(w, r)
	}))
	c.LoginURL, c.RootCAs = login, pool // both servers have httptest's certificate
	box.SetFaults(graphfake.Faults{NextLink: login})
	_, err := find(t, c, journal.RandomRef())
	if pe := fault(t, err); pe.Kind != evidence.FaultBadAnswer || !strings.Contains(pe.Detail, "another server") {
		t.Errorf("fault %+v", pe)
	}
}

func TestRefusedTokenIsAskedForAnew(t *testing.T) {
	t.Parallel()
	box := graphfake.New(user)
	c := serve(t, box)
	a := open(t, c)
	look := func() error {
		s, err := a.Session(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		defer s.Close()
		_, err = s.Find(t.Context(), evidence.Query{Ref: journal.RandomRef()})
		return err
	}
	for range 2 {
		if err := look(); err != nil {
			t.Fatal(err)
		}
	}
	if box.Tokens() != 1 {
		t.Errorf("%d token requests, want one for both looks", box.Tokens())
	}
	box.Revoke("eyJ0.next.sig")
	if pe := fault(t, look()); pe.Kind != evidence.FaultAuth {
		t.Errorf("fault %+v", pe)
	}
	if err := look(); err != nil || box.Tokens() != 2 {
		t.Errorf("%v, %d token requests", err, box.Tokens())
	}
}

func TestWrongClientSecret(t *testing.T) {
	t.Parallel()
	c := serve(t, graphfake.New(user))
	c.ClientSecret = evidence.Fixed("wrong-5ec7e7")
	_, err := find(t, c, journal.RandomRef())
	pe := fault(t, err)
	if pe.Kind != evidence.FaultAuth || !strings.Contains(pe.Detail, "invalid_client") {
		t.Errorf("fault %+v", pe)
	}
	for _, x := range pe.Exchanges {
		if strings.Contains(x.Request+x.Response, "wrong-5ec7e7") {
			t.Errorf("the secret is in the evidence: %+v", x)
		}
	}
}

func TestClosedSessionRefuses(t *testing.T) {
	t.Parallel()
	s, err := open(t, graph.Config{Tenant: "t", ClientID: "c", ClientSecret: evidence.Fixed("s"), Mailbox: user}).Session(t.Context())
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
