package sql

import (
	"context"
	"fmt"
	"net/url"
	"slices"
	"strings"

	"github.com/landedhq/landed/journal"
	"github.com/landedhq/landed/providers/evidence"
)

// The adapter's kind and version on its capability sheet. Version changes when
// the way of looking does.
const (
	Kind    = "sql"
	Version = "1"
)

const scopeRows = "rows of the configured statement, on the primary"

// Adapter asks one database.
type Adapter struct{ cfg Config }

var _ evidence.Adapter = (*Adapter)(nil)

// Sheet returns the capability sheet. There is no index lag: a primary shows a
// commit to every later statement. Protection against repeats is the table's own
// unique constraint, which no request header names.
func (a *Adapter) Sheet() evidence.Sheet {
	mode := "live"
	if a.cfg.TestMode {
		mode = "test"
	}
	return evidence.Sheet{
		Kind:              Kind,
		Version:           Version,
		Class:             evidence.L1,
		ProcessingHorizon: a.cfg.ProcessingHorizon,
		Retention:         a.cfg.Retention,
		Scopes:            []string{scopeRows},
		Mode:              mode,
		Conclusive:        true,
	}
}

// Session connects and has the server check the statement and the role.
func (a *Adapter) Session(ctx context.Context) (evidence.Session, error) {
	dsn, err := a.cfg.DSN()
	if err != nil {
		return nil, fmt.Errorf("sql: reading the connection string: %w", err)
	}
	conn, err := connect(ctx, dsn, a.cfg)
	if err != nil {
		return nil, err
	}
	s := &session{a: a, conn: conn, ask: looking(a.cfg.Statement, a.cfg.Columns.all())}
	if err := s.prepare(ctx); err != nil {
		_ = s.Close() // the first error says what is wrong
		return nil, err
	}
	return s, nil
}

// state says what a row's status means.
func (c Config) state(status string) journal.MatchState {
	switch {
	case slices.Contains(c.Pending, status):
		return journal.MatchPending
	case slices.Contains(c.NotEffective, status):
		return journal.MatchNotEffective
	}
	return journal.MatchEffective
}

// link is the page of a row for people.
func (c Config) link(id string) string {
	if c.Link == "" {
		return ""
	}
	return strings.ReplaceAll(c.Link, "{id}", url.PathEscape(id))
}
