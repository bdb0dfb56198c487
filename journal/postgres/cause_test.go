package postgres_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/landedhq/landed/journal"
)

// TestCauses: one outage is one line of the list, and its line leads to exactly
// its effects.
func TestCauses(t *testing.T) {
	t.Parallel()
	d := openDesk(t)
	fail := func(tool, key, said string, status int) string {
		r := request(tool, key)
		r.Subject = "subject of " + key
		a := d.begin(r)
		if _, err := d.Fail(t.Context(), journal.FailRequest{Report: report(r, a), Phase: journal.PhaseSent, Error: said, Status: status}); err != nil {
			t.Fatal(err)
		}
		return a.EffectID
	}
	for i := range 3 {
		d.pass(fail("mail.send", fmt.Sprintf("earlier-%d", i), fmt.Sprintf("dial tcp 10.0.0.%d:25: i/o timeout", i), 0), 40*time.Minute)
	}
	var burst []string
	for i := range 4 {
		burst = append(burst, fail("mail.send", fmt.Sprintf("burst-%d", i), fmt.Sprintf("dial tcp 10.0.1.%d:25: i/o timeout", i), 0))
	}
	fail("mail.send", "other", "451 try later", 451)
	stuck := d.begin(request("mail.send", "stuck"))
	d.pass(stuck.EffectID, 10*time.Minute) // its lease is over, and no report came
	page, err := d.Causes(t.Context(), journal.ListFilter{Tool: "mail.send"})
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, g := range page.Groups {
		got = append(got, fmt.Sprintf("%d %s %d %s", g.Count, g.Error, g.Status, g.Sample.Subject))
	}
	want := []string{"4 dial tcp #: i/o timeout 0 subject of burst-0", "3 dial tcp #: i/o timeout 0 subject of earlier-0", "1  0 ", "1 # try later 451 subject of other"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Fatalf("(-want +got):\n%s", diff)
	}
	if page.Read != 9 || page.Total != 9 || page.Cut || len(page.Counts) != 1 {
		t.Errorf("read %d of %d, cut %t, %d counts", page.Read, page.Total, page.Cut, len(page.Counts))
	}
	f := journal.ListFilter{Tool: "mail.send", Cause: page.Groups[0].Filter(), Limit: 3}
	var listed []string
	for {
		list, err := d.List(t.Context(), f)
		if err != nil || list.Total != 4 {
			t.Fatalf("total %d, %v", list.Total, err)
		}
		for _, s := range list.Rows {
			listed = append(listed, s.Effect.ID)
		}
		if f.After = list.Next; f.After == "" {
			break
		}
	}
	if diff := cmp.Diff(burst, listed); diff != "" {
		t.Errorf("the burst (-want +got):\n%s", diff)
	}
	d.decide(burst[1], journal.VerbCloseLanded, "")
	d.exec("update deliveries set acked_at = clock_timestamp(); update effects set open_delivery = false, next_look_at = null, version = version + 1 where state = 'COMMITTED'")
	if list, err := d.List(t.Context(), journal.ListFilter{Cause: f.Cause, After: burst[1]}); err != nil || len(list.Rows) != 2 || list.Rows[0].Effect.ID != burst[2] {
		t.Errorf("after a cursor that has left: %d rows, %v", len(list.Rows), err)
	}
	if b := d.freeze(f); b.Count != 3 {
		t.Errorf("%d frozen, want the 3 that are left", b.Count)
	}
	if list, err := d.Causes(t.Context(), journal.ListFilter{Query: "OF BURST-"}); err != nil || list.Read != 3 || list.Total != 3 {
		t.Errorf("searched: %d of %d, %v", list.Read, list.Total, err)
	}
}
