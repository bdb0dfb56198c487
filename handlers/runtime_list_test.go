package handlers

import (
	"testing"

	"github.com/landedhq/landed/journal"
	"github.com/landedhq/landed/providers/resume"
)

func TestRuntimeLines(t *testing.T) {
	t.Parallel()
	c := clock{testNow()}
	got := runtimeLines(c, map[string]resume.Sheet{"flow": {Kind: "temporal", Dedupes: true, Buffers: true}, "hook": {Kind: "webhook", Residual: "Ignore what you have seen."}, "new": {Kind: "river"}},
		map[string]journal.TargetState{
			"flow":  {LastTaken: testNow(), Pending: 2, Refused: 1, OldestPending: testNow()},
			"hook":  {LastTaken: testNow(), Mark: journal.TargetMark{StoppedAt: testNow(), StoppedWhy: "it answered 410"}},
			"flwo":  {Pending: 1},
			"ended": {LastTaken: testNow()}, // no longer configured, and nothing is left
		})
	for i, want := range []struct {
		name, state, load string
		promises          int
	}{
		{"flow", "In use", "2 pending, 1 refused", 3}, {"flwo", "Unknown", "1 pending", 0}, {"hook", "Wants no more", "nothing", 3}, {"new", "Not used yet", "nothing", 3},
	} {
		if i >= len(got) || got[i].Name.String() != want.name || got[i].State.Text != want.state || got[i].Load != want.load || len(got[i].Promises) != want.promises {
			t.Errorf("line %d: %+v, want %+v", i, got, want)
		}
	}
	if len(got) != 4 || got[0].Oldest == nil || got[3].Oldest != nil || got[3].Taken != nil {
		t.Errorf("%d lines: %+v", len(got), got)
	}
}
