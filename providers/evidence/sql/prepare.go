package sql

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/jackc/pgx/v5/pgconn"

	"github.com/landedhq/landed/journal"
	"github.com/landedhq/landed/providers/evidence"
)

// The object ids of the types that the adapter knows by name
// (PostgreSQL's catalog pg_type, fixed since its first versions).
const (
	oidText        = 25
	oidBPChar      = 1042
	oidVarchar     = 1043
	oidTimestamp   = 1114
	oidTimestamptz = 1184
	oidUUID        = 2950
)

// prepare has the server check the statement: it is a query, $1 is a reference,
// the columns are there, and the role can do no harm.
func (s *session) prepare(ctx context.Context) error {
	err := s.readOnly(ctx, func(ctx context.Context) error {
		desc, err := s.conn.Prepare(ctx, "", describing(s.a.cfg.Statement), nil)
		if err != nil {
			return err
		}
		if err := s.describe(desc); err != nil {
			return err
		}
		l := &look{s: s, ref: journal.RandomRef()}
		p, err := l.plan(ctx)
		if err != nil {
			return err
		}
		return s.checkRole(ctx, p)
	})
	if err != nil {
		return asProviderError(err)
	}
	return nil
}

func refused(format string, args ...any) error {
	return &evidence.ProviderError{Kind: evidence.FaultRefused, Detail: fmt.Sprintf(format, args...)}
}

// describe checks what the server says about the statement.
func (s *session) describe(desc *pgconn.StatementDescription) error {
	if len(desc.ParamOIDs) != 1 {
		return refused("the statement has %d placeholders, one is wanted", len(desc.ParamOIDs))
	}
	dashed := s.a.cfg.Dashed
	switch s.param = desc.ParamOIDs[0]; s.param {
	case oidText, oidVarchar, oidBPChar:
	case oidUUID:
		dashed = true
	default:
		return refused("the statement takes $1 as something else than text or uuid: compare it with the reference column itself")
	}
	s.isRef = func(text, ref string) bool { return text == ref }
	if dashed {
		s.isRef = func(text, ref string) bool { return text == journal.Dashed(ref) }
	}
	count, types := map[string]int{}, map[string]uint32{}
	for _, f := range desc.Fields {
		count[f.Name]++
		types[f.Name] = f.DataTypeOID
	}
	for _, name := range s.a.cfg.Columns.all() {
		if count[name] != 1 {
			return refused("the statement has %d columns named %q, one is wanted", count[name], name)
		}
	}
	if at := s.a.cfg.Columns.At; at != "" && !slices.Contains([]uint32{oidTimestamp, oidTimestamptz}, types[at]) {
		return refused("column %q is no timestamp", at)
	}
	return nil
}

// checkRole refuses a role that could write to what the statement reads.
func (s *session) checkRole(ctx context.Context, p plan) error {
	rows, err := s.rows(ctx, "SELECT current_setting('is_superuser'), current_user")
	if err != nil {
		return err
	}
	if len(rows) != 1 || string(rows[0][0]) == "on" {
		return &evidence.ProviderError{Kind: evidence.FaultForbidden,
			Detail: "the connection string is a superuser's: create a role that may only SELECT from the tables of the statement"}
	}
	var writable []string
	for _, r := range p.relations {
		if r.writable {
			writable = append(writable, r.name)
		}
	}
	if len(writable) > 0 {
		return &evidence.ProviderError{Kind: evidence.FaultForbidden,
			Detail: fmt.Sprintf("role %s may write to %s: create a role that may only SELECT", rows[0][1], strings.Join(writable, ", "))}
	}
	return nil
}
