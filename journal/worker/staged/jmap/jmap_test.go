package jmap_test

import (
	"context"
	"net/http"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/landedhq/landed/journal"
	"github.com/landedhq/landed/journal/worker"
	"github.com/landedhq/landed/journal/worker/staged/jmap"
	"github.com/landedhq/landed/journal/worker/staged/stagedtest"
)

func email() map[string]any {
	return map[string]any{
		"from": []any{map[string]string{"email": "billing@example.org"}}, "to": []any{map[string]string{"email": "ada@example.net"}},
		"subject": "Invoice 4711", "textBody": []any{map[string]string{"partId": "t", "type": "text/plain"}},
		"bodyValues": map[string]any{"t": map[string]string{"value": "Please pay."}},
	}
}

func rig(s *server) stagedtest.Rig {
	return stagedtest.Rig{
		Kind: jmap.HandleEmail, Handler: s,
		Step: func(_ *http.Request, body []byte) stagedtest.Step {
			switch {
			case calls(body, "EmailSubmission/set"):
				return stagedtest.Finish
			case calls(body, "Email/set"):
				return stagedtest.Create
			}
			return stagedtest.Look
		},
		Run:      run(email()),
		Made:     func() int { made, _ := s.count(); return made },
		Sent:     func() int { _, sent := s.count(); return sent },
		Discard:  func() { s.eachDraft(func(id string, _ map[string]any) { delete(s.emails, id) }) },
		Complete: func() { s.eachDraft(s.sendByHand) },
	}
}

func run(mail map[string]any) func(url string, client *http.Client) worker.RunFunc {
	return func(url string, client *http.Client) worker.RunFunc {
		return func(ctx context.Context, _ worker.Call) (worker.Outcome, error) {
			return jmap.Sender{Client: client, SessionURL: url + "/jmap/session", IdentityID: "I1"}.Send(ctx, mail)
		}
	}
}

func TestCases(t *testing.T) {
	t.Parallel()
	stagedtest.Run(t, func(*testing.T) stagedtest.Rig { return rig(newServer()) })
}

// The server forgets submissions at once: the message itself tells.
func TestSubmissionsAreForgotten(t *testing.T) {
	t.Parallel()
	stagedtest.Run(t, func(*testing.T) stagedtest.Rig {
		s := newServer()
		s.forgets = true
		return rig(s)
	})
}

func TestTheMessageCarriesTheReferenceAndIsMoved(t *testing.T) {
	t.Parallel()
	s := newServer()
	a := stagedtest.One(t, rig(s))
	want := email()
	want["id"], want["messageId"], want["header:X-Landed-Ref:asText"] = "M1", []any{a.Ref + "@effects.landed"}, a.Ref
	want["mailboxIds"], want["keywords"] = map[string]any{"S": true}, map[string]any{"$seen": true}
	got := s.emails["M1"]
	for _, member := range []string{"id", "messageId", "header:X-Landed-Ref:asText", "mailboxIds", "keywords", "subject"} {
		if diff := cmp.Diff(want[member], got[member]); diff != "" {
			t.Errorf("%s (-want +got):\n%s", member, diff)
		}
	}
	if a.ProviderID != "ES1" {
		t.Errorf("the commit names %q, want the submission", a.ProviderID)
	}
}

// A server that ignores the filter shows the submissions of other messages.
func TestAnotherMessagesSubmission(t *testing.T) {
	t.Parallel()
	s := newServer()
	s.submissions = []submission{{"ES0", "M99", "final"}}
	r := rig(s)
	r.Discard = func() {} // only the limit: the second attempt reads the draft
	if a := stagedtest.Discarded(t, r); a.Status != worker.StatusDone || a.ProviderID != "ES1" || s.sent != 1 {
		t.Fatalf("the call ended %s with %s, %d sent", a.Status, a.ProviderID, s.sent)
	}
}

func TestWhatIsGone(t *testing.T) {
	t.Parallel()
	for name, row := range map[string]struct {
		do   func(s *server, id string, e map[string]any)
		text string
	}{
		"destroyed": {func(s *server, id string, _ map[string]any) { delete(s.emails, id) }, "was destroyed"},
		"in the trash": {func(_ *server, _ string, e map[string]any) { e["mailboxIds"] = map[string]any{"T": true} },
			"moved to the trash"},
		"canceled": {func(s *server, id string, _ map[string]any) {
			s.submissions = append(s.submissions, submission{"ES9", id, "canceled"})
		}, "ES9 was canceled"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newServer()
			r := rig(s)
			r.Discard = func() { s.eachDraft(func(id string, e map[string]any) { row.do(s, id, e) }) }
			a := stagedtest.Discarded(t, r)
			if a.Status != worker.StatusRefused || !strings.Contains(a.Reason, row.text) || s.made != 1 || s.sent != 0 {
				t.Fatalf("the call ended %s (%s), %d made, %d sent", a.Status, a.Reason, s.made, s.sent)
			}
		})
	}
}

func TestR09_AMethodFailsUnderStatus200(t *testing.T) {
	t.Parallel()
	const submit = "EmailSubmission/set"
	for _, row := range []struct {
		name, method, kind string
		phase              journal.Phase
	}{
		{"made no changes", submit, "serverFail", journal.PhaseRefused},
		{"not now", submit, "serverUnavailable", journal.PhaseRefused},
		{"not known", submit, "somethingNew", journal.PhaseRefused},
		{"not allowed", submit, "forbidden", journal.PhaseRefused},
		{"made some changes", submit, "serverPartialFail", journal.PhaseSent},
		{"without a type", submit, "", journal.PhaseSent},
		{"creation made some changes", "Email/set", "serverPartialFail", journal.PhaseNotSent},
		{"creation not allowed", "Email/set", "accountReadOnly", journal.PhaseRefused},
		{"mailboxes", "Mailbox/get", "serverFail", journal.PhaseNotSent},
	} {
		t.Run(row.name, func(t *testing.T) {
			t.Parallel()
			s := newServer()
			s.fail = func(method string) map[string]any {
				if method != row.method {
					return nil
				}
				return map[string]any{"type": row.kind}
			}
			_, attempts := stagedtest.Attempt(t, rig(s))
			if a := attempts[0]; a.Phase != row.phase {
				t.Fatalf("the attempt ended %s (%s), want %s", a.Phase, a.Error, row.phase)
			}
		})
	}
}

func TestRequestsThatAreRefused(t *testing.T) {
	t.Parallel()
	for limit, want := range map[string]journal.State{"maxConcurrentRequests": journal.StateIntent, "maxSizeRequest": journal.StateRejected} {
		t.Run(limit, func(t *testing.T) {
			t.Parallel()
			s := newServer()
			r := rig(s)
			r.Handler = http.HandlerFunc(func(w http.ResponseWriter, q *http.Request) {
				if q.Method == http.MethodGet || q.ContentLength < 400 {
					s.ServeHTTP(w, q)
					return
				}
				w.WriteHeader(http.StatusBadRequest)
				answer(w, map[string]any{"type": "urn:ietf:params:jmap:error:limit", "limit": limit, "status": 400})
			})
			a, attempts := stagedtest.Attempt(t, r)
			refused := want == journal.StateRejected
			if attempts[0].Phase != journal.PhaseRefused || (a.Status == worker.StatusRefused) != refused {
				t.Fatalf("the call ended %s, the attempt %s", a.Status, attempts[0].Phase)
			}
		})
	}
}

func TestMessagesThatCanNotBeMarked(t *testing.T) {
	t.Parallel()
	for _, member := range []string{"messageId", "mailboxIds", "keywords", "header:X-Landed-Ref:asText"} {
		t.Run(member, func(t *testing.T) {
			t.Parallel()
			s := newServer()
			r := rig(s)
			mail := email()
			mail[member] = "x"
			r.Run = run(mail)
			if _, list := stagedtest.Attempt(t, r); list[0].Phase != journal.PhaseNotSent || s.made != 0 {
				t.Fatalf("the attempt ended %s", list[0].Phase)
			}
		})
	}
}
