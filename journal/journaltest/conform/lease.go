package conform

import (
	"errors"
	"time"

	"github.com/landedhq/landed/journal"
)

func leaseCases() []testCase {
	return []testCase{
		{"heartbeat/renews", heartbeatRenews},
		{"heartbeat/lease lost, with state and decision", heartbeatLost},
		{"heartbeat/expired lease", heartbeatExpired},
		{"heartbeat/unknown effect", heartbeatUnknown},
		{"handle/stored though fenced", handleFenced},
		{"handle/refused", handleRefused},
	}
}

func heartbeatRenews(d *desk) {
	r := request("mail.send", "k")
	rep := report(r, d.begin(r, journal.DirectiveExecute))
	d.pass(rep.EffectID, 10*time.Second)
	a, err := d.Heartbeat(d.Context(), rep)
	if err != nil || a.LeaseFor <= 25*time.Second || a.LeaseFor > 30*time.Second {
		d.Errorf("heartbeat answered %v, %v", a.LeaseFor, err)
	}
}

func (d *desk) lost(err error, id string, state journal.State) *journal.LeaseLostError {
	d.Helper()
	var lost *journal.LeaseLostError
	if !errors.As(err, &lost) || lost.EffectID != id || lost.State != state {
		d.Fatalf("got %v (%+v), want LeaseLostError with %s", err, lost, state)
	}
	return lost
}

func heartbeatLost(d *desk) {
	r, a, _ := d.park("k")
	_, err := d.Heartbeat(d.Context(), report(r, a))
	if l := d.lost(err, a.EffectID, journal.StateParked); l.Decision != nil {
		d.Errorf("there is no decision yet, got %+v", l.Decision)
	}
	d.decide(a.EffectID, journal.VerbCloseLanded, "")
	_, err = d.Heartbeat(d.Context(), report(r, a))
	if l := d.lost(err, a.EffectID, journal.StateCommitted); l.Decision == nil || l.Decision.Kind != journal.ResolvedLanded {
		d.Errorf("the decision is %+v", l.Decision)
	}
}

func heartbeatExpired(d *desk) {
	r := request("mail.send", "k")
	rep := report(r, d.begin(r, journal.DirectiveExecute))
	d.pass(rep.EffectID, time.Hour)
	_, err := d.Heartbeat(d.Context(), rep)
	d.lost(err, rep.EffectID, journal.StateIntent)
}

func heartbeatUnknown(d *desk) {
	rep := journal.Report{EffectID: journal.NewID(time.Now()), Attempt: 1, LeaseToken: journal.NewToken(), Worker: WorkerName}
	if _, err := d.Heartbeat(d.Context(), rep); !errors.Is(err, journal.ErrNotFound) {
		d.Errorf("heartbeat on an unknown effect: %v", err)
	}
	if err := d.Handle(d.Context(), journal.HandleRequest{Report: rep, Kind: "draft", Value: "x"}); !errors.Is(err, journal.ErrNotFound) {
		d.Errorf("handle of an unknown effect: %v", err)
	}
}

func handleFenced(d *desk) {
	r, a, _ := d.park("k")
	err := d.Handle(d.Context(), journal.HandleRequest{Report: report(r, a), Kind: "draft", Value: "dr_1"})
	d.lost(err, a.EffectID, journal.StateParked)
	if h := d.snap(a.EffectID).Handles; len(h) != 1 || h[0].Value != "dr_1" {
		d.Errorf("handles %+v", h)
	}
}

func handleRefused(d *desk) {
	r := request("mail.send", "k")
	rep := report(r, d.begin(r, journal.DirectiveExecute))
	d.invalid(d.Handle(d.Context(), journal.HandleRequest{Report: rep, Kind: "a b", Value: "x"}), "kind", "may hold")
	d.invalid(d.Handle(d.Context(), journal.HandleRequest{Report: rep, Kind: "draft"}), "value", "is empty")
	rep.LeaseToken = journal.NewToken()
	if err := d.Handle(d.Context(), journal.HandleRequest{Report: rep, Kind: "draft", Value: "x"}); !errors.Is(err, journal.ErrUnknownAttempt) {
		d.Errorf("handle of an unknown attempt: %v", err)
	}
}
