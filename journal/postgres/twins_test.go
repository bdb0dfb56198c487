package postgres_test

import (
	"testing"

	"github.com/landedhq/landed/journal"
)

// TestTwins: a key minted inside a retry shows on the other effect's page and in
// what was recommended when it was decided.
func TestTwins(t *testing.T) {
	t.Parallel()
	d := openDesk(t)
	first := request("mail.send", "run-1/step/a")
	first.Subject, first.Args = "Invoice 7", []byte(`{"to":"ann@example.com","body":"Hello"}`)
	a := d.begin(first)
	d.commit(first, a, "m-1")
	second := first
	second.Key, second.Args = "run-1/step/b", []byte(`{"to":"ann@example.com","body":"Dear Ann"}`)
	id := parked(d, second).EffectID
	d.look(id, journal.NotFound)
	k, err := d.Case(t.Context(), id)
	if err != nil || len(k.Twins) != 1 || k.Twins[0].ID != a.EffectID || len(k.Twins[0].Diff) != 1 || !k.Twins[0].Landed() {
		t.Fatalf("twins %+v, %v", k.Twins, err)
	}
	if as := journal.Assess(&k.Snapshot); as.Recommend != journal.RecommendInvestigate {
		t.Errorf("recommended: %s", as.Recommend)
	}
	if done := d.decide(id, journal.VerbReissue, journal.NewKey); done.AssessmentSummary != string(journal.RecommendInvestigate) {
		t.Errorf("kept with the decision: %q", done.AssessmentSummary)
	}
	other := request("mail.send", "run-2/step/a")
	other.RootRun, other.Subject = "run-2", "Invoice 7"
	if k, err := d.Case(t.Context(), parked(d, other).EffectID); err != nil || len(k.Twins) != 0 {
		t.Errorf("of another run: %+v, %v", k.Twins, err)
	}
}
