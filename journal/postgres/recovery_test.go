package postgres_test

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/landedhq/landed/journal"
	"github.com/landedhq/landed/journal/journaltest"
	"github.com/landedhq/landed/journal/postgres"
	"github.com/landedhq/landed/journal/postgres/cluster"
)

// ownCluster is a server of the test's own, which can be stopped and copied.
type ownCluster struct {
	t   *testing.T
	dir string
	pg  *cluster.Cluster
}

func startOwn(t *testing.T, dir string, settings map[string]string) *ownCluster {
	t.Helper()
	pg, err := cluster.Start(t.Context(), cluster.Config{Dir: dir, Settings: settings})
	if errors.Is(err, cluster.ErrNoBinaries) {
		journaltest.Missing(t, "PostgreSQL", "apt-get install --no-install-recommends postgresql")
	}
	if err != nil {
		t.Fatal(err)
	}
	o := &ownCluster{t: t, dir: dir, pg: pg}
	t.Cleanup(func() { _ = pg.Stop() })
	return o
}

func (o *ownCluster) desk() *desk {
	o.t.Helper()
	dsn := o.pg.DSN("postgres")
	o.awaitPrimary(dsn)
	if err := postgres.Migrate(o.t.Context(), dsn); err != nil {
		o.t.Fatal(err)
	}
	s, err := postgres.Open(o.t.Context(), dsn, postgres.Options{Policy: journal.DefaultPolicy(), MaxConns: 4, CanLook: func(p string) bool { return p == "asked" }})
	if err != nil {
		o.t.Fatal(err)
	}
	o.t.Cleanup(s.Close)
	d := &desk{Store: s, t: o.t, dsn: dsn}
	for _, tool := range []journal.Tool{
		{Name: "mail.send", Class: journal.ClassAtMostOnce, Provider: "asked", ClientTimeout: 10 * time.Second},
		{Name: "pay", Class: journal.ClassProviderIdempotent, Provider: "asked", KeyWindow: time.Hour, ClientTimeout: 10 * time.Second},
	} {
		if err := s.RegisterTool(o.t.Context(), tool); err != nil {
			o.t.Fatal(err)
		}
	}
	return d
}

// awaitPrimary waits until a recovery has ended.
func (o *ownCluster) awaitPrimary(dsn string) {
	o.t.Helper()
	c, err := pgx.Connect(o.t.Context(), dsn)
	if err != nil {
		o.t.Fatal(err)
	}
	defer func() { _ = c.Close(context.WithoutCancel(o.t.Context())) }()
	for deadline := time.Now().Add(30 * time.Second); time.Now().Before(deadline); {
		var recovering bool
		if err := c.QueryRow(o.t.Context(), "select pg_is_in_recovery()").Scan(&recovering); err != nil {
			o.t.Fatal(err)
		}
		if !recovering {
			return
		}
		select {
		case <-o.t.Context().Done():
		case <-time.After(50 * time.Millisecond):
		}
	}
	o.t.Fatal("the recovery did not end")
}

// TestRestore drives the quarantine by real restores: a copy of the files from
// before (found by the checkpoint kept elsewhere), and a recovery that ends on
// a new timeline (found by itself).
func TestRestore(t *testing.T) {
	t.Parallel()
	for _, kind := range []string{"files from before", "recovery to a new timeline"} {
		t.Run(kind, func(t *testing.T) {
			t.Parallel()
			base := t.TempDir()
			if err := os.Chmod(filepath.Dir(base), 0o755); err != nil { //nolint:gosec // the server's account has to get in
				t.Fatal(err)
			}
			first := startOwn(t, filepath.Join(base, "a"), nil)
			d := first.desk()
			if why, err := d.CheckIdentity(t.Context(), nil); err != nil || why != "" {
				t.Fatalf("the first look: %q, %v", why, err)
			}
			live := request("mail.send", "live-at-backup")
			granted := d.begin(live)
			held := parked(d, request("mail.send", "ordered-at-backup"))
			d.look(held.EffectID, journal.NotFound)
			d.decide(held.EffectID, journal.VerbReissue, journal.NewKey)
			done := request("mail.send", "done-at-backup")
			d.commit(done, d.begin(done), "p1")
			d.Close()
			if err := first.pg.Stop(); err != nil {
				t.Fatal(err)
			}
			copyTree(t, filepath.Join(base, "a"), filepath.Join(base, "b"))

			// Life goes on: what happens now is lost by the restore.
			again := startOwn(t, filepath.Join(base, "a"), nil)
			d = again.desk()
			d.commit(live, granted, "p-live")
			lost := request("mail.send", "begun-after-backup")
			lostGrant := d.begin(lost)
			closed := parked(d, request("mail.send", "closed-after-backup"))
			d.decide(closed.EffectID, journal.VerbCloseLanded, "")
			kept, err := d.Checkpoint(t.Context())
			if err != nil || kept.Seq < 2 {
				t.Fatalf("checkpoint %+v, %v", kept, err)
			}
			d.Close()
			if err := again.pg.Stop(); err != nil {
				t.Fatal(err)
			}

			settings := map[string]string{}
			if kind != "files from before" {
				settings["restore_command"] = "/bin/false"
				signal(t, filepath.Join(base, "b", "data"))
			}
			restored := startOwn(t, filepath.Join(base, "b"), settings)
			d = restored.desk()
			point := time.Now().Add(-time.Minute)
			var elsewhere *postgres.Checkpoint
			if kind == "files from before" {
				elsewhere = &kept
			}
			why, err := d.CheckIdentity(t.Context(), elsewhere)
			if err != nil || why == "" {
				t.Fatalf("the restore was not noticed: %q, %v", why, err)
			}
			afterRestore(t, d, restoredStory{live: live, granted: granted, lost: lost, lostGrant: lostGrant, done: done, held: held}, point)
		})
	}
}

type restoredStory struct {
	live, lost, done         journal.BeginRequest
	granted, lostGrant, held journal.BeginAnswer
}

// afterRestore: nothing runs before an admin says so; then what was restored
// is parked, late facts find their rows or become orphans, and unknown keys of
// older runs are parked at birth.
func afterRestore(t *testing.T, d *desk, x restoredStory, point time.Time) {
	t.Helper()
	fresh := func(r journal.BeginRequest) journal.BeginRequest { r.ClaimID = journal.NewToken(); return r }
	if _, err := d.Begin(t.Context(), fresh(request("mail.send", "during-quarantine"))); !errors.Is(err, journal.ErrRestored) {
		t.Fatalf("a new effect in quarantine: %v", err)
	}
	if _, err := d.Begin(t.Context(), fresh(x.held2())); !errors.Is(err, journal.ErrRestored) {
		t.Fatalf("an open order in quarantine: %v", err)
	}
	admin := journal.Actor{Issuer: "os", Subject: "root", Name: "Root", Roles: []journal.Role{journal.RoleAdmin}}
	if _, err := d.Recover(t.Context(), admin, time.Now().Add(time.Hour), "tomorrow"); err == nil {
		t.Error("a restore point in the future was taken")
	}
	n, err := d.Recover(t.Context(), admin, point, "restored the backup of this night")
	if err != nil || n != 2 {
		t.Fatalf("recovered %d effects (%v), want the live and the ordered one", n, err)
	}
	for _, id := range []string{x.granted.EffectID, x.held.EffectID} {
		s := d.snap(id)
		if s.Effect.State != journal.StateParked || s.Effect.ParkedReason != journal.ReasonRestored || len(s.Exposed()) == 0 {
			t.Errorf("%s is %s (%s) with %d exposed attempts", s.Effect.Key, s.Effect.State, s.Effect.ParkedReason, len(s.Exposed()))
		}
		if s.Order != nil && s.Order.Ended == "" {
			t.Error("the restored order is still open")
		}
	}
	if a := d.begin(fresh(x.done)); a.Directive != journal.DirectiveReturn || a.ProviderID != "p1" {
		t.Errorf("what was settled before: %+v", a)
	}
	old := fresh(request("mail.send", "unknown-key-of-an-old-run"))
	if a := d.begin(old); a.Directive != journal.DirectiveParked || a.Reason != journal.ReasonRestored {
		t.Errorf("an unknown key without a start time: %s", a.Directive)
	}
	young := fresh(request("mail.send", "key-of-a-new-run"))
	young.RootRunStartedAt = time.Now().Add(time.Minute)
	if a := d.begin(young); a.Directive != journal.DirectiveExecute {
		t.Errorf("a run that began after the recovery: %s", a.Directive)
	}
	if out := d.commit(x.live, x.granted, "p-live"); out.State != journal.StateCommitted || out.Orphan {
		t.Errorf("the late commit of a restored effect: %+v", out)
	}
	if out := d.commit(x.lost, x.lostGrant, "p-lost"); out.State != journal.StateCommitted || !out.Orphan {
		t.Errorf("the commit of an effect that the restore lost: %+v", out)
	}
	if why, err := d.CheckIdentity(t.Context(), nil); err != nil || why != "" {
		t.Errorf("after the recovery: %q, %v", why, err)
	}
	if _, err := d.VerifyAudit(t.Context()); err != nil {
		t.Error(err)
	}
}

func (x restoredStory) held2() journal.BeginRequest { return request("mail.send", "ordered-at-backup") }

func copyTree(t *testing.T, from, to string) {
	t.Helper()
	if out, err := exec.CommandContext(t.Context(), "cp", "-a", from, to).CombinedOutput(); err != nil {
		t.Fatalf("copying the files: %v\n%s", err, out)
	}
}

// signal asks the server to recover from an archive when it starts.
func signal(t *testing.T, data string) {
	t.Helper()
	script := "touch recovery.signal && chown --reference=PG_VERSION recovery.signal"
	cmd := exec.CommandContext(t.Context(), "sh", "-c", script)
	cmd.Dir = data
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("asking for a recovery: %v\n%s", err, strings.TrimSpace(string(out)))
	}
}

// TestClock: a database clock that steps is suspected, and what the clock alone
// would allow waits.
func TestClock(t *testing.T) {
	t.Parallel()
	d := openDesk(t)
	if step, err := d.WatchClock(t.Context()); err != nil || step != 0 {
		t.Fatalf("the first look: %s, %v", step, err)
	}
	r := request("pay", "stuck")
	d.pass(d.begin(r).EffectID, 10*time.Minute)
	deduped := request("ticket.create", "verifying")
	v := d.begin(deduped)
	d.pass(v.EffectID, 10*time.Minute)
	d.sweep()

	d.exec("update journal_meta set clock_high = clock_timestamp() + interval '1 hour'") // as if it stepped back
	if step, err := d.WatchClock(t.Context()); err != nil || step > -50*time.Minute {
		t.Errorf("a step back by an hour: %s, %v", step, err)
	}
	d.look(v.EffectID, journal.Found)
	if s := d.snap(v.EffectID); s.Effect.State == journal.StateCommitted {
		t.Error("evidence settled by policy under a suspected clock")
	}
	r.ClaimID = journal.NewToken()
	if a := d.begin(r); a.Directive == journal.DirectiveExecute {
		t.Error("an automatic attempt was granted under a suspected clock")
	}
	other := request("mail.send", "new")
	if a := d.begin(other); a.Directive != journal.DirectiveExecute {
		t.Errorf("a new effect needs no clock: %s", a.Directive)
	}

	d.exec("update journal_meta set clock_high = clock_timestamp()") // it has caught up
	r2 := request("pay", "stuck again")
	d.pass(d.begin(r2).EffectID, 10*time.Minute)
	r2.ClaimID = journal.NewToken()
	if a := d.begin(r2); a.Directive != journal.DirectiveExecute {
		t.Errorf("after it caught up: %s", a.Directive)
	}
}

// TestPurge: settled effects go with all that is beside them, their keys stay
// refused, and nothing that needs attention is touched.
func TestPurge(t *testing.T) {
	t.Parallel()
	d := openDesk(t)
	year := 365 * 24 * time.Hour
	decided := parked(d, request("mail.send", "decided"))
	d.look(decided.EffectID, journal.Found)
	d.decide(decided.EffectID, journal.VerbCloseLanded, "")
	stuck := parked(d, request("mail.send", "stuck"))
	contra := parked(d, request("mail.send", "contradicted"))
	d.decide(contra.EffectID, journal.VerbCloseNotLanded, "")
	d.look(contra.EffectID, journal.Found)
	young := request("mail.send", "young")
	d.commit(young, d.begin(young), "p")
	for _, id := range []string{decided.EffectID, stuck.EffectID, contra.EffectID} {
		d.pass(id, year)
	}
	if n, err := d.Purge(t.Context(), 30*24*time.Hour, 100); err != nil || n != 0 {
		t.Errorf("purged %d (%v) although nobody picked the resolution up", n, err)
	}
	if err := d.Ack(t.Context(), d.snap(decided.EffectID).Newest.ID); err != nil {
		t.Fatal(err)
	}
	if n, err := d.Purge(t.Context(), 30*24*time.Hour, 100); err != nil || n != 1 {
		t.Fatalf("purged %d (%v), want 1", n, err)
	}
	for _, table := range []string{"effects where id", "attempts where effect_id", "events where effect_id", "evidence where effect_id", "deliveries where effect_id"} {
		if n := d.count("select count(*) from "+table+" = $1", decided.EffectID); n != 0 {
			t.Errorf("%s: %d rows are left", table, n)
		}
	}
	if got := d.rows(decided.EffectID); got != [3]int{1, 0, 1} {
		t.Errorf("decisions, deliveries, audit rows %v: the record of the decision must stay", got)
	}
	r := request("mail.send", "decided")
	if _, err := d.Begin(t.Context(), r); !errors.Is(err, journal.ErrExpired) {
		t.Errorf("J-28: begin on a purged key: %v", err)
	}
	if _, err := d.VerifyAudit(t.Context()); err != nil {
		t.Error(err)
	}
}
