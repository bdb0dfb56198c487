package jmap_test

import (
	"testing"

	"github.com/landedhq/landed/providers/evidence"
	"github.com/landedhq/landed/providers/evidence/evidencetest"
	"github.com/landedhq/landed/providers/evidence/jmap/jmapfake"
)

func TestConformance(t *testing.T) {
	t.Parallel()
	for _, row := range []struct {
		name string
		put  func(carrier string) jmapfake.Message
	}{
		{"header", func(carrier string) jmapfake.Message {
			return jmapfake.Message{Ref: carrier, MessageID: "own@mail.example"}
		}},
		{"message id", func(carrier string) jmapfake.Message {
			return jmapfake.Message{MessageID: carrier + "@effects.landed"}
		}},
		{"both", func(carrier string) jmapfake.Message {
			return jmapfake.Message{Ref: carrier, MessageID: carrier + "@effects.landed"}
		}},
	} {
		t.Run(row.name, func(t *testing.T) {
			t.Parallel()
			account := jmapfake.New(token)
			c := serve(t, account)
			// Servers match parts of words, so near misses come back and are told apart;
			// that makes the account of the suite answer with strangers.
			evidencetest.Conformance(t, evidencetest.Fixture{
				Open:     func(t *testing.T) evidence.Adapter { return open(t, c) },
				Put:      func(_ *testing.T, carrier string) { account.Add(row.put(carrier)) },
				Break:    broken,
				Requests: account.Requests,
				ReadOnly: func(t *testing.T) {
					if w := account.Writes(); len(w) != 0 {
						t.Errorf("it called %v", w)
					}
				},
				Secrets: []string{token},
			})
		})
	}
}

// broken returns an adapter for a server that fails.
func broken(t *testing.T, b evidencetest.Breakage) evidence.Adapter {
	t.Helper()
	account := jmapfake.New(token)
	trouble := map[evidencetest.Breakage]jmapfake.Trouble{
		evidencetest.BreakAuth:    jmapfake.TroubleUnauthorized,
		evidencetest.BreakDown:    jmapfake.TroubleServerError,
		evidencetest.BreakHang:    jmapfake.TroubleHang,
		evidencetest.BreakGarbage: jmapfake.TroubleGarbage,
	}[b]
	if trouble == jmapfake.TroubleNone {
		t.Fatalf("unknown breakage %q", b)
	}
	account.SetFaults(jmapfake.Faults{Trouble: trouble})
	return open(t, serve(t, account))
}
