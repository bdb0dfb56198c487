package postgres_test

import (
	"fmt"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/landedhq/landed/journal"
)

// TestComments: kept for good, once, with an audit row; never changed.
func TestComments(t *testing.T) {
	t.Parallel()
	d := openDesk(t)
	id := d.parked("mail.send", "talk")
	const hostile = `<img src=x onerror=alert(1)> ' " '); drop table comments; --`
	c := journal.Comment{ID: journal.NewID(time.Now()), EffectID: id, Actor: olivia, Text: hostile}
	for range 2 { // D-01: a double click
		if _, err := d.Comment(t.Context(), c); err != nil {
			t.Fatal(err)
		}
	}
	other := c
	other.Text = "something else, from a form that was sent before"
	if _, err := d.Comment(t.Context(), other); err != nil {
		t.Fatal(err)
	}
	stolen := c
	stolen.Actor = pia
	if _, err := d.Comment(t.Context(), stolen); err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, c := range d.team(id).Comments {
		got = append(got, c.Actor.Name+": "+c.Text)
	}
	want := []string{"Olivia: " + hostile, "Olivia: " + other.Text, "Pia: " + hostile}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if n := d.teamAudit(id, "commented"); n != 3 {
		t.Errorf("%d audit rows", n)
	}
	for _, sql := range []string{"update comments set body = 'x'", "delete from comments", "truncate comments"} {
		if _, err := d.Pool().Exec(t.Context(), sql); err == nil {
			t.Errorf("%s: done", sql)
		}
	}
	for name, bad := range map[string]journal.Comment{
		"empty":    {EffectID: id, Actor: olivia, Text: " \n"},
		"too long": {EffectID: id, Actor: olivia, Text: strings.Repeat("x", journal.MaxCommentBytes+1)},
		"odd":      {EffectID: id, Actor: olivia, Text: "a\x00b"},
		"viewer":   {EffectID: id, Actor: person("Vera", journal.RoleViewer), Text: "hello"},
		"nowhere":  {EffectID: journal.NewID(time.Now()), Actor: olivia, Text: "hello"},
	} {
		if _, err := d.Comment(t.Context(), bad); err == nil {
			t.Errorf("%s: written", name)
		}
	}
	page, err := d.List(t.Context(), journal.ListFilter{})
	if err != nil || page.Team[id].Comments != 3 {
		t.Errorf("in the list: %+v, %v", page.Team[id], err)
	}
	if rows, err := d.VerifyAudit(t.Context()); err != nil {
		t.Errorf("after %d rows: %v", rows, err)
	}
}

// TestD01_CommentSentTwiceAtOnce: one row, one audit row.
func TestD01_CommentSentTwiceAtOnce(t *testing.T) {
	t.Parallel()
	d := openDesk(t)
	id := d.parked("mail.send", "at once")
	c := journal.Comment{ID: journal.NewID(time.Now()), EffectID: id, Actor: olivia, Text: "I called them"}
	var wg sync.WaitGroup
	for range 6 {
		wg.Go(func() {
			if _, err := d.Comment(t.Context(), c); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	if n, m := len(d.team(id).Comments), d.teamAudit(id, "commented"); n != 1 || m != 1 {
		t.Errorf("%d comments, %d audit rows", n, m)
	}
}

// TestPurge_WithATeam: a claim and a snooze go with their effect, words stay.
func TestPurge_WithATeam(t *testing.T) {
	t.Parallel()
	d := openDesk(t)
	id := d.parked("mail.send", "old")
	d.claim(take(id, olivia))
	if _, err := d.Comment(t.Context(), journal.Comment{EffectID: id, Actor: olivia, Text: "looked at it"}); err != nil {
		t.Fatal(err)
	}
	d.snooze(id, time.Hour)
	d.exec(`set session_replication_role = replica;
update effects set state = 'COMMITTED', settled_by = 'worker', parked_reason = '', open_delivery = false, next_look_at = null,
	created_at = created_at - interval '1 year', state_at = state_at - interval '1 year', id = ('0' || substr(id::text, 2))::uuid where id = $1;
update claims set effect_id = ('0' || substr(effect_id::text, 2))::uuid; update snoozes set effect_id = ('0' || substr(effect_id::text, 2))::uuid`, id)
	if n, err := d.Purge(t.Context(), time.Hour, 10); n != 1 || err != nil {
		t.Fatalf("purged %d, %v", n, err)
	}
	if n := d.count("select (select count(*) from claims) + (select count(*) from snoozes)"); n != 0 {
		t.Errorf("%d rows left", n)
	}
	if n := d.count("select count(*) from comments"); n != 1 {
		t.Errorf("%d comments left", n)
	}
}

func TestPresence(t *testing.T) {
	t.Parallel()
	d := openDesk(t)
	id := d.parked("mail.send", "open windows")
	beat := func(who journal.Actor, window string, change ...func(*journal.Beat)) error {
		b := journal.Beat{EffectID: id, Presence: journal.Presence{Window: window, Actor: who}}
		for _, f := range change {
			f(&b)
		}
		return d.Beat(t.Context(), b)
	}
	present := func() (out []string) {
		t.Helper()
		list, err := d.Present(t.Context(), id)
		if err != nil {
			t.Fatal(err)
		}
		for _, p := range list {
			out = append(out, fmt.Sprintf("%s %s %t", p.Actor.Name, p.Window, p.Typing))
		}
		return out
	}
	rows := d.count("select count(*) from audit")
	typing := func(b *journal.Beat) { b.Typing = true }
	for _, err := range []error{beat(olivia, "window-1"), beat(olivia, "window-2"), beat(pia, "window-1"), beat(pia, "window-1", typing)} {
		if err != nil {
			t.Fatal(err)
		}
	}
	if diff := cmp.Diff([]string{"Olivia window-1 false", "Olivia window-2 false", "Pia window-1 true"}, present()); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if err := beat(olivia, "window-1", func(b *journal.Beat) { b.Gone = true }); err != nil {
		t.Fatal(err)
	}
	d.exec("update presence set seen_at = seen_at - interval '61 seconds' where subject = 'pia'")
	if diff := cmp.Diff([]string{"Olivia window-2 false"}, present()); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	for range 40 {
		if err := beat(olivia, "w-"+journal.NewToken()); err != nil {
			t.Fatal(err)
		}
	}
	if n := len(present()); n > 20 {
		t.Errorf("%d windows of one person", n)
	}
	for _, window := range []string{"", "short", strings.Repeat("x", 65), "<script>alert", "Ünicode-window"} {
		if err := beat(olivia, window); err == nil {
			t.Errorf("window %q was noted", window)
		}
	}
	if err := d.Beat(t.Context(), journal.Beat{EffectID: journal.NewID(time.Now()), Presence: journal.Presence{Window: "window-1", Actor: olivia}}); err != nil {
		t.Error(err)
	}
	if n := d.count("select count(*) from presence where effect_id <> $1", id); n != 0 {
		t.Error("a window on an effect that does not exist was noted")
	}
	if d.count("select count(*) from audit") != rows {
		t.Error("presence was audited")
	}
	if err := d.DropOldTeam(t.Context()); err != nil || d.count("select count(*) from presence where subject = 'pia'") != 0 {
		t.Errorf("old windows stay (%v)", err)
	}
}

func TestPeople(t *testing.T) {
	t.Parallel()
	d := openDesk(t)
	sam := person("Sam", journal.RoleViewer)
	d.signIn(sam)
	d.signIn(pia)
	sam.Roles, sam.Name = []journal.Role{journal.RoleApprover}, "Sam S."
	d.signIn(sam)
	for _, kind := range []string{"logout", "refused"} {
		if err := d.RecordAccess(t.Context(), kind, person("Rex"), time.Now(), map[string]string{"refused": "no_role"}[kind]); err != nil {
			t.Fatal(err)
		}
	}
	list, err := d.People(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, p := range list {
		got = append(got, fmt.Sprintf("%s %v", p.Name, p.Roles))
	}
	if diff := cmp.Diff([]string{"Sam S. [approver]", "Pia [operator]"}, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// TestMigration_PeopleOfLiveSessions: whoever is signed in while the schema comes
// is known, and odd rows are passed over.
func TestMigration_PeopleOfLiveSessions(t *testing.T) {
	t.Parallel()
	d := openDesk(t)
	sessions := d.Sessions()
	for i, data := range []string{
		`{"kind":"session","iss":"https://idp.test","sub":"olivia","name":"Olivia","roles":["operator","approver"]}`,
		`{"kind":"used","sub":"marker"}`, "\xff\xfe", `not json`, `{"kind":"session","sub":"odd","roles":"operator"}`, `[1]`,
	} {
		if err := sessions.Save(t.Context(), []byte(fmt.Sprint("token", i)), []byte(data), time.Now().Add(time.Hour)); err != nil {
			t.Fatal(err)
		}
	}
	file, err := os.ReadFile("migrations/00004_team.sql")
	if err != nil {
		t.Fatal(err)
	}
	_, block, _ := strings.Cut(string(file), "do $$")
	block, _, _ = strings.Cut(block, "end $$;")
	if _, err := d.Pool().Exec(t.Context(), "do $$"+block+"end $$"); err != nil {
		t.Fatal(err)
	}
	list, err := d.People(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, p := range list {
		got = append(got, fmt.Sprintf("%s %s %v", p.Subject, p.Name, p.Roles))
	}
	slices.Sort(got)
	if diff := cmp.Diff([]string{"odd  []", "olivia Olivia [operator approver]"}, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}
