package client_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/landedhq/landed/journal"
)

func javaKeyReused(t *testing.T, classes string) {
	j := newJava(t, classes, newPayments(t))
	first := j.start()
	first.until("finished")
	first.exit(0)
	c := j.start("--amount", "1300")
	ev := c.until("journal_refused")
	want := []any{map[string]any{"field": "amount", "was": "1250", "now": "1300"}}
	if diff := cmp.Diff(want, ev["fields"]); ev["code"] != "key_reused" || diff != "" {
		t.Errorf("the worker is told %v:\n%s", ev, diff)
	}
	if ev := c.until("told"); !strings.Contains(fmt.Sprint(ev["text"]), "Nothing was charged") {
		t.Errorf("the model is told %v", ev)
	}
	c.exit(1)
	j.charged(honey)
}

func javaJournalDownBefore(t *testing.T, classes string) {
	j := newJava(t, classes, newPayments(t))
	j.wire.cut("POST /v1/effects")
	c := j.start("--patience", "300")
	if ev := c.until("journal_refused"); ev["code"] != "unavailable" {
		t.Errorf("the worker says %v", ev)
	}
	c.until("told")
	c.exit(1)
	if n, _ := j.pay.count(); n != 0 {
		t.Errorf("the provider got %d requests without a journal", n)
	}
}

func javaJournalDownAfter(t *testing.T, classes string) {
	j := newJava(t, classes, newPayments(t))
	j.wire.cut("POST /commit")
	c := j.start("--report-patience", "300")
	id := fmt.Sprint(c.until("executing")["effect_id"])
	if ev := c.until("done_unrecorded"); ev["provider_id"] != "ch_1" || ev["effect_id"] != id {
		t.Errorf("the worker says %v", ev)
	}
	if ev := c.until("told"); !strings.Contains(fmt.Sprint(ev["text"]), "Do not repeat it") {
		t.Errorf("the model is told %v", ev)
	}
	c.exit(1)
	j.wire.mend("POST /commit")
	j.leaseOver(id)
	after := j.start("--wait", "0")
	after.until("stopped")
	after.exit(6)
	j.charged(honey)
}

// Inside its key window the provider itself makes the second request harmless,
// so the journal hands out a second attempt under the same provider key.
func javaProviderIdempotent(t *testing.T, classes string) {
	j := newJava(t, classes, newPayments(t, honours))
	id := j.killedAt("POST /commit", "--class", "provider_idempotent")
	c := j.start("--class", "provider_idempotent", "--note", "reworded by a model")
	if ev := c.until("executing"); ev["attempt"] != 2.0 || ev["effect_id"] != id {
		t.Errorf("the worker executes %v", ev)
	}
	if ev := c.until("finished"); ev["status"] != "done" || ev["provider_id"] != "ch_1" {
		t.Errorf("the worker ends with %v", ev)
	}
	c.exit(0)
	j.charged(honey)
	if n, _ := j.pay.count(); n != 2 {
		t.Errorf("%d requests, want 2", n)
	}
	if a := j.snapshot(id).Attempts; !a[len(a)-1].Replayed {
		t.Error("the journal does not know that the answer was a repeated one")
	}
}

// The provider lost it, a person orders it again, and three machines come back
// for it, two of them at once. It is executed once, as it was journaled.
func javaReissue(t *testing.T, classes string) {
	j := newJava(t, classes, newPayments(t))
	id := j.killedAt("answer of POST /v1/effects")
	j.start("--wait", "0", "--note", "parks it").until("stopped")
	j.decide(id, journal.VerbReissue, journal.NewKey)
	one, two := j.start("--note", "reworded", "--lease", "5000"), j.start("--note", "reworded as well", "--lease", "5000")
	for _, c := range []*child{one, two} {
		if ev := c.until("finished"); ev["status"] != "done" || ev["provider_id"] != "ch_1" {
			t.Errorf("a worker ends with %v", ev)
		}
		c.exit(0)
	}
	after := j.start()
	if ev := after.until("finished"); ev["result"] != "{\"id\": \"ch_1\", \"paid\": 12.50}\n" {
		t.Errorf("a later machine gets %v", ev)
	}
	after.exit(0)
	j.charged(honey)
	if got := j.pay.list()[0]; got.Reference != j.snapshot(id).Effect.Ref || got.Key != journal.ProviderKey(got.Reference, 2) {
		t.Errorf("the provider got %+v", got)
	}
}

func javaNothingListens(t *testing.T, classes string) {
	pay := newPayments(t)
	j := newJava(t, classes, pay)
	pay.Close()
	c := j.start("--patience", "0")
	ev := c.until("stopped")
	c.exit(7)
	a := j.snapshot(fmt.Sprint(ev["effect_id"])).Attempts
	if ev["directive"] != "retry" || a[0].Phase != journal.PhaseNotSent {
		t.Errorf("the attempt is %+v; the worker is told %v", a, ev)
	}
}

func javaAnswers(t *testing.T, classes string) {
	for name, row := range map[string]struct {
		script    []int
		hold      bool
		directive string
		phase     journal.Phase
		exit      int
		charges   int
	}{
		"paid":                      {nil, false, "return", journal.PhaseConfirmed, 0, 1},
		"declined":                  {[]int{402}, false, "rejected", journal.PhaseRefused, 3, 0},
		"unclear, and it was paid":  {[]int{503}, false, "parked", journal.PhaseSent, 6, 1},
		"cut after it was paid":     {[]int{0}, false, "parked", journal.PhaseSent, 6, 1},
		"too slow":                  {nil, true, "parked", journal.PhaseSent, 6, 1},
		"rate limited, then paid":   {[]int{429, 201}, false, "return", journal.PhaseConfirmed, 0, 1},
		"a redirect is not a yes":   {[]int{307}, false, "parked", journal.PhaseSent, 6, 1},
		"conflict: it may be at it": {[]int{409}, false, "parked", journal.PhaseSent, 6, 0},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			flags, change := []string{"--wait", "0"}, func(p *payments) { p.scripted = row.script }
			if row.hold {
				flags, change = append(flags, "--timeout", "3000"), held
			}
			j := newJava(t, classes, newPayments(t, change))
			c := j.start(flags...)
			var last event
			for ev := range c.events {
				last = ev
			}
			c.exit(row.exit)
			a := j.snapshot(j.effect()).Attempts
			if last["directive"] != row.directive || a[len(a)-1].Phase != row.phase {
				t.Errorf("the worker's last word is %v, the attempts %+v", last, a)
			}
			if _, n := j.pay.count(); n != row.charges {
				t.Errorf("%d charges, want %d", n, row.charges)
			}
		})
	}
}
