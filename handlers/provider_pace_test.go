package handlers

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/landedhq/landed/journal"
	"github.com/landedhq/landed/providers/evidence"
	"github.com/landedhq/landed/web"
)

func TestPacePanel(t *testing.T) {
	t.Parallel()
	until := testNow().Add(4 * time.Minute)
	for _, row := range []struct {
		name                  string
		use                   evidence.Use
		until                 *time.Time
		atATime, minute, rest string
	}{
		{"no limit", evidence.Use{Limits: evidence.Limits{Concurrency: 2}, LastMinute: 1}, nil,
			"2 turns at most; 0 under way", "no limit; 1 turn in the last minute", "none"},
		{"a limit, paused", evidence.Use{Limits: evidence.Limits{Concurrency: 1, LooksPerMinute: 1}, Running: 1}, &until,
			"1 turn at most; 1 under way", "1 turn at most; 0 in the last minute", ""},
	} {
		t.Run(row.name, func(t *testing.T) {
			t.Parallel()
			one := newProvider("x", state(func(s *journal.ProviderState) { s.PausedUntil = row.until }))
			one.use = row.use
			want := []web.Fact{{Name: "At a time", Value: web.Plain(row.atATime)}, {Name: "A minute", Value: web.Plain(row.minute)}}
			if row.until == nil {
				want = append(want, web.Fact{Name: "Pause", Value: web.Plain(row.rest)})
			} else {
				want = append(want, web.Fact{Name: "Paused until", At: stampAt("2 Nov 2026, 03:16:45 UTC", "in 4 min")})
			}
			if diff := cmp.Diff(want, pacePanel(clock{testNow()}, one).Facts, sameText()); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// Each card counts from when the journal read its state: this server's clock,
// which is months off here, doesn't show.
func TestProviderTimesAreTheJournals(t *testing.T) {
	t.Parallel()
	f := &fakeJournal{configured: map[string]providerView{"sent-mail": newProvider("sent-mail")}}
	doc := parse(t, newSite(t, f).get(web.RouteProviders))
	got := squash(doc.Find("#p-sent-mail").Text())
	for _, want := range []string{"1 min ago", "30 turns at most; 12 in the last minute"} {
		if !strings.Contains(got, want) {
			t.Errorf("no %q in the card:\n%s", want, got)
		}
	}
}
