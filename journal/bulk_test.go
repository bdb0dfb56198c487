package journal_test

import (
	"errors"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/landedhq/landed/journal"
)

var bulkOperator = journal.Actor{Issuer: "https://idp.test", Subject: "olga", Name: "Olga", Roles: []journal.Role{journal.RoleOperator}}

func frozen(rows ...journal.Snapshot) (*journal.Bulk, map[string]*journal.Snapshot) {
	b := &journal.Bulk{ID: "b1", Actor: bulkOperator, Count: len(rows), State: journal.BulkFrozen}
	now := map[string]*journal.Snapshot{}
	for i := range rows {
		s := &rows[i]
		s.Effect.Version = 3
		now[s.Effect.ID] = s
		b.Items = append(b.Items, journal.BulkItem{No: i + 1, EffectID: s.Effect.ID, Version: 3, Digest: s.EvidenceDigest()})
	}
	return b, now
}

// TestWeighBulk: each item is judged by the rules of single decisions, and
// repeating many needs a conclusive NOT_FOUND for each.
func TestWeighBulk(t *testing.T) {
	t.Parallel()
	at := time.Date(2026, 11, 2, 3, 0, 0, 0, time.UTC)
	found := func(s *journal.Snapshot) { s.Looks[0].Verdict = journal.Found }
	unknown := func(s *journal.Snapshot) {
		s.Looks[0].Verdict, s.Looks[0].Reason = journal.CannotTell, journal.CannotProvider
	}
	unlooked := func(s *journal.Snapshot) { s.Looks = nil }
	notSent := func(s *journal.Snapshot) { s.Looks, s.Attempts[0].Phase = nil, journal.PhaseNotSent }
	uncovered := func(s *journal.Snapshot) { s.Looks[0].CoversAttempt = 0 }
	closed := func(s *journal.Snapshot) { s.Effect.State = journal.StateAbandoned }
	idempotent := func(s *journal.Snapshot) {
		s.Effect.Class, s.Effect.KeyWindow, s.Effect.Issue, s.Attempts[0].Issue = journal.ClassProviderIdempotent, 48*time.Hour, 1, 1
	}
	rules := func(r ...journal.Rule) func(*journal.Snapshot) {
		return func(s *journal.Snapshot) { s.Policy.Rules = r }
	}
	many := journal.Rule{Name: "many", BulkFrom: 2, FourEyes: true}
	tests := []struct {
		name   string
		change func(*journal.Snapshot)
		order  journal.BulkOrder
		more   int // further items in the set
		want   journal.BulkOutcome
		code   string
		signIn bool
	}{
		{"not found, repeated", nil, journal.BulkOrder{Verb: journal.VerbReissue, Mode: journal.NewKey}, 0, journal.BulkDecided, "", false},
		{"not found, same key without one", nil, journal.BulkOrder{Verb: journal.VerbReissue, Mode: journal.SameKey}, 0, journal.BulkRefused, "blocked:no_native_key", false},
		{"not found, same key", idempotent, journal.BulkOrder{Verb: journal.VerbReissue, Mode: journal.SameKey}, 0, journal.BulkDecided, "", false},
		{"not found, closed as not landed", nil, journal.BulkOrder{Verb: journal.VerbCloseNotLanded}, 0, journal.BulkDecided, "", false},
		{"found, repeated", found, journal.BulkOrder{Verb: journal.VerbReissue, Mode: journal.NewKey}, 0, journal.BulkRefused, "blocked:found", false},
		{"found, closed as landed", found, journal.BulkOrder{Verb: journal.VerbCloseLanded}, 0, journal.BulkDecided, "", false},
		{"can't tell, repeated", unknown, journal.BulkOrder{Verb: journal.VerbReissue, Mode: journal.NewKey}, 0, journal.BulkRefused, "blocked:not_proved", false},
		{"can't tell, closed", unknown, journal.BulkOrder{Verb: journal.VerbCloseNotLanded}, 0, journal.BulkDecided, "", false},
		{"nobody looked, repeated", unlooked, journal.BulkOrder{Verb: journal.VerbReissue, Mode: journal.NewKey}, 0, journal.BulkRefused, "blocked:not_proved", false},
		{"not sent and nobody looked, repeated", notSent, journal.BulkOrder{Verb: journal.VerbReissue, Mode: journal.NewKey}, 0, journal.BulkRefused, "blocked:not_proved", false},
		{"a NOT_FOUND of an earlier attempt, repeated", uncovered, journal.BulkOrder{Verb: journal.VerbReissue, Mode: journal.NewKey}, 0, journal.BulkRefused, "blocked:not_proved", false},
		{"closed meanwhile", closed, journal.BulkOrder{Verb: journal.VerbCloseLanded}, 0, journal.BulkStale, "stale", false},
		{"a rule for many, one", rules(many), journal.BulkOrder{Verb: journal.VerbCloseLanded}, 0, journal.BulkDecided, "", false},
		{"a rule for many, two", rules(many), journal.BulkOrder{Verb: journal.VerbCloseLanded}, 1, journal.BulkProposed, "", false},
		{"forbidden", rules(journal.Rule{Name: "no", BulkFrom: 1, Forbid: true}), journal.BulkOrder{Verb: journal.VerbCloseLanded}, 0, journal.BulkRefused, "policy:forbidden", false},
		{"a fresh login", rules(journal.Rule{Name: "fresh", StepUp: true}), journal.BulkOrder{Verb: journal.VerbCloseLanded}, 0, journal.BulkDecided, "", true},
		{"a code that is not allowed", rules(journal.Rule{Name: "codes", ReasonCodes: []journal.ReasonCode{"other"}}), journal.BulkOrder{Verb: journal.VerbCloseLanded, ReasonCode: "test"}, 0, journal.BulkRefused, "invalid:reason_code", false},
		{"no code yet stands for any", rules(journal.Rule{Name: "codes", ReasonCodes: []journal.ReasonCode{"other"}}), journal.BulkOrder{Verb: journal.VerbCloseLanded}, 0, journal.BulkDecided, "", false},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			rows := []journal.Snapshot{outage(0, at)}
			if tt.change != nil {
				rows[0] = outage(0, at, tt.change)
			}
			for n := range tt.more {
				rows = append(rows, outage(n+1, at))
			}
			b, now := frozen(rows...)
			tt.order.Actor = bulkOperator
			w := b.WeighBulk(tt.order, now)[0]
			if w.Item.Outcome != tt.want || w.Item.Code != tt.code || w.SignIn != tt.signIn || w.Eligible != (tt.code == "") {
				t.Errorf("got %s %q, sign in %t, eligible %t", w.Item.Outcome, w.Item.Code, w.SignIn, w.Eligible)
			}
		})
	}
}

func TestWeighBulk_WhatChanged(t *testing.T) {
	t.Parallel()
	at := time.Date(2026, 11, 2, 3, 0, 0, 0, time.UTC)
	b, now := frozen(outage(0, at), outage(1, at), outage(2, at))
	now["e000"].Effect.Version++
	now["e001"].Looks = append(now["e001"].Looks, journal.Look{ID: "new", Seq: 99, Verdict: journal.Found})
	now["e001"].Effect.Version++
	delete(now, "e002")
	var got []string
	for _, w := range b.WeighBulk(journal.BulkOrder{Verb: journal.VerbCloseNotLanded, Actor: bulkOperator}, now) {
		got = append(got, string(w.Item.Outcome)+" "+w.Item.Code+": "+w.Item.Why)
	}
	want := []string{"stale stale: The effect was changed by a report or another look.", "stale stale: New evidence came in.", "stale gone: "}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestBulkOrder(t *testing.T) {
	t.Parallel()
	good := journal.BulkOrder{Verb: journal.VerbCloseLanded, ReasonCode: "test", Reason: "the provider had an outage", Actor: bulkOperator}
	if err := good.Validate(); err != nil {
		t.Error(err)
	}
	for name, o := range map[string]journal.BulkOrder{
		"taking back": {Verb: journal.VerbReopen, ReasonCode: "test", Reason: good.Reason},
		"no verb":     {ReasonCode: "test", Reason: good.Reason},
		"no reason":   {Verb: journal.VerbCloseLanded, ReasonCode: "test"},
		"no code":     {Verb: journal.VerbCloseLanded, Reason: good.Reason},
	} {
		var ie *journal.InvalidError
		if err := o.Validate(); !errors.As(err, &ie) {
			t.Errorf("%s: %v", name, err)
		}
	}
	b := &journal.Bulk{Actor: bulkOperator}
	other := good
	other.Actor = journal.Actor{Issuer: bulkOperator.Issuer, Subject: "otto", Roles: bulkOperator.Roles}
	viewer := good
	viewer.Actor.Roles = []journal.Role{journal.RoleViewer}
	for _, tt := range []struct {
		o    journal.BulkOrder
		code string
	}{{good, ""}, {other, journal.PolicyNotYours}, {viewer, journal.PolicyRole}} {
		var pe *journal.PolicyError
		if err := tt.o.Permits(b); errors.As(err, &pe) != (tt.code != "") || pe != nil && pe.Code != tt.code {
			t.Errorf("%s: %v, want %q", tt.o.Actor.Subject, err, tt.code)
		}
	}
	d := journal.Decision{Verb: journal.VerbCloseLanded, ReasonCode: "test", Reason: good.Reason, Expected: 1, Bulk: 3, BreakGlass: true}
	if d.Validate() == nil {
		t.Error("a bulk may break the glass")
	}
}
