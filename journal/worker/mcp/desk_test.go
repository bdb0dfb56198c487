package landedmcp_test

import (
	"testing"

	"github.com/landedhq/landed/journal"
	"github.com/landedhq/landed/journal/postgres"
)

// order is what a person does on the desk: looks, finds nothing, and orders the
// effect again.
func order(t *testing.T, s *postgres.Store, id string) {
	t.Helper()
	decide(t, s, id, journal.VerbReissue, journal.NewKey)
}

func decide(t *testing.T, s *postgres.Store, id string, verb journal.Verb, mode journal.ReissueMode) {
	t.Helper()
	snap := effect(t, s, id)
	e := journal.Evidence{
		EffectID: id, Adapter: "asked", Kind: "test", Verdict: journal.NotFound, StartedAt: snap.Now, FinishedAt: snap.Now,
		Digest: journal.NewToken(), RequestedBy: "schedule", CoversAttempt: snap.Effect.Attempt,
	}
	if _, err := s.RecordEvidence(t.Context(), e); err != nil {
		t.Fatal(err)
	}
	snap = effect(t, s, id)
	olga := journal.Actor{Issuer: "https://idp.test", Subject: "olga", Name: "Olga Operator", Roles: []journal.Role{journal.RoleOperator}}
	if _, err := s.Decide(t.Context(), journal.Decision{
		EffectID: id, Verb: verb, Mode: mode, Expected: snap.Effect.Version, Digest: snap.EvidenceDigest(), Actor: olga,
		Source: "page", ReasonCode: "confirmed_by_person", Reason: "asked the customer by phone",
	}); err != nil {
		t.Fatal(err)
	}
}
