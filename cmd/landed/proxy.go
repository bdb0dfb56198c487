package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/landedhq/landed/cmd/landed/config"
	"github.com/landedhq/landed/journal"
	"github.com/landedhq/landed/journal/client"
	"github.com/landedhq/landed/journal/postgres"
	"github.com/landedhq/landed/journal/worker"
	"github.com/landedhq/landed/journal/worker/httpkey"
)

// proxyCmd puts the HTTP guard in front of a service that has no idempotency of
// its own. Package httpkey says what its clients are told.
type proxyCmd struct {
	Upstream string `required:"" help:"Address of the service to guard. A path in it goes before the request's." placeholder:"URL"`
	Listen   string `help:"Address to listen on, host:port." default:"127.0.0.1:8081" placeholder:"ADDR"`

	Journal string `required:"" xor:"journal" help:"Address of a server (landed serve) whose journal is used." placeholder:"URL"`
	Token   string `help:"Where the token for it is: env:NAME or file:/path." placeholder:"env:NAME"`
	Config  string `required:"" xor:"journal" type:"existingfile" help:"A configuration, YAML, whose database is used without a server between."`

	ToolName  string        `help:"Name of the tool that effects are journaled under; default http.HOST." placeholder:"NAME"`
	Class     string        `help:"How it may be retried: at_most_once, journal_deduped (with --provider) or provider_idempotent (with --key-window)." enum:"at_most_once,journal_deduped,provider_idempotent" default:"at_most_once"`
	Provider  string        `help:"Provider of the server's configuration that is asked for evidence." placeholder:"NAME"`
	KeyWindow time.Duration `help:"For how long the service honours a key of its own (provider_idempotent)." placeholder:"24h"`
	KeyHeader string        `help:"The service's header for that key." default:"Idempotency-Key" placeholder:"NAME"`
	Namespace string        `help:"Namespace of the effects." placeholder:"NAME"`

	Route        []string      `sep:"none" help:"A route to guard, like 'POST /refunds/{id}'; may be given several times. Default: every POST and PATCH." placeholder:"PATTERN"`
	Client       string        `help:"What tells clients apart: credential (a hash of the one they send), header:NAME (set by a gateway that has checked them), or one (there is only one)." default:"credential" placeholder:"WAY"`
	ClientSecret string        `help:"Mixed into the hash of credentials: env:NAME or file:/path. It must not change." placeholder:"env:NAME"`
	MaxBody      int64         `help:"Largest body of a guarded request in bytes: all of it is journaled." default:"262144"`
	Timeout      time.Duration `help:"How long the service may take to answer a guarded request." default:"30s"`
	Wait         time.Duration `help:"How long a request waits for one that runs under the same key, before it is told to come back." placeholder:"5s"`
	Retention    time.Duration `help:"How long the journal keeps what is settled, if it is not for ever: stated to clients. With --config it is known." placeholder:"720h"`
	Desk         string        `help:"Address of the desk, for links to what a person has to decide. Default: the server's." placeholder:"URL"`
}

// Run serves until ctx is done; then requests end first.
func (c *proxyCmd) Run(ctx context.Context, io stdio, log *slog.Logger) error {
	upstream, err := url.Parse(c.Upstream)
	if err != nil {
		return fmt.Errorf("--upstream: %w", err)
	}
	forward, err := httpkey.Forward(upstream, nil, log)
	if err != nil {
		return fmt.Errorf("--upstream: %w", err)
	}
	j, done, err := c.open(ctx, log)
	if err != nil {
		return err
	}
	defer done()
	guard, err := c.guard(j, upstream, log)
	if err != nil {
		return err
	}
	l, err := (&net.ListenConfig{}).Listen(ctx, "tcp", c.Listen)
	if err != nil {
		return fmt.Errorf("listening on %s: %w", c.Listen, err)
	}
	srv := &http.Server{Handler: guard(forward), ReadHeaderTimeout: 5 * time.Second, IdleTimeout: 2 * time.Minute, MaxHeaderBytes: 32 << 10,
		ErrorLog: slog.NewLogLogger(log.Handler(), slog.LevelWarn)}
	fmt.Fprintf(io.out, "landed: proxy ready at http://%s\n", l.Addr())
	return c.serve(ctx, srv, l)
}

// serve runs srv until ctx is done. What was begun by then is brought to its end,
// as long as the service may take for it.
func (c *proxyCmd) serve(ctx context.Context, srv *http.Server, l net.Listener) error {
	failed := make(chan error, 1)
	go func() { failed <- srv.Serve(l) }()
	select {
	case err := <-failed:
		return fmt.Errorf("serving: %w", err)
	case <-ctx.Done():
	}
	stop, cancel := context.WithTimeout(context.WithoutCancel(ctx), c.Timeout+stopWithin)
	defer cancel()
	if err := srv.Shutdown(stop); err != nil {
		_ = srv.Close() // what is cut off counts as unknown
		return fmt.Errorf("stopping: %w", err)
	}
	return nil
}

// open opens the journal; call done in the end. Without --desk, the answers link
// to the desk that belongs to it.
func (c *proxyCmd) open(ctx context.Context, log *slog.Logger) (j worker.Journal, done func(), err error) {
	if c.Journal != "" {
		token, err := named(c.Token, "--token")
		if err != nil {
			return nil, nil, err
		}
		if token == "" {
			return nil, nil, &usageError{errors.New("--journal needs --token")}
		}
		over, err := client.New(client.Config{BaseURL: c.Journal, Token: token, UserAgent: "landed-proxy"})
		if err != nil {
			return nil, nil, err
		}
		if c.Desk == "" {
			c.Desk = c.Journal
		}
		return over, func() {}, nil
	}
	cfg, err := config.Load(c.Config)
	if err != nil {
		return nil, nil, err
	}
	var store *postgres.Store
	if store, err = openStore(ctx, cfg, log, nil); err != nil {
		return nil, nil, err
	}
	if c.Desk == "" {
		c.Desk = cfg.ExternalURL
	}
	if c.Retention == 0 {
		c.Retention = cfg.Retention.D()
	}
	return store, store.Close, nil
}

// named reads a secret that a flag names; "" stays "".
func named(v, flag string) (string, error) {
	if v == "" {
		return "", nil
	}
	if !strings.HasPrefix(v, "env:") && !strings.HasPrefix(v, "file:") {
		return "", &usageError{fmt.Errorf("%s names a secret by env:NAME or file:/path: a command line can be read by others", flag)}
	}
	secret, err := config.Secret(v).Value()
	if err != nil {
		return "", fmt.Errorf("%s: %w", flag, err)
	}
	return secret, nil
}

func (c *proxyCmd) guard(j worker.Journal, upstream *url.URL, log *slog.Logger) (func(http.Handler) http.Handler, error) {
	who, err := c.clients()
	if err != nil {
		return nil, err
	}
	name := c.ToolName
	if name == "" {
		name = "http." + strings.NewReplacer("[", "", "]", "").Replace(upstream.Host)
	}
	return httpkey.New(httpkey.Config{
		Journal: j, Namespace: c.Namespace, Routes: c.Route, Client: who, Tracked: true, KeyHeader: c.KeyHeader,
		Tool:    journal.Tool{Name: name, Class: journal.Class(c.Class), Provider: c.Provider, KeyWindow: c.KeyWindow, ClientTimeout: c.Timeout},
		MaxBody: c.MaxBody, Wait: c.Wait, Retention: c.Retention, DeskURL: c.Desk, Worker: worker.Options{Logger: log},
	})
}

// clients reads --client.
func (c *proxyCmd) clients() (httpkey.ClientFunc, error) {
	name, isHeader := strings.CutPrefix(c.Client, "header:")
	switch {
	case c.Client == "credential":
		secret, err := named(c.ClientSecret, "--client-secret")
		if err != nil || secret == "" {
			return httpkey.Credential(nil), err
		}
		return httpkey.Credential([]byte(secret)), nil
	case c.Client == "one":
		return httpkey.OneClient(), nil
	case isHeader && strings.TrimSpace(name) != "":
		return httpkey.Header(strings.TrimSpace(name)), nil
	}
	return nil, &usageError{fmt.Errorf("--client %q is none of credential, header:NAME and one", c.Client)}
}
