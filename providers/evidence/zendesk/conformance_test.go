package zendesk_test

import (
	"testing"

	"github.com/landedhq/landed/providers/evidence"
	"github.com/landedhq/landed/providers/evidence/evidencetest"
	"github.com/landedhq/landed/providers/evidence/zendesk"
	"github.com/landedhq/landed/providers/evidence/zendesk/zendeskfake"
)

func TestConformance(t *testing.T) {
	t.Parallel()
	for name, auth := range map[string]func(zendesk.Config) zendesk.Config{
		"token":  func(c zendesk.Config) zendesk.Config { return c },
		"client": func(c zendesk.Config) zendesk.Config { return asClient(c, "landed", clientSecret) },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			conform(t, auth)
		})
	}
}

func conform(t *testing.T, auth func(zendesk.Config) zendesk.Config) {
	t.Helper()
	account := newAccount()
	c := auth(serve(t, account))
	evidencetest.Conformance(t, evidencetest.Fixture{
		Open:     func(t *testing.T) evidence.Adapter { return open(t, c) },
		Put:      func(_ *testing.T, carrier string) { account.Add(zendeskfake.Ticket{ExternalID: carrier}) },
		Break:    func(t *testing.T, b evidencetest.Breakage) evidence.Adapter { return broken(t, auth, b) },
		Requests: account.Requests,
		ReadOnly: func(t *testing.T) {
			if n := account.Writes(); n != 0 {
				t.Errorf("%d requests that could have altered something", n)
			}
		},
		Secrets: []string{readToken, clientSecret, "issued-", zendeskfake.Private},
	})
}

// broken returns an adapter for a server that fails.
func broken(t *testing.T, auth func(zendesk.Config) zendesk.Config, b evidencetest.Breakage) evidence.Adapter {
	t.Helper()
	account := newAccount()
	trouble := map[evidencetest.Breakage]zendeskfake.Trouble{
		evidencetest.BreakAuth:    zendeskfake.TroubleRevoked,
		evidencetest.BreakDown:    zendeskfake.TroubleServerError,
		evidencetest.BreakHang:    zendeskfake.TroubleHang,
		evidencetest.BreakGarbage: zendeskfake.TroubleGarbage,
	}[b]
	if trouble == zendeskfake.TroubleNone {
		t.Fatalf("unknown breakage %q", b)
	}
	account.SetFaults(zendeskfake.Faults{Trouble: trouble})
	return open(t, auth(serve(t, account)))
}
