package handlers

import (
	"maps"
	"slices"
	"strings"

	"github.com/landedhq/landed/journal"
	"github.com/landedhq/landed/providers/resume"
	"github.com/landedhq/landed/web"
)

// runtimeLines are the configured targets, and those that something is left of.
func runtimeLines(c clock, sheets map[string]resume.Sheet, states map[string]journal.TargetState) []web.RuntimeLine {
	names := map[string]bool{}
	for n := range sheets {
		names[n] = true
	}
	for n, st := range states {
		if st.Pending+st.Refused+st.Expired > 0 {
			names[n] = true
		}
	}
	var out []web.RuntimeLine
	for _, n := range slices.Sorted(maps.Keys(names)) {
		sheet, known := sheets[n]
		st := states[n]
		r := web.RuntimeLine{Name: line(n), Kind: sheet.Kind, Load: loadText(st), Oldest: c.maybe(st.OldestPending), Taken: c.maybe(st.LastTaken)}
		switch {
		case !known:
			r.Kind, r.State, r.Detail = "not configured here", web.Badge{Tone: web.ToneStop, Text: "Unknown"}, line("effects name it, the configuration does not.")
		case !st.Mark.StoppedAt.IsZero():
			r.State, r.Detail = web.Badge{Tone: web.ToneStop, Text: "Wants no more"}, web.Visible(st.Mark.StoppedWhy, web.ValueLimit)
		case st.LastTaken.IsZero() && st.Pending+st.Refused+st.Expired > 0:
			r.State, r.Detail = web.Badge{Tone: web.ToneWarn, Text: "Nothing taken yet"}, line("")
		case st.LastTaken.IsZero():
			r.State, r.Detail = web.Badge{Tone: web.ToneQuiet, Text: "Not used yet"}, line("")
		default:
			r.State = web.Badge{Tone: web.ToneGood, Text: "In use"}
		}
		if known {
			r.Promises = promises(sheet)
		}
		out = append(out, r)
	}
	return out
}

func loadText(s journal.TargetState) string {
	var out []string
	for _, p := range []struct {
		n    int
		what string
	}{{s.Pending, "pending"}, {s.Sent, "taken and not acted on"}, {s.Refused, "refused"}, {s.Expired, "expired"}} {
		if p.n > 0 {
			out = append(out, web.Number(p.n)+" "+p.what)
		}
	}
	if len(out) == 0 {
		return "nothing"
	}
	return strings.Join(out, ", ")
}

// promises says what a sheet says, for people.
func promises(s resume.Sheet) []string {
	say := func(on bool, yes, no string) string {
		if on {
			return yes
		}
		return no
	}
	var out []string
	if s.Dedupes || s.Residual == "" { // else the residual says it better
		out = append(out, say(s.Dedupes, "It ignores what it has seen: work goes on once.", "It may resume work twice unless the consumer ignores what it has seen."))
	}
	out = append(out,
		say(s.Buffers, "What comes early is kept until the work waits for it.", "What comes before the work waits is tried again."),
		say(s.Confirms, "It says whether the work goes on.", "It says only that it took it."))
	if s.Residual != "" {
		out = append(out, s.Residual)
	}
	return out
}
