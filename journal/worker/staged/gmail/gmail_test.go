package gmail_test

import (
	"context"
	"net/http"
	"strings"
	"testing"

	"github.com/landedhq/landed/journal"
	"github.com/landedhq/landed/journal/worker"
	"github.com/landedhq/landed/journal/worker/staged/gmail"
	"github.com/landedhq/landed/journal/worker/staged/stagedtest"
)

const text = "From: Billing <billing@example.org>\r\nTo: ada@example.net\r\nSubject: Invoice 4711\r\n\r\nPlease pay.\r\n"

func rig(b *mailbox) stagedtest.Rig {
	return stagedtest.Rig{
		Kind: gmail.HandleDraft, Handler: b,
		Step: func(r *http.Request, _ []byte) stagedtest.Step {
			switch {
			case r.Method != http.MethodPost:
				return stagedtest.Look
			case strings.HasSuffix(r.URL.Path, "/drafts/send"):
				return stagedtest.Finish
			}
			return stagedtest.Create
		},
		Run: func(url string, client *http.Client) worker.RunFunc {
			return func(ctx context.Context, _ worker.Call) (worker.Outcome, error) {
				return gmail.Sender{Client: client, BaseURL: url}.Send(ctx, gmail.Message{MIME: []byte(text)})
			}
		},
		Made:     func() int { b.mu.Lock(); defer b.mu.Unlock(); return b.made },
		Sent:     b.sent,
		Discard:  func() { b.eachDraft(func(id string) { delete(b.drafts, id) }) },
		Complete: func() { b.eachDraft(func(id string) { b.complete(id) }) },
	}
}

func TestCases(t *testing.T) {
	t.Parallel()
	stagedtest.Run(t, func(*testing.T) stagedtest.Rig { return rig(newMailbox()) })
}

// The Message-ID is not kept and the search shows nothing: the thread still tells.
func TestM02_MessageIDNotKept(t *testing.T) {
	t.Parallel()
	stagedtest.Run(t, func(*testing.T) stagedtest.Rig {
		b := newMailbox()
		b.rewrites, b.noSearch = true, true
		return rig(b)
	})
}

// The sent message is not in its draft's thread: the search finds it.
func TestAnotherThread(t *testing.T) {
	t.Parallel()
	stagedtest.Run(t, func(*testing.T) stagedtest.Rig {
		b := newMailbox()
		b.strayThread = true
		return rig(b)
	})
}

func TestTheMessageCarriesTheReference(t *testing.T) {
	t.Parallel()
	b := newMailbox()
	one := stagedtest.One(t, rig(b))
	m := b.messages[0]
	if m.header("X-Landed-Ref") != one.Ref || m.header("Message-ID") != "<"+one.Ref+"@effects.landed>" {
		t.Fatalf("the message carries %q and %q, want %s", m.header("X-Landed-Ref"), m.header("Message-ID"), one.Ref)
	}
	if !strings.HasSuffix(string(m.Raw), text) {
		t.Fatalf("the message was changed:\n%s", m.Raw)
	}
	if one.ProviderID != m.ID {
		t.Fatalf("the commit names %s, want the sent message's %s", one.ProviderID, m.ID)
	}
}

func TestWhatWaitsInTheTrashIsGone(t *testing.T) {
	t.Parallel()
	b := newMailbox()
	r := rig(b)
	r.Discard = func() {
		b.eachDraft(func(id string) { b.drafts[id].Labels = append(b.drafts[id].Labels, "TRASH") })
	}
	a := stagedtest.Discarded(t, r)
	if a.Status != worker.StatusRefused || !strings.Contains(a.Reason, "trash") || b.sent() != 0 {
		t.Fatalf("the call ended %s (%s), sent %d", a.Status, a.Reason, b.sent())
	}
}

// A stranger that quotes the reference, and a draft of it, are no sent message.
func TestStrangersDoNotCount(t *testing.T) {
	t.Parallel()
	b := newMailbox()
	r := rig(b)
	r.Discard = func() {
		b.eachDraft(func(id string) {
			quote := []byte("Subject: Re\r\n\r\n> Ref: " + b.drafts[id].header("X-Landed-Ref"))
			b.messages = append(b.messages,
				&message{ID: "x1", ThreadID: b.drafts[id].ThreadID, Labels: []string{"INBOX"}, Raw: quote},
				&message{ID: "x2", ThreadID: "t9", Labels: []string{"INBOX"}, Raw: b.drafts[id].Raw})
			delete(b.drafts, id)
		})
	}
	if a := stagedtest.Discarded(t, r); a.Status != worker.StatusRefused || !strings.Contains(a.Reason, "is gone") {
		t.Fatalf("the call ended %s (%s), want refused: the draft is gone", a.Status, a.Reason)
	}
}

func TestLimitsReportedAs403(t *testing.T) {
	t.Parallel()
	for reason, want := range map[string]worker.Status{"rateLimitExceeded": worker.StatusDone, "userRateLimitExceeded": worker.StatusDone, "insufficientPermissions": worker.StatusRefused} {
		t.Run(reason, func(t *testing.T) {
			t.Parallel()
			b := newMailbox()
			r := rig(b)
			first := true
			r.Handler = http.HandlerFunc(func(w http.ResponseWriter, q *http.Request) {
				if strings.HasSuffix(q.URL.Path, "/send") && first {
					first = false
					w.WriteHeader(http.StatusForbidden)
					answer(w, map[string]any{"error": map[string]any{"code": 403, "errors": []any{map[string]any{"domain": "usageLimits", "reason": reason}}}})
					return
				}
				b.ServeHTTP(w, q)
			})
			if a := stagedtest.One(t, r); a.Status != want {
				t.Fatalf("the call ended %s (%s), want %s", a.Status, a.Reason, want)
			}
		})
	}
}

func TestMessagesThatCanNotBeMarked(t *testing.T) {
	t.Parallel()
	for name, mime := range map[string]string{
		"Message-ID of its own": "Message-ID: <a@b>\r\n" + text,
		"reference of its own":  "X-Landed-Ref: " + journal.RandomRef() + "\r\n" + text,
		"no message":            "hello",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := newMailbox()
			r := rig(b)
			r.Run = func(url string, client *http.Client) worker.RunFunc {
				return func(ctx context.Context, _ worker.Call) (worker.Outcome, error) {
					return gmail.Sender{Client: client, BaseURL: url}.Send(ctx, gmail.Message{MIME: []byte(mime)})
				}
			}
			if _, list := stagedtest.Attempt(t, r); list[0].Phase != journal.PhaseNotSent || len(b.asked) != 0 {
				t.Fatalf("the attempt ended %s after %v", list[0].Phase, b.asked)
			}
		})
	}
}
