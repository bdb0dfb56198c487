package dbosworker_test

import (
	"errors"
	"testing"

	"github.com/landedhq/landed/journal"
	"github.com/landedhq/landed/journal/postgres"
	"github.com/landedhq/landed/providers/resume"
)

var olga = journal.Actor{Issuer: "https://idp.test", Subject: "olga", Name: "Olga Operator", Roles: []journal.Role{journal.RoleOperator}}

// books is a desk with the journal's store and a dispatcher on it.
type books struct {
	*desk
	store    *postgres.Store
	dispatch *resume.Dispatcher
}

func openJournal(t *testing.T, change ...func(*desk, *postgres.Options)) *books {
	t.Helper()
	d := open(t)
	opts := postgres.Options{Policy: journal.DefaultPolicy(), MaxConns: 4}
	for _, f := range change {
		f(d, &opts)
	}
	store, err := postgres.Open(t.Context(), d.dsn, opts)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(store.Close)
	b := &books{desk: d, store: store}
	b.dispatch, err = resume.New(resume.Config{Store: store, Targets: []resume.Target{d.other()}, External: "https://desk.test"})
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// parked waits until an effect is parked, and returns it.
func (b *books) parked() (effect string) {
	b.t.Helper()
	b.eventually("an effect is parked", func() bool {
		return b.pool.QueryRow(b.t.Context(), "select id::text from effects where state = 'PARKED'").Scan(&effect) == nil
	})
	return effect
}

func (b *books) decide(effect string, v journal.Verb) {
	b.t.Helper()
	if err := b.tryDecide(effect, v); err != nil {
		b.t.Fatalf("deciding %s: %v", v, err)
	}
}

func (b *books) tryDecide(effect string, v journal.Verb) error {
	s, err := b.store.Snapshot(b.t.Context(), effect)
	if err != nil {
		return err
	}
	d := journal.Decision{EffectID: effect, Verb: v, Expected: s.Effect.Version, Digest: s.EvidenceDigest(), Actor: olga, Source: "page",
		ReasonCode: "confirmed_by_person", Reason: "asked the customer by phone"}
	switch v {
	case journal.VerbReissue:
		d.Mode = journal.NewKey
	case journal.VerbCloseLanded:
		d.ProviderID = "p-7"
	}
	_, err = b.store.Decide(b.t.Context(), d)
	return err
}

func (b *books) round() {
	b.t.Helper()
	if err := b.dispatch.Round(b.t.Context()); err != nil {
		b.t.Fatal(err)
	}
}

// handover is how far the effect's newest resolution got.
func (b *books) handover(effect string) journal.Handover {
	b.t.Helper()
	c, err := b.store.Case(b.t.Context(), effect)
	if err != nil || len(c.Resolutions) == 0 {
		b.t.Fatalf("%d resolutions, %v", len(c.Resolutions), err)
	}
	return c.Handovers[c.Resolutions[len(c.Resolutions)-1].ID]
}

// received counts the waits of workflows that a message ended.
func (b *books) received() int {
	b.t.Helper()
	return b.count("select count(*) from dbos.operation_outputs where function_name = 'DBOS.recv' and error is null")
}

// acknowledged: every delivery is closed.
func (b *books) acknowledged() {
	b.t.Helper()
	if n := b.count("select count(*) from deliveries where acked_at is null"); n != 0 {
		b.t.Errorf("%d deliveries are open", n)
	}
}

func isA(err, target error) bool { return err != nil && errors.Is(err, target) }
