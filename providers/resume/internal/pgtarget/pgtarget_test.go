package pgtarget_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/landedhq/landed/journal"
	"github.com/landedhq/landed/journal/journaltest"
	"github.com/landedhq/landed/providers/resume"
	"github.com/landedhq/landed/providers/resume/internal/pgtarget"
)

func TestMain(m *testing.M) { journaltest.Main(m) }

func TestFailure(t *testing.T) {
	t.Parallel()
	state := func(code string) error { return fmt.Errorf("inserting: %w", &pgconn.PgError{Code: code}) }
	for _, c := range []struct {
		name string
		err  error
		want journal.HandoverOutcome
	}{
		{"table missing", state("42P01"), journal.HandoverAuth},
		{"schema missing", state("3F000"), journal.HandoverAuth},
		{"column missing", state("42703"), journal.HandoverAuth},
		{"database missing", state("3D000"), journal.HandoverAuth},
		{"no right", state("42501"), journal.HandoverAuth},
		{"wrong password", state("28P01"), journal.HandoverAuth},
		{"odd bytes", state("22P05"), journal.HandoverBadAddress},
		{"a check of the table", state("23514"), journal.HandoverBadAddress},
		{"serialization", state("40001"), journal.HandoverTransient},
		{"deadlock", state("40P01"), journal.HandoverTransient},
		{"shutting down", state("57P01"), journal.HandoverTransient},
		{"too many connections", state("53300"), journal.HandoverTransient},
		{"no connection", errors.New("connection refused"), journal.HandoverTransient},
		{"time over", context.DeadlineExceeded, journal.HandoverTransient},
		{"typed already", fmt.Errorf("x: %w", resume.Fail(journal.HandoverGone, "over")), journal.HandoverGone},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			var f *resume.Failure
			if err := pgtarget.Failure(c.err); !errors.As(err, &f) || f.Outcome != c.want {
				t.Errorf("%v, wanted %s", err, c.want)
			}
		})
	}
	if err := pgtarget.Failure(nil); err != nil {
		t.Errorf("no error became %v", err)
	}
}

func TestCheck(t *testing.T) {
	t.Parallel()
	dsn := func() (string, error) { return "", nil }
	for _, c := range []struct {
		name, want string
		cfg        pgtarget.Config
	}{
		{"whole", "", pgtarget.Config{Name: "a", DSN: dsn, Schema: "s"}},
		{"no name", "name", pgtarget.Config{DSN: dsn, Schema: "s"}},
		{"no database", "either", pgtarget.Config{Name: "a", Schema: "s"}},
		{"two databases", "either", pgtarget.Config{Name: "a", DSN: dsn, Pool: &pgxpool.Pool{}, Schema: "s"}},
		{"no schema", "schema", pgtarget.Config{Name: "a", DSN: dsn}},
		{"schema too long", "schema", pgtarget.Config{Name: "a", DSN: dsn, Schema: strings.Repeat("s", 64)}},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			err := c.cfg.Check()
			if (err == nil) != (c.want == "") || err != nil && !strings.Contains(err.Error(), c.want) {
				t.Errorf("%v, wanted something of %q", err, c.want)
			}
		})
	}
}

// TestWithin_ReadsTheSecretAgain changes the connection string under an open
// target, and looks for the password in what is said.
func TestWithin_ReadsTheSecretAgain(t *testing.T) {
	t.Parallel()
	dsn := journaltest.Database(t, nil)
	secret := "postgres://nobody:wrong@127.0.0.1:1/none?connect_timeout=2"
	db, err := pgtarget.Open(pgtarget.Config{Name: "a", DSN: func() (string, error) { return secret, nil }, Schema: "public"})
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	var f *resume.Failure
	if err := db.Within(t.Context(), func(pgx.Tx) error { return nil }); !errors.As(err, &f) || f.Outcome != journal.HandoverTransient {
		t.Fatalf("nobody listens, and the answer is %v", err)
	} else if strings.Contains(err.Error(), "wrong") {
		t.Errorf("the error tells the password: %v", err)
	}
	secret = "postgres://nobody:wrong@[" // not to be read
	if err := db.Within(t.Context(), func(pgx.Tx) error { return nil }); !errors.As(err, &f) || f.Outcome != journal.HandoverAuth || strings.Contains(err.Error(), "wrong") {
		t.Errorf("a connection string that can't be read: %v", err)
	}
	good, err := pgtarget.Open(pgtarget.Config{Name: "a", DSN: func() (string, error) { return dsn, nil }, Schema: "public"})
	if err != nil {
		t.Fatal(err)
	}
	defer good.Close()
	var n int
	if err := good.Within(t.Context(), func(tx pgx.Tx) error { return tx.QueryRow(t.Context(), "select 1").Scan(&n) }); err != nil || n != 1 {
		t.Errorf("%d, %v", n, err)
	}
	if good.Shared() {
		t.Error("a database of its own counts as the journal's")
	}
}
