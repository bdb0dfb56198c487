package postgres_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/landedhq/landed/journal"
	"github.com/landedhq/landed/journal/journaltest"
	"github.com/landedhq/landed/journal/postgres"
)

// smallDisk makes a tablespace on a file system of so many megabytes.
func smallDisk(t *testing.T, megabytes int) (tablespace string) {
	t.Helper()
	if os.Geteuid() != 0 {
		journaltest.Missing(t, "root to mount a small file system", "run this test as root, for example in a container")
	}
	c, dir := journaltest.Cluster(t), shortTempDir(t)
	owner := ownerOf(t, filepath.Join(c.Dir(), "data"))
	options := fmt.Sprintf("size=%dm,mode=0700,uid=%d,gid=%d", megabytes, owner.Uid, owner.Gid)
	if err := syscall.Mount("tmpfs", dir, "tmpfs", 0, options); err != nil {
		journaltest.Missing(t, "the right to mount a file system ("+err.Error()+")", "run this test where root may mount")
	}
	name := "small_" + strings.ToLower(journal.NewToken()[:8])
	t.Cleanup(func() { // the database on it went before
		exec := func(sql string) {
			if conn, err := pgx.Connect(context.Background(), c.DSN("postgres")); err == nil {
				_, _ = conn.Exec(context.Background(), sql)
				_ = conn.Close(context.Background())
			}
		}
		exec("drop tablespace if exists " + name)
		_ = syscall.Unmount(dir, syscall.MNT_DETACH)
	})
	runSQL(t, c.DSN("postgres"), "create tablespace "+name+" location '"+dir+"'")
	return name
}

func runSQL(t *testing.T, dsn string, statements ...string) {
	t.Helper()
	conn, err := pgx.Connect(t.Context(), dsn)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = conn.Close(context.WithoutCancel(t.Context())) }()
	for _, sql := range statements {
		if _, err := conn.Exec(t.Context(), sql); err != nil {
			t.Fatalf("%s: %v", sql, err)
		}
	}
}

// TestDiskFull fills the disk under the journal: begin fails closed and says
// that the journal can't serve, what was acknowledged stays, and everything
// goes on once there is room.
func TestDiskFull(t *testing.T) {
	t.Parallel()
	space := smallDisk(t, 48)
	dsn := journaltest.Database(t, postgres.Migrate)
	cfg, err := pgx.ParseConfig(dsn)
	if err != nil {
		t.Fatal(err)
	}
	runSQL(t, journaltest.Cluster(t).DSN("postgres"), "alter database "+cfg.Database+" set tablespace "+space)
	s, err := postgres.Open(t.Context(), dsn, postgres.Options{Policy: journal.DefaultPolicy(), MaxConns: 4})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.Close)
	d := &desk{Store: s, t: t, dsn: dsn}
	if err := s.RegisterTool(t.Context(), journal.Tool{Name: "mail.send", Class: journal.ClassAtMostOnce, ClientTimeout: time.Second}); err != nil {
		t.Fatal(err)
	}
	before := request("mail.send", "before")
	granted := d.begin(before)
	runSQL(t, dsn, "create table filler (x bytea)", "alter table filler alter x set storage plain")
	for step := 1000; step > 0; { // in smaller and smaller steps, until not a page is left
		if _, err := s.Pool().Exec(t.Context(), "insert into filler select decode(repeat('00', 7000), 'hex') from generate_series(1, $1::int)", step); err != nil {
			step /= 10
		}
	}
	var full error
	acked := 0
	for n := 0; full == nil && n < 10_000; n++ {
		r := request("mail.send", fmt.Sprint("while-", n))
		if _, full = s.Begin(t.Context(), r); full == nil {
			acked++
		}
	}
	if !errors.Is(full, journal.ErrUnavailable) {
		t.Errorf("on a full disk begin says %v, want that the journal can't be reached", full)
	}
	if n := d.count("select count(*) from effects"); n != acked+1 {
		t.Errorf("%d rows, %d begins were acknowledged", n, acked+1)
	}
	c := journal.CommitRequest{Report: report(before, granted), ProviderID: "p-1", Result: make([]byte, 512<<10)}
	if _, err := s.Commit(t.Context(), c); !errors.Is(err, journal.ErrUnavailable) {
		t.Errorf("on a full disk a commit with a large result says %v", err)
	}
	runSQL(t, dsn, "drop table filler")
	if a, err := s.Commit(t.Context(), c); err != nil || a.State != journal.StateCommitted {
		t.Errorf("with room again the commit answers %s, %v", a.State, err)
	}
	d.begin(request("mail.send", "after"))
}
