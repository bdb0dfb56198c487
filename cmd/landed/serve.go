package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"time"

	"github.com/landedhq/landed/cmd/landed/config"
	"github.com/landedhq/landed/cmd/landed/demo"
	"github.com/landedhq/landed/cmd/landed/jobs"
	"github.com/landedhq/landed/journal/postgres"
)

type serveCmd struct {
	Config    string `required:"" type:"existingfile" help:"The configuration, YAML."`
	NoMigrate bool   `help:"Do not bring the schema up to date first."`
}

// Run serves until ctx is done.
func (c *serveCmd) Run(ctx context.Context, log *slog.Logger) error {
	cfg, err := config.Load(c.Config)
	if err != nil {
		return err
	}
	if !c.NoMigrate {
		if err := migrate(ctx, cfg, log); err != nil {
			return err
		}
	}
	l, err := (&net.ListenConfig{}).Listen(ctx, "tcp", cfg.Listen)
	if err != nil {
		return fmt.Errorf("listening on %s: %w", cfg.Listen, err)
	}
	return serve(ctx, cfg, l, demo.Extras{}, log)
}

type migrateCmd struct {
	Config string `required:"" type:"existingfile" help:"The configuration, YAML."`
}

// Run migrates the journal's and the jobs' tables.
func (c *migrateCmd) Run(ctx context.Context, log *slog.Logger) error {
	cfg, err := config.Load(c.Config)
	if err != nil {
		return err
	}
	return migrate(ctx, cfg, log)
}

func migrate(ctx context.Context, cfg *config.Config, log *slog.Logger) error {
	dsn, err := cfg.Database.Value()
	if err != nil {
		return fmt.Errorf("database: %w", err)
	}
	if err := postgres.Migrate(ctx, dsn); err != nil {
		return err
	}
	store, err := openStore(ctx, cfg, log, nil)
	if err != nil {
		return err
	}
	defer store.Close()
	return jobs.Migrate(ctx, store.Pool())
}

// stopWithin is how long requests and background rounds get to end.
const stopWithin = 20 * time.Second

// serve runs a migrated desk on l until ctx is done; then requests and rounds
// end first.
func serve(ctx context.Context, cfg *config.Config, l net.Listener, x demo.Extras, log *slog.Logger) error {
	defer l.Close() //nolint:errcheck // the server closes it first
	d, err := newDesk(ctx, cfg, x, log)
	if err != nil {
		return err
	}
	defer d.close()
	if err := d.registerTools(ctx); err != nil {
		return err
	}
	if err := d.guard(ctx); err != nil { // before anything is granted
		return err
	}
	e, err := d.routes()
	if err != nil {
		return err
	}
	// The rounds end by Stop, after the requests: not with ctx.
	runner, err := jobs.Start(context.WithoutCancel(ctx), d.store.Pool(), d.tasks(), quiet(log))
	if err != nil {
		return err
	}
	var h http.Handler = e
	if x.Wrap != nil {
		h = x.Wrap(e)
	}
	srv := &http.Server{Handler: h, ReadHeaderTimeout: 5 * time.Second, IdleTimeout: 2 * time.Minute, MaxHeaderBytes: 32 << 10,
		ErrorLog: slog.NewLogLogger(log.Handler(), slog.LevelWarn)}
	srv.RegisterOnShutdown(d.api.Close) // long polls end: their clients ask again
	failed := make(chan error, 1)
	go func() { failed <- srv.Serve(l) }()
	log.Info("serving", "address", l.Addr().String(), "external_url", cfg.ExternalURL)
	select {
	case err = <-failed:
	case <-ctx.Done():
	}
	stop, cancel := context.WithTimeout(context.WithoutCancel(ctx), stopWithin)
	defer cancel()
	if serr := srv.Shutdown(stop); serr != nil {
		_ = srv.Close() // a long poll may be left: its client asks again
	}
	if jerr := runner.Stop(stop); jerr != nil && err == nil {
		err = jerr
	}
	if errors.Is(err, http.ErrServerClosed) {
		return nil
	}
	return err
}

// quiet keeps River's own log to what matters.
func quiet(log *slog.Logger) *slog.Logger {
	return slog.New(levelAtLeast{log.Handler(), slog.LevelWarn})
}

type levelAtLeast struct {
	slog.Handler
	least slog.Level
}

func (h levelAtLeast) Enabled(ctx context.Context, l slog.Level) bool {
	return l >= h.least && h.Handler.Enabled(ctx, l)
}

func (h levelAtLeast) WithAttrs(a []slog.Attr) slog.Handler {
	return levelAtLeast{h.Handler.WithAttrs(a), h.least}
}

func (h levelAtLeast) WithGroup(n string) slog.Handler {
	return levelAtLeast{h.Handler.WithGroup(n), h.least}
}
