package evidence

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/landedhq/landed/journal"
)

var t0 = time.Date(2026, 11, 30, 3, 0, 0, 0, time.UTC)

// clear is a look that finds nothing and may be believed.
func clear() (Facts, Sheet, Timing) {
	f := Facts{
		Answer:   Answer{AllPagesRead: true, Scopes: []journal.Scope{{Name: "Sent", Seen: true}}},
		Negative: journal.Control{Ran: true, Passed: true}, Positive: journal.Control{Ran: true, Passed: true},
	}
	s := Sheet{Kind: "test", Class: L2, IndexLag: 10 * time.Second, ProcessingHorizon: 20 * time.Second, Conclusive: true}
	tm := Timing{StartedAt: t0.Add(time.Hour), FirstGrant: t0, FencedAt: t0.Add(time.Minute), SendBy: t0.Add(30 * time.Second),
		ClientTimeout: 30 * time.Second, Attempt: 2, Attempts: 2}
	return f, s, tm
}

func match(st journal.MatchState) journal.Match { return journal.Match{ID: "m", State: st} }

// TestJudge is the judge's whole table: each row spoils one thing of a look
// that may be believed.
func TestJudge(t *testing.T) {
	t.Parallel()
	conclusive := t0.Add(30*time.Second + 30*time.Second + 20*time.Second + 10*time.Second)
	tests := []struct {
		name   string
		spoil  func(f *Facts, s *Sheet, tm *Timing)
		want   journal.Verdict
		reason string
		again  func(Timing) time.Time // nil: not by itself
	}{
		{name: "nothing, and everything holds", want: journal.NotFound},
		{name: "one match", want: journal.Found, spoil: func(f *Facts, _ *Sheet, _ *Timing) { f.Answer.Matches = []journal.Match{match(journal.MatchEffective)} }},
		{name: "one match, early, two attempts: look again for a second", want: journal.Found, again: func(Timing) time.Time { return conclusive },
			spoil: func(f *Facts, _ *Sheet, tm *Timing) {
				f.Answer.Matches, tm.StartedAt = []journal.Match{match(journal.MatchEffective)}, conclusive.Add(-time.Second)
			}},
		{name: "two matches (T-06)", want: journal.Duplicate, spoil: func(f *Facts, _ *Sheet, _ *Timing) {
			f.Answer.Matches = []journal.Match{match(journal.MatchEffective), match(journal.MatchPending)}
		}},
		{name: "one effective, one cancelled", want: journal.Found, spoil: func(f *Facts, _ *Sheet, _ *Timing) {
			f.Answer.Matches = []journal.Match{match(journal.MatchEffective), match(journal.MatchNotEffective)}
		}},
		{name: "one pending", want: journal.FoundPending, again: in(15 * time.Second), spoil: func(f *Facts, _ *Sheet, _ *Timing) {
			f.Answer.Matches = []journal.Match{match(journal.MatchPending)}
		}},
		{name: "one draft", want: journal.FoundNotEffective, spoil: func(f *Facts, _ *Sheet, _ *Timing) {
			f.Answer.Matches = []journal.Match{match(journal.MatchNotEffective)}
		}},
		{name: "a match outweighs failed controls and early time", want: journal.Found, spoil: func(f *Facts, _ *Sheet, tm *Timing) {
			f.Answer.Matches, f.Negative, f.Positive = []journal.Match{match(journal.MatchEffective)}, journal.Control{}, journal.Control{}
			tm.StartedAt, tm.Attempts = t0, 1
		}},
		{name: "provider error (T-10)", want: journal.CannotTell, reason: journal.CannotProvider, again: in(15 * time.Second),
			spoil: func(f *Facts, _ *Sheet, _ *Timing) { f.Err = &ProviderError{Kind: FaultUnavailable} }},
		{name: "rate limited: Retry-After wins", want: journal.CannotTell, reason: journal.CannotProvider, again: in(5 * time.Minute),
			spoil: func(f *Facts, _ *Sheet, _ *Timing) {
				f.Err = &ProviderError{Kind: FaultRateLimited, RetryAfter: 5 * time.Minute}
			}},
		{name: "the fifth fault waits longer", want: journal.CannotTell, reason: journal.CannotProvider, again: in(4 * time.Minute),
			spoil: func(f *Facts, _ *Sheet, tm *Timing) { f.Err, tm.Looks = context.DeadlineExceeded, 4 }},
		{name: "an attempt is live", want: journal.CannotTell, reason: journal.CannotAttemptLive, again: func(tm Timing) time.Time { return tm.SendBy.Add(tm.ClientTimeout) },
			spoil: func(_ *Facts, _ *Sheet, tm *Timing) { tm.Live = true }},
		{name: "the clock stepped", want: journal.CannotTell, reason: journal.CannotClock, again: in(15 * time.Second),
			spoil: func(_ *Facts, _ *Sheet, tm *Timing) { tm.ClockSuspect = true }},
		{name: "one instant too early (M-08, T-01)", want: journal.CannotTell, reason: journal.CannotTooEarly, again: func(Timing) time.Time { return conclusive },
			spoil: func(_ *Facts, _ *Sheet, tm *Timing) { tm.StartedAt = conclusive.Add(-1) }},
		{name: "exactly late enough", want: journal.NotFound, spoil: func(_ *Facts, _ *Sheet, tm *Timing) { tm.StartedAt = conclusive }},
		{name: "fenced late: the lag counts from there", want: journal.CannotTell, reason: journal.CannotTooEarly, again: func(tm Timing) time.Time { return tm.FencedAt.Add(10 * time.Second) },
			spoil: func(_ *Facts, _ *Sheet, tm *Timing) { tm.FencedAt = tm.StartedAt.Add(-5 * time.Second) }},
		{name: "three times the measured lag", want: journal.CannotTell, reason: journal.CannotTooEarly, again: func(tm Timing) time.Time { return t0.Add(80 * time.Second).Add(3 * time.Hour) },
			spoil: func(_ *Facts, _ *Sheet, tm *Timing) { tm.MeasuredP99 = time.Hour }},
		{name: "unrelated rows (T-05)", want: journal.CannotTell, reason: journal.CannotFilter, spoil: func(f *Facts, _ *Sheet, _ *Timing) { f.Answer.Unrelated = 100 }},
		{name: "pages left out", want: journal.CannotTell, reason: journal.CannotTruncated, spoil: func(f *Facts, _ *Sheet, _ *Timing) { f.Answer.AllPagesRead = false }},
		{name: "a scope unseen (T-08)", want: journal.CannotTell, reason: journal.CannotScope, spoil: func(f *Facts, _ *Sheet, _ *Timing) {
			f.Answer.Scopes = append(f.Answer.Scopes, journal.Scope{Name: "deleted tickets"})
		}},
		{name: "a folder that nobody fills (M-13)", want: journal.CannotTell, reason: journal.CannotScope, spoil: func(_ *Facts, s *Sheet, _ *Timing) { s.Conclusive = false }},
		{name: "class L6", want: journal.CannotTell, reason: journal.CannotScope, spoil: func(_ *Facts, s *Sheet, _ *Timing) { s.Class = L6 }},
		{name: "beyond retention", want: journal.CannotTell, reason: journal.CannotRetention, spoil: func(_ *Facts, s *Sheet, _ *Timing) { s.Retention = 30 * time.Minute }},
		{name: "negative control failed", want: journal.CannotTell, reason: journal.CannotControl, again: in(15 * time.Second),
			spoil: func(f *Facts, _ *Sheet, _ *Timing) { f.Negative.Passed = false }},
		{name: "negative control did not run", want: journal.CannotTell, reason: journal.CannotControl, again: in(15 * time.Second),
			spoil: func(f *Facts, _ *Sheet, _ *Timing) { f.Negative = journal.Control{} }},
		{name: "positive control failed (M-11)", want: journal.CannotTell, reason: journal.CannotControl, again: in(15 * time.Second),
			spoil: func(f *Facts, _ *Sheet, _ *Timing) { f.Positive.Passed = false }},
		{name: "no positive control known", want: journal.CannotTell, reason: journal.CannotControl, again: in(15 * time.Second),
			spoil: func(f *Facts, _ *Sheet, _ *Timing) { f.Positive = journal.Control{} }},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			f, s, tm := clear()
			if tt.spoil != nil {
				tt.spoil(&f, &s, &tm)
			}
			j := Judge(f, s, tm)
			if j.Verdict != tt.want || j.Reason != tt.reason {
				t.Fatalf("%s (%s), want %s (%s)", j.Verdict, j.Reason, tt.want, tt.reason)
			}
			want := time.Time{}
			if tt.again != nil {
				want = tt.again(tm)
			}
			if !j.LookAgainAt.Equal(want) {
				t.Errorf("look again at %s, want %s", j.LookAgainAt, want)
			}
			if (j.Verdict == journal.NotFound) != (j.CoversAttempt == 2) || j.Explanation == "" && tt.reason != journal.CannotProvider {
				t.Errorf("covers %d, explained %q", j.CoversAttempt, j.Explanation)
			}
		})
	}
}

func in(d time.Duration) func(Timing) time.Time {
	return func(tm Timing) time.Time { return tm.StartedAt.Add(d) }
}

// scripted answers queries by reference; broken refs fail.
type scripted struct {
	asked   []string
	answers map[string]Answer
	other   Answer
	fail    map[string]error
}

func (s *scripted) Sheet() Sheet { return Sheet{Kind: "scripted", Class: L2, Conclusive: true} }

func (s *scripted) Session(context.Context) (Session, error) { return s, nil }
func (s *scripted) Close() error                             { return nil }

func (s *scripted) Find(_ context.Context, q Query) (Answer, error) {
	s.asked = append(s.asked, q.Ref)
	if err := s.fail[q.Ref]; err != nil {
		return Answer{}, err
	}
	if a, ok := s.answers[q.Ref]; ok {
		return a, nil
	}
	return s.other, nil
}

// TestAsk: one look asks for the reference and then for both controls through
// the same session, and skips them once a match is there.
func TestAsk(t *testing.T) {
	t.Parallel()
	ref, canary := journal.RandomRef(), &journal.Canary{Ref: journal.RandomRef(), CommittedAt: t0}
	hit := Answer{Matches: []journal.Match{match(journal.MatchEffective)}, AllPagesRead: true}
	empty := Answer{AllPagesRead: true}
	down := &ProviderError{Kind: FaultUnavailable, Detail: "gone"}
	tests := []struct {
		name               string
		a                  *scripted
		canary             *journal.Canary
		asked              int
		negative, positive bool
		err                bool
	}{
		{name: "a match", a: &scripted{answers: map[string]Answer{ref: hit}}, canary: canary, asked: 1},
		{name: "a miss with both controls", a: &scripted{answers: map[string]Answer{canary.Ref: hit}, other: empty}, canary: canary, asked: 3, negative: true, positive: true},
		{name: "a filter that is ignored", a: &scripted{other: Answer{Unrelated: 7, AllPagesRead: true}}, canary: canary, asked: 3},
		{name: "a search that finds nothing ever", a: &scripted{other: empty}, canary: canary, asked: 3, negative: true},
		{name: "no committed effect known", a: &scripted{other: empty}, asked: 2, negative: true},
		{name: "the provider fails at the control", a: &scripted{other: empty, fail: map[string]error{canary.Ref: down}}, canary: canary, asked: 3, negative: true, err: true},
		{name: "the provider fails at once", a: &scripted{fail: map[string]error{ref: down}}, canary: canary, asked: 1, err: true},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			f := Ask(t.Context(), tt.a, Question{Ref: ref, From: t0, To: t0.Add(time.Hour), Canary: tt.canary})
			if len(tt.a.asked) != tt.asked || tt.a.asked[0] != ref {
				t.Errorf("asked %v, want %d starting with the reference", tt.a.asked, tt.asked)
			}
			if f.Negative.Passed != tt.negative || f.Positive.Passed != tt.positive || (f.Err != nil) != tt.err {
				t.Errorf("negative %+v, positive %+v, error %v", f.Negative, f.Positive, f.Err)
			}
			if tt.err && !errors.As(f.Err, new(*ProviderError)) {
				t.Errorf("%v is no provider error", f.Err)
			}
			seen := map[string]bool{}
			for _, r := range tt.a.asked {
				if seen[r] || !journal.ValidRef(r) {
					t.Errorf("reference %q asked twice or malformed", r)
				}
				seen[r] = true
			}
		})
	}
}
