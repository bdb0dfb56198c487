package handlers

import (
	"testing"
	"time"

	"github.com/landedhq/landed/journal"
	"github.com/landedhq/landed/web"
)

func TestDelivery(t *testing.T) {
	t.Parallel()
	const reason = "no target is called \"flwo\""
	at := func(h journal.Handover) *journal.Case {
		k := byName("closed")
		r := k.Resolutions[len(k.Resolutions)-1]
		h.Target = "flow"
		k.Handovers = map[string]journal.Handover{r.ID: h}
		k.HandoverTries = []journal.HandoverTry{{ResolutionID: r.ID, Number: 1, At: k.Now.Add(-time.Minute), Took: time.Second, Target: "flow", Outcome: journal.HandoverTransient, Detail: reason},
			{ResolutionID: "another", Number: 1, At: k.Now, Target: "flow", Outcome: journal.HandoverAccepted}}
		return &k
	}
	for _, tt := range []struct {
		name    string
		h       journal.Handover
		badge   string
		step    web.StepState
		picked  web.StepState
		again   bool
		hasNext bool
	}{
		{"due now", journal.Handover{State: journal.HandoverPending}, "Pending", web.StepNow, web.StepLater, false, false},
		{"waits for its next try", journal.Handover{State: journal.HandoverPending, NextAt: testNow().Add(time.Hour), Reason: reason}, "Pending", web.StepNow, web.StepLater, true, true},
		{"taken", journal.Handover{State: journal.HandoverSent, SentAt: testNow()}, "Sent", web.StepDone, web.StepNow, true, false},
		{"refused", journal.Handover{State: journal.HandoverRefused, Reason: reason}, "Refused", web.StepFailed, web.StepLater, true, false},
		{"not in time", journal.Handover{State: journal.HandoverExpired, Reason: reason}, "Expired", web.StepFailed, web.StepLater, true, false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			k := at(tt.h)
			o := newOutcome(clock{k.Now}, k, namesOf(k, operator()), true)
			d := o.Delivery
			if d == nil || d.State.Text != tt.badge || len(d.Tries) != 1 || (d.Again != nil) != tt.again || (d.Next != nil) != tt.hasNext || d.Reason.String() != tt.h.Reason {
				t.Fatalf("delivery: %+v", d)
			}
			if len(o.Steps) != 4 || o.Steps[1].State != tt.step || o.Steps[2].State != tt.picked {
				t.Errorf("steps: %+v", o.Steps)
			}
			if v := newOutcome(clock{k.Now}, k, namesOf(k, operator()), false); v.Delivery.Again != nil {
				t.Error("a viewer is offered to hand it over again")
			}
		})
	}
	k := at(journal.Handover{State: journal.HandoverSent})
	acked := k.Now
	k.Resolutions[len(k.Resolutions)-1].AckedAt = &acked
	if d := newOutcome(clock{k.Now}, k, namesOf(k, operator()), true).Delivery; d.State.Text != "Acknowledged" || d.Again != nil {
		t.Errorf("acknowledged: %+v", d)
	}
}
