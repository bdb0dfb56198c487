package resume_test

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/landedhq/landed/journal"
	"github.com/landedhq/landed/journal/journaltest"
	"github.com/landedhq/landed/journal/postgres"
	"github.com/landedhq/landed/providers/resume"
)

var olga = journal.Actor{Issuer: "https://idp.test", Subject: "olga", Name: "Olga Operator", Roles: []journal.Role{journal.RoleOperator}}

// desk is a journal on a real database, with a dispatcher.
type desk struct {
	*postgres.Store
	t *testing.T
	d *resume.Dispatcher
}

func openDesk(t *testing.T, opts postgres.Options, targets ...resume.Target) *desk {
	t.Helper()
	opts.Policy, opts.MaxConns = journal.DefaultPolicy(), 8
	s, err := postgres.Open(t.Context(), journaltest.Database(t, postgres.Migrate), opts)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.Close)
	if err := s.RegisterTool(t.Context(), journal.Tool{Name: "mail.send", Class: journal.ClassAtMostOnce, Provider: "mail", ClientTimeout: 10 * time.Second}); err != nil {
		t.Fatal(err)
	}
	d := &desk{Store: s, t: t}
	d.d = d.dispatcher(s, targets...)
	return d
}

func (d *desk) dispatcher(s resume.Store, targets ...resume.Target) *resume.Dispatcher {
	d.t.Helper()
	out, err := resume.New(resume.Config{Store: s, Targets: targets, External: "https://desk.test", Jitter: func() float64 { return 0 }})
	if err != nil {
		d.t.Fatal(err)
	}
	return out
}

// decided parks an effect whose work waits as resume says, and decides it.
func (d *desk) decided(key, resumeJSON string, v journal.Verb) (effect, resolution string) {
	d.t.Helper()
	ctx := d.t.Context()
	r := journal.BeginRequest{Key: key, ClaimID: journal.NewToken(), Tool: "mail.send", RootRun: key, Run: "wf-" + key, Operation: "send", Lease: 30 * time.Second}
	if resumeJSON != "" {
		r.Resume = []byte(resumeJSON)
	}
	a, err := d.Begin(ctx, r)
	if err != nil {
		d.t.Fatal(err)
	}
	if _, err := d.Fail(ctx, journal.FailRequest{Report: journal.Report{EffectID: a.EffectID, Attempt: a.Attempt, LeaseToken: a.LeaseToken, Key: key, Tool: "mail.send"}, Phase: journal.PhaseSent, Error: "it broke"}); err != nil {
		d.t.Fatal(err)
	}
	return a.EffectID, d.decide(a.EffectID, v)
}

func (d *desk) decide(effect string, v journal.Verb) (resolution string) {
	d.t.Helper()
	s, err := d.Snapshot(d.t.Context(), effect)
	if err != nil {
		d.t.Fatal(err)
	}
	dec := journal.Decision{EffectID: effect, Verb: v, Expected: s.Effect.Version, Digest: s.EvidenceDigest(), Actor: olga, Source: "page",
		ReasonCode: "confirmed_by_person", Reason: "asked the customer by phone"}
	if v == journal.VerbReissue {
		dec.Mode = journal.NewKey
	}
	if _, err := d.Decide(d.t.Context(), dec); err != nil {
		d.t.Fatal(err)
	}
	c := d.read(effect)
	return c.Resolutions[len(c.Resolutions)-1].ID
}

func (d *desk) read(effect string) journal.Case {
	d.t.Helper()
	c, err := d.Case(d.t.Context(), effect)
	if err != nil {
		d.t.Fatal(err)
	}
	return c
}

// newest is how far the effect's newest resolution got.
func (d *desk) newest(effect string) journal.Handover {
	d.t.Helper()
	c := d.read(effect)
	r := c.Resolutions[len(c.Resolutions)-1]
	h := c.Handovers[r.ID]
	h.Resolution = r
	return h
}

func (d *desk) round() {
	d.t.Helper()
	if err := d.d.Round(d.t.Context()); err != nil {
		d.t.Fatal(err)
	}
}

// due makes everything that waits due now; ago moves the schedule's start back.
func (d *desk) due(ago time.Duration) {
	d.t.Helper()
	if _, err := d.Pool().Exec(d.t.Context(), `update deliveries set next_at = case when next_at is null then null else clock_timestamp() end,
		retry_from = clock_timestamp() - $1::bigint * interval '1 ms'`, ago.Milliseconds()); err != nil {
		d.t.Fatal(err)
	}
}

// runtime is a target that does as it is told, and knows what it was handed.
type runtime struct {
	name   string
	mu     sync.Mutex
	answer func(try int) (resume.Receipt, error)
	got    []resume.Message
}

func (r *runtime) Name() string        { return r.name }
func (r *runtime) Sheet() resume.Sheet { return resume.Sheet{Kind: "test"} }

func (r *runtime) Check(b []byte) error {
	var a struct {
		To   string `json:"to"`
		Work string `json:"work"`
	}
	return resume.Address(b, &a)
}

func (r *runtime) Deliver(_ context.Context, m resume.Message) (resume.Receipt, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.got = append(r.got, m)
	if r.answer == nil {
		return resume.Receipt{Detail: "taken"}, nil
	}
	return r.answer(len(r.got))
}

func (r *runtime) ids() []string {
	r.mu.Lock()
	defer r.mu.Unlock()
	var out []string
	for _, m := range r.got {
		out = append(out, m.ID)
	}
	return out
}

func answering(o journal.HandoverOutcome) func(int) (resume.Receipt, error) {
	return func(int) (resume.Receipt, error) { return resume.Receipt{}, resume.Fail(o, "the runtime says %s", o) }
}

// forgetful loses what came of a try, as a process does that is killed between
// the call and its record.
type forgetful struct {
	resume.Store
	lose int
}

var errKilled = errors.New("killed")

func (f *forgetful) HandoverTried(ctx context.Context, h journal.Handover, r journal.HandoverResult) error {
	if f.lose--; f.lose >= 0 {
		return errKilled
	}
	if err := f.Store.HandoverTried(ctx, h, r); err != nil {
		return fmt.Errorf("recording: %w", err)
	}
	return nil
}
