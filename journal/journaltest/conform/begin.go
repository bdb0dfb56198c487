package conform

import (
	"errors"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/landedhq/landed/journal"
)

func beginCases() []testCase {
	return []testCase{
		{"begin/execute", beginExecute},
		{"begin/the same claim repeats the grant", beginSameClaim},
		{"begin/in_progress", beginInProgress},
		{"begin/return a commit, with drift", beginReturn},
		{"begin/return a refusal", beginRejected},
		{"begin/return a close_landed", beginClosedLanded},
		{"begin/retry_later, then attempt 2 with the first args and handles", beginAgain},
		{"begin/verifying", beginVerifying},
		{"begin/parked", beginParked},
		{"begin/abandoned, then a successor", beginAbandoned},
		{"begin/corrected: another in its place", beginCorrected},
		{"begin/hard_stop", beginHardStop},
		{"begin/an order is consumed", beginOrder},
	}
}

func beginExecute(d *desk) {
	r := request("pay", "k")
	r.Namespace, r.Turn, r.Run, r.Step, r.Subject = "shop", "3", "child", "s1", "Zahlung <b>&amp;</b> für A1"
	r.Amount, r.Currency, r.Labels = "12.50", "EUR", map[string]string{"order": "A1 & B"}
	r.RootRunStartedAt = time.Date(2026, 11, 30, 8, 15, 0, 123456000, time.UTC)
	r.Resume, r.Traceparent = []byte(`{"kind": "pull"}`), "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01"
	r.ClientTimeout = 20 * time.Second
	a := d.begin(r, journal.DirectiveExecute)
	if a.Attempt != 1 || a.Issue != 1 || a.LeaseToken == "" || a.State != journal.StateIntent || !journal.ValidID(a.EffectID) {
		d.Errorf("the grant is %+v", a)
	}
	if a.Ref != journal.Ref("shop", "k") || a.ProviderKey != journal.ProviderKey(a.Ref, 1) || a.Args != nil {
		d.Errorf("reference %s, provider key %s, args %q", a.Ref, a.ProviderKey, a.Args)
	}
	if a.LeaseFor != 30*time.Second || a.SendBy != 30*time.Second || a.Deadline != 50*time.Second || a.KeyWindow != time.Hour {
		d.Errorf("lease %v, send by %v, deadline %v, key window %v", a.LeaseFor, a.SendBy, a.Deadline, a.KeyWindow)
	}
	e := d.snap(a.EffectID).Effect
	got := journal.BeginRequest{Namespace: e.Namespace, Key: e.Key, ClaimID: r.ClaimID, Tool: e.Tool, RootRun: e.RootRun, RootRunStartedAt: e.RootRunStartedAt.UTC(),
		Turn: e.Turn, Run: e.Run, Step: e.Step, Operation: e.Operation, Subject: e.Subject, Amount: e.Amount, Currency: e.Currency, Labels: e.Labels,
		Args: e.Args, Lease: r.Lease, ClientTimeout: r.ClientTimeout, Resume: e.Resume, Traceparent: e.Traceparent, Worker: d.snap(a.EffectID).Attempts[0].Worker}
	if diff := cmp.Diff(r, got); diff != "" {
		d.Errorf("asked (-) and journaled (+) differ:\n%s", diff)
	}
	tool := d.snapTool("pay")
	if string(tool.ArgsSchema) != "{ \"type\":\n\"object\" }" || !cmp.Equal(tool.DisplayFields, []string{"order", "note"}) {
		d.Errorf("the tool was registered as %+v, schema %q", tool, tool.ArgsSchema)
	}
}

func (d *desk) snapTool(name string) journal.Tool {
	d.Helper()
	all, err := d.store.Tools(d.Context())
	if err != nil {
		d.Fatal(err)
	}
	for _, t := range all {
		if t.Name == name {
			return t
		}
	}
	d.Fatalf("tool %s is not registered", name)
	return journal.Tool{}
}

func beginSameClaim(d *desk) {
	r := request("mail.send", "k")
	first := d.begin(r, journal.DirectiveExecute)
	second := d.begin(r, journal.DirectiveExecute)
	if second.EffectID != first.EffectID || second.Attempt != 1 || second.LeaseToken != first.LeaseToken || second.LeaseFor > first.LeaseFor || second.LeaseFor <= 0 {
		d.Errorf("the repeated grant is %+v, the first was %+v", second, first)
	}
}

func beginInProgress(d *desk) {
	r := request("mail.send", "k")
	first := d.begin(r, journal.DirectiveExecute)
	a := d.begin(again(r), journal.DirectiveInProgress)
	if a.EffectID != first.EffectID || a.Owner != WorkerName || a.Since < 0 || a.RetryAfter <= 0 || a.RetryAfter > 30*time.Second+time.Millisecond || a.LeaseToken != "" {
		d.Errorf("the answer is %+v", a)
	}
}

func beginReturn(d *desk) {
	r := request("pay", "k")
	first := d.begin(r, journal.DirectiveExecute)
	d.commit(report(r, first), "pi_1", []byte(`{"id": "pi_1"}`))
	r = again(r)
	r.Args = []byte(`{"order":"A1","note":"reworded"}`)
	a := d.begin(r, journal.DirectiveReturn)
	if string(a.Result) != `{"id": "pi_1"}` || a.ProviderID != "pi_1" || a.SettledBy != "worker" || a.State != journal.StateCommitted {
		d.Errorf("returned %+v, result %q", a, a.Result)
	}
	if diff := cmp.Diff([]journal.FieldDiff{{Field: "note", Was: `"x"`, Now: `"reworded"`}}, a.Drift); diff != "" {
		d.Errorf("drift:\n%s", diff)
	}
}

func beginRejected(d *desk) {
	r := request("mail.send", "k")
	first := d.begin(r, journal.DirectiveExecute)
	if f := d.fail(report(r, first), journal.PhaseRefused, true); f.Directive != journal.DirectiveRejected || f.State != journal.StateRejected {
		d.Errorf("fail answered %+v", f)
	}
	a := d.begin(again(r), journal.DirectiveReturn)
	if a.State != journal.StateRejected || a.Refusal != "it broke" || a.Result != nil {
		d.Errorf("returned %+v", a)
	}
}

func beginClosedLanded(d *desk) {
	r, first, _ := d.park("k")
	d.decide(first.EffectID, journal.VerbCloseLanded, "")
	a := d.begin(again(r), journal.DirectiveReturn)
	if a.Result != nil || a.ProviderID != "msg-7" || a.SettledBy != "operator:olga" {
		d.Errorf("returned %+v, result %q", a, a.Result)
	}
	if a.Decision == nil || a.Decision.Kind != journal.ResolvedLanded || a.Decision.By != "operator:olga" {
		d.Errorf("the decision is %+v", a.Decision)
	}
	if d.snap(first.EffectID).Effect.OpenDelivery {
		d.Error("the delivery is still open: a begin that returns the outcome closes it")
	}
}

func beginAgain(d *desk) {
	r := request("mail.send", "k")
	first := d.begin(r, journal.DirectiveExecute)
	rep := report(r, first)
	if err := d.Handle(d.Context(), journal.HandleRequest{Report: rep, Kind: "draft", Value: "dr 1/ü"}); err != nil {
		d.Fatal(err)
	}
	f := d.fail(rep, journal.PhaseNotSent, false)
	if f.Directive != journal.DirectiveRetry || f.RetryAfter <= 0 {
		d.Errorf("fail answered %+v", f)
	}
	d.exec("update effects set retry_at = clock_timestamp() + interval '1 hour' where id = $1", first.EffectID)
	if a := d.begin(again(r), journal.DirectiveRetryLater); a.RetryAfter < 59*time.Minute {
		d.Errorf("retry after %v", a.RetryAfter)
	}
	d.pass(first.EffectID, 2*time.Hour)
	a := d.begin(again(r), journal.DirectiveExecute)
	if a.Attempt != 2 || a.Issue != 1 || string(a.Args) != string(r.Args) || a.ProviderKey != first.ProviderKey {
		d.Errorf("attempt 2 is %+v, args %q", a, a.Args)
	}
	if len(a.Handles) != 1 || a.Handles[0].Value != "dr 1/ü" || a.Handles[0].Kind != "draft" || a.Handles[0].Attempt != 1 {
		d.Errorf("handles %+v", a.Handles)
	}
}

func beginVerifying(d *desk) {
	r := request("ticket/create", "k")
	first := d.begin(r, journal.DirectiveExecute)
	if f := d.fail(report(r, first), journal.PhaseSent, false); f.Directive != journal.DirectiveVerifying || f.RetryAfter <= 0 {
		d.Errorf("fail answered %+v", f)
	}
	if a := d.begin(again(r), journal.DirectiveVerifying); a.RetryAfter <= 0 || a.State != journal.StateIntent {
		d.Errorf("begin answered %+v", a)
	}
}

func beginParked(d *desk) {
	r, first, f := d.park("k")
	a := d.begin(again(r), journal.DirectiveParked)
	if a.EffectID != first.EffectID || a.Reason != journal.ReasonAtMostOnce || a.State != journal.StateParked || f.State != journal.StateParked {
		d.Errorf("begin answered %+v after %+v", a, f)
	}
	d.decide(first.EffectID, journal.VerbCloseNotLanded, "")
	got, err := d.Decision(d.Context(), first.EffectID, a.Cursor, 0)
	if err != nil || got == nil {
		d.Errorf("the parked answer's cursor %d misses the decision: %v, %v", a.Cursor, got, err)
	}
}

func beginAbandoned(d *desk) {
	r, first, _ := d.park("k")
	d.decide(first.EffectID, journal.VerbCloseNotLanded, "")
	a := d.begin(again(r), journal.DirectiveAbandoned)
	if a.State != journal.StateAbandoned || a.SettledBy != "operator:olga" {
		d.Errorf("begin answered %+v", a)
	}
	next := request("mail.send", "k2")
	next.Supersedes = first.EffectID
	d.begin(next, journal.DirectiveExecute)
	third := request("mail.send", "k3")
	third.Supersedes = first.EffectID
	d.refused(third, journal.ErrSupersedesOpen)
}

func beginHardStop(d *desk) {
	r := request("mail.send", "k")
	a := d.begin(r, journal.DirectiveExecute)
	if f := d.fail(report(r, a), journal.PhaseRefused, false); f.Directive != journal.DirectiveRetry {
		d.Errorf("the first fail answered %+v", f)
	}
	d.pass(a.EffectID, time.Hour)
	a = d.begin(again(r), journal.DirectiveExecute)
	if f := d.fail(report(r, a), journal.PhaseNotSent, false); f.Directive != journal.DirectiveHardStop || f.Reason != journal.ReasonBudgetSpent {
		d.Errorf("the second fail answered %+v", f)
	}
	if a := d.begin(again(r), journal.DirectiveHardStop); a.Reason != journal.ReasonBudgetSpent {
		d.Errorf("begin answered %+v", a)
	}
}

func beginOrder(d *desk) {
	r, first, _ := d.park("k")
	decided := d.decide(first.EffectID, journal.VerbReissue, journal.NewKey)
	a := d.begin(again(r), journal.DirectiveExecute)
	if a.Attempt != 2 || a.Issue != 2 || a.OrderID != decided.Order.ID || string(a.Args) != string(r.Args) {
		d.Errorf("begin answered %+v", a)
	}
	if a.ProviderKey == first.ProviderKey || a.Ref != first.Ref {
		d.Error("an order must change the provider key and never the reference")
	}
	if f := d.fail(report(r, a), journal.PhaseSent, false); f.Directive != journal.DirectiveParked {
		d.Errorf("the spent order's attempt ended %+v", f)
	}
}

func refusedCases() []testCase {
	return []testCase{
		{"refused/unknown tool", func(d *desk) { d.refused(request("no.such", "k"), journal.ErrUnknownTool) }},
		{"refused/read_only tool", func(d *desk) { d.refused(request("lookup", "k"), journal.ErrNotJournaled) }},
		{"refused/J09_J10_key reused", refusedReused},
		{"refused/claim used", refusedClaim},
		{"refused/supersedes open", refusedSupersedes},
		{"refused/J28_purged", refusedPurged},
		{"refused/restored", refusedRestored},
		{"refused/tool without class or key window", refusedTool},
	}
}

func refusedReused(d *desk) {
	r := request("mail.send", "k")
	first := d.begin(r, journal.DirectiveExecute)
	r = again(r)
	r.Args = []byte(`{"order":"A2","note":"x"}`)
	_, err := d.Begin(d.Context(), r)
	var reused *journal.KeyReusedError
	if !errors.As(err, &reused) {
		d.Fatalf("begin: %v, want KeyReusedError", err)
	}
	want := &journal.KeyReusedError{EffectID: first.EffectID, Tool: "mail.send", Fields: []journal.FieldDiff{{Field: "order", Was: `"A1"`, Now: `"A2"`}}}
	if diff := cmp.Diff(want, reused); diff != "" {
		d.Errorf("the error:\n%s", diff)
	}
	_, err = d.Begin(d.Context(), request("pay", "k"))
	if !errors.As(err, &reused) || reused.Tool != "mail.send" || reused.Fields[0] != (journal.FieldDiff{Field: "tool", Was: "mail.send", Now: "pay"}) {
		d.Errorf("another tool: %v %+v", err, reused)
	}
}

func refusedClaim(d *desk) {
	r := request("mail.send", "k")
	a := d.begin(r, journal.DirectiveExecute)
	d.fail(report(r, a), journal.PhaseNotSent, false)
	d.pass(a.EffectID, time.Hour)
	d.refused(r, journal.ErrClaimUsed)
	d.begin(again(r), journal.DirectiveExecute)
}

func refusedSupersedes(d *desk) {
	a := d.begin(request("mail.send", "k"), journal.DirectiveExecute)
	r := request("mail.send", "k2")
	r.Supersedes = a.EffectID
	d.refused(r, journal.ErrSupersedesOpen)
}

func refusedPurged(d *desk) {
	r := request("mail.send", "k")
	d.commit(report(r, d.begin(r, journal.DirectiveExecute)), "m1", nil)
	if n, err := d.store.Purge(d.Context(), 0, 10); n != 1 || err != nil {
		d.Fatalf("purged %d, %v", n, err)
	}
	d.refused(again(r), journal.ErrExpired)
}

func refusedRestored(d *desk) {
	d.exec("update journal_meta set quarantined = true")
	d.refused(request("mail.send", "k"), journal.ErrRestored)
}

func refusedTool(d *desk) {
	d.invalid(d.RegisterTool(d.Context(), journal.Tool{Name: "x", ClientTimeout: time.Second}), "class", "is missing")
	d.invalid(d.RegisterTool(d.Context(), journal.Tool{Name: "x", Class: journal.ClassProviderIdempotent, ClientTimeout: time.Second}), "key_window", "is missing")
}

// beginCorrected: a person did it anew with other arguments. Whoever begins the old
// key learns the successor's, and whoever begins that runs the corrected ones.
func beginCorrected(d *desk) {
	r, a, _ := d.park("run-1/corrected")
	snapshot := func() journal.Snapshot {
		s, err := d.store.Snapshot(d.Context(), a.EffectID)
		if err != nil {
			d.Fatal(err)
		}
		return s
	}
	s := snapshot()
	second := journal.Actor{Issuer: "https://idp.test", Subject: "anna", Name: "Anna", Roles: []journal.Role{journal.RoleApprover}}
	p, err := d.store.Propose(d.Context(), journal.Decision{EffectID: a.EffectID, Verb: journal.VerbCorrect, Expected: s.Effect.Version, Digest: s.EvidenceDigest(),
		Actor: journal.Actor{Issuer: "https://idp.test", Subject: "olga", Name: "Olga", Roles: []journal.Role{journal.RoleOperator}}, Source: "page",
		ReasonCode: "other", Reason: "the address was wrong", Correction: &journal.Correction{Args: []byte(`{"corrected":true}`), Subject: r.Subject, Amount: r.Amount, Currency: r.Currency}})
	if err != nil {
		d.Fatal(err)
	}
	s = snapshot()
	if _, err := d.store.Approve(d.Context(), journal.Approval{ProposalID: p.ID, EffectID: a.EffectID, Actor: second, Reason: "yes, it was wrong", Expected: s.Effect.Version, Digest: s.EvidenceDigest()}); err != nil {
		d.Fatal(err)
	}
	old := d.begin(again(r), journal.DirectiveAbandoned)
	if old.Decision == nil || old.Decision.Kind != journal.ResolvedCorrected || old.Decision.SuccessorKey == "" {
		d.Fatalf("told %+v", old.Decision)
	}
	next := again(r)
	next.Key = old.Decision.SuccessorKey
	got := d.begin(next, journal.DirectiveExecute)
	if got.Attempt != 1 || string(got.Args) != `{"corrected":true}` || got.OrderID == "" {
		d.Errorf("attempt %d under order %q with %s", got.Attempt, got.OrderID, got.Args)
	}
}
