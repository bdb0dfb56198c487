package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"os/user"
	"runtime/debug"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/landedhq/landed/cmd/landed/config"
	"github.com/landedhq/landed/journal"
	"github.com/landedhq/landed/journal/postgres"
)

// withStore runs f on the configured database.
func withStore(ctx context.Context, path string, log *slog.Logger, f func(*postgres.Store) error) error {
	cfg, err := config.Load(path)
	if err != nil {
		return err
	}
	store, err := openStore(ctx, cfg, log, nil)
	if err != nil {
		return err
	}
	defer store.Close()
	return f(store)
}

type tokenCmd struct {
	Create tokenCreateCmd `cmd:"" help:"Create a token; its secret is shown once."`
	List   tokenListCmd   `cmd:"" help:"List tokens."`
	Revoke tokenRevokeCmd `cmd:"" help:"End a token."`
}

type tokenCreateCmd struct {
	Config    string   `required:"" type:"existingfile" help:"The configuration, YAML."`
	Name      string   `arg:"" help:"Whose token it is: a worker's name."`
	Namespace []string `help:"Only these namespaces; default all."`
	JSON      bool     `name:"json" help:"Print JSON."`
}

func (c *tokenCreateCmd) Run(ctx context.Context, io stdio, log *slog.Logger) error {
	return withStore(ctx, c.Config, log, func(s *postgres.Store) error {
		id, secret, err := s.CreateToken(ctx, c.Name, c.Namespace, osUser().Subject)
		if err != nil {
			return err
		}
		if c.JSON {
			return printJSON(io, map[string]string{"id": id, "name": c.Name, "token": secret})
		}
		fmt.Fprintf(io.out, "%s\n", secret)
		fmt.Fprintf(io.err, "token %s of %s: keep it, it is not shown again\n", id, c.Name)
		return nil
	})
}

type tokenListCmd struct {
	Config string `required:"" type:"existingfile" help:"The configuration, YAML."`
	JSON   bool   `name:"json" help:"Print JSON."`
}

func (c *tokenListCmd) Run(ctx context.Context, io stdio, log *slog.Logger) error {
	return withStore(ctx, c.Config, log, func(s *postgres.Store) error {
		tokens, err := s.Tokens(ctx)
		if err != nil || c.JSON {
			return errors.Join(err, printJSON(io, tokens))
		}
		w := tabwriter.NewWriter(io.out, 0, 4, 2, ' ', 0)
		fmt.Fprintln(w, "ID\tNAME\tNAMESPACES\tCREATED\tSTATE")
		for _, t := range tokens {
			state, spaces := "live", "all"
			if t.RevokedAt != nil {
				state = "revoked " + stamp(*t.RevokedAt)
			}
			if len(t.Namespaces) > 0 {
				spaces = strings.Join(t.Namespaces, ",")
			}
			fmt.Fprintf(w, "%s\t%s\t%s\t%s\t%s\n", t.ID, t.Name, spaces, stamp(t.CreatedAt), state)
		}
		return w.Flush()
	})
}

type tokenRevokeCmd struct {
	Config string `required:"" type:"existingfile" help:"The configuration, YAML."`
	Token  string `arg:"" help:"Id or name."`
}

func (c *tokenRevokeCmd) Run(ctx context.Context, io stdio, log *slog.Logger) error {
	return withStore(ctx, c.Config, log, func(s *postgres.Store) error { return s.RevokeToken(ctx, c.Token) })
}

type auditCmd struct {
	Export     auditExportCmd     `cmd:"" help:"Print the audit rows, newest first, one JSON body a line."`
	Verify     auditVerifyCmd     `cmd:"" help:"Check that no row was changed, lost or reordered."`
	Checkpoint auditCheckpointCmd `cmd:"" help:"Print the newest row's number and hash, to be kept outside of the database."`
}

type auditExportCmd struct {
	Config string `required:"" type:"existingfile" help:"The configuration, YAML."`
}

func (c *auditExportCmd) Run(ctx context.Context, io stdio, log *slog.Logger) error {
	return withStore(ctx, c.Config, log, func(s *postgres.Store) error {
		for before := int64(0); ; {
			rows, err := s.AuditRows(ctx, before, 500)
			if err != nil || len(rows) == 0 {
				return err
			}
			for _, r := range rows {
				fmt.Fprintf(io.out, "%s\n", r.Body)
			}
			before = rows[len(rows)-1].Seq
			if before == 1 {
				return nil
			}
		}
	})
}

type auditVerifyCmd struct {
	Config string `required:"" type:"existingfile" help:"The configuration, YAML."`
}

func (c *auditVerifyCmd) Run(ctx context.Context, io stdio, log *slog.Logger) error {
	return withStore(ctx, c.Config, log, func(s *postgres.Store) error {
		n, err := s.VerifyAudit(ctx)
		if err != nil {
			return err
		}
		fmt.Fprintf(io.out, "%d audit rows hold\n", n)
		return nil
	})
}

type versionCmd struct{}

func (versionCmd) Run(io stdio) error {
	v := "(devel)"
	if info, ok := debug.ReadBuildInfo(); ok && info.Main.Version != "" {
		v = info.Main.Version
	}
	fmt.Fprintln(io.out, "landed", v)
	return nil
}

// osUser is who acts on the command line: the account, as the system knows it.
func osUser() journal.Actor {
	a := journal.Actor{Issuer: "os", Subject: "unknown", Roles: []journal.Role{journal.RoleOperator}}
	if u, err := user.Current(); err == nil {
		a.Subject, a.Name = u.Username, u.Name
	}
	if a.Name == "" {
		a.Name = a.Subject
	}
	return a
}

func stamp(t time.Time) string { return t.UTC().Format("2006-01-02 15:04:05Z") }

func printJSON(io stdio, v any) error {
	enc := json.NewEncoder(io.out)
	enc.SetIndent("", "  ")
	return enc.Encode(v)
}
