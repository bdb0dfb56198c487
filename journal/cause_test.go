package journal_test

import (
	"fmt"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"

	"github.com/landedhq/landed/journal"
)

func TestErrorClass(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct{ name, in, want string }{
		{"nothing", "", ""},
		{"plain", "connection refused", "connection refused"},
		{"address and port", "dial tcp 10.0.3.17:587: connect: connection refused", "dial tcp #: connect: connection refused"},
		{"times", "timeout after 30.002s (Client.Timeout exceeded)", "timeout after #s (Client.Timeout exceeded)"},
		{"uuid", "no such session 01936f6e-0000-7000-8000-000000000001", "no such session #"},
		{"hex", "request 0x7fffa3b2 failed, trace deadbeefdeadbeef", "request # failed, trace #"},
		{"provider id", "req_8sJk2l3k: internal error", "#: internal error"},
		{"quoted", `mailbox "Sent Items" of 'ada' is locked`, "mailbox # of # is locked"},
		{"typographic quotes", "Queue „Support” of «main» is gone", "Queue # of # is gone"},
		{"apostrophe", "can't read the server's answer", "can't read the server's answer"},
		{"quote that never ends", `unexpected " in header`, `unexpected " in header`},
		{"mail address", "550 <ada.byron@example.org>: user unknown", "# user unknown"},
		{"name with a number", "smtp-3 answered", "smtp-# answered"},
		{"white space", "a\n\tb   c", "a b c"},
		{"words that hold hex letters only", "bad face added", "bad face added"},
		{"broken bytes", "caf\xff broke", "caf\uFFFD broke"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			if got := journal.ErrorClass(tt.in); got != tt.want {
				t.Errorf("%q gives %q, want %q", tt.in, got, tt.want)
			}
		})
	}
}

func FuzzErrorClass(f *testing.F) {
	f.Add("dial tcp 10.0.3.17:587: 'x' \"")
	f.Add("\xff“ 0x12 a@b")
	f.Fuzz(func(t *testing.T, s string) {
		got := journal.ErrorClass(s)
		if !utf8.ValidString(got) || utf8.RuneCountInString(got) > 160 || strings.ContainsAny(got, "0123456789\n\t") {
			t.Errorf("%q gives %q", s, got)
		}
	})
}

func outage(n int, at time.Time, change ...func(*journal.Snapshot)) journal.Snapshot {
	s := journal.Snapshot{Now: at.Add(24 * time.Hour), Policy: journal.DefaultPolicy(), CanLook: true,
		Effect:   journal.Effect{ID: fmt.Sprintf("e%03d", n), Tool: "mail.send", Provider: "smtp", Class: journal.ClassAtMostOnce, State: journal.StateParked, Attempt: 1, CreatedAt: at, Subject: fmt.Sprintf("mail %d", n)},
		Attempts: []journal.Attempt{{Number: 1, GrantedAt: at, FencedAt: at, Phase: journal.PhaseSent, Error: fmt.Sprintf("dial tcp 10.0.0.%d:25: i/o timeout", n)}},
		Looks:    []journal.Look{{ID: "l", Seq: int64(n + 1), Verdict: journal.NotFound, CoversAttempt: 1, StartedAt: at.Add(time.Hour)}}}
	for _, f := range change {
		f(&s)
	}
	return s
}

// TestGroupByCause: one outage is one line, whatever differs in its texts.
func TestGroupByCause(t *testing.T) {
	t.Parallel()
	start := time.Date(2026, 11, 2, 3, 0, 0, 0, time.UTC)
	var rows []journal.Snapshot
	for n := range 5 { // every ten minutes, to the second: one burst
		rows = append(rows, outage(n, start.Add(time.Duration(n)*journal.BurstGap)))
	}
	later := start.Add(4*journal.BurstGap + journal.BurstGap + time.Second)
	rows = append(rows, outage(10, later), outage(11, later.Add(time.Minute)),
		outage(20, start, func(s *journal.Snapshot) { s.Attempts[0].Status = 503 }),
		outage(21, start, func(s *journal.Snapshot) { s.Effect.Tool = "mail.bulk" }),
		outage(22, start, func(s *journal.Snapshot) { s.Looks[0].Verdict = journal.Found }),
		outage(23, start, func(s *journal.Snapshot) { s.Attempts[0].Error = "" }),
		outage(24, start, func(s *journal.Snapshot) { s.Looks[0].Verdict = journal.Found }))
	rows[0], rows[3] = rows[3], rows[0] // the order of the rows does not matter
	groups := journal.GroupByCause(rows)
	type line struct {
		What           string
		Count          int
		Oldest, Newest time.Duration
		Sample         string
		Recommend      []journal.RecommendCount
	}
	var got []line
	for _, g := range groups {
		got = append(got, line{strings.Join([]string{g.Tool, g.Error, fmt.Sprint(g.Status), string(g.Verdict)}, "|"), g.Count,
			g.Oldest.Sub(start), g.Newest.Sub(start), g.Sample.Subject, g.Recommend})
	}
	again := []journal.RecommendCount{{Recommend: journal.RecommendReissue, Mode: journal.NewKey, Count: 1}}
	many := func(n int) []journal.RecommendCount {
		return []journal.RecommendCount{{Recommend: journal.RecommendReissue, Mode: journal.NewKey, Count: n}}
	}
	dial := "dial tcp #: i/o timeout"
	want := []line{
		{"mail.send|" + dial + "|0|NOT_FOUND", 5, 0, 40 * time.Minute, "mail 0", many(5)},
		{"mail.send|" + dial + "|0|FOUND", 2, 0, 0, "mail 22", []journal.RecommendCount{{Recommend: journal.RecommendCloseLanded, Count: 2}}},
		{"mail.send|" + dial + "|0|NOT_FOUND", 2, 50*time.Minute + time.Second, 51*time.Minute + time.Second, "mail 10", many(2)},
		{"mail.send|" + dial + "|503|NOT_FOUND", 1, 0, 0, "mail 20", again},
		{"mail.bulk|" + dial + "|0|NOT_FOUND", 1, 0, 0, "mail 21", again},
		{"mail.send||0|NOT_FOUND", 1, 0, 0, "mail 23", again},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	total := 0
	for _, g := range groups { // each group holds its own, and nothing of another
		f := journal.ParseCauseFilter(g.Filter().String())
		n := 0
		for i := range rows {
			if f.Holds(&rows[i]) {
				n++
			}
		}
		if n != g.Count {
			t.Errorf("%s narrows to %d effects, want %d", f, n, g.Count)
		}
		total += n
	}
	if total != len(rows) {
		t.Errorf("the groups hold %d effects, want %d", total, len(rows))
	}
}

func TestParseCauseFilter_Nonsense(t *testing.T) {
	t.Parallel()
	for _, s := range []string{"", "x", "0123456789abcdef", "0123456789abcdef-1", "0123456789abcdefg-1-2", "0123456789abcdez-1-2", "0123456789abcdef-2-1", "0123456789abcdef--1-2",
		"0123456789abcdef-1-zzzzzzzzzzzz", "0123456789abcdef-a!-b"} {
		if f := journal.ParseCauseFilter(s); !f.Zero() {
			t.Errorf("%q is read as %+v", s, f)
		}
	}
}
