package main

import (
	"context"
	"fmt"
	"log/slog"
	"maps"
	"net/url"
	"slices"
	"time"

	"github.com/labstack/echo/v4"

	"github.com/landedhq/landed/cmd/landed/config"
	"github.com/landedhq/landed/cmd/landed/demo"
	"github.com/landedhq/landed/cmd/landed/jobs"
	"github.com/landedhq/landed/handlers"
	"github.com/landedhq/landed/handlers/api"
	"github.com/landedhq/landed/handlers/login"
	"github.com/landedhq/landed/journal"
	"github.com/landedhq/landed/journal/decide"
	"github.com/landedhq/landed/journal/postgres"
	"github.com/landedhq/landed/providers/alert"
	"github.com/landedhq/landed/providers/evidence"
	"github.com/landedhq/landed/providers/evidence/graph"
	"github.com/landedhq/landed/providers/evidence/guide"
	"github.com/landedhq/landed/providers/resume"
)

// desk is everything that a configuration wires together.
type desk struct {
	cfg       *config.Config
	log       *slog.Logger
	store     *postgres.Store
	collector *evidence.Collector
	decider   *decide.UseCase
	bulks     *decide.BulkRunner
	login     *login.Login
	notifier  *alert.Notifier
	adapters  map[string]evidence.Adapter
	guides    map[string]guide.Guide
	sinks     []alert.Sink
	targets   []resume.Target
	resumer   *resume.Dispatcher
	api       *api.API
}

// openStore connects to the configured database. handOver, if not nil, hands
// resolutions over within the transaction that records them.
func openStore(ctx context.Context, cfg *config.Config, log *slog.Logger, handOver postgres.InTx) (*postgres.Store, error) {
	dsn, err := cfg.Database.Value()
	if err != nil {
		return nil, fmt.Errorf("database: %w", err)
	}
	return postgres.Open(ctx, dsn, postgres.Options{Policy: cfg.JournalPolicy(), Logger: log, MaxConns: 20, InTx: handOver,
		CanLook: func(provider string) bool { _, ok := cfg.Providers[provider]; return ok }})
}

// newDesk wires a desk; nothing runs yet. Close it.
func newDesk(ctx context.Context, cfg *config.Config, x demo.Extras, log *slog.Logger) (*desk, error) {
	d := &desk{cfg: cfg, log: log}
	var err error
	if d.adapters, err = openAdapters(cfg); err != nil {
		return nil, err
	}
	d.guides = guidesOf(d.adapters, log)
	if d.sinks, err = openSinks(cfg); err != nil {
		return nil, err
	}
	if d.store, err = openStore(ctx, cfg, log, d.handOver); err != nil {
		return nil, err
	}
	if d.targets, err = openTargets(cfg, d.store.Pool()); err != nil {
		d.store.Close()
		return nil, err
	}
	d.collector = evidence.NewCollector(d.store, d.adapters, cfg.Limits(), log)
	d.decider = decide.New(d.store, d.collector, log)
	d.bulks = decide.NewBulkRunner(d.store, d.decider, log)
	if d.notifier, err = alert.New(alert.Config{Store: d.store, Sinks: d.sinks, External: cfg.ExternalURL, Logger: log}); err != nil {
		d.store.Close()
		return nil, err
	}
	if d.resumer, err = resume.New(resume.Config{Store: d.store, Targets: d.targets, Default: cfg.ResumeDefault, External: cfg.ExternalURL, Logger: log}); err != nil {
		d.store.Close()
		return nil, err
	}
	d.api = api.New(api.Config{Store: d.store, Tokens: d.store, Logger: log})
	if d.login, err = openLogin(cfg, d.store, x.LoginClient, log); err != nil {
		d.store.Close()
		return nil, err
	}
	return d, nil
}

func (d *desk) close() { d.store.Close() }

// registerTools makes the configuration's tools known.
func (d *desk) registerTools(ctx context.Context) error {
	for _, t := range d.cfg.Tools {
		if err := d.store.RegisterTool(ctx, t.Journal()); err != nil {
			return fmt.Errorf("registering tool %s: %w", t.Name, err)
		}
	}
	return nil
}

// routes builds the web server's routes.
func (d *desk) routes() (*echo.Echo, error) {
	return handlers.New(handlers.Config{
		Journal: d.store, Decider: pageDecider{d.decider}, Looker: pageLooker{d.collector}, Providers: d.collector, Guides: d.guides, Targets: d.resumer.Targets(), WebhookKeys: d.webhookKeys,
		Login: d.login, API: d.api,
		Actor: login.Actor, FormToken: login.FormToken, FreshLogin: login.FreshURL, ExternalURL: d.cfg.ExternalURL, EvidenceHosts: d.evidenceHosts(),
		Ready: d.store.Ping, Log: d.log,
	})
}

// evidenceHosts are the hosts of the configured providers' pages: evidence links
// there and nowhere else.
func (d *desk) evidenceHosts() []string {
	hosts := []string{"landed.invalid"} // never empty: that would mean any host
	for _, p := range d.cfg.Providers {
		for _, page := range pagesOf(p) {
			if u, err := url.Parse(page); err == nil && u.Hostname() != "" {
				hosts = append(hosts, u.Hostname())
			}
		}
	}
	return hosts
}

// pagesOf are addresses on the hosts where people find a provider's objects.
func pagesOf(p config.Provider) []string {
	switch {
	case p.RT != nil:
		return []string{p.RT.URL}
	case p.SQL != nil:
		return []string{p.SQL.Link}
	case p.Stripe != nil:
		return []string{"https://dashboard.stripe.com"}
	case p.Graph != nil:
		return []string{"https://" + graph.WebHost}
	case p.Zendesk != nil:
		return []string{"https://" + p.Zendesk.Subdomain + ".zendesk.com"}
	case p.Jira != nil:
		return []string{p.Jira.Site}
	case p.Pack != nil:
		return append(slices.Collect(maps.Values(p.Pack.Params)), p.Pack.BaseURL)
	}
	return nil
}

// tasks are the background rounds; each is a compare-and-set by itself.
func (d *desk) tasks() []jobs.Task {
	every := d.cfg.Every.D()
	tasks := []jobs.Task{
		{Name: "sweep", Every: every, Limit: time.Minute, Run: func(ctx context.Context) error {
			_, err := d.store.Sweep(ctx, 200)
			return err
		}},
		{Name: "resume", Every: every, Limit: 2 * time.Minute, Run: d.resumer.Round},
		{Name: "alert", Every: every, Limit: 2 * time.Minute, Run: d.notifier.Run},
		{Name: "clock", Every: 5 * time.Second, Limit: time.Minute, Run: func(ctx context.Context) error {
			_, err := d.store.WatchClock(ctx)
			return err
		}},
		// A round ends soon, but its last item may have to ask a provider.
		{Name: "bulk", Every: every, Limit: 2 * time.Minute, Run: d.bulks.Round},
		{Name: "guard", Every: time.Minute, Limit: time.Minute, Run: d.guard},
		{Name: "tidy", Every: 10 * time.Minute, Limit: 5 * time.Minute, Run: d.tidy},
	}
	for _, provider := range d.collector.Providers() { // each by itself: a slow one holds up no other
		tasks = append(tasks, jobs.Task{Name: "look at " + provider, Every: every, Limit: 3 * time.Minute, Run: func(ctx context.Context) error {
			_, err := d.collector.Round(ctx, provider)
			return err
		}})
	}
	return tasks
}

// guard compares the database with the one that the journal ran on before, and
// keeps the checkpoint up to date while they are the same.
func (d *desk) guard(ctx context.Context) error {
	kept, err := readCheckpoint(d.cfg.CheckpointFile)
	if err != nil {
		return err
	}
	why, err := d.store.CheckIdentity(ctx, kept)
	if err != nil || why != "" || d.cfg.CheckpointFile == "" {
		return err
	}
	now, err := d.store.Checkpoint(ctx)
	if err != nil {
		return err
	}
	return writeCheckpoint(d.cfg.CheckpointFile, now)
}

// purgeBatch is how many effects go in one transaction.
const purgeBatch = 500

// tidy drops old sessions, sets that nobody ordered and, if configured, old settled effects.
func (d *desk) tidy(ctx context.Context) error {
	if err := d.store.Sessions().DropExpired(ctx); err != nil {
		return err
	}
	if err := d.store.DropOldBulks(ctx); err != nil {
		return err
	}
	if err := d.store.DropOldTeam(ctx); err != nil {
		return err
	}
	for keep := d.cfg.Retention.D(); keep > 0 && ctx.Err() == nil; {
		n, err := d.store.Purge(ctx, keep, purgeBatch)
		if err != nil || n < purgeBatch {
			return err
		}
	}
	return ctx.Err()
}

// pageDecider gives the pages the one decision use case.
type pageDecider struct{ u *decide.UseCase }

func (p pageDecider) Decide(ctx context.Context, d journal.Decision) (handlers.DecideResult, error) {
	r, err := p.u.Decide(ctx, d)
	return handlers.DecideResult{Decision: r.Decision, Proposal: r.Proposal, Repeated: r.Repeated}, err
}

func (p pageDecider) Approve(ctx context.Context, a journal.Approval) (handlers.DecideResult, error) {
	r, err := p.u.Approve(ctx, a)
	return handlers.DecideResult{Decision: r.Decision, Repeated: r.Repeated}, err
}

func (p pageDecider) Reject(ctx context.Context, a journal.Approval) error { return p.u.Reject(ctx, a) }

// pageLooker gives the pages the collector.
type pageLooker struct{ c *evidence.Collector }

func (p pageLooker) LookNow(ctx context.Context, id, by string) error {
	_, err := p.c.LookNow(ctx, id, by)
	return err
}
