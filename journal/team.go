package journal

import (
	"fmt"
	"strings"
	"time"
	"unicode/utf8"
)

// How long things of a team last.
const (
	ClaimLease   = 30 * time.Minute   // of a claim, from when it was taken or renewed
	MaxSnooze    = 7 * 24 * time.Hour // the longest snooze
	PresenceLife = time.Minute        // of an open window without a beat
)

// Claim says who works on an effect. It never forbids another person's decision.
type Claim struct {
	ID     string // changes with the holder, not with a renewal
	Holder Actor
	Since  time.Time // when Holder got it
	Until  time.Time // it ends by itself
	By     Actor     // who gave it: Holder, or who handed it over
}

// Open reports whether somebody holds the claim at now.
func (c *Claim) Open(now time.Time) bool { return c != nil && now.Before(c.Until) }

// HeldByAnother reports whether somebody but who holds it at now.
func (c *Claim) HeldByAnother(who Actor, now time.Time) bool {
	return c.Open(now) && !c.Holder.Same(who)
}

// ClaimVerb is what a person does with a claim.
type ClaimVerb string

// The verbs of a claim.
const (
	ClaimTake     ClaimVerb = "take" // a free one, or one's own anew
	ClaimRelease  ClaimVerb = "release"
	ClaimHandOver ClaimVerb = "hand_over" // needs no acceptance
	ClaimTakeOver ClaimVerb = "take_over" // from its holder before it ends, with a reason
)

// ClaimOrder is what a person asks of a claim.
type ClaimOrder struct {
	EffectID string
	Verb     ClaimVerb
	Actor    Actor
	Seen     string // ClaimTakeOver: the id of the claim that the person saw
	To       Actor  // ClaimHandOver
	Reason   string // the person's words; only ClaimTakeOver needs them
}

// ClaimedError refuses a claim: another person holds it (409 claimed).
type ClaimedError struct {
	EffectID string
	Holder   Actor
	Until    time.Time
}

func (e *ClaimedError) Error() string {
	return fmt.Sprintf("%s is on effect %s until %s", e.Holder.Name, e.EffectID, e.Until.UTC().Format("15:04 UTC"))
}

// Claim says what becomes of the effect's claim, was, and of which kind the
// event is. A nil claim means: none is left.
func (s *Snapshot) Claim(o ClaimOrder, was *Claim) (*Claim, string, error) {
	if err := mayTeam(o.Actor); err != nil {
		return nil, "", err
	}
	if len(o.Reason) > MaxReasonBytes || !storable(o.Reason) {
		return nil, "", invalid("reason", fmt.Sprintf("must be valid text of at most %d bytes", MaxReasonBytes))
	}
	mine := was.Open(s.Now) && was.Holder.Same(o.Actor)
	switch o.Verb {
	case ClaimTake:
		return s.takeClaim(o, was, mine)
	case ClaimTakeOver:
		return s.takeOver(o, was, mine)
	case ClaimRelease, ClaimHandOver:
		if !mine {
			return nil, "", notHeld(o.EffectID, was, s.Now)
		}
	default:
		return nil, "", invalid("word", "must be take, release, hand_over or take_over")
	}
	if o.Verb == ClaimRelease {
		return nil, EventReleased, nil
	}
	switch {
	case o.To.Subject == "":
		return nil, "", invalid("to", "is missing: pick the person from the list")
	case o.To.Same(o.Actor):
		return nil, "", invalid("to", "names yourself: you hold it already")
	case !o.To.MayDecide():
		return nil, "", invalid("to", "names somebody who could not act on it: pick an operator or an approver")
	}
	return s.newClaim(o.To, o.Actor), EventHandedOver, nil
}

func (s *Snapshot) takeClaim(o ClaimOrder, was *Claim, mine bool) (*Claim, string, error) {
	switch {
	case mine:
		c := *was
		c.Until = s.Now.Add(ClaimLease)
		return &c, EventClaimRenewed, nil
	case was.Open(s.Now):
		return nil, "", &ClaimedError{EffectID: o.EffectID, Holder: was.Holder, Until: was.Until}
	case !s.NeedsAttention():
		return nil, "", invalid("effect", "needs no attention: there is nothing to be on")
	}
	return s.newClaim(o.Actor, o.Actor), EventClaimed, nil
}

// takeOver takes a claim from the holder that the person saw, and from nobody
// who came after.
func (s *Snapshot) takeOver(o ClaimOrder, was *Claim, mine bool) (*Claim, string, error) {
	if mine || !was.Open(s.Now) {
		return s.takeClaim(o, was, mine) // it is theirs, or ended while they wrote
	}
	if was.ID != o.Seen {
		return nil, "", &ClaimedError{EffectID: o.EffectID, Holder: was.Holder, Until: was.Until}
	}
	if n := utf8.RuneCountInString(strings.TrimSpace(o.Reason)); n < MinReasonRunes {
		return nil, "", invalid("reason", fmt.Sprintf("has %d characters: say in at least %d why you take it over now", n, MinReasonRunes))
	}
	return s.newClaim(o.Actor, o.Actor), EventTakenOver, nil
}

func (s *Snapshot) newClaim(holder, by Actor) *Claim {
	return &Claim{ID: NewID(s.Now), Holder: holder, By: by, Since: s.Now, Until: s.Now.Add(ClaimLease)}
}

func notHeld(id string, was *Claim, now time.Time) error {
	if was.Open(now) {
		return &ClaimedError{EffectID: id, Holder: was.Holder, Until: was.Until}
	}
	return invalid("effect", "is not yours any more: your claim ended")
}

// mayTeam: whoever decides works on effects; the others only see who does.
func mayTeam(who Actor) error {
	if !who.MayDecide() {
		return &PolicyError{Code: PolicyRole, Detail: "your role may not do this: an operator or an approver can"}
	}
	return nil
}

func storable(s string) bool { return utf8.ValidString(s) && !strings.ContainsRune(s, 0) }

// NeedsAttention reports whether the list shows the effect, unless it is snoozed.
func (s *Snapshot) NeedsAttention() bool {
	e := &s.Effect
	switch e.State {
	case StateParked, StateReissue:
		return true
	case StateIntent:
		a, ok := s.Current()
		if ok && a.FencedAt.IsZero() {
			return !s.Live()
		}
		return e.GaveUp || e.RetryAt.IsZero() || !s.Now.Before(e.RetryAt.Add(s.Policy.RetryGrace))
	}
	due := !e.NextLookAt.IsZero() && !e.NextLookAt.After(s.Now)
	return e.OpenDelivery || e.Contradicted || e.ProbablyDouble || e.Orphan || due
}

// MaxCommentBytes bounds one comment.
const MaxCommentBytes = 4000

// Comment is a person's words on an effect: never changed, never taken away.
type Comment struct {
	ID       string // minted by the page, so that a second click writes nothing
	EffectID string
	Actor    Actor
	Text     string // hostile until escaped
	At       time.Time
}

// Validate checks what the person gave.
func (c Comment) Validate() error {
	if err := mayTeam(c.Actor); err != nil {
		return err
	}
	switch {
	case strings.TrimSpace(c.Text) == "":
		return invalid("comment", "is empty: write something first")
	case len(c.Text) > MaxCommentBytes || !storable(c.Text):
		return invalid("comment", fmt.Sprintf("must be valid text of at most %d bytes", MaxCommentBytes))
	}
	return nil
}

// Presence is one open window on an effect. It is no fact of the journal.
type Presence struct {
	Window string // random, of one page load
	Actor  Actor
	Typing bool
	SeenAt time.Time
}

// Beat says that a window is open, or that it was closed.
type Beat struct {
	EffectID string
	Presence
	Gone bool
}

// Validate checks what the page's script sent.
func (b Beat) Validate() error {
	odd := func(r rune) bool { return !strings.ContainsRune("abcdefghijklmnopqrstuvwxyz0123456789-", r) }
	if n := len(b.Window); n < 8 || n > 64 || strings.ContainsFunc(b.Window, odd) {
		return invalid("window", "must be 8 to 64 letters, digits and dashes")
	}
	return nil
}

// Person is somebody who signed in before.
type Person struct {
	Actor
	SeenAt time.Time // the last login
}

// TeamMark is what the list shows of an effect's team.
type TeamMark struct {
	Claim    *Claim // nil if nobody holds it
	Comments int
	Snooze   *Snooze // nil if it is awake
}

// Team is how people work together on one effect.
type Team struct {
	Claim    *Claim    // the last one, perhaps over
	Comments []Comment // oldest first
	Snooze   *Snooze   // nil if it is awake
}
