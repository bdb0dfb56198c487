package resume

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/landedhq/landed/journal"
	"github.com/landedhq/landed/providers/outbox"
)

// Config is what a dispatcher needs.
type Config struct {
	Store   Store
	Targets []Target
	// Default is the target for a tool whose effects name none; "" = they are pulled.
	// nil = all are.
	Default func(tool string) string
	// External is the desk's address: links begin with it.
	External string
	Logger   *slog.Logger   // nil = silent
	Jitter   func() float64 // in [0,1); nil = random
}

// Dispatcher carries resolutions from the journal to the targets.
type Dispatcher struct {
	store    Store
	targets  map[string]Target
	byTool   func(string) string
	external string
	log      *slog.Logger
	jitter   func() float64
}

// New checks the configuration.
func New(c Config) (*Dispatcher, error) {
	u, err := url.Parse(c.External)
	if err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" || u.User != nil || u.RawQuery != "" || u.Fragment != "" {
		return nil, fmt.Errorf("resume: external address %q must be an http or https address: links begin with it", c.External)
	}
	d := &Dispatcher{store: c.Store, targets: map[string]Target{}, byTool: c.Default, external: strings.TrimRight(c.External, "/"), log: c.Logger, jitter: c.Jitter}
	if d.byTool == nil {
		d.byTool = func(string) string { return "" }
	}
	if d.log == nil {
		d.log = slog.New(slog.DiscardHandler)
	}
	if d.jitter == nil {
		d.jitter = outbox.RandomJitter
	}
	for _, t := range c.Targets {
		if _, twice := d.targets[t.Name()]; twice || t.Name() == "" {
			return nil, fmt.Errorf("resume: the target name %q is empty or given twice: each target needs its own", t.Name())
		}
		d.targets[t.Name()] = t
	}
	return d, nil
}

// Targets returns the configured targets' sheets, by name, for pages and checks.
func (d *Dispatcher) Targets() map[string]Sheet {
	out := make(map[string]Sheet, len(d.targets))
	for n, t := range d.targets {
		out[n] = t.Sheet()
	}
	return out
}

// Route names the target of an effect; "" means that its runtime pulls.
func (d *Dispatcher) Route(tool string, resume []byte) string {
	to, pulls := journal.ResumeTarget(resume)
	if to != "" || pulls {
		return to
	}
	return d.byTool(tool)
}

// Message shapes the message of a handover, for targets in the journal's database.
func (d *Dispatcher) Message(h journal.Handover) Message { return NewMessage(d.external, h) }

// Round hands over what is due, and returns when every try has ended. The error is
// the store's; what targets answer is recorded, and is no error of the round.
func (d *Dispatcher) Round(ctx context.Context) error {
	if err := outbox.Round(ctx, d.store.ClaimHandovers, d.try); err != nil {
		return fmt.Errorf("resume: %w", err)
	}
	return nil
}

// try makes one try and records it, also when the round is being cancelled: the
// runtime may have taken it.
func (d *Dispatcher) try(ctx context.Context, h journal.Handover) error {
	r := d.result(ctx, h)
	record, cancel := context.WithTimeout(context.WithoutCancel(ctx), outbox.RecordWait)
	defer cancel()
	if err := d.store.HandoverTried(record, h, r); err != nil {
		return fmt.Errorf("recording what came of handing over %s: %w", h.ID, err)
	}
	return nil
}

func (d *Dispatcher) result(ctx context.Context, h journal.Handover) journal.HandoverResult {
	name := d.Route(h.Tool, h.Resume)
	if name == "" {
		return journal.HandoverResult{State: journal.HandoverPull}
	}
	if why := overdue(h); why != "" {
		return journal.HandoverResult{State: journal.HandoverExpired, Target: name, Detail: why}
	}
	start := time.Now()
	rec, err := d.send(ctx, name, h)
	r := journal.HandoverResult{Target: name, Took: time.Since(start)}
	if err == nil {
		r.State, r.Outcome, r.Detail = journal.HandoverSent, journal.HandoverAccepted, outbox.Text(rec.Detail)
		if rec.Resumed {
			r.Outcome, r.AckBy = journal.HandoverResumed, "runtime:"+name
		}
		return r
	}
	f := failure(err)
	r.Outcome, r.Detail = f.Outcome, outbox.Text(f.Error())
	if _, one := d.targets[name].(Challenger); one && f.Stop {
		d.stop(ctx, name, r.Detail)
	}
	r.State, r.NextIn = next(h, f, d.jitter())
	log := d.log.With("target", name, "resolution", h.ID, "tries", h.Tries, "outcome", f.Outcome, "cause", r.Detail)
	if r.State == journal.HandoverPending {
		log.WarnContext(ctx, "handing over failed", "retry_in", r.NextIn)
	} else {
		log.ErrorContext(ctx, "handing over ended", "state", r.State)
	}
	return r
}

// failure types an error that the target did not type.
func failure(err error) *Failure {
	var f *Failure
	if errors.As(err, &f) {
		return f
	}
	return &Failure{Outcome: journal.HandoverTransient, Err: err}
}

// send hands the message to its target. A target that panics has failed, no more.
func (d *Dispatcher) send(ctx context.Context, name string, h journal.Handover) (rec Receipt, err error) {
	t, ok := d.targets[name]
	if !ok { // another replica, or the next configuration, may know it
		return rec, Fail(journal.HandoverUnknown, "no target is called %q in this configuration, there are: %s", name, d.names())
	}
	if to, _ := journal.ResumeTarget(h.Resume); to != "" {
		if err := t.Check(h.Resume); err != nil {
			return rec, Fail(journal.HandoverBadAddress, "%w", err)
		}
	}
	ctx, cancel := context.WithTimeout(ctx, SendTimeout)
	defer cancel()
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("the target panicked: %v", p)
		}
	}()
	if err := d.admit(ctx, t); err != nil {
		return rec, err
	}
	return t.Deliver(ctx, NewMessage(d.external, h))
}

// admit keeps messages from an endpoint that wants no more, or has not yet proved
// that it is the right one. A person's order to try again lifts the first.
func (d *Dispatcher) admit(ctx context.Context, t Target) error {
	c, ok := t.(Challenger)
	if !ok {
		return nil
	}
	m, err := d.store.TargetMark(ctx, t.Name())
	if err != nil {
		return fmt.Errorf("reading what is known of the target: %w", err)
	}
	if m.Endpoint != c.Endpoint() {
		m = journal.TargetMark{Name: t.Name(), Endpoint: c.Endpoint()}
	}
	if !m.StoppedAt.IsZero() {
		return Fail(journal.HandoverGone, "since %s it wants no more: %s", m.StoppedAt.UTC().Format(time.RFC3339), m.StoppedWhy)
	}
	if !m.VerifiedAt.IsZero() {
		return nil
	}
	if err := c.Challenge(ctx); err != nil {
		return err
	}
	m.VerifiedAt = time.Now()
	if err := d.store.SetTargetMark(ctx, m); err != nil {
		return fmt.Errorf("noting that the target has proved itself: %w", err)
	}
	return nil
}

func (d *Dispatcher) names() string {
	if len(d.targets) == 0 {
		return "none"
	}
	return strings.Join(slices.Sorted(maps.Keys(d.targets)), ", ")
}

// stop notes that a target wants nothing more, for the page and for people.
func (d *Dispatcher) stop(ctx context.Context, name, why string) {
	m, err := d.store.TargetMark(ctx, name)
	if err == nil {
		m.Name, m.StoppedAt, m.StoppedWhy = name, time.Now(), why
		err = d.store.SetTargetMark(ctx, m)
	}
	if err != nil {
		d.log.ErrorContext(ctx, "noting that a target wants no more failed", "target", name, "cause", err)
	}
}
