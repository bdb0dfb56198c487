package sql_test

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/landedhq/landed/journal"
	"github.com/landedhq/landed/providers/evidence"
	"github.com/landedhq/landed/providers/evidence/sql"
)

func goodConfig() sql.Config {
	return sql.Config{DSN: evidence.Fixed("postgres://r@/d?host=/tmp"), Statement: statement, Columns: sql.Columns{Status: "status"}}
}

func TestConfigIsChecked(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name string
		edit func(*sql.Config)
		want string // part of the error; empty = accepted
	}{
		{"good", func(*sql.Config) {}, ""},
		{"no connection string", func(c *sql.Config) { c.DSN = nil }, "dsn is not set"},
		{"no statement", func(c *sql.Config) { c.Statement = " ; " }, "statement is not set"},
		{"column with a control character", func(c *sql.Config) { c.Columns.ID = "a\n" }, "no name of a column"},
		{"column beyond ASCII", func(c *sql.Config) { c.Columns.Title = "名前" }, ""},
		{"status list without status", func(c *sql.Config) { c.Columns.Status, c.Pending = "", []string{"open"} }, "need columns.status"},
		{"status in both lists", func(c *sql.Config) { c.Pending, c.NotEffective = []string{"x"}, []string{"x"} }, "both in"},
		{"link", func(c *sql.Config) { c.Link = "https://shop.example/o/{id}?x=1" }, ""},
		{"link in the clear", func(c *sql.Config) { c.Link = "http://shop.example/{id}" }, "no https"},
		{"link without id", func(c *sql.Config) { c.Link = "https://shop.example/" }, "lacks {id}"},
		{"link with the id as its host", func(c *sql.Config) { c.Link = "https://{id}.example/" }, "in its host"},
		{"link that runs script", func(c *sql.Config) { c.Link = "javascript:alert({id})" }, "no https"},
		{"negative retention", func(c *sql.Config) { c.Retention = -time.Hour }, "retention"},
		{"time-out of nothing", func(c *sql.Config) { c.Timeout = time.Nanosecond }, "timeout"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			cfg := goodConfig()
			c.edit(&cfg)
			_, err := cfg.Open()
			checkError(t, err, c.want)
		})
	}
}

func checkError(t *testing.T, err error, want string) {
	t.Helper()
	switch {
	case want == "" && err != nil:
		t.Errorf("refused: %v", err)
	case want != "" && (err == nil || !strings.Contains(err.Error(), want)):
		t.Errorf("error %v, want something about %q", err, want)
	}
}

func TestConfigReportsEverythingAtOnce(t *testing.T) {
	t.Parallel()
	_, err := sql.Config{Pending: []string{"x"}}.Open()
	for _, want := range []string{"dsn", "statement", "pending"} {
		checkError(t, err, want)
	}
}

func TestStatementIsCheckedWithoutAServer(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ name, statement, want string }{
		{"with", `WITH a AS (SELECT 1) SELECT id, landed_ref FROM o WHERE landed_ref = $1`, ""},
		{"joins, quotes and a semicolon at the end", `SELECT "o;"."limit" AS id, 'a;--'';' FROM "o;" WHERE $1 = landed_ref AND x IN (SELECT 2);`, "comment"},
		{"quoted words", `SELECT "limit" AS id, 'for; (' AS x FROM o WHERE landed_ref = $1;`, ""},
		{"union", `SELECT id, landed_ref FROM o WHERE landed_ref = $1 UNION ALL SELECT id, landed_ref FROM p WHERE landed_ref = $1`, ""},
		{"two statements", `SELECT 1 FROM o WHERE r = $1; DROP TABLE o`, "semicolon"},
		{"no select", `DELETE FROM o WHERE r = $1 RETURNING id`, "no SELECT"},
		{"explain", `EXPLAIN ANALYZE SELECT $1`, "no SELECT"},
		{"values", `VALUES ($1)`, "no SELECT"},
		{"in parentheses", `(SELECT $1)`, ""},
		{"no placeholder", `SELECT id FROM o`, "no $1"},
		{"placeholder in quotes", `SELECT id FROM o WHERE r = '$1'`, "no $1"},
		{"second placeholder", `SELECT id FROM o WHERE r = $1 AND x = $2`, "placeholder $2"},
		{"placeholder that begins like ours", `SELECT id FROM o WHERE r = $11`, "placeholder $11"},
		{"limit", `SELECT id FROM o WHERE r = $1 LIMIT 1`, "LIMIT"},
		{"fetch", `SELECT id FROM o WHERE r = $1 FETCH FIRST ROW ONLY`, "FETCH"},
		{"offset", `SELECT id FROM o WHERE r = $1 offset 1`, "OFFSET"},
		{"distinct", `SELECT DISTINCT ON (r) id, r FROM o WHERE r = $1`, "DISTINCT"},
		{"grouped", `SELECT max(id), r FROM o WHERE r = $1 GROUP BY r`, "GROUP"},
		{"locking", `SELECT id FROM o WHERE r = $1 FOR UPDATE`, "FOR"},
		{"into", `SELECT id INTO copy FROM o WHERE r = $1`, "INTO"},
		{"out of the parentheses", `SELECT id FROM o WHERE r = $1) x, (SELECT 1`, "did not open"},
		{"open parenthesis", `SELECT (id FROM o WHERE r = $1`, "not closed"},
		{"open quote", `SELECT 'id FROM o WHERE r = $1`, "quote that is not closed"},
		{"dollar quote", `SELECT $$a$$ FROM o WHERE r = $1`, "dollar quote"},
		{"tagged dollar quote", `SELECT $a$x$a$ FROM o WHERE r = $1`, "dollar quote"},
		{"line comment", "SELECT id FROM o WHERE r = $1 -- x", "comment"},
		{"block comment", "SELECT id /* x */ FROM o WHERE r = $1", "comment"},
		{"escape string", `SELECT E'\'' FROM o WHERE r = $1`, "backslash"},
		{"NUL", "SELECT id FROM o WHERE r = $1\x00", "UTF-8"},
		{"endless", "SELECT id FROM o WHERE r = $1" + strings.Repeat(" OR true", 2000), "longer"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			cfg := goodConfig()
			cfg.Statement = c.statement
			_, err := cfg.Open()
			checkError(t, err, c.want)
		})
	}
}

func TestConnectionStringIsChecked(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ name, dsn, want string }{
		{"no host", "postgres://u@/d", "its host"},
		{"no user", "postgres://127.0.0.1/d", "its user"},
		{"no database", "postgres://u@127.0.0.1/", "its dbname"},
		{"pairs without database", "host=127.0.0.1 user=u", "its dbname"},
		{"nothing", "", "its host"},
		{"unreadable", "postgres://u:" + password + "@127.0.0.1:x/d", "no URL"},
		{"unreadable pairs", "host=127.0.0.1 user=u dbname=d password='" + password, "can't be read"},
		{"network in the clear", "postgres://u:" + password + "@10.1.2.3/d?sslmode=disable", "not be verified"},
		{"network, the default", "postgres://u:" + password + "@db.example/d", "not be verified"},
		{"network, TLS without a name", "postgres://u:" + password + "@db.example/d?sslmode=require", "not be verified"},
		{"one of two hosts in the clear", "host=/tmp,db.example user=u dbname=d sslmode=disable", "not be verified"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			cfg := goodConfig()
			cfg.DSN = evidence.Fixed(c.dsn)
			_, err := open(t, cfg).Session(t.Context())
			checkError(t, err, c.want)
			for e := err; e != nil; e = errors.Unwrap(e) {
				if strings.Contains(e.Error(), password) {
					t.Errorf("the password shows: %v", e)
				}
			}
		})
	}
	cfg := goodConfig()
	cfg.DSN = func() (string, error) { return "", errors.New("vault is sealed") }
	_, err := open(t, cfg).Session(t.Context())
	checkError(t, err, "vault is sealed")
}

func TestSheet(t *testing.T) {
	t.Parallel()
	c := goodConfig()
	c.Retention = 90 * 24 * time.Hour
	want := evidence.Sheet{
		Kind: "sql", Version: "1", Class: evidence.L1, ProcessingHorizon: 5 * time.Minute, Retention: 90 * 24 * time.Hour,
		Scopes: []string{"rows of the configured statement, on the primary"}, Mode: "live", Conclusive: true,
	}
	if diff := cmp.Diff(want, open(t, c).Sheet()); diff != "" {
		t.Error(diff)
	}
}

// The statement and the DDL that a worker's team is given pass the adapter's own
// check and the server's, with names that need quotes.
func TestWriterGuidanceWorksOnTheServer(t *testing.T) {
	t.Parallel()
	s := newStore(t)
	table := sql.Table{Schema: `o"dd`, Name: "Orders; x", Columns: sql.Columns{Ref: "Ref", ID: "select", Facts: []string{"it''s"}}}
	ddl, err := table.Migration(reader)
	if err != nil {
		t.Fatal(err)
	}
	s.exec(`CREATE SCHEMA "o""dd"`)
	s.exec(`CREATE TABLE "o""dd"."Orders; x" ("select" int, "it''s" text)`)
	for line := range strings.SplitSeq(strings.TrimSuffix(ddl, "\n"), "\n") {
		s.exec(line)
	}
	lookup, err := table.Lookup()
	if err != nil {
		t.Fatal(err)
	}
	value, err := sql.Value(journal.RandomRef())
	if err != nil {
		t.Fatal(err)
	}
	const insert = `INSERT INTO "o""dd"."Orders; x" ("select", "Ref", "it''s") VALUES (7, $1, 'fact')`
	s.exec(insert, value)
	c := s.config()
	c.Statement, c.Columns, c.Pending, c.NotEffective = lookup, table.Columns, nil, nil
	a := mustLook(t, c, value)
	if len(a.Matches) != 1 || a.Matches[0].ID != "7" || a.Matches[0].Carrier != "column Ref" {
		t.Errorf("matches %+v", a.Matches)
	}
	for _, bad := range []string{value, strings.ToUpper(journal.RandomRef()), ""} {
		if _, err := s.connect().Exec(t.Context(), insert, bad); err == nil {
			t.Errorf("the table took %q", bad)
		}
	}
	if _, err := sql.Value(strings.ToUpper(value)); err == nil {
		t.Error("an upper-case reference was taken")
	}
	if _, err := (sql.Table{Name: "x"}).Lookup(); err == nil {
		t.Error("a table without schema was taken")
	}
}
