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
	"github.com/landedhq/landed/journal"
	"github.com/landedhq/landed/providers/evidence"
)

type checkCmd struct {
	Config string `required:"" type:"existingfile" help:"The configuration, YAML."`
	Live   bool   `help:"Only ask the server that runs with it here whether it is alive: a container's health check."`
}

// Run validates the configuration and tries what it names, one line each. A
// provider is asked for a reference that nobody has.
func (c *checkCmd) Run(ctx context.Context, io stdio, log *slog.Logger) error {
	cfg, err := config.Load(c.Config)
	if err != nil {
		return err
	}
	if c.Live {
		return alive(ctx, cfg.Listen)
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
	for name, a := range d.adapters {
		try("provider "+name, func(ctx context.Context) error { return tryAdapter(ctx, a) })
	}
	if len(failed) > 0 {
		return errors.New("the check failed")
	}
	return nil
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

func tryAdapter(ctx context.Context, a evidence.Adapter) error {
	s, err := a.Session(ctx)
	if err != nil {
		return err
	}
	defer func() { _ = s.Close() }()
	ans, err := s.Find(ctx, evidence.Query{Ref: journal.RandomRef(), From: time.Now().Add(-time.Hour), To: time.Now()})
	if err != nil {
		return err
	}
	if n := len(ans.Matches) + ans.Unrelated; n > 0 {
		return fmt.Errorf("a reference that nobody has brought %d rows: the filter is not honoured", n)
	}
	for _, sc := range ans.Scopes {
		if !sc.Seen {
			return fmt.Errorf("%s can't be seen: %s", sc.Name, sc.Detail)
		}
	}
	return nil
}
