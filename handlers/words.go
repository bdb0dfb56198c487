package handlers

import (
	"fmt"
	"strings"
	"time"

	"github.com/landedhq/landed/journal"
	"github.com/landedhq/landed/web"
)

// clock turns instants into stamps, all against the same now.
type clock struct{ now time.Time }

// age is how long ago t was: "3 h 12 min".
func (k clock) age(t time.Time) web.Stamp {
	s := k.ago(t)
	s.Form, s.Rel = web.FormAge, span(k.now.Sub(t))
	return s
}

// ago is where t lies: "3 h 12 min ago", "in 20 min".
func (k clock) ago(t time.Time) web.Stamp {
	t = t.UTC()
	s := web.Stamp{ISO: t.Format(time.RFC3339), Full: t.Format("2 Jan 2006, 15:04:05 UTC"), Form: web.FormAgo}
	switch d := k.now.Sub(t); {
	case d < 0:
		s.Rel = "in " + span(-d)
	case d < time.Second:
		s.Rel = "just now"
	default:
		s.Rel = span(d) + " ago"
	}
	return s
}

// maybe is ago, or nil for the zero time.
func (k clock) maybe(t time.Time) *web.Stamp {
	if t.IsZero() {
		return nil
	}
	s := k.ago(t)
	return &s
}

// span is a duration for people, in at most two units. The page script says the
// same: keep them alike.
func span(d time.Duration) string {
	sec := int64(max(d, 0) / time.Second)
	m, h, days := sec/60, sec/3600, sec/86400
	switch {
	case sec < 60:
		return fmt.Sprintf("%d s", sec)
	case m < 60:
		return fmt.Sprintf("%d min", m)
	case h < 48:
		return two(h, "h", m%60, "min")
	case days < 14:
		return two(days, "d", h%24, "h")
	}
	return fmt.Sprintf("%d d", days)
}

func two(a int64, unit string, b int64, small string) string {
	if b == 0 {
		return fmt.Sprintf("%d %s", a, unit)
	}
	return fmt.Sprintf("%d %s %d %s", a, unit, b, small)
}

// line is one line of hostile text.
func line(s string) web.Text { return web.Visible(s, web.LineLimit) }

// subject is what the effect is called, or what it does if nobody named it.
func subject(e *journal.Effect) web.Text {
	return line(firstOf(strings.TrimSpace(e.Subject), e.Operation, e.Tool))
}

// money is amount and currency as they were given: digits are never rounded.
func money(amount, currency string) web.Text {
	if amount == "" {
		return web.Text{}
	}
	return web.Visible(strings.TrimSpace(amount+" "+currency), 80)
}

// flags are the marks that outlive a state.
func flags(e *journal.Effect) []web.Badge {
	var out []web.Badge
	add := func(on bool, tone web.Tone, text string) {
		if on {
			out = append(out, web.Badge{Tone: tone, Text: text})
		}
	}
	add(e.Contradicted, web.ToneStop, "Contradicted")
	add(e.ProbablyDouble, web.ToneStop, "Probably double")
	add(e.Orphan, web.ToneWarn, "Orphan")
	add(e.GaveUp, web.ToneWarn, "Gave up")
	add(e.Drifted, web.ToneQuiet, "Drifted")
	return out
}

// people knows the names behind the subjects that the journal recorded.
type people map[string]string

func namesOf(k *journal.Case, viewer journal.Actor) people {
	p := people{}
	if viewer.Name != "" {
		p[viewer.Subject] = viewer.Name
	}
	know := func(a journal.Actor) {
		if a.Name != "" {
			p[a.Subject] = a.Name
		}
	}
	for _, d := range k.Decisions {
		know(d.Actor)
		if d.Approval != nil {
			know(d.Approval.Actor)
		}
	}
	if k.Proposal != nil {
		know(k.Proposal.Decision.Actor)
		know(k.Proposal.EndedBy)
	}
	return p.teamNames(k)
}

// who puts a recorded actor ("worker:mailer", "operator:<subject>") for people.
func (p people) who(actor string) web.Text {
	kind, rest, ok := strings.Cut(actor, ":")
	if !ok {
		return line(plainActor(actor))
	}
	switch kind {
	case "operator":
		return line(firstOf(p[rest], rest))
	case "worker":
		return line("worker " + rest)
	}
	return line(actor)
}

func plainActor(actor string) string {
	switch actor {
	case "policy":
		return "policy"
	case "sweeper", "collector":
		return "Landed’s " + actor
	case "schedule":
		return "the schedule"
	case "late_commit":
		return "a late commit"
	case "late_refusal":
		return "a late refusal"
	case "evidence":
		return "evidence"
	}
	return actor
}
