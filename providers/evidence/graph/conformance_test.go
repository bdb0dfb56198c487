package graph_test

import (
	"testing"

	"github.com/landedhq/landed/providers/evidence"
	"github.com/landedhq/landed/providers/evidence/evidencetest"
	"github.com/landedhq/landed/providers/evidence/graph/graphfake"
)

func TestConformance(t *testing.T) {
	t.Parallel()
	for _, row := range []struct {
		name string
		put  func(carrier string) graphfake.Message
	}{
		{"extended property", func(carrier string) graphfake.Message {
			return graphfake.Message{Ref: carrier, InternetID: "<own@prod.outlook.example>"}
		}},
		{"message id, as MIME keeps it", func(carrier string) graphfake.Message {
			return graphfake.Message{InternetID: "<" + carrier + "@effects.landed>"}
		}},
		{"all of them", func(carrier string) graphfake.Message {
			return graphfake.Message{Ref: carrier, Header: carrier, InternetID: "<" + carrier + "@effects.landed>"}
		}},
	} {
		t.Run(row.name, func(t *testing.T) {
			t.Parallel()
			box := graphfake.New(user)
			c := serve(t, box)
			evidencetest.Conformance(t, evidencetest.Fixture{
				Open:     func(t *testing.T) evidence.Adapter { return open(t, c) },
				Put:      func(_ *testing.T, carrier string) { box.Add(row.put(carrier)) },
				Break:    broken,
				Requests: box.Requests,
				ReadOnly: func(t *testing.T) {
					if w := box.Writes(); len(w) != 0 {
						t.Errorf("it sent %v", w)
					}
				},
				Secrets: []string{box.Secret, box.Access},
			})
		})
	}
}

// broken returns an adapter for a server that fails.
func broken(t *testing.T, b evidencetest.Breakage) evidence.Adapter {
	t.Helper()
	box := graphfake.New(user)
	trouble := map[evidencetest.Breakage]graphfake.Trouble{
		evidencetest.BreakAuth:    graphfake.TroubleUnauthorized,
		evidencetest.BreakDown:    graphfake.TroubleServerError,
		evidencetest.BreakHang:    graphfake.TroubleHang,
		evidencetest.BreakGarbage: graphfake.TroubleGarbage,
	}[b]
	if trouble == graphfake.TroubleNone {
		t.Fatalf("unknown breakage %q", b)
	}
	box.SetFaults(graphfake.Faults{Trouble: trouble})
	return open(t, serve(t, box))
}
