package gmail_test

import (
	"testing"

	"github.com/landedhq/landed/providers/evidence"
	"github.com/landedhq/landed/providers/evidence/evidencetest"
	"github.com/landedhq/landed/providers/evidence/gmail/gmailfake"
)

func TestConformance(t *testing.T) {
	t.Parallel()
	for _, row := range []struct {
		name string
		put  func(a *gmailfake.Account, carrier string)
	}{
		{"sent by the API, reference in the text", func(a *gmailfake.Account, carrier string) {
			a.Send(gmailfake.Message{Ref: carrier, Body: "Hello\nRef: " + carrier})
		}},
		{"Message-ID kept", func(a *gmailfake.Account, carrier string) {
			a.Add(gmailfake.Message{MessageID: carrier + "@effects.landed"})
		}},
		{"all of them", func(a *gmailfake.Account, carrier string) {
			a.Add(gmailfake.Message{Ref: carrier, MessageID: carrier + "@effects.landed", Body: "Ref: " + carrier})
		}},
	} {
		t.Run(row.name, func(t *testing.T) {
			t.Parallel()
			account := gmailfake.New(mailbox)
			c := serve(t, account)
			evidencetest.Conformance(t, evidencetest.Fixture{
				Open:     func(t *testing.T) evidence.Adapter { return open(t, c) },
				Put:      func(_ *testing.T, carrier string) { row.put(account, carrier) },
				Break:    broken,
				Requests: account.Requests,
				ReadOnly: func(t *testing.T) {
					if w := account.Writes(); len(w) != 0 {
						t.Errorf("it sent %v", w)
					}
				},
				Secrets: []string{account.Refresh, account.Secret, account.Access},
			})
		})
	}
}

// broken returns an adapter for a server that fails.
func broken(t *testing.T, b evidencetest.Breakage) evidence.Adapter {
	t.Helper()
	account := gmailfake.New(mailbox)
	trouble := map[evidencetest.Breakage]gmailfake.Trouble{
		evidencetest.BreakAuth:    gmailfake.TroubleUnauthorized,
		evidencetest.BreakDown:    gmailfake.TroubleServerError,
		evidencetest.BreakHang:    gmailfake.TroubleHang,
		evidencetest.BreakGarbage: gmailfake.TroubleGarbage,
	}[b]
	if trouble == gmailfake.TroubleNone {
		t.Fatalf("unknown breakage %q", b)
	}
	account.SetFaults(gmailfake.Faults{Trouble: trouble})
	return open(t, serve(t, account))
}
