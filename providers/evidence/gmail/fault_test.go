package gmail_test

import (
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/landedhq/landed/journal"
	"github.com/landedhq/landed/providers/evidence"
	"github.com/landedhq/landed/providers/evidence/gmail/gmailfake"
)

func TestT10_FailingServerNeverReadsAsAMiss(t *testing.T) {
	t.Parallel()
	elsewhere, _ := listen(t, http.HandlerFunc(func(http.ResponseWriter, *http.Request) {
		t.Error("the token was taken to another host")
	}))
	for _, row := range []struct {
		trouble      gmailfake.Trouble
		token, mails evidence.FaultKind // at the token server, at the API
		after        time.Duration      // at the API
	}{
		{gmailfake.TroubleRateLimited, evidence.FaultRateLimited, evidence.FaultRateLimited, 70 * time.Second},
		{gmailfake.TroubleUserRate, evidence.FaultAuth, evidence.FaultRateLimited, 15 * time.Second},
		{gmailfake.TroubleProjectRate, evidence.FaultAuth, evidence.FaultRateLimited, 15 * time.Second},
		{gmailfake.TroubleDaily, evidence.FaultAuth, evidence.FaultRateLimited, time.Hour},
		{gmailfake.TroubleForbidden, evidence.FaultAuth, evidence.FaultForbidden, 0},
		{gmailfake.TroublePolicy, evidence.FaultAuth, evidence.FaultForbidden, 0},
		{gmailfake.TroubleUnauthorized, evidence.FaultAuth, evidence.FaultAuth, 0},
		{gmailfake.TroubleNotFound, evidence.FaultRefused, evidence.FaultForbidden, 0},
		{gmailfake.TroubleBadRequest, evidence.FaultAuth, evidence.FaultRefused, 0},
		{gmailfake.TroubleServerError, evidence.FaultUnavailable, evidence.FaultUnavailable, 0},
		{gmailfake.TroubleHTML, evidence.FaultBadAnswer, evidence.FaultBadAnswer, 0},
		{gmailfake.TroubleGarbage, evidence.FaultBadAnswer, evidence.FaultBadAnswer, 0},
		{gmailfake.TroubleNull, evidence.FaultBadAnswer, evidence.FaultBadAnswer, 0},
		{gmailfake.TroubleHuge, evidence.FaultTooLarge, evidence.FaultTooLarge, 0},
		{gmailfake.TroubleRedirect, evidence.FaultBadAnswer, evidence.FaultBadAnswer, 0},
		{gmailfake.TroubleHang, evidence.FaultUnavailable, evidence.FaultUnavailable, 0},
	} {
		for _, api := range []bool{false, true} {
			name, want := string(row.trouble)+" at the token server", row.token
			if api {
				name, want = string(row.trouble)+" at the API", row.mails
			}
			t.Run(name, func(t *testing.T) {
				t.Parallel()
				account := gmailfake.New(mailbox)
				account.SetFaults(gmailfake.Faults{Trouble: row.trouble, APIOnly: api, TokenOnly: !api, RedirectTo: elsewhere})
				c := serve(t, account)
				c.Timeout = 2 * time.Second
				_, err := find(t, open(t, c), journal.RandomRef())
				pe := fault(t, err)
				if pe.Kind != want || api && pe.RetryAfter != row.after || pe.Detail == "" || len(pe.Exchanges) == 0 {
					t.Errorf("fault %+v, want kind %q, retry after %v", pe, want, row.after)
				}
				for _, x := range pe.Exchanges {
					for _, secret := range []string{account.Refresh, account.Secret, account.Access} {
						if strings.Contains(x.Request+x.Response+pe.Error(), secret) {
							t.Errorf("a secret is in the evidence: %+v", x)
						}
					}
				}
			})
		}
	}
}

func TestRefusalsInARowDoubleTheWait(t *testing.T) {
	t.Parallel()
	account := gmailfake.New(mailbox)
	a := open(t, serve(t, account))
	wait := func() time.Duration {
		_, err := find(t, a, journal.RandomRef())
		return fault(t, err).RetryAfter
	}
	account.SetFaults(gmailfake.Faults{Trouble: gmailfake.TroubleUserRate, APIOnly: true})
	for _, want := range []time.Duration{15 * time.Second, 30 * time.Second, time.Minute, 2 * time.Minute, 4 * time.Minute, 8 * time.Minute, 16 * time.Minute, 16 * time.Minute} {
		if got := wait(); got != want {
			t.Errorf("wait %v, want %v", got, want)
		}
	}
	account.SetFaults(gmailfake.Faults{})
	if _, err := find(t, a, journal.RandomRef()); err != nil {
		t.Fatal(err)
	}
	account.SetFaults(gmailfake.Faults{Trouble: gmailfake.TroubleUserRate, APIOnly: true})
	if got := wait(); got != 15*time.Second {
		t.Errorf("after an answer the wait is %v, want the first one again", got)
	}
}

func TestAnswersThatCannotBeTrustedNeverReadAsAMiss(t *testing.T) {
	t.Parallel()
	ref := journal.RandomRef()
	for _, row := range []struct {
		name   string
		faults gmailfake.Faults
		want   evidence.FaultKind
	}{
		{"the first page again and again", gmailfake.Faults{SamePage: true}, evidence.FaultBadAnswer},
		{"messages that can't be read", gmailfake.Faults{Unread: true}, evidence.FaultUnavailable},
		{"another message", gmailfake.Faults{Other: true}, evidence.FaultBadAnswer},
		{"scope that can't search", gmailfake.Faults{Scope: "https://www.googleapis.com/auth/gmail.metadata"}, evidence.FaultForbidden},
		{"scope that may send", gmailfake.Faults{Scope: "https://www.googleapis.com/auth/gmail.readonly https://www.googleapis.com/auth/gmail.send"}, evidence.FaultForbidden},
		{"scope that may do everything", gmailfake.Faults{Scope: "https://mail.google.com/"}, evidence.FaultForbidden},
	} {
		t.Run(row.name, func(t *testing.T) {
			t.Parallel()
			account := gmailfake.New(mailbox)
			for range 2 {
				account.Add(gmailfake.Message{Ref: ref, Body: ref})
			}
			account.SetFaults(row.faults)
			_, err := find(t, open(t, serve(t, account)), ref)
			if pe := fault(t, err); pe.Kind != row.want {
				t.Errorf("fault %+v, want %q", pe, row.want)
			}
		})
	}
}

func TestAnotherMailboxIsRefused(t *testing.T) {
	t.Parallel()
	account := gmailfake.New("other@shop.example")
	_, err := find(t, open(t, serve(t, account)), journal.RandomRef())
	if pe := fault(t, err); pe.Kind != evidence.FaultForbidden {
		t.Errorf("fault %+v", pe)
	}
}

func TestClosedSessionRefuses(t *testing.T) {
	t.Parallel()
	s, err := open(t, serve(t, gmailfake.New(mailbox))).Session(t.Context())
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
