package journal_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/landedhq/landed/journal"
)

func teamNow() time.Time { return time.Date(2026, 11, 2, 3, 12, 45, 0, time.UTC) }

func teammate(name string, roles ...journal.Role) journal.Actor {
	return journal.Actor{Issuer: "i", Subject: name, Name: name, Roles: append([]journal.Role{journal.RoleOperator}, roles...)}
}

func waiting(change ...func(*journal.Snapshot)) *journal.Snapshot {
	now := teamNow()
	s := &journal.Snapshot{Now: now, Policy: journal.DefaultPolicy(), Effect: journal.Effect{ID: "e", State: journal.StateParked, Class: journal.ClassAtMostOnce, Issue: 1, Attempt: 1},
		Attempts: []journal.Attempt{{Number: 1, Issue: 1, GrantedAt: now.Add(-time.Hour), SendBy: now.Add(-50 * time.Minute), FencedAt: now.Add(-40 * time.Minute)}}}
	for _, f := range change {
		f(s)
	}
	return s
}

// TestClaimMoves: every verb on every claim, as one table.
func TestClaimMoves(t *testing.T) {
	t.Parallel()
	olivia, pia, vera := teammate("Olivia"), teammate("Pia"), journal.Actor{Issuer: "i", Subject: "Vera", Roles: []journal.Role{journal.RoleViewer, journal.RoleAuditor}}
	held := func(who journal.Actor, left time.Duration) *journal.Claim {
		return &journal.Claim{ID: "was", Holder: who, By: who, Since: teamNow().Add(-time.Minute), Until: teamNow().Add(left)}
	}
	const reason = "Pia is at lunch"
	for _, tt := range []struct {
		name string
		was  *journal.Claim
		o    journal.ClaimOrder
		want string // holder, event; or the error
	}{
		{"free", nil, journal.ClaimOrder{Verb: journal.ClaimTake, Actor: olivia}, "Olivia claimed"},
		{"one's own anew", held(olivia, time.Minute), journal.ClaimOrder{Verb: journal.ClaimTake, Actor: olivia}, "Olivia claim_renewed"},
		{"another's", held(pia, time.Second), journal.ClaimOrder{Verb: journal.ClaimTake, Actor: olivia}, "claimed by Pia"},
		{"another's, over", held(pia, 0), journal.ClaimOrder{Verb: journal.ClaimTake, Actor: olivia}, "Olivia claimed"},
		{"by a viewer", nil, journal.ClaimOrder{Verb: journal.ClaimTake, Actor: vera}, "role"},
		{"take over", held(pia, time.Minute), journal.ClaimOrder{Verb: journal.ClaimTakeOver, Actor: olivia, Seen: "was", Reason: reason}, "Olivia claim_taken_over"},
		{"take over what was not seen", held(pia, time.Minute), journal.ClaimOrder{Verb: journal.ClaimTakeOver, Actor: olivia, Seen: "other", Reason: reason}, "claimed by Pia"},
		{"take over without words", held(pia, time.Minute), journal.ClaimOrder{Verb: journal.ClaimTakeOver, Actor: olivia, Seen: "was", Reason: "   short "}, "reason"},
		{"take over what ended meanwhile", held(pia, 0), journal.ClaimOrder{Verb: journal.ClaimTakeOver, Actor: olivia, Seen: "was"}, "Olivia claimed"},
		{"take over one's own", held(olivia, time.Minute), journal.ClaimOrder{Verb: journal.ClaimTakeOver, Actor: olivia, Seen: "was"}, "Olivia claim_renewed"},
		{"release", held(olivia, time.Minute), journal.ClaimOrder{Verb: journal.ClaimRelease, Actor: olivia}, "nobody claim_released"},
		{"release another's", held(pia, time.Minute), journal.ClaimOrder{Verb: journal.ClaimRelease, Actor: olivia}, "claimed by Pia"},
		{"release one that is over", held(olivia, 0), journal.ClaimOrder{Verb: journal.ClaimRelease, Actor: olivia}, "effect"},
		{"hand over", held(olivia, time.Minute), journal.ClaimOrder{Verb: journal.ClaimHandOver, Actor: olivia, To: pia}, "Pia claim_handed_over"},
		{"hand over another's", held(pia, time.Minute), journal.ClaimOrder{Verb: journal.ClaimHandOver, Actor: olivia, To: teammate("Sam")}, "claimed by Pia"},
		{"hand over to nobody", held(olivia, time.Minute), journal.ClaimOrder{Verb: journal.ClaimHandOver, Actor: olivia}, "to"},
		{"hand over to oneself", held(olivia, time.Minute), journal.ClaimOrder{Verb: journal.ClaimHandOver, Actor: olivia, To: olivia}, "to"},
		{"hand over to a viewer", held(olivia, time.Minute), journal.ClaimOrder{Verb: journal.ClaimHandOver, Actor: olivia, To: vera}, "to"},
		{"an odd verb", nil, journal.ClaimOrder{Verb: "steal", Actor: olivia}, "word"},
		{"odd words", nil, journal.ClaimOrder{Verb: journal.ClaimTake, Actor: olivia, Reason: "\xff"}, "reason"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			c, kind, err := waiting().Claim(tt.o, tt.was)
			var (
				ie *journal.InvalidError
				ce *journal.ClaimedError
				pe *journal.PolicyError
			)
			got := "nobody " + kind
			switch {
			case errors.As(err, &ie):
				got = ie.Field
			case errors.As(err, &ce):
				got = "claimed by " + ce.Holder.Name
			case errors.As(err, &pe):
				got = pe.Code
			case c != nil:
				got = c.Holder.Name + " " + kind
				if !c.Until.Equal(teamNow().Add(journal.ClaimLease)) {
					t.Errorf("until %v", c.Until)
				}
				if renewed := kind == journal.EventClaimRenewed; renewed != (c.ID == "was") {
					t.Errorf("id %s after %s", c.ID, kind)
				}
			}
			if got != tt.want {
				t.Errorf("got %s (%v), want %s", got, err, tt.want)
			}
		})
	}
	settled := waiting(func(s *journal.Snapshot) { s.Effect.State = journal.StateCommitted })
	if _, _, err := settled.Claim(journal.ClaimOrder{Verb: journal.ClaimTake, Actor: olivia}, nil); err == nil {
		t.Error("what is settled was taken")
	}
}

func TestWakes(t *testing.T) {
	t.Parallel()
	look := func(v journal.Verdict) func(*journal.Change) {
		return func(c *journal.Change) {
			c.Events = append(c.Events, journal.Event{Kind: journal.EventEvidence, Detail: fmt.Appendf(nil, `{"verdict":%q}`, v)})
		}
	}
	event := func(kind string) func(*journal.Change) {
		return func(c *journal.Change) { c.Events = append(c.Events, journal.Event{Kind: kind}) }
	}
	for _, tt := range []struct {
		name   string
		change func(*journal.Change)
		want   string
	}{
		{"nothing", func(*journal.Change) {}, ""},
		{"the next look is scheduled", func(c *journal.Change) { c.Effect.NextLookAt = teamNow() }, ""},
		{"the same verdict", look(journal.NotFound), ""},
		{"another verdict", look(journal.CannotTell), journal.WokeEvidence},
		{"a look that can't be read", event(journal.EventEvidence), journal.WokeEvidence},
		{"a report", event(journal.EventReported), journal.WokeFact},
		{"a commit", event(journal.EventCommitted), journal.WokeFact},
		{"a dedupe hit", event(journal.EventDedupeHit), ""},
		{"drift", event(journal.EventDrift), ""},
		{"a decision", func(c *journal.Change) { c.Decision = &journal.Decision{} }, journal.WokeDecision},
		{"a proposal", func(c *journal.Change) { c.Proposal = &journal.Proposal{} }, journal.WokeDecision},
		{"another state", func(c *journal.Change) { c.Effect.State = journal.StateReissue }, journal.WokeState},
		{"a grant", func(c *journal.Change) { c.Granted = &journal.Attempt{} }, journal.WokeState},
		{"contradicted", func(c *journal.Change) { c.Effect.Contradicted = true }, journal.WokeState},
		{"acknowledged", func(c *journal.Change) { c.Effect.Orphan = false }, journal.WokeState},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			s := waiting(func(s *journal.Snapshot) {
				s.Looks = []journal.Look{{Verdict: journal.Found}, {Verdict: journal.NotFound}}
				s.Effect.Orphan = true
			})
			c := journal.Change{Effect: s.Effect}
			tt.change(&c)
			if got := s.Wakes(c); got != tt.want {
				t.Errorf("got %q, want %q", got, tt.want)
			}
		})
	}
}

// TestSnoozeLimit: never longer than a week, never past what makes a repeat safe.
func TestSnoozeLimit(t *testing.T) {
	t.Parallel()
	window := func(d time.Duration) func(*journal.Snapshot) {
		return func(s *journal.Snapshot) {
			s.Effect.Class, s.Effect.KeyWindow = journal.ClassProviderIdempotent, d
		}
	}
	for _, tt := range []struct {
		name   string
		s      *journal.Snapshot
		want   time.Duration
		window bool
	}{
		{"no key", waiting(), journal.MaxSnooze, false},
		{"a key for a day", waiting(window(24 * time.Hour)), 23 * time.Hour, true},
		{"a key for a month", waiting(window(30 * 24 * time.Hour)), journal.MaxSnooze, false},
		{"a key that is over", waiting(window(10 * time.Minute)), journal.MaxSnooze, false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			until, window := tt.s.SnoozeLimit()
			if until.Sub(teamNow()) != tt.want || window != tt.window {
				t.Errorf("%v from now, by the window %t", until.Sub(teamNow()), window)
			}
			late := journal.SnoozeOrder{Actor: teammate("Olivia"), Until: until.Add(time.Second), Digest: tt.s.EvidenceDigest()}
			_, err := tt.s.Snooze(late)
			if err == nil || strings.Contains(err.Error(), "key") != tt.window {
				t.Errorf("later than that: %v", err)
			}
			late.Until = until
			z, err := tt.s.Snooze(late)
			if err != nil || !z.Until.Equal(until) {
				t.Errorf("until then: %+v, %v", z, err)
			}
		})
	}
}

func TestCommentValidate(t *testing.T) {
	t.Parallel()
	for text, ok := range map[string]bool{"hello": true, " ": false, "": false, "a\x00": false, "\xff": false,
		strings.Repeat("x", journal.MaxCommentBytes): true, strings.Repeat("x", journal.MaxCommentBytes+1): false} {
		err := journal.Comment{Actor: teammate("Olivia"), Text: text}.Validate()
		if diff := cmp.Diff(ok, err == nil); diff != "" {
			t.Errorf("%.20q: %v", text, err)
		}
	}
}
