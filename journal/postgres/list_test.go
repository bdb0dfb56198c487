package postgres_test

import (
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/landedhq/landed/journal"
)

// TestList: the list holds exactly what needs attention, each effect once.
func TestList(t *testing.T) {
	t.Parallel()
	d := openDesk(t)
	over := 10 * time.Minute
	want := []string{}
	listed := func(name string, a journal.BeginAnswer) { want = append(want, name); _ = a }
	ids := map[string]string{}
	start := func(tool, name string) (journal.BeginRequest, journal.BeginAnswer) {
		r := request(tool, name)
		r.RootRun, r.Subject = "run-"+name, name // budgets apart
		a := d.begin(r)
		ids[a.EffectID] = name
		return r, a
	}

	start("mail.send", "live")
	r, a := start("mail.send", "committed")
	d.commit(r, a, "p")
	r, a = start("mail.send", "rejected")
	d.fail(r, a, journal.PhaseRefused, true)
	r, a = start("mail.send", "waiting for retry_at")
	d.fail(r, a, journal.PhaseNotSent, false)
	r, a = start("mail.send", "nobody retried")
	d.fail(r, a, journal.PhaseNotSent, false)
	d.pass(a.EffectID, over)
	listed("nobody retried", a)
	r, a = start("mail.send", "parked")
	d.fail(r, a, journal.PhaseSent, false)
	listed("parked", a)
	_, a = start("pay", "stuck, unfenced")
	d.pass(a.EffectID, over)
	listed("stuck, unfenced", a)
	_, a = start("pay", "stuck, fenced")
	d.pass(a.EffectID, over)
	d.sweep()
	listed("stuck, fenced", a)
	r, a = start("mail.send", "ordered")
	d.fail(r, a, journal.PhaseSent, false)
	d.decide(a.EffectID, journal.VerbReissue, journal.NewKey)
	listed("ordered", a)
	r, a = start("mail.send", "closed, not picked up")
	d.fail(r, a, journal.PhaseSent, false)
	d.decide(a.EffectID, journal.VerbCloseLanded, "")
	listed("closed, not picked up", a)
	r, a = start("mail.send", "closed, picked up")
	d.fail(r, a, journal.PhaseSent, false)
	d.decide(a.EffectID, journal.VerbCloseLanded, "")
	if err := d.Ack(t.Context(), d.snap(a.EffectID).Newest.ID); err != nil {
		t.Fatal(err)
	}
	r, a = start("mail.send", "gave up")
	d.exec("insert into budgets values ('', 'run-gave up', '', 5)")
	d.fail(r, a, journal.PhaseNotSent, false)
	listed("gave up", a)
	r, a = start("mail.send", "probably double")
	d.commit(r, a, "p")
	d.look(a.EffectID, journal.Duplicate)
	listed("probably double", a)

	got := names(t, d, ids, journal.ListFilter{Limit: 200})
	slices.Sort(got)
	slices.Sort(want)
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("the list (-want +got):\n%s", diff)
	}

	t.Run("pages by keyset hold every row once", func(t *testing.T) {
		for _, newest := range []bool{false, true} {
			var all []string
			f := journal.ListFilter{Limit: 2, Newest: newest}
			for range 20 {
				page, err := d.List(t.Context(), f)
				if err != nil {
					t.Fatal(err)
				}
				for _, s := range page.Rows {
					all = append(all, ids[s.Effect.ID])
				}
				if f.After = page.Next; f.After == "" {
					break
				}
			}
			slices.Sort(all)
			if diff := cmp.Diff(want, all); diff != "" {
				t.Errorf("newest first %v (-want +got):\n%s", newest, diff)
			}
		}
	})
	t.Run("filters", func(t *testing.T) {
		tests := []struct {
			f    journal.ListFilter
			want []string
		}{
			{journal.ListFilter{Tool: "pay"}, []string{"stuck, fenced", "stuck, unfenced"}},
			{journal.ListFilter{State: journal.StateReissue}, []string{"ordered"}},
			{journal.ListFilter{Query: "PICKED"}, []string{"closed, not picked up"}},
			{journal.ListFilter{Query: "stuck,"}, []string{"stuck, fenced", "stuck, unfenced"}},
			{journal.ListFilter{Query: "%"}, nil},
			{journal.ListFilter{Class: journal.ClassJournalDeduped}, nil},
			{journal.ListFilter{RootRun: "run-parked"}, []string{"parked"}},
		}
		for _, tt := range tests {
			got := names(t, d, ids, tt.f)
			slices.Sort(got)
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("%+v (-want +got):\n%s", tt.f, diff)
			}
		}
	})
}

func names(t *testing.T, d *desk, ids map[string]string, f journal.ListFilter) []string {
	t.Helper()
	page, err := d.List(t.Context(), f)
	if err != nil {
		t.Fatal(err)
	}
	var out []string
	for _, s := range page.Rows {
		out = append(out, ids[s.Effect.ID])
	}
	if page.Total != len(out) && f.Limit == 0 {
		t.Errorf("total %d, rows %d", page.Total, len(out))
	}
	return out
}
