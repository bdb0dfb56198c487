package sql_test

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/landedhq/landed/journal"
	"github.com/landedhq/landed/journal/journaltest"
	"github.com/landedhq/landed/providers/evidence"
	"github.com/landedhq/landed/providers/evidence/sql"
	"github.com/landedhq/landed/providers/evidence/sql/sqltest"
)

func TestMatchHoldsTheMappedColumns(t *testing.T) {
	t.Parallel()
	s := newStore(t)
	for _, row := range []struct {
		status string
		want   journal.MatchState
	}{
		{"paid", journal.MatchEffective}, {"processing", journal.MatchPending}, {"failed", journal.MatchNotEffective}, {"Failed", journal.MatchEffective},
	} {
		ref := journal.RandomRef()
		s.exec("INSERT INTO shop.orders (landed_ref, status, note, amount, created_at) VALUES ($1, $2, '<b>x</b>', 12.50, '2026-03-04 05:06:07.5+02')", ref, row.status)
		a := mustLook(t, s.config(), ref)
		if len(a.Matches) != 1 {
			t.Fatalf("matches %+v", a.Matches)
		}
		m := a.Matches[0]
		want := journal.Match{
			ID: m.ID, URL: "https://shop.example/orders/" + m.ID, Title: "<b>x</b>", Status: row.status, State: row.want,
			At: time.Date(2026, 3, 4, 3, 6, 7, 5e8, time.UTC), Where: "the configured statement's table", Carrier: "column landed_ref",
			Facts: []journal.MatchFact{{Name: "amount", Value: "12.50"}},
		}
		if diff := cmp.Diff(want, m); diff != "" {
			t.Error(diff)
		}
	}
}

func TestReferenceColumnsOfEveryKind(t *testing.T) {
	t.Parallel()
	s := newStore(t)
	for i, row := range []struct {
		column string
		dashed bool
	}{{"uuid", false}, {"uuid", true}, {"text", true}, {"varchar(40)", false}, {"char(32)", false}} {
		ref := journal.RandomRef()
		table := fmt.Sprintf("shop.t%d", i)
		s.exec("CREATE TABLE " + table + " (id int, landed_ref " + row.column + ")")
		s.exec("GRANT SELECT ON " + table + " TO " + reader)
		c := s.config()
		c.Statement, c.Columns, c.Pending, c.NotEffective, c.Dashed = "SELECT id, landed_ref FROM "+table+" WHERE landed_ref = $1", sql.Columns{}, nil, nil, row.dashed
		if a := mustLook(t, c, ref); len(a.Matches) != 0 || unseen(a) != "" {
			t.Errorf("%+v: %+v before the row is there", row, a)
		}
		value := ref
		if row.dashed {
			value = journal.Dashed(ref)
		}
		s.exec("INSERT INTO " + table + " VALUES (1, '" + value + "')")
		if a := mustLook(t, c, ref); len(a.Matches) != 1 {
			t.Errorf("%+v: %+v", row, a)
		}
	}
}

// T-05: a filter that brings other rows is told from one that works.
func TestT05_RowsWithoutTheReferenceAreStrangers(t *testing.T) {
	t.Parallel()
	s := newStore(t)
	ref := journal.RandomRef()
	for _, near := range []string{strings.ToUpper(ref), ref + " ", "x" + ref} {
		s.put(near)
	}
	c := s.config()
	c.Statement = "SELECT id, landed_ref, status, note, created_at, amount FROM shop.orders WHERE landed_ref ILIKE '%' || $1 || '%'"
	a := mustLook(t, c, ref)
	if len(a.Matches) != 0 || a.Unrelated != 3 {
		t.Errorf("matches %d, unrelated %d; want 0 and 3", len(a.Matches), a.Unrelated)
	}
}

func TestMoreRowsThanAreReadMakeTheAnswerIncomplete(t *testing.T) {
	t.Parallel()
	s := newStore(t)
	s.exec("INSERT INTO shop.orders (note) SELECT 'x' FROM generate_series(1, 101)")
	c := s.config()
	c.Statement = "SELECT id, coalesce(landed_ref, '') AS landed_ref, status, note, created_at, amount FROM shop.orders WHERE $1 <> '' || id::text"
	if a := mustLook(t, c, journal.RandomRef()); a.AllPagesRead || a.Unrelated != 100 {
		t.Errorf("all read %v, unrelated %d; want false, 100", a.AllPagesRead, a.Unrelated)
	}
}

// What an uncommitted transaction wrote is invisible, and yet may land.
func TestOpenWriterNeverReadsAsAMiss(t *testing.T) {
	t.Parallel()
	s := newStore(t)
	ref := journal.RandomRef()
	tx, err := s.connect().Begin(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if _, err := tx.Exec(t.Context(), "INSERT INTO shop.orders (landed_ref) VALUES ($1)", ref); err != nil {
		t.Fatal(err)
	}
	c := s.config()
	c.WriterWait = 200 * time.Millisecond
	_, err = look(t, c, ref)
	if pe := fault(t, err); pe.Kind != evidence.FaultUnavailable || !strings.Contains(pe.Detail, "have not ended") || len(pe.Exchanges) == 0 {
		t.Errorf("fault %+v", pe)
	}
	// A writer to another table, and one that reads here, hold nothing up.
	other := newStore(t)
	reading, err := other.connect().Begin(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if _, err := reading.Exec(t.Context(), "CREATE TABLE public.elsewhere AS SELECT id FROM shop.orders"); err != nil {
		t.Fatal(err)
	}
	oc := other.config()
	oc.WriterWait = c.WriterWait
	if a := mustLook(t, oc, ref); len(a.Matches) != 0 {
		t.Errorf("matches %+v", a.Matches)
	}
	// Once it ends, what it wrote is seen.
	c.WriterWait = 20 * time.Second
	found := make(chan evidence.Answer, 1)
	go func() {
		a, err := look(t, c, ref)
		if err != nil {
			t.Error(err)
		}
		found <- a
	}()
	waitUntil(t, func() bool { // the look has begun to wait
		var n int
		err := s.connect().QueryRow(t.Context(), `SELECT count(*) FROM pg_stat_activity WHERE datname = current_database()
			AND application_name = 'landed' AND query LIKE '%pg_locks%'`).Scan(&n)
		return err == nil && n > 0
	})
	if err := tx.Commit(t.Context()); err != nil {
		t.Fatal(err)
	}
	if a := <-found; len(a.Matches) != 1 {
		t.Errorf("matches %+v, want the row that was committed meanwhile", a.Matches)
	}
	_ = reading.Rollback(context.Background())
}

func waitUntil(t *testing.T, done func() bool) {
	t.Helper()
	for deadline := time.Now().Add(20 * time.Second); !done(); {
		if time.Now().After(deadline) {
			t.Fatal("waited in vain")
		}
		select {
		case <-t.Context().Done():
			t.Fatal("the test ended")
		case <-time.After(10 * time.Millisecond):
		}
	}
}

func TestStandbyNeverReadsAsAMiss(t *testing.T) {
	t.Parallel()
	s := newStore(t)
	ref := journal.RandomRef()
	s.put(ref)
	c := s.config()
	primary := journaltest.Cluster(t)
	c.DSN = evidence.Fixed(as(t, sqltest.Standby(t, primary.Binaries().Dir, primary.Dir(), s.dsn), reader))
	if a := mustLook(t, c, journal.RandomRef()); !strings.Contains(unseen(a), "standby") {
		t.Errorf("scopes %+v", a.Scopes)
	}
	if a := mustLook(t, c, ref); len(a.Matches) != 1 || !strings.Contains(unseen(a), "standby") {
		t.Errorf("a row on a standby is a row: %+v", a)
	}
}

// What a statement reads decides whether an empty answer proves anything.
func TestSourcesThatProveNothingNeverReadAsAMiss(t *testing.T) {
	t.Parallel()
	for _, row := range []struct{ name, setup, from, want string }{
		{"view", "CREATE VIEW shop.src AS SELECT * FROM shop.orders", "shop.src", ""},
		{"partitions", "CREATE TABLE shop.src (id int, landed_ref text) PARTITION BY HASH (landed_ref); CREATE TABLE shop.src0 PARTITION OF shop.src FOR VALUES WITH (MODULUS 2, REMAINDER 0); CREATE TABLE shop.src1 PARTITION OF shop.src FOR VALUES WITH (MODULUS 2, REMAINDER 1)", "shop.src", ""},
		{"materialized view", "CREATE MATERIALIZED VIEW shop.src AS SELECT * FROM shop.orders", "shop.src", "materialized view"},
		{"unlogged table", "CREATE UNLOGGED TABLE shop.src (id int, landed_ref text)", "shop.src", "unlogged"},
		{"view with a limit", "CREATE VIEW shop.src AS SELECT * FROM shop.orders LIMIT 1000", "shop.src", "limit"},
		{"function", "CREATE FUNCTION shop.src() RETURNS TABLE (id int, landed_ref text) LANGUAGE plpgsql STABLE AS 'BEGIN END'", "shop.src()", "function"},
		{"sample", "CREATE VIEW shop.src AS SELECT * FROM shop.orders TABLESAMPLE SYSTEM (50)", "shop.src", "sample"},
		{"nothing", "CREATE VIEW shop.src AS SELECT 1 AS id, 'x'::text AS landed_ref", "shop.src", "no table"},
	} {
		t.Run(row.name, func(t *testing.T) {
			t.Parallel()
			s := newStore(t)
			s.exec(row.setup)
			if !strings.HasSuffix(row.from, ")") {
				s.exec("GRANT SELECT ON " + row.from + " TO " + reader)
			}
			c := s.config()
			c.Statement, c.Columns, c.Pending, c.NotEffective = "SELECT id, landed_ref FROM "+row.from+" WHERE landed_ref = $1", sql.Columns{}, nil, nil
			a := mustLook(t, c, journal.RandomRef())
			if row.want == "" && unseen(a) != "" || !strings.Contains(unseen(a), row.want) {
				t.Errorf("unseen %q, want something about %q", unseen(a), row.want)
			}
		})
	}
}

func TestServerRefusesWhatTheTextDidNotShow(t *testing.T) {
	t.Parallel()
	const columns = "id, landed_ref, status, note, created_at, amount"
	for _, row := range []struct {
		name, setup, statement string
		edit                   func(*sql.Config)
		kind                   evidence.FaultKind
		want                   string
	}{
		{"writing WITH", "", "WITH d AS (DELETE FROM shop.orders WHERE landed_ref = $1 RETURNING *) SELECT " + columns + " FROM d", nil, evidence.FaultRefused, "top level"},
		{"function that writes", "CREATE FUNCTION shop.f() RETURNS bigint LANGUAGE sql SECURITY DEFINER AS 'INSERT INTO shop.orders (note) VALUES (1) RETURNING id'; INSERT INTO shop.orders (landed_ref) SELECT $X",
			"SELECT shop.f() AS id, landed_ref, status, note, created_at, amount FROM shop.orders WHERE landed_ref >= left($1, 0)", nil, evidence.FaultRefused, "would write"},
		{"no such table", "", "SELECT id, landed_ref FROM shop.nowhere WHERE landed_ref = $1", nil, evidence.FaultRefused, "does not exist"},
		{"no such column", "", "SELECT id, landed_ref FROM shop.orders WHERE landed_ref = $1", nil, evidence.FaultRefused, `0 columns named "created_at"`},
		{"column twice", "", "SELECT " + columns + ", id FROM shop.orders WHERE landed_ref = $1", nil, evidence.FaultRefused, `2 columns named "id"`},
		{"placeholder is a number", "", "SELECT " + columns + " FROM shop.orders WHERE id = $1", nil, evidence.FaultRefused, "text or uuid"},
		{"time is none", "", "SELECT " + columns + " FROM shop.orders WHERE landed_ref = $1", func(c *sql.Config) { c.Columns.At = "note" }, evidence.FaultRefused, "no timestamp"},
		{"too slow", "INSERT INTO shop.orders (note) VALUES ('x')", "SELECT " + columns + " FROM shop.orders WHERE landed_ref = $1 OR pg_sleep(60) IS NULL", func(c *sql.Config) { c.Timeout = 300 * time.Millisecond }, evidence.FaultUnavailable, "indexed"},
		{"no right", "REVOKE SELECT ON shop.orders FROM " + reader, statement, nil, evidence.FaultForbidden, "lacks a right"},
		{"role may write", "GRANT UPDATE ON shop.orders TO " + reader, statement, nil, evidence.FaultForbidden, "may only SELECT"},
		{"row-level security", "ALTER TABLE shop.orders ENABLE ROW LEVEL SECURITY; CREATE POLICY p ON shop.orders USING (status = 'paid')", statement, nil, evidence.FaultForbidden, "BYPASSRLS"},
		{"id is empty", "ALTER TABLE shop.orders ALTER note DROP NOT NULL; INSERT INTO shop.orders (landed_ref, note) SELECT $X, NULL", statement, func(c *sql.Config) { c.Columns.ID = "note" }, evidence.FaultBadAnswer, "identify"},
	} {
		t.Run(row.name, func(t *testing.T) {
			t.Parallel()
			s := newStore(t)
			ref := journal.RandomRef()
			if row.setup != "" {
				s.exec(strings.ReplaceAll(row.setup, "$X", "'"+ref+"'"))
			}
			c := s.config()
			c.Statement = row.statement
			if row.edit != nil {
				row.edit(&c)
			}
			_, err := look(t, c, ref)
			if pe := fault(t, err); pe.Kind != row.kind || !strings.Contains(pe.Detail, row.want) {
				t.Errorf("fault %v, want %q about %q", pe, row.kind, row.want)
			}
		})
	}
}

func TestSuperuserIsRefused(t *testing.T) {
	t.Parallel()
	s := newStore(t)
	c := s.config()
	c.DSN = evidence.Fixed(s.dsn)
	_, err := look(t, c, journal.RandomRef())
	if pe := fault(t, err); pe.Kind != evidence.FaultForbidden || !strings.Contains(pe.Detail, "superuser") {
		t.Errorf("fault %v", pe)
	}
}

func TestLockedTableNeverReadsAsAMiss(t *testing.T) {
	t.Parallel()
	s := newStore(t)
	c := s.config()
	c.Timeout = 600 * time.Millisecond
	session, err := open(t, c).Session(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer session.Close()
	tx, err := s.connect().Begin(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if _, err := tx.Exec(t.Context(), "LOCK TABLE shop.orders IN ACCESS EXCLUSIVE MODE"); err != nil {
		t.Fatal(err)
	}
	ref := journal.RandomRef()
	_, err = session.Find(t.Context(), evidence.Query{Ref: ref})
	if pe := fault(t, err); pe.Kind != evidence.FaultUnavailable || !strings.Contains(pe.Detail, "locked") {
		t.Errorf("fault %v", pe)
	}
	if err := tx.Rollback(t.Context()); err != nil {
		t.Fatal(err)
	}
	s.put(ref)
	if a, err := session.Find(t.Context(), evidence.Query{Ref: ref}); err != nil || len(a.Matches) != 1 {
		t.Errorf("after the lock the session must answer again: %+v, %v", a, err)
	}
}

func TestClosedSessionRefuses(t *testing.T) {
	t.Parallel()
	session, err := open(t, newStore(t).config()).Session(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if err := session.Close(); err != nil {
		t.Fatal(err)
	}
	if _, err := session.Find(t.Context(), evidence.Query{Ref: journal.RandomRef()}); err == nil {
		t.Error("a closed session answered")
	}
	if err := session.Close(); err != nil {
		t.Errorf("closing twice: %v", err)
	}
}
