package guide

import (
	"fmt"
	"strings"
	"time"

	"github.com/landedhq/landed/journal"
	"github.com/landedhq/landed/providers/evidence"
	"github.com/landedhq/landed/providers/evidence/declared"
)

// clientTimeout is that of the examples' tools. A provider's answer is waited for
// as long, so it is part of the time until "not found" is believed.
const clientTimeout = 30 * time.Second

// Guide is what a worker must know about one provider.
type Guide struct {
	Name    string   `json:"name"`  // of the adapter or the definition, e.g. "redmine.issue"
	Title   string   `json:"title"` // for people
	About   string   `json:"about"`
	Setup   []string `json:"setup,omitempty"`
	Request string   `json:"request"`
	Fields  []Field  `json:"fields"`
	Tool    Tool     `json:"tool"`
	Looks   string   `json:"looks"`
	Says    []string `json:"says"` // what evidence can and can't say
	// BelievedAfter is how long after send_by an empty answer counts as "not found",
	// at the soonest; 0 = never.
	BelievedAfter time.Duration `json:"-"`
	Believed      string        `json:"believed"`
	// Unconfirmed is what the vendor's documents do not say, in the words of the
	// definition; "" = nothing is listed.
	Unconfirmed string `json:"unconfirmed,omitempty"`
}

// Field is one value that the worker sets.
type Field struct {
	Place string `json:"place"` // see evidence.Field
	Name  string `json:"name"`
	Value Value  `json:"value"`
	Why   string `json:"why"`
}

// Tool is the class that fits, and why.
type Tool struct {
	Class     journal.Class `json:"class"`
	KeyWindow time.Duration `json:"-"` // provider_idempotent only
	Window    string        `json:"key_window,omitempty"`
	Why       string        `json:"why"`
}

// For makes the guide of a configured provider. ok is false if its adapter gives no
// instruction.
func For(a evidence.Adapter) (g Guide, ok bool, err error) {
	s := newStand()
	in, ok, err := instruction(a, s.ref)
	if !ok || err != nil {
		return Guide{}, ok, err
	}
	sheet := a.Sheet()
	name := strings.TrimPrefix(sheet.Kind, "declared/")
	g = Guide{Name: name, Title: title(name), About: in.About, Setup: in.Setup, Request: in.Request, Unconfirmed: unconfirmed(name)}
	carries := false
	for _, f := range in.Fields {
		v := s.parse(f.Value)
		carries = carries || v.has(Ref, DashedRef)
		g.Fields = append(g.Fields, Field{Place: f.Place, Name: f.Name, Value: v, Why: f.Why})
	}
	if !carries {
		return Guide{}, true, fmt.Errorf("guide: no field of %s carries the reference", sheet.Kind)
	}
	g.judge(sheet)
	return g, true, nil
}

// instruction asks an adapter, of either kind, what a worker must set.
func instruction(a evidence.Adapter, ref string) (evidence.Instruction, bool, error) {
	switch a := a.(type) {
	case evidence.Instructor:
		in, err := a.Instruction(ref, 1)
		return in, true, err
	case *declared.Adapter:
		in, err := a.Instruction(ref, 1)
		out := evidence.Instruction{About: in.About, Setup: in.Setup, Request: in.Request}
		for _, f := range in.Fields {
			out.Fields = append(out.Fields, evidence.Field{Place: f.Place, Name: f.Name, Value: f.Value, Why: f.Why})
		}
		return out, true, err
	}
	return evidence.Instruction{}, false, nil
}

// judge says what follows from the capability sheet.
func (g *Guide) judge(sheet evidence.Sheet) {
	g.Tool = classFor(sheet)
	g.Looks = looks(sheet.Class)
	conclusive := sheet.Conclusive && sheet.Class != evidence.L6
	g.Says = says(sheet, conclusive)
	if conclusive {
		g.BelievedAfter = clientTimeout + sheet.ProcessingHorizon + sheet.IndexLag
		g.Believed = fmt.Sprintf("%s after the last moment at which the request could be written (send_by): %s client time-out, %s in which an accepted request can still take effect, %s until it shows. A longer lag that Landed measured counts instead.",
			span(g.BelievedAfter), span(clientTimeout), span(sheet.ProcessingHorizon), span(sheet.IndexLag))
		return
	}
	g.Believed = "Never: an empty answer proves nothing here, and a person decides."
}

// classFor is the rule: a key that the provider honours, else evidence that can
// say no, else nobody may repeat.
func classFor(sheet evidence.Sheet) Tool {
	switch {
	case sheet.Native.Header != "" && sheet.Native.Window > 0:
		return Tool{Class: journal.ClassProviderIdempotent, KeyWindow: sheet.Native.Window, Window: span(sheet.Native.Window),
			Why: "The provider honours " + sheet.Native.Header + " for " + span(sheet.Native.Window) + ": inside of that a repeat is safe."}
	case sheet.Conclusive && sheet.Class != evidence.L6:
		return Tool{Class: journal.ClassJournalDeduped, Why: "No key with a known window, but a look can prove that nothing landed: Landed looks before each repeat."}
	}
	return Tool{Class: journal.ClassAtMostOnce, Why: "No key with a known window, and a look can't prove that nothing landed: nothing is repeated unless a person orders it."}
}

func looks(c evidence.LookupClass) string {
	switch c {
	case evidence.L1:
		return "It is read by an id of our own."
	case evidence.L2:
		return "It is found by an exact filter in the provider's primary store."
	case evidence.L3:
		return "It is found by a search index, which lags."
	case evidence.L4:
		return "It is found in an event log, which is kept for a while only."
	case evidence.L5:
		return "Everything of the time in question is read, and compared by Landed."
	}
	return "The provider can't be asked by our reference."
}

func says(sheet evidence.Sheet, conclusive bool) []string {
	out := []string{"A match proves that it landed, once its reference was compared byte for byte."}
	if !conclusive {
		why := sheet.InconclusiveWhy
		if why == "" {
			why = "The provider can't be asked for our reference."
		}
		out = append(out, "No match proves nothing. "+why)
	}
	if sheet.Retention > 0 {
		out = append(out, "An effect that is older than "+span(sheet.Retention)+" can't be proved absent: the provider no longer has it, or no longer shows it.")
	} else {
		out = append(out, "What a person deletes for good can't be found.")
	}
	if n := sheet.Native; n.Header != "" && n.Window > 0 {
		text := "A repeat under the same provider key within " + span(n.Window) + " has no second effect."
		if n.ErrorsKept {
			text += " The first answer is repeated, an error too."
		}
		if n.BodyCompared {
			text += " The body must be the same."
		}
		out = append(out, text)
	}
	return out
}

// span writes a length of time without zeros: "90 s", "10 min", "24 h", "30 days".
func span(d time.Duration) string {
	const day = 24 * time.Hour
	switch {
	case d >= 2*day && d%day == 0:
		return fmt.Sprintf("%d days", d/day)
	case d >= time.Hour && d%time.Hour == 0:
		return fmt.Sprintf("%d h", d/time.Hour)
	case d >= time.Hour:
		return fmt.Sprintf("%d h %s", d/time.Hour, span(d%time.Hour))
	case d >= time.Minute && d%time.Minute == 0:
		return fmt.Sprintf("%d min", d/time.Minute)
	case d > time.Minute:
		return fmt.Sprintf("%d min %s", d/time.Minute, span(d%time.Minute))
	}
	return fmt.Sprintf("%d s", d/time.Second)
}
