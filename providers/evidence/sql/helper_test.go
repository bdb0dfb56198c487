package sql_test

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/landedhq/landed/journal/journaltest"
	"github.com/landedhq/landed/providers/evidence"
	"github.com/landedhq/landed/providers/evidence/sql"
)

func TestMain(m *testing.M) { journaltest.Main(m) }

// password stands in every connection string: the private server asks for none,
// but none may ever show.
const password = "s3cret-Passw0rd"

// reader is the role of the look-up. Roles belong to the whole server, so it is
// made once, by whichever test comes first.
const reader = "landed_reader"

const statement = "SELECT id, landed_ref, status, note, created_at, amount FROM shop.orders WHERE landed_ref = $1"

// shop is the schema of a worker's database.
func shop(ctx context.Context, dsn string) error {
	conn, err := pgx.Connect(ctx, dsn)
	if err != nil {
		return err
	}
	defer conn.Close(ctx)
	migration, err := sql.Table{Schema: "shop", Name: "orders"}.Migration(reader)
	if err != nil {
		return err
	}
	// The constraints go: the tests plant duplicates and near misses on purpose.
	migration = strings.Replace(migration, "UNIQUE INDEX", "INDEX", 1)
	_, err = conn.Exec(ctx, `
DO $$ BEGIN CREATE ROLE `+reader+`; EXCEPTION WHEN duplicate_object OR unique_violation THEN NULL; END $$;
CREATE SCHEMA shop;
CREATE TABLE shop.orders (id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY, status text NOT NULL DEFAULT 'paid',
	note text NOT NULL DEFAULT '', amount numeric NOT NULL DEFAULT 1, created_at timestamptz NOT NULL DEFAULT now());
`+migration+`
ALTER TABLE shop.orders DROP CONSTRAINT orders_landed_ref_check;`)
	return err
}

// store is a worker's database.
type store struct {
	t   *testing.T
	dsn string
}

func newStore(t *testing.T) *store {
	t.Helper()
	return &store{t: t, dsn: journaltest.Database(t, shop)}
}

func (s *store) connect() *pgx.Conn {
	s.t.Helper()
	conn, err := pgx.Connect(s.t.Context(), s.dsn)
	if err != nil {
		s.t.Fatal(err)
	}
	s.t.Cleanup(func() { _ = conn.Close(context.Background()) })
	return conn
}

func (s *store) exec(sql string, args ...any) {
	s.t.Helper()
	conn := s.connect()
	defer conn.Close(context.Background())
	if _, err := conn.Exec(s.t.Context(), sql, args...); err != nil {
		s.t.Fatalf("%s: %v", sql, err)
	}
}

func (s *store) put(ref string) { s.exec("INSERT INTO shop.orders (landed_ref) VALUES ($1)", ref) }

// as returns the connection string of a role. The private server knows one role
// only, so the other is taken on when the connection starts.
func as(t *testing.T, dsn, role string) string {
	t.Helper()
	u, err := url.Parse(dsn)
	if err != nil {
		t.Fatal(err)
	}
	u.User = url.UserPassword(u.User.Username(), password)
	q := u.Query()
	q.Set("options", "-crole="+role)
	u.RawQuery = q.Encode()
	return u.String()
}

func (s *store) config() sql.Config {
	return sql.Config{
		DSN:       evidence.Fixed(as(s.t, s.dsn, reader)),
		Statement: statement,
		Columns:   sql.Columns{At: "created_at", Status: "status", Title: "note", Facts: []string{"amount"}},
		Pending:   []string{"processing"}, NotEffective: []string{"failed"},
		Link: "https://shop.example/orders/{id}", TestMode: true,
	}
}

func open(t *testing.T, c sql.Config) evidence.Adapter {
	t.Helper()
	a, err := c.Open()
	if err != nil {
		t.Fatalf("Open: %v", err)
	}
	return a
}

// look opens a session, asks once and closes it.
func look(t *testing.T, c sql.Config, ref string) (evidence.Answer, error) {
	t.Helper()
	s, err := open(t, c).Session(t.Context())
	if err != nil {
		return evidence.Answer{}, fmt.Errorf("session: %w", err)
	}
	defer s.Close()
	now := time.Now()
	return s.Find(t.Context(), evidence.Query{Ref: ref, From: now.Add(-time.Hour), To: now.Add(time.Hour)})
}

func mustLook(t *testing.T, c sql.Config, ref string) evidence.Answer {
	t.Helper()
	a, err := look(t, c, ref)
	if err != nil {
		t.Fatalf("look: %v", err)
	}
	return a
}

// fault returns the provider error inside err, or ends the test.
func fault(t *testing.T, err error) *evidence.ProviderError {
	t.Helper()
	var pe *evidence.ProviderError
	if !errors.As(err, &pe) {
		t.Fatalf("error %v, want a ProviderError", err)
	}
	return pe
}

// unseen returns the details of the scopes that were not seen.
func unseen(a evidence.Answer) string {
	var out []string
	for _, s := range a.Scopes {
		if !s.Seen {
			out = append(out, s.Name+": "+s.Detail)
		}
	}
	return strings.Join(out, "; ")
}
