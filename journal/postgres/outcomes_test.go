package postgres_test

import (
	"testing"
	"time"

	"github.com/landedhq/landed/journal"
)

// stage is where the list of outcomes has an effect; "" if it is not on it.
func (d *desk) stage(id string) journal.OutcomeStage {
	d.t.Helper()
	list, _, err := d.Outcomes(d.t.Context(), 100)
	if err != nil {
		d.t.Fatal(err)
	}
	for _, o := range list {
		if o.Effect.ID == id {
			return o.Stage
		}
	}
	return ""
}

// TestOutcomes follows decisions to their end: recorded, delivered, picked up,
// settled or unknown again, and on the list until then.
func TestOutcomes(t *testing.T) {
	t.Parallel()
	d := openDesk(t)
	want := func(id string, stage journal.OutcomeStage, when string) {
		t.Helper()
		if got := d.stage(id); got != stage {
			t.Errorf("%s: %q, want %q", when, got, stage)
		}
	}
	closed := d.parkedKey("closed", journal.NotFound)
	want(closed, "", "undecided")
	d.decide(closed, journal.VerbCloseNotLanded, "")
	want(closed, journal.OutcomeUndelivered, "closed")
	if list, _, err := d.Outcomes(t.Context(), 1); err != nil || len(list) != 1 || list[0].Decider.Name != operator.Name || list[0].Handover.State != journal.HandoverPending {
		t.Errorf("%+v (%v)", list, err)
	}
	d.begin(request("mail.send", "closed")) // the runtime asks, and is told
	want(closed, "", "told")

	again := d.parkedKey("again", journal.NotFound)
	d.decide(again, journal.VerbReissue, journal.NewKey)
	want(again, journal.OutcomeOrdered, "ordered")
	r := request("mail.send", "again")
	a := d.begin(r)
	want(again, journal.OutcomeUnderWay, "picked up")
	d.fail(r, a, journal.PhaseSent, false)
	want(again, journal.OutcomeUnknownAgain, "unknown again")
	d.look(again, journal.NotFound)
	d.decide(again, journal.VerbReissue, journal.NewKey)
	r.ClaimID = journal.NewToken()
	d.commit(r, d.begin(r), "m-9")
	want(again, "", "committed")

	late := d.parkedKey("late", journal.NotFound)
	d.decide(late, journal.VerbReissue, journal.NewKey)
	d.exec("update orders set expires_at = clock_timestamp() - interval '1 second' where effect_id = $1", late)
	d.sweep()
	want(late, journal.OutcomeUnknownAgain, "nobody picked it up in time")
	d.pass(late, time.Hour)
}
