package handlers

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/landedhq/landed/journal"
	"github.com/landedhq/landed/web"
)

// The notes that an act of the team leaves on top of the effect's page.
const (
	noteClaim     = "claim-" // and the verb
	noteCommented = "commented"
	noteSnoozed   = "snoozed"
	noteWoken     = "woken"
)

func teamNote(note string) *web.Notice {
	info := func(title, text string) *web.Notice {
		return &web.Notice{Tone: web.ToneInfo, Title: title, Lines: []string{text}}
	}
	switch note {
	case noteClaim + string(journal.ClaimTake):
		return info("You are on it", "Others see so, and may still decide. It renews while you act, and ends by itself.")
	case noteClaim + string(journal.ClaimRelease):
		return info("Released", "Nobody is on it now.")
	case noteClaim + string(journal.ClaimHandOver):
		return info("Handed over", "The page below shows to whom.")
	case noteClaim + string(journal.ClaimTakeOver):
		return info("You took it over", "Your reason is kept in the timeline and in the audit trail.")
	case noteCommented:
		return info("Your comment is kept", "It is in the timeline.")
	case noteSnoozed:
		return info("Snoozed", "It is off the list. It comes back at its time, or at once when anything about it changes.")
	case noteWoken:
		return info("It is back on the list", "")
	}
	return nil
}

// clockTime is a time of today, for what lasts minutes.
func clockTime(t time.Time) string { return t.UTC().Format("15:04 UTC") }

// personName is a person's name, safe to put into a sentence.
func personName(a journal.Actor) string {
	return web.Visible(firstOf(strings.TrimSpace(a.Name), a.Subject), 60).String()
}

// newTeamBox says who works on the effect.
func newTeamBox(c clock, k *journal.Case, v effectView) web.TeamBox {
	claim, mayAct := k.Team.Claim, v.Who.MayDecide()
	b := web.TeamBox{URL: web.ClaimURL(k.Effect.ID), Title: "Nobody is on it", Tone: web.ToneQuiet, Note: "A claim tells the others that you look into it. It forbids nothing.",
		Present: presentLines(v.Team.present, v.Who, "")}
	switch {
	case claim.HeldByAnother(v.Who, c.now):
		b.Title, b.Tone = personName(claim.Holder)+" is on it until "+clockTime(claim.Until), web.ToneWarn
		b.Until, b.Note = c.maybe(claim.Until), "A claim forbids nothing."
	case claim.Open(c.now):
		b.Title, b.Tone, b.Release = "You are on it until "+clockTime(claim.Until), web.ToneWait, mayAct
		b.Until, b.Note = c.maybe(claim.Until), "It renews while you act."
		if mayAct {
			b.Take = "Renew"
		}
	case mayAct && k.NeedsAttention():
		b.Take = "Take it"
	}
	if claim.Open(c.now) && !claim.By.Same(claim.Holder) {
		b.Note = "Handed over by " + personName(claim.By) + ". " + b.Note
	}
	if z := k.Team.Snooze; z.Open(c.now) {
		b.Snoozed, b.Wakes, b.Reason = "Snoozed by "+personName(z.Actor), c.maybe(z.Until), web.Visible(z.Reason, journal.MaxReasonBytes)
		if mayAct {
			b.WakeURL = web.SnoozeURL(k.Effect.ID)
		}
	}
	return b
}

// newTeamForms are the forms of whoever may act; nil for the others.
func newTeamForms(c clock, k *journal.Case, a journal.Assessment, v effectView) *web.TeamForms {
	if !v.Who.MayDecide() {
		return nil
	}
	id := k.Effect.ID
	f := &web.TeamForms{ClaimURL: web.ClaimURL(id), SnoozeURL: web.SnoozeURL(id), CommentURL: web.CommentURL(id), Digest: a.Digest,
		CommentID: journal.NewID(c.now), Draft: v.Team.draft}
	claim := k.Team.Claim
	switch {
	case claim.HeldByAnother(v.Who, c.now):
		f.TakeOver, f.Seen = "Take it over from "+personName(claim.Holder), claim.ID
	case claim.Open(c.now):
		if f.HandOver = handOver(v.Team.people, v.Who); len(f.HandOver) == 1 {
			f.HandOver, f.Nobody = nil, "There is nobody to hand it over to: no other operator or approver has signed in yet."
		}
	}
	if k.NeedsAttention() {
		f.Presets, f.Limit = snoozePresets(c, &k.Snapshot)
	}
	return f
}

// handOver are those who could act, by name.
func handOver(list []journal.Person, who journal.Actor) []web.Option {
	var out []web.Option
	for _, p := range list {
		if p.MayDecide() && !p.Same(who) {
			text := personName(p.Actor)
			if p.Name != "" {
				text += " (" + web.Visible(p.Subject, 60).String() + ")"
			}
			out = append(out, web.Option{Value: p.Issuer + " " + p.Subject, Text: text})
		}
	}
	slices.SortStableFunc(out, func(a, b web.Option) int { return strings.Compare(a.Text, b.Text) })
	return append([]web.Option{{Text: "Pick a person", Selected: true}}, out...)
}

// snoozePresets are times on the journal's clock. What would go past the end of
// the provider's key is shown, and why not.
func snoozePresets(c clock, s *journal.Snapshot) (out []web.SnoozePreset, why string) {
	limit, window := s.SnoozeLimit()
	if window {
		why = "A snooze may not go past " + c.ago(limit).Full + ": until then the provider’s key makes a repeat safe, and somebody has to see it before."
	}
	now := c.now.UTC().Truncate(time.Minute)
	morning := time.Date(now.Year(), now.Month(), now.Day()+1, 8, 0, 0, 0, time.UTC)
	for _, p := range []struct {
		text string
		at   time.Time
	}{{"1 hour", now.Add(time.Hour)}, {"4 hours", now.Add(4 * time.Hour)}, {"Tomorrow, 08:00 UTC", morning}} {
		one := web.SnoozePreset{Value: p.at.Format(time.RFC3339), Text: p.text, Until: c.maybe(p.at)}
		if p.at.After(limit) {
			one.Blocked = "Not open: that lies past the end of the provider’s key."
		}
		out = append(out, one)
	}
	return append(out, web.SnoozePreset{Value: web.SnoozeChange, Text: "Something changes, at the latest", Until: c.maybe(limit)},
		web.SnoozePreset{Value: web.SnoozeAt, Text: "A time of my own, at most 7 days away"}), why
}

// presentLines say who else has the effect open. Without a window of their own a
// person is not told of their other ones: this page may be one of them.
func presentLines(list []journal.Presence, who journal.Actor, window string) []string {
	out := []string{}
	at := map[string]int{}
	for _, p := range list {
		text := personName(p.Actor) + " has this open"
		if p.Actor.Same(who) {
			if window == "" || p.Window == window {
				continue
			}
			text = "You have this open in another window"
		}
		key := p.Actor.Issuer + " " + p.Actor.Subject
		i, ok := at[key]
		if !ok {
			i = len(out)
			at[key] = i
			out = append(out, text)
		}
		if p.Typing && !strings.HasSuffix(out[i], "typing") {
			out[i] += ", typing"
		}
	}
	return out
}

// claimWarning is for whoever decides on what another person is on.
func claimWarning(c clock, k *journal.Case, who journal.Actor) string {
	claim := k.Team.Claim
	if !claim.HeldByAnother(who, c.now) {
		return ""
	}
	return personName(claim.Holder) + " is on this effect until " + clockTime(claim.Until) + ". You can decide all the same; ask first if you can."
}

// teamVersion is part of the page's version.
func teamVersion(k *journal.Case) string {
	v := fmt.Sprintf(".c%d", len(k.Team.Comments))
	if c := k.Team.Claim; c.Open(k.Now) {
		v += "." + c.ID
	}
	if z := k.Team.Snooze; z.Open(k.Now) {
		v += fmt.Sprintf(".z%d", z.Until.Unix())
	}
	return v
}

// teamBadges are the row's marks of the team.
func teamBadges(c clock, m journal.TeamMark, who journal.Actor) []web.Badge {
	var out []web.Badge
	if m.Claim.Open(c.now) {
		name, tone := personName(m.Claim.Holder), web.ToneWarn
		if m.Claim.Holder.Same(who) {
			name, tone = "You", web.ToneWait
		}
		out = append(out, web.Badge{Tone: tone, Text: name + " until " + clockTime(m.Claim.Until)})
	}
	if m.Comments > 0 {
		out = append(out, web.Badge{Tone: web.ToneQuiet, Text: web.Count(m.Comments, "comment", "comments")})
	}
	if m.Snooze.Open(c.now) {
		out = append(out, web.Badge{Tone: web.ToneWait, Text: "Snoozed until " + m.Snooze.Until.UTC().Format("2 Jan, 15:04 UTC") + " by " + personName(m.Snooze.Actor)})
	}
	return out
}

// teamDetail is what the team's events carry.
type teamDetail struct {
	Name     string    `json:"name"`
	Reason   string    `json:"reason"`
	Until    time.Time `json:"until"`
	ToName   string    `json:"to_name"`
	FromName string    `json:"from_name"`
	Why      string    `json:"why"`
}

// teamEventWords puts an event of the team into words.
func teamEventWords(e journal.Event) (string, web.Tone, web.Text) {
	var d teamDetail
	if json.Unmarshal(e.Detail, &d) != nil {
		return "", web.ToneQuiet, web.Text{}
	}
	name := func(s string) string { return personName(journal.Actor{Name: s, Subject: "somebody"}) }
	reason := web.Visible(d.Reason, web.ValueLimit)
	switch e.Kind {
	case journal.EventClaimed:
		return "Claimed until " + clockTime(d.Until), web.ToneInfo, reason
	case journal.EventReleased:
		return "Released: nobody is on it", web.ToneQuiet, reason
	case journal.EventHandedOver:
		return "Handed over to " + name(d.ToName), web.ToneInfo, reason
	case journal.EventTakenOver:
		return "Taken over from " + name(d.FromName), web.ToneWarn, reason
	case journal.EventSnoozed:
		return "Snoozed until " + d.Until.UTC().Format("2 Jan 2006, 15:04 UTC"), web.ToneWait, reason
	case journal.EventWoken:
		return "Back on the list: " + wokenWhy(d.Why), web.ToneInfo, reason
	}
	return "", web.ToneQuiet, web.Text{}
}

func wokenWhy(why string) string {
	switch why {
	case journal.WokeEvidence:
		return "a look said something else"
	case journal.WokeFact:
		return "a report came in"
	case journal.WokeDecision:
		return "somebody decided or proposed"
	case journal.WokeState:
		return "its state changed"
	}
	return "somebody put it back"
}

// teamNames adds the names behind the subjects that acted as a team.
func (p people) teamNames(k *journal.Case) people {
	for _, e := range k.Events {
		var d teamDetail
		if subject, ok := strings.CutPrefix(e.Actor, "operator:"); ok && json.Unmarshal(e.Detail, &d) == nil && d.Name != "" && p[subject] == "" {
			p[subject] = d.Name
		}
	}
	return p
}

// withComments puts the comments between the events that the page shows, newest
// first. Older ones than the oldest event shown stay: nobody's words are left out.
func withComments(c clock, k *journal.Case, rows []web.EventRow) []web.EventRow {
	var out []web.EventRow
	left := k.Team.Comments
	add := func(after time.Time) {
		for n := len(left); n > 0 && left[n-1].At.After(after); n = len(left) {
			com := left[n-1]
			left = left[:n-1]
			out = append(out, web.EventRow{At: c.ago(com.At), Text: "Comment", Tone: web.ToneInfo, Actor: line(personName(com.Actor)),
				Detail: web.Visible(com.Text, web.NoLimit)})
		}
	}
	for i := range rows {
		add(k.Events[len(k.Events)-1-i].At)
		out = append(out, rows[i])
	}
	add(time.Time{})
	return out
}
