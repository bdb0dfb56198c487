package graph_test

import (
	"context"
	"net/http"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/landedhq/landed/journal/worker"
	"github.com/landedhq/landed/journal/worker/staged/graph"
	"github.com/landedhq/landed/journal/worker/staged/stagedtest"
)

func mail() map[string]any {
	return map[string]any{
		"subject":                "Invoice 4711",
		"body":                   map[string]string{"contentType": "Text", "content": "Please pay."},
		"toRecipients":           []any{map[string]any{"emailAddress": map[string]string{"address": "ada@example.net"}}},
		"internetMessageHeaders": []map[string]string{{"name": "x-team", "value": "billing"}},
	}
}

func rig(t *testing.T, b *mailbox) stagedtest.Rig {
	t.Cleanup(func() {
		for _, bad := range b.bad {
			t.Errorf("the mailbox got %s", bad)
		}
	})
	return stagedtest.Rig{
		Kind: graph.HandleMessage, Handler: b,
		Step: func(r *http.Request, _ []byte) stagedtest.Step {
			switch {
			case r.Method != http.MethodPost:
				return stagedtest.Look
			case strings.HasSuffix(r.URL.Path, "/send"):
				return stagedtest.Finish
			}
			return stagedtest.Create
		},
		Run: func(url string, client *http.Client) worker.RunFunc {
			return func(ctx context.Context, _ worker.Call) (worker.Outcome, error) {
				return graph.Sender{Client: client, BaseURL: url}.Send(ctx, mail())
			}
		},
		Made:     func() int { b.mu.Lock(); defer b.mu.Unlock(); return b.made },
		Sent:     func() int { return b.in("sentitems") },
		Discard:  func() { b.move("drafts", "") },
		Complete: func() { b.move("drafts", "sentitems") },
	}
}

func TestCases(t *testing.T) {
	t.Parallel()
	stagedtest.Run(t, func(t *testing.T) stagedtest.Rig { return rig(t, newMailbox()) })
}

// The answer to a send has neither body nor id: the commit names the journaled one.
func TestM07_SendReturnsNoID(t *testing.T) {
	t.Parallel()
	a := stagedtest.One(t, rig(t, newMailbox()))
	if a.Status != worker.StatusDone || a.ProviderID != "AAkALg/AAA=1" || string(a.Result) != `{"id":"AAkALg/AAA=1"}` {
		t.Fatalf("the call ended %s with %q and %s", a.Status, a.ProviderID, a.Result)
	}
}

func TestTheMessageCarriesTheReference(t *testing.T) {
	t.Parallel()
	b := newMailbox()
	ref := stagedtest.One(t, rig(t, b)).Ref
	body := b.messages["AAkALg/AAA=1"].body
	want := []any{map[string]any{"id": graph.Property, "value": ref}}
	if diff := cmp.Diff(want, body["singleValueExtendedProperties"]); diff != "" {
		t.Errorf("extended properties (-want +got):\n%s", diff)
	}
	want = []any{map[string]any{"name": "x-team", "value": "billing"}, map[string]any{"name": "x-landed-ref", "value": ref}}
	if diff := cmp.Diff(want, body["internetMessageHeaders"]); diff != "" {
		t.Errorf("headers (-want +got):\n%s", diff)
	}
}

// M-08: the copy in Sent Items comes later. A message that is not there may be on
// its way, so no second one is made.
func TestM08_SentCopyLags(t *testing.T) {
	t.Parallel()
	b := newMailbox()
	r := rig(t, b)
	b.late = true
	r.Discard = r.Complete // sent by the lost request, and not there
	a := stagedtest.Discarded(t, r)
	if a.Status != worker.StatusRefused || !strings.Contains(a.Reason, "is gone") || b.made != 1 {
		t.Fatalf("the call ended %s (%s), %d made", a.Status, a.Reason, b.made)
	}
}

func TestADraftThatIsElsewhere(t *testing.T) {
	t.Parallel()
	for _, row := range []struct {
		folder string
		status worker.Status
		reason string
	}{
		{"outbox", worker.StatusUnknown, "waits in the Outbox"},
		{"deleteditems", worker.StatusRefused, "moved to Deleted Items"},
	} {
		t.Run(row.folder, func(t *testing.T) {
			t.Parallel()
			b := newMailbox()
			r := rig(t, b)
			r.Discard = func() { b.move("drafts", row.folder) }
			a := stagedtest.Discarded(t, r)
			if a.Status != row.status || row.status == worker.StatusRefused && !strings.Contains(a.Reason, row.reason) || b.made != 1 || b.in("sentitems") != 0 {
				t.Fatalf("the call ended %s (%s), %d made, want %s", a.Status, a.Reason, b.made, row.status)
			}
		})
	}
}
