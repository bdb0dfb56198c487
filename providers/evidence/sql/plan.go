package sql

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"

	"github.com/landedhq/landed/providers/evidence"
)

// plan is what the server would read for one reference.
type plan struct {
	relations []relation
	blind     []string // why an empty answer of it would prove nothing
}

// relation is one table, or one partition, of a plan.
type relation struct {
	oid, name string
	writable  bool
}

// node is one step of a plan as EXPLAIN writes it.
type node struct {
	Type   string `json:"Node Type"`
	Name   string `json:"Relation Name"`
	Schema string `json:"Schema"`
	Plans  []node `json:"Plans"`
}

// plan reads the plan of the very query: which partitions it touches depends on
// the reference.
func (l *look) plan(ctx context.Context) (plan, error) {
	rows, err := l.s.rows(ctx, "EXPLAIN (VERBOSE, FORMAT JSON) "+l.s.ask, l.param())
	if err != nil {
		return plan{}, err
	}
	var out []struct{ Plan node }
	if len(rows) != 1 || json.Unmarshal(rows[0][0], &out) != nil || len(out) != 1 {
		return plan{}, &evidence.ProviderError{Kind: evidence.FaultBadAnswer, Detail: "PostgreSQL's plan can't be understood"}
	}
	var p plan
	names := []tableName{} // never null in JSON
	root := out[0].Plan
	for _, n := range root.Plans { // the root is the adapter's own limit
		p.walk(n, &names)
	}
	if root.Type != "Limit" {
		p.walk(root, &names)
	}
	if err := l.resolve(ctx, &p, names); err != nil {
		return plan{}, err
	}
	if len(p.relations) == 0 {
		p.cannot("the statement reads no table for this reference")
	}
	return p, nil
}

type tableName struct {
	Schema string `json:"s"`
	Name   string `json:"n"`
}

// walk collects the tables below n, and what hides rows or their source.
func (p *plan) walk(n node, names *[]tableName) {
	switch n.Type {
	case "Foreign Scan":
		p.cannot("it reads a foreign table, and nobody knows whether that is a primary")
	case "Custom Scan":
		p.cannot("it reads through an extension's own scan")
	case "Function Scan", "Table Function Scan":
		p.cannot("it reads from a function, which hides what it reads")
	case "Sample Scan":
		p.cannot("it reads a sample of a table")
	case "Limit":
		p.cannot("a view in it has a limit, which hides rows")
	}
	if t := (tableName{n.Schema, n.Name}); n.Name != "" && !slices.Contains(*names, t) {
		*names = append(*names, t)
	}
	for _, child := range n.Plans {
		p.walk(child, names)
	}
}

func (p *plan) cannot(why string) {
	if !slices.Contains(p.blind, why) {
		p.blind = append(p.blind, why)
	}
}

// resolve finds the tables in the catalog and judges their kinds.
func (l *look) resolve(ctx context.Context, p *plan, names []tableName) error {
	asked, err := json.Marshal(names)
	if err != nil {
		return fmt.Errorf("naming the tables: %w", err)
	}
	rows, err := l.s.rows(ctx, `SELECT c.oid::text, n.nspname || '.' || c.relname, c.relkind::text, c.relpersistence::text,
	has_table_privilege(c.oid, 'INSERT, UPDATE, DELETE, TRUNCATE')::text
FROM json_to_recordset($1::json) AS a(s text, n text)
JOIN pg_catalog.pg_namespace n ON n.nspname = a.s
JOIN pg_catalog.pg_class c ON c.relnamespace = n.oid AND c.relname = a.n`, string(asked))
	if err != nil {
		return err
	}
	for _, r := range rows {
		name := string(r[1])
		p.relations = append(p.relations, relation{oid: string(r[0]), name: name, writable: string(r[4]) == "true"})
		switch kind := string(r[2]); {
		case kind == "m":
			p.cannot(name + " is a materialized view: it shows an older state")
		case kind != "r" && kind != "p" && kind != "f":
			p.cannot(name + " is no table")
		case string(r[3]) == "u":
			p.cannot(name + " is an unlogged table: a crash empties it")
		}
	}
	if len(rows) < len(names) {
		p.cannot("not all tables of the plan are in the catalog")
	}
	return nil
}
