package journal_test

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/landedhq/landed/journal"
)

const (
	undoneID = "01936f6e-0000-7000-8000-000000000001"
	undoID   = "01936f6e-0000-7000-8000-000000000002"
)

func TestUndoKey(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ name, run, id, want string }{
		{"plain", "run-1", undoneID, "run-1/undo/" + undoneID},
		{"a run with a slash and a space", "a/b c", undoneID, "a%2Fb%20c/undo/" + undoneID},
		{"no effect id", "run-1", "x", ""},
		{"no run", " ", undoneID, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			got, err := journal.UndoKey(c.run, c.id)
			if got != c.want || (err != nil) != (c.want == "") {
				t.Errorf("%q, %v; want %q", got, err, c.want)
			}
		})
	}
	long, err := journal.UndoKey(strings.Repeat("r", 400), undoneID)
	if err != nil || journal.ValidateKey(long) != nil {
		t.Errorf("a long run: %q, %v", long, err)
	}
}

func TestUndoCursor(t *testing.T) {
	t.Parallel()
	u := journal.Undoable{EffectID: undoneID, CompletedAt: time.Date(2026, 11, 30, 8, 20, 0, 123456000, time.UTC)}
	q := journal.UndoQuery{RootRun: "r", After: journal.UndoAfter(u)}
	at, id, err := q.Cursor()
	if err != nil || !at.Equal(u.CompletedAt) || id != undoneID || q.Validate() != nil {
		t.Errorf("%v, %s, %v", at, id, err)
	}
	for _, bad := range []string{".", "1", "1.", "x." + undoneID, "-5." + undoneID, "0." + undoneID, "9223372036854775807." + undoneID, "1." + undoneID + "."} {
		q.After = bad
		var invalid *journal.InvalidError
		if err := q.Validate(); !errors.As(err, &invalid) || invalid.Field != "after" {
			t.Errorf("%q: %v", bad, err)
		}
	}
}

func TestTool_CompensatedBy(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name, by string
		class    journal.Class
		ok       bool
	}{
		{"none", "", journal.ClassAtMostOnce, true},
		{"another", "cancel", journal.ClassAtMostOnce, true},
		{"itself", "book", journal.ClassAtMostOnce, false},
		{"no name", "?", journal.ClassAtMostOnce, false},
		{"of a look-up", "cancel", journal.ClassReadOnly, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			err := journal.Tool{Name: "book", Class: c.class, ClientTimeout: time.Second, CompensatedBy: c.by}.Validate()
			var invalid *journal.InvalidError
			if (err == nil) != c.ok || err != nil && (!errors.As(err, &invalid) || invalid.Field != "compensated_by") {
				t.Errorf("%v", err)
			}
		})
	}
}

// refusable is a live attempt of an effect that undoes another one, or nothing.
func refusable(undoes string) *journal.Snapshot {
	now := time.Date(2026, 11, 30, 8, 20, 0, 0, time.UTC)
	return &journal.Snapshot{
		Effect: journal.Effect{ID: undoID, Class: journal.ClassAtMostOnce, State: journal.StateIntent, Version: 1, Attempt: 1, Issue: 1, Compensates: undoes},
		Attempts: []journal.Attempt{{Number: 1, Issue: 1, Token: "t", GrantedAt: now.Add(-time.Second), LeaseUntil: now.Add(time.Minute),
			SendBy: now.Add(time.Minute), Deadline: now.Add(2 * time.Minute)}},
		Budget: journal.Budget{Limit: 6}, Now: now, Policy: journal.DefaultPolicy(),
	}
}

// An undo that the provider refused leaves what it was to undo: a person has to
// see it, where any other refusal is an end.
func TestFail_RefusedUndoIsParked(t *testing.T) {
	t.Parallel()
	for undoes, want := range map[string]journal.State{"": journal.StateRejected, undoneID: journal.StateParked} {
		s := refusable(undoes)
		r := journal.FailRequest{Report: journal.Report{EffectID: undoID, Attempt: 1, LeaseToken: "t"}, Phase: journal.PhaseRefused, Final: true, Error: "no"}
		c, _, err := s.Fail(r)
		if err != nil || c.Effect.State != want {
			t.Errorf("undoes %q: %s, %v; want %s", undoes, c.Effect.State, err, want)
		}
		// The same, reported after the lease.
		late := refusable(undoes)
		late.Attempts[0].FencedAt, late.Effect.State, late.Effect.ParkedReason = late.Now, journal.StateParked, journal.ReasonAtMostOnce
		c, _, err = late.Fail(r)
		if err != nil || c.Effect.State != want {
			t.Errorf("late, undoes %q: %s, %v; want %s", undoes, c.Effect.State, err, want)
		}
	}
}

func TestDecide_AsksForCompensation(t *testing.T) {
	t.Parallel()
	for _, on := range []bool{false, true} {
		for _, verb := range []journal.Verb{journal.VerbCloseNotLanded, journal.VerbCloseLanded} {
			s := refusable("")
			s.Attempts[0].FencedAt, s.Effect.State, s.Effect.ParkedReason, s.CompensateRun = s.Now, journal.StateParked, journal.ReasonAtMostOnce, on
			c, err := s.Decide(journal.Decision{EffectID: undoID, Verb: verb, Expected: 1, Digest: s.EvidenceDigest(), Source: "page", ReasonCode: "test",
				Reason: "asked by phone", ProviderID: "p", Actor: journal.Actor{Subject: "o", Roles: []journal.Role{journal.RoleOperator}}})
			if err != nil || len(c.Resolutions) != 1 || c.Resolutions[0].Compensate != (on && verb == journal.VerbCloseNotLanded) {
				t.Errorf("policy %v, %s: %+v, %v", on, verb, c.Resolutions, err)
			}
		}
	}
}

// The args of a compensation follow from what it undoes: nobody corrects them.
func TestDecide_CompensationIsNotCorrected(t *testing.T) {
	t.Parallel()
	s := refusable(undoneID)
	s.Effect.Key, s.Effect.Args = "run/undo/x", []byte(`{"a":1}`)
	s.Attempts[0].FencedAt, s.Effect.State, s.Effect.ParkedReason = s.Now, journal.StateParked, journal.ReasonUndoRefused
	s.Attempts[0].Phase, s.Attempts[0].Final = journal.PhaseRefused, true
	_, err := s.Decide(journal.Decision{EffectID: undoID, Verb: journal.VerbCorrect, Expected: 1, Digest: s.EvidenceDigest(), Source: "page", ReasonCode: "test",
		Reason: "asked by phone", Correction: &journal.Correction{Args: []byte(`{"a":2}`)}, Actor: journal.Actor{Subject: "o", Roles: []journal.Role{journal.RoleOperator}}})
	var invalid *journal.InvalidError
	if !errors.As(err, &invalid) || invalid.Field != "args" {
		t.Errorf("%v", err)
	}
}
