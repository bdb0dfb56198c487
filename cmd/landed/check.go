package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/landedhq/landed/cmd/landed/config"
	"github.com/landedhq/landed/cmd/landed/demo"
	"github.com/landedhq/landed/journal"
	"github.com/landedhq/landed/journal/postgres"
	"github.com/landedhq/landed/providers/evidence"
	"github.com/landedhq/landed/providers/resume"
)

type checkCmd struct {
	Config string `required:"" type:"existingfile" help:"The configuration, YAML."`
	Effect string `help:"Say instead what the policy would ask of each way to decide this effect." placeholder:"ID"`
	Groups string `help:"With --effect: the groups of whoever would decide, separated by commas."`
	Live   bool   `help:"Only ask the server that runs with it here whether it is alive: a container's health check."`
}

// Run validates the configuration and tries what it names, one line each. A
// provider is asked for a reference that nobody has, with both controls.
func (c *checkCmd) Run(ctx context.Context, io stdio, log *slog.Logger) error {
	cfg, err := config.Load(c.Config)
	if err != nil {
		return err
	}
	if c.Live {
		return alive(ctx, cfg.Listen)
	}
	if c.Effect != "" {
		return withStore(ctx, c.Config, quiet(log), func(s *postgres.Store) error { return c.explain(ctx, io, s) })
	}
	fmt.Fprintln(io.out, "ok    configuration")
	d, err := newDesk(ctx, cfg, demo.Extras{}, quiet(log))
	if err != nil {
		return err
	}
	defer d.close()
	var failed []error
	try := func(what string, f func(context.Context) error) {
		ctx, cancel := context.WithTimeout(ctx, 30*time.Second)
		defer cancel()
		if err := f(ctx); err != nil {
			fmt.Fprintf(io.out, "FAIL  %s: %v\n", what, err)
			failed = append(failed, fmt.Errorf("%s: %w", what, err))
			return
		}
		fmt.Fprintf(io.out, "ok    %s\n", what)
	}
	try("database", d.store.Ping)
	try("login "+cfg.Login.Issuer, d.login.Check)
	for _, name := range slices.Sorted(slices.Values(d.collector.Providers())) {
		try("provider "+name, func(ctx context.Context) error {
			what, err := d.tryProvider(ctx, name)
			if err == nil {
				fmt.Fprintf(io.out, "      provider %s: %s\n", name, what)
			}
			return err
		})
	}
	for _, t := range d.targets {
		if p, ok := t.(resume.Prober); ok {
			try("resume "+t.Name(), p.Probe)
		}
	}
	if len(failed) > 0 {
		return errors.New("the check failed")
	}
	return nil
}

// explain says what the policy asks of each way to decide one effect.
func (c *checkCmd) explain(ctx context.Context, io stdio, s *postgres.Store) error {
	k, err := s.Case(ctx, c.Effect)
	if err != nil {
		return err
	}
	a := journal.Assess(&k.Snapshot)
	fmt.Fprintf(io.out, "effect %s, %s, tool %s (%s), policy %s, recommended: %s\n", k.Effect.ID, k.Effect.State, k.Effect.Tool, k.Effect.Class, k.Policy.Version, a.Recommend)
	who := journal.Actor{Groups: strings.FieldsFunc(c.Groups, func(r rune) bool { return r == ',' })}
	for _, ch := range journal.Choices() {
		name := string(ch.Verb)
		if ch.Mode != "" {
			name += " " + string(ch.Mode)
		}
		d := journal.Decision{Verb: ch.Verb, Mode: ch.Mode, Actor: who}
		fmt.Fprintf(io.out, "%s: %s\n", name, strings.Join(explained(&k.Snapshot, a, d), "; "))
	}
	return nil
}

// explained lists what stands in the way of d and what the policy asks of it.
func explained(s *journal.Snapshot, a journal.Assessment, d journal.Decision) []string {
	var out []string
	for _, b := range a.Blocks[d.Choice()] {
		text := "blocked: " + b.Code
		if s.Policy.MayOverride(b) {
			d.Overrides = append(d.Overrides, b.Code)
			text = "in the way: " + b.Code + " (a second person may let it pass)"
		}
		if !b.Until.IsZero() {
			text += " until " + stamp(b.Until)
		}
		out = append(out, text)
	}
	ask := s.Policy.Asks(s, &d)
	add := func(on bool, text string) {
		if on {
			out = append(out, text)
		}
	}
	add(ask.Forbidden != "", "forbidden by rule "+strconv.Quote(ask.Forbidden))
	add(ask.NotYours != "", "left to other groups by rule "+strconv.Quote(ask.NotYours))
	add(ask.FourEyes, fmt.Sprintf("a second person approves within %s", s.Policy.ProposalWithin))
	add(ask.FourEyes && d.Actor.InGroup(s.Policy.BreakGlass), "or break-glass, reviewed afterwards")
	add(ask.StepUp, fmt.Sprintf("a login at most %s old", s.Policy.StepUp))
	add(ask.ReasonCodes != nil, fmt.Sprintf("reason code one of %v", ask.ReasonCodes))
	add(ask.EvidenceMaxAge < s.Policy.EvidenceMaxAge, fmt.Sprintf("evidence at most %s old", ask.EvidenceMaxAge))
	add(len(ask.Rules) > 0, "rules: "+strings.Join(ask.Rules, ", "))
	if len(out) == 0 {
		return []string{"open, with a reason"}
	}
	return out
}

// alive asks the server on this machine.
func alive(ctx context.Context, listen string) error {
	host, port, err := net.SplitHostPort(listen)
	if err != nil {
		return fmt.Errorf("listen: %w", err)
	}
	if ip := net.ParseIP(host); host == "" || ip != nil && ip.IsUnspecified() {
		host = "127.0.0.1"
	}
	ctx, cancel := context.WithTimeout(ctx, 4*time.Second)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+net.JoinHostPort(host, port)+"/healthz", nil)
	if err != nil {
		return fmt.Errorf("asking %s: %w", listen, err)
	}
	resp, err := http.DefaultTransport.RoundTrip(req)
	if err != nil {
		return fmt.Errorf("asking the server: %w", err)
	}
	defer resp.Body.Close() //nolint:errcheck // nothing was written
	if resp.StatusCode != http.StatusOK {
		return fmt.Errorf("the server answers %s", resp.Status)
	}
	return nil
}

// trySince is how far back a provider is asked for a reference that nobody has.
const trySince = time.Hour

// tryProvider asks for a reference that nobody has and says what an empty
// answer of this provider is worth. Doubt is no failure: a provider without a
// committed effect has nothing yet that could prove its search.
func (d *desk) tryProvider(ctx context.Context, name string) (string, error) {
	sheet, _ := d.collector.Sheet(name)
	f, _, err := d.collector.Try(ctx, name, journal.RandomRef(), trySince)
	if err != nil {
		return "", err
	}
	believed, reason, why := evidence.Trust(f, sheet)
	switch {
	case believed:
		state, err := d.store.ProviderState(ctx, name)
		if err != nil {
			return "", err
		}
		return fmt.Sprintf("an empty answer is believed, %s after the last request could land", evidence.InForce(sheet, state.Lag)), nil
	case f.Err == nil && (f.Negative.Passed && !f.Positive.Ran && reason == journal.CannotControl || !sheet.Conclusive || sheet.Class == evidence.L6):
		return "an empty answer proves nothing: " + why, nil
	}
	return "", errors.New(why)
}
