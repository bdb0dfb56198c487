package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/landedhq/landed/cmd/landed/config"
	"github.com/landedhq/landed/cmd/landed/demo"
	"github.com/landedhq/landed/journal"
	"github.com/landedhq/landed/providers/evidence"
)

type checkCmd struct {
	Config string `required:"" type:"existingfile" help:"The configuration, YAML."`
}

// Run validates the configuration and tries what it names, one line each. A
// provider is asked for a reference that nobody has.
func (c *checkCmd) Run(ctx context.Context, io stdio, log *slog.Logger) error {
	cfg, err := config.Load(c.Config)
	if err != nil {
		return err
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
