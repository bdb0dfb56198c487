package evidence

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/landedhq/landed/journal"
)

func TestUseCountsTheLastMinute(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := NewCollector(nil, map[string]Adapter{"p": nil}, map[string]Limits{"p": {LooksPerMinute: 6}}, nil)
		use := func() Use {
			u, ok := c.Use("p")
			if !ok {
				t.Fatal("the provider is not known")
			}
			return u
		}
		if u := use(); u != (Use{Limits: Limits{Concurrency: defaultConcurrency, LooksPerMinute: 6}}) {
			t.Errorf("at first: %+v", u)
		}
		var leave []func()
		for range 2 {
			f, err := c.desks["p"].enter(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			leave = append(leave, f)
		}
		if u := use(); u.Running != 2 || u.LastMinute != 2 {
			t.Errorf("two turns, ten seconds apart: %+v", u)
		}
		for _, f := range leave {
			f()
		}
		time.Sleep(50 * time.Second) // of the bubble's clock
		if u := use(); u.Running != 0 || u.LastMinute != 1 {
			t.Errorf("when the first is a minute ago: %+v", u)
		}
		time.Sleep(time.Hour)
		if u := use(); u.LastMinute != 0 {
			t.Errorf("an hour later: %+v", u)
		}
	})
	if _, ok := (&Collector{}).Use("nobody"); ok {
		t.Error("a provider that is not configured has a use")
	}
}

// What the judge counted with is what evidence keeps.
func TestWaitedIsWhatTheJudgeCounts(t *testing.T) {
	t.Parallel()
	for _, row := range []struct {
		declared, p99 time.Duration
		samples       int
	}{{time.Minute, 0, 0}, {time.Minute, 55 * time.Second, 412}, {time.Minute, time.Second, 3}} {
		_, sheet, tm := clear()
		sheet.IndexLag, tm.MeasuredP99 = row.declared, row.p99
		w := waited(sheet, journal.Lag{P99: row.p99, Samples: row.samples})
		bare := sheet
		bare.IndexLag = 0
		if got := ConclusiveAt(sheet, tm).Sub(ConclusiveAt(bare, Timing{SendBy: tm.SendBy, ClientTimeout: tm.ClientTimeout, FencedAt: tm.FencedAt})); got != w.Lag {
			t.Errorf("%+v: the judge waits %s, the evidence says %s", row, got, w.Lag)
		}
	}
}
