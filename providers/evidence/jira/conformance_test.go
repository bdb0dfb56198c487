package jira_test

import (
	"testing"

	"github.com/landedhq/landed/providers/evidence"
	"github.com/landedhq/landed/providers/evidence/evidencetest"
	"github.com/landedhq/landed/providers/evidence/jira"
	"github.com/landedhq/landed/providers/evidence/jira/jirafake"
)

func TestConformance(t *testing.T) {
	t.Parallel()
	for carrier, put := range map[jira.Carrier]func(string) jirafake.Issue{
		jira.Label:    func(s string) jirafake.Issue { return jirafake.Issue{Labels: label(s)} },
		jira.Property: func(s string) jirafake.Issue { return jirafake.Issue{Property: property(s)} },
	} {
		t.Run(string(carrier), func(t *testing.T) {
			t.Parallel()
			site := newSite()
			site.IndexProperty()
			c := serve(t, site)
			c.Carrier = carrier
			evidencetest.Conformance(t, evidencetest.Fixture{
				Open:     func(t *testing.T) evidence.Adapter { return open(t, c) },
				Put:      func(_ *testing.T, s string) { site.Add(put(s)) },
				Break:    broken,
				Requests: site.Requests,
				ReadOnly: func(t *testing.T) {
					if n := site.Writes(); n != 0 {
						t.Errorf("%d requests that could have altered something", n)
					}
				},
				Secrets: []string{apiToken, jirafake.Private},
			})
		})
	}
}

// broken returns an adapter for a server that fails.
func broken(t *testing.T, b evidencetest.Breakage) evidence.Adapter {
	t.Helper()
	site := newSite()
	trouble := map[evidencetest.Breakage]jirafake.Trouble{
		evidencetest.BreakAuth:    jirafake.TroubleRevoked,
		evidencetest.BreakDown:    jirafake.TroubleServerError,
		evidencetest.BreakHang:    jirafake.TroubleHang,
		evidencetest.BreakGarbage: jirafake.TroubleGarbage,
	}[b]
	if trouble == jirafake.TroubleNone {
		t.Fatalf("unknown breakage %q", b)
	}
	site.SetFaults(jirafake.Faults{Trouble: trouble})
	return open(t, serve(t, site))
}
