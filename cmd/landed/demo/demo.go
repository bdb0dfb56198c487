// Package demo tells the sandbox story: the real desk, worker API, collector
// and alerts on loopback, beside sandbox providers and an agent process that
// really is killed while it sends mails, opens tickets and moves money. After
// some seconds a dozen effects of every class are stuck or parked for real, with
// evidence pulled from the providers, and wait for somebody to decide.
//
// It owns the sandbox (mail server, ticket desk, bank, card processor, identity
// provider, alert inbox), the story and the agent. Everything else is the
// product: the demo writes a configuration and serves it like any other.
package demo

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/landedhq/landed/cmd/landed/config"
	"github.com/landedhq/landed/journal/postgres/cluster"
)

// Options are what the command line gives.
type Options struct {
	Listen      string // host:port; "" = 127.0.0.1:8080 or the next free port
	URL         string // how browsers reach it, if not at Listen
	Data        string // where everything is kept; "" = nowhere, it goes at the end
	PostgresBin string
	Out         io.Writer
	Log         *slog.Logger
	// Executable is this binary, to be started again as the agent.
	Executable string
	// Migrate and Serve are the product's own.
	Migrate func(context.Context, *config.Config, *slog.Logger) error
	Serve   func(context.Context, *config.Config, net.Listener, Extras, *slog.Logger) error
}

// Extras is what the demo adds to a served desk.
type Extras struct {
	// Wrap puts the sandbox in front of the desk's own routes.
	Wrap func(http.Handler) http.Handler
	// LoginClient reaches the identity provider without leaving the process.
	LoginClient *http.Client
}

// readyWithin bounds how long the story may take until the desk has something
// to decide.
const readyWithin = 3 * time.Minute

// Run runs the demo until ctx is done.
func Run(ctx context.Context, o Options) error {
	l, err := listen(ctx, o.Listen)
	if err != nil {
		return err
	}
	defer l.Close() //nolint:errcheck // the server closes it first
	external, err := externalURL(o.URL, l)
	if err != nil {
		return err
	}
	dir, cleanup, err := dataDir(o.Data)
	if err != nil {
		return err
	}
	defer cleanup()
	fmt.Fprintln(o.Out, "landed: starting a private Postgres …")
	// The server outlives ctx: what runs on it ends first.
	pg, err := cluster.Start(context.WithoutCancel(ctx), cluster.Config{Dir: filepath.Join(dir, "postgres"), BinDir: o.PostgresBin, Download: true, Logger: quiet(o.Log)})
	if err != nil {
		return fmt.Errorf("starting Postgres: %w", err)
	}
	defer func() {
		if err := pg.Stop(); err != nil {
			o.Log.Warn("stopping Postgres", "error", err)
		}
	}()
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	go func() {
		select {
		case <-pg.Done():
			cancel(errors.New("the private Postgres ended unexpectedly"))
		case <-ctx.Done():
		}
	}()
	s := &story{o: o, dir: dir, external: external, local: "http://" + l.Addr().String()}
	if err := s.run(ctx, l, pg.DSN("postgres")); err != nil {
		if cause := context.Cause(ctx); cause != nil && !errors.Is(cause, context.Canceled) {
			return cause
		}
		return err
	}
	return nil
}

// listen takes the asked-for address, or the first free port from 8080 on.
func listen(ctx context.Context, addr string) (net.Listener, error) {
	var lc net.ListenConfig
	if addr != "" {
		l, err := lc.Listen(ctx, "tcp", addr)
		if err != nil {
			return nil, fmt.Errorf("listening on %s: %w", addr, err)
		}
		return l, nil
	}
	for port := 8080; port < 8180; port++ {
		l, err := lc.Listen(ctx, "tcp", net.JoinHostPort("127.0.0.1", strconv.Itoa(port)))
		if err == nil {
			return l, nil
		}
		if !errors.Is(err, syscall.EADDRINUSE) {
			return nil, fmt.Errorf("listening on port %d: %w", port, err)
		}
	}
	return nil, errors.New("no port between 8080 and 8179 is free: pick one with --listen")
}

// externalURL is where browsers find the demo.
func externalURL(given string, l net.Listener) (string, error) {
	if given == "" {
		return "http://" + l.Addr().String(), nil
	}
	u, err := url.Parse(given)
	if err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" {
		return "", fmt.Errorf("--url %q must be an address that browsers use, like http://127.0.0.1:9090", given)
	}
	return strings.TrimSuffix(given, "/"), nil
}

// dataDir is where everything is kept; without a name it goes with the demo.
func dataDir(name string) (string, func(), error) {
	if name != "" {
		abs, err := filepath.Abs(name)
		if err != nil {
			return "", nil, fmt.Errorf("--data: %w", err)
		}
		if err := os.MkdirAll(abs, 0o755); err != nil {
			return "", nil, fmt.Errorf("--data: %w", err)
		}
		return abs, func() {}, nil
	}
	dir, err := os.MkdirTemp("", "landed-demo-")
	if err != nil {
		return "", nil, fmt.Errorf("making a folder for the demo: %w", err)
	}
	if err := os.Chmod(dir, 0o755); err != nil { //nolint:gosec // Postgres runs under another account when we are root
		return "", nil, fmt.Errorf("making a folder for the demo: %w", err)
	}
	return dir, func() { _ = os.RemoveAll(dir) }, nil
}

// quiet keeps a component's log to what matters to somebody who watches a demo.
func quiet(log *slog.Logger) *slog.Logger {
	return slog.New(atLeastWarn{log.Handler()})
}

type atLeastWarn struct{ slog.Handler }

func (h atLeastWarn) Enabled(ctx context.Context, l slog.Level) bool {
	return l >= slog.LevelWarn && h.Handler.Enabled(ctx, l)
}
func (h atLeastWarn) WithAttrs(a []slog.Attr) slog.Handler {
	return atLeastWarn{h.Handler.WithAttrs(a)}
}
func (h atLeastWarn) WithGroup(n string) slog.Handler { return atLeastWarn{h.Handler.WithGroup(n)} }
