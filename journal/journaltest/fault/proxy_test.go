package fault_test

import (
	"context"
	"errors"
	"net"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/landedhq/landed/journal/journaltest"
	"github.com/landedhq/landed/journal/journaltest/fault"
)

func TestMain(m *testing.M) { journaltest.Main(m) }

// bench is a database with one table, a proxy in front of it, and a direct
// connection to see what really happened.
type bench struct {
	*fault.Proxy
	t      *testing.T
	direct *pgx.Conn
}

func newBench(t *testing.T) *bench {
	t.Helper()
	dsn := journaltest.Database(t, nil)
	p, err := fault.Listen(dsn)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(p.Close)
	b := &bench{Proxy: p, t: t, direct: connect(t, dsn)}
	if _, err := b.direct.Exec(t.Context(), "create table x (n int)"); err != nil {
		t.Fatal(err)
	}
	return b
}

func connect(t *testing.T, dsn string) *pgx.Conn {
	t.Helper()
	c, err := pgx.Connect(t.Context(), dsn)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Close(context.Background()) })
	return c
}

// rows counts what is visible after every session of the proxy has ended.
func (b *bench) rows() int {
	b.t.Helper()
	b.CutAll()
	const others = "select count(*) from pg_stat_activity where datname = current_database() and pid <> pg_backend_pid() and backend_type = 'client backend'"
	for end := time.Now().Add(10 * time.Second); b.scan(others) > 0; {
		if time.Now().After(end) {
			b.t.Fatal("a session does not end")
		}
	}
	return b.scan("select count(*) from x")
}

func (b *bench) scan(sql string) (n int) {
	b.t.Helper()
	if err := b.direct.QueryRow(b.t.Context(), sql).Scan(&n); err != nil {
		b.t.Fatal(err)
	}
	return n
}

func TestProxy_PassesBytesOn(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	c := connect(t, b.DSN())
	want := strings.Repeat("ä\x01long ", 100_000)
	var got string
	if err := c.QueryRow(t.Context(), "select $1::text", want).Scan(&got); err != nil || got != want {
		t.Fatalf("%d bytes came back, %v", len(got), err)
	}
	if _, err := c.Exec(t.Context(), "select 1/0"); err == nil || !strings.Contains(err.Error(), "22012") {
		t.Errorf("the server's own error: %v", err)
	}
}

// TestProxy_Cut is the pair for both protocols: what the server never saw is
// not there, what it ended is, and the client gets an error in either case.
func TestProxy_Cut(t *testing.T) {
	t.Parallel()
	const extended, simple = "insert into x values ($1)", "insert into x values (1)"
	for name, row := range map[string]struct {
		at   fault.Point
		args []any
		want int
	}{
		"extended: before Parse":              {fault.Point{Kind: fault.Parse}, []any{1}, 0},
		"extended: before Bind":               {fault.Point{Kind: fault.Bind}, []any{1}, 0},
		"extended: before Execute":            {fault.Point{Kind: fault.Execute}, []any{1}, 0},
		"extended: after CommandComplete":     {fault.Point{Kind: fault.CommandComplete, After: true}, []any{1}, 1},
		"extended: before ReadyForQuery":      {fault.Point{Kind: fault.ReadyForQuery, SQL: "INSERT INTO", Nth: 2}, []any{1}, 1},
		"simple: before Query":                {fault.Point{Kind: fault.Query, SQL: "insert"}, nil, 0},
		"simple: before CommandComplete":      {fault.Point{Kind: fault.CommandComplete}, nil, 1},
		"any message, the first":              {fault.Point{}, nil, 0},
		"simple: after Query, no answer read": {fault.Point{Kind: fault.ReadyForQuery}, nil, 1},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := newBench(t)
			c := connect(t, b.DSN())
			trap := b.Arm(row.at, fault.Cut())
			sql := simple
			if row.args != nil {
				sql = extended
			}
			if _, err := c.Exec(t.Context(), sql, row.args...); err == nil {
				t.Error("the client got no error")
			}
			if !trap.Met() {
				t.Error("the trap did not spring")
			}
			if n := b.rows(); n != row.want {
				t.Errorf("%d rows, want %d", n, row.want)
			}
		})
	}
}

func TestProxy_NthAndDisarm(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	c := connect(t, b.DSN())
	never := b.Arm(fault.Point{Kind: fault.Query}, fault.Cut())
	never.Disarm()
	third := b.Arm(fault.Point{Kind: fault.Query, SQL: "into X", Nth: 3}, fault.Cut())
	for i := range 3 {
		if _, err := c.Exec(t.Context(), "insert into x values (1)"); (err != nil) != (i == 2) {
			t.Errorf("insert %d: %v", i+1, err)
		}
	}
	if !third.Met() || never.Met() {
		t.Errorf("sprung: %v and %v", third.Met(), never.Met())
	}
}

func TestProxy_Connect(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.Arm(fault.Point{Kind: fault.Startup}, fault.Cut())
	if _, err := pgx.Connect(t.Context(), b.DSN()); err == nil {
		t.Error("the cut connection stands")
	}
	if err := b.Refuse(true); err != nil {
		t.Fatal(err)
	}
	if _, err := pgx.Connect(t.Context(), b.DSN()); !errors.Is(err, syscall.ECONNREFUSED) {
		t.Errorf("while refusing: %v", err)
	}
	if err := b.Refuse(false); err != nil {
		t.Fatal(err)
	}
	connect(t, b.DSN())
	dead, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	_ = dead.Close()
	if err := b.Redirect("postgres://" + dead.Addr().String() + "/x"); err != nil {
		t.Fatal(err)
	}
	if _, err := pgx.Connect(t.Context(), b.DSN()); err == nil {
		t.Error("a server that is gone answered")
	}
}

func TestProxy_HaltAndDelay(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	c := connect(t, b.DSN())
	held := make(chan struct{})
	b.Arm(fault.Point{Kind: fault.Query}, fault.Run(func() { close(held) }))
	b.Arm(fault.Point{Kind: fault.CommandComplete}, fault.Delay(30*time.Millisecond))
	began := time.Now()
	if _, err := c.Exec(t.Context(), "insert into x values (1)"); err != nil || time.Since(began) < 30*time.Millisecond {
		t.Errorf("the delayed answer came after %s, %v", time.Since(began), err)
	}
	<-held
	b.Arm(fault.Point{Kind: fault.CommandComplete}, fault.Halt(0))
	ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
	defer cancel()
	if _, err := c.Exec(ctx, "insert into x values (2)"); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("on a silent connection: %v", err)
	}
	// The server does not learn that the client gave up.
	if n := b.scan("select count(*) from pg_stat_activity where datname = current_database() and pid <> pg_backend_pid() and backend_type = 'client backend'"); n != 1 {
		t.Errorf("%d sessions, want the forgotten one", n)
	}
	if n := b.rows(); n != 2 {
		t.Errorf("%d rows, want both", n)
	}
}
