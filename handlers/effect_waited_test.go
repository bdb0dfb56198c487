package handlers

import (
	"testing"
	"time"

	"github.com/landedhq/landed/journal"
)

func TestWaitedText(t *testing.T) {
	t.Parallel()
	measured := journal.Waited{Lag: 165 * time.Second, Declared: time.Minute, P99: 55 * time.Second, Samples: 412}
	for _, row := range []struct {
		name    string
		verdict journal.Verdict
		reason  string
		waited  journal.Waited
		want    string
	}{
		{"measured counts", journal.NotFound, "", measured,
			"Landed waited 2 min 45 s: the adapter declares 1 min, and 99 of 100 committed effects showed within 55 s (412 samples), and three times that counts."},
		{"too early", journal.CannotTell, journal.CannotTooEarly, measured,
			"Landed waits 2 min 45 s: the adapter declares 1 min, and 99 of 100 committed effects showed within 55 s (412 samples), and three times that counts."},
		{"declared counts", journal.NotFound, "", journal.Waited{Lag: time.Minute, Declared: time.Minute, P99: 4 * time.Second, Samples: 1, Lost: 0},
			"Landed waited 1 min: the adapter declares 1 min, and 99 of 100 committed effects showed within 4 s (1 sample), which is less even three times over."},
		{"lost", journal.NotFound, "", journal.Waited{Lag: 3 * time.Hour, Declared: time.Minute, P99: time.Hour, Samples: 9, Lost: 1},
			"Landed waited 3 h: the adapter declares 1 min, and 99 of 100 committed effects showed within 1 h (9 samples), and three times that counts. 1 sample never showed."},
		{"not measured", journal.NotFound, "", journal.Waited{Lag: 30 * time.Second, Declared: 30 * time.Second},
			"Landed waited 30 s: the adapter declares 30 s, and nothing is measured yet."},
		{"all lost", journal.NotFound, "", journal.Waited{Lag: 3 * time.Hour, Declared: time.Minute, P99: time.Hour, Samples: 1, Lost: 1},
			"Landed waited 3 h: the adapter declares 1 min, and no committed effect has shown yet."},
		{"old evidence", journal.NotFound, "", journal.Waited{}, ""},
		{"a hit needs no wait", journal.Found, "", measured, ""},
		{"another reason", journal.CannotTell, journal.CannotControl, measured, ""},
	} {
		t.Run(row.name, func(t *testing.T) {
			t.Parallel()
			if got := waitedText(&journal.Evidence{Verdict: row.verdict, Reason: row.reason, Waited: row.waited}); got != row.want {
				t.Errorf("got  %q\nwant %q", got, row.want)
			}
		})
	}
}

// The card shows it beside the look.
func TestEvidenceCardShowsWhatTheVerdictWaited(t *testing.T) {
	t.Parallel()
	k := newCase(1, looked(journal.NotFound, time.Minute, func(e *journal.Evidence) {
		e.CoversAttempt, e.Waited = 1, journal.Waited{Lag: time.Minute, Declared: time.Minute}
	}))
	p, _ := newEvidence(clock{testNow()}, &k, nil, nil)
	for _, f := range p.Facts {
		if f.Name == "Index lag" {
			if f.Value.String() != "Landed waited 1 min: the adapter declares 1 min, and nothing is measured yet." {
				t.Errorf("it says %q", f.Value)
			}
			return
		}
	}
	t.Errorf("no index lag among %+v", p.Facts)
}
