package sql

import (
	"errors"
	"fmt"
	"strings"

	"github.com/landedhq/landed/journal"
)

// Table names a table, with its schema, as the worker's migrations know it.
type Table struct {
	Schema, Name string
	Columns      Columns // Ref and ID default as in Config
}

// Migration returns the DDL that gives the table its reference column and
// protects it: the unique index makes a second row of the same effect fail with
// SQLSTATE 23505, whoever sends it, and makes the look-up one index access. role
// is the look-up's role, which gets SELECT and nothing else; empty = no grant.
func (t Table) Migration(role string) (string, error) {
	t, err := t.check()
	if err != nil {
		return "", err
	}
	ref, table := quoteName(t.Columns.Ref), t.qualified()
	out := fmt.Sprintf("ALTER TABLE %s ADD COLUMN %s text CHECK (%s ~ '^[0-9a-f]{32}$');\n", table, ref, ref) +
		fmt.Sprintf("CREATE UNIQUE INDEX ON %s (%s);\n", table, ref)
	if role != "" {
		if err := checkColumn(role); err != nil {
			return "", fmt.Errorf("sql: role: %w", err)
		}
		out += fmt.Sprintf("GRANT USAGE ON SCHEMA %s TO %s;\nGRANT SELECT ON %s TO %s;\n", quoteName(t.Schema), quoteName(role), table, quoteName(role))
	}
	return out, nil
}

// Lookup returns the statement for Config.
func (t Table) Lookup() (string, error) {
	t, err := t.check()
	if err != nil {
		return "", err
	}
	names := t.Columns.all()
	for i, n := range names {
		names[i] = quoteName(n)
	}
	return fmt.Sprintf("SELECT %s FROM %s WHERE %s = $1", strings.Join(names, ", "), t.qualified(), quoteName(t.Columns.Ref)), nil
}

// Value returns what a worker writes into the reference column, and is all that
// it must get right: in the same transaction as the effect's own rows, so that
// both commit or neither does. A row that is written afterwards, or by another
// connection, proves nothing.
func Value(ref string) (string, error) {
	if !journal.ValidRef(ref) {
		return "", errors.New("sql: the reference is not 32 lower-case hex digits")
	}
	return ref, nil
}

func (t Table) check() (Table, error) {
	c := Config{Columns: t.Columns}.withDefaults()
	t.Columns = c.Columns
	for _, name := range append([]string{t.Schema, t.Name}, t.Columns.all()...) {
		if name == "" {
			return t, errors.New("sql: schema and table must be named")
		}
		if err := checkColumn(name); err != nil {
			return t, fmt.Errorf("sql: %w", err)
		}
	}
	return t, nil
}

func (t Table) qualified() string { return quoteName(t.Schema) + "." + quoteName(t.Name) }
