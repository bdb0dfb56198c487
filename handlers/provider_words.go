package handlers

import (
	"fmt"
	"strings"
	"time"

	"github.com/landedhq/landed/providers/evidence"
	"github.com/landedhq/landed/web"
)

// lookupSentence says in one sentence how a provider is asked.
func lookupSentence(c evidence.LookupClass) string {
	switch c {
	case evidence.L1:
		return "Landed reads the object by an id that the worker chose: it is there or it is not."
	case evidence.L2:
		return "Landed filters for the exact reference in the provider’s own records, so what is there can be found at once."
	case evidence.L3:
		return "Landed searches an index that the provider fills a while after the fact, so what has landed may show late."
	case evidence.L4:
		return "Landed reads the provider’s event log, which reaches back only a short time."
	case evidence.L5:
		return "Landed reads everything of the time window and compares it here, so every page must be read."
	case evidence.L6:
		return "The provider can’t be asked for our reference, so an empty answer never proves anything."
	}
	return "Look-up class " + string(c) + "."
}

func lookupName(c evidence.LookupClass) string {
	switch c {
	case evidence.L1:
		return "read by id (L1)"
	case evidence.L2:
		return "exact filter (L2)"
	case evidence.L3:
		return "search index (L3)"
	case evidence.L4:
		return "event log (L4)"
	case evidence.L5:
		return "scan of the window (L5)"
	case evidence.L6:
		return "can’t be asked (L6)"
	}
	return string(c)
}

// sheetRows puts the capability sheet into words.
func sheetRows(sh evidence.Sheet) []web.SheetRow {
	row := func(name, value, means string) web.SheetRow {
		return web.SheetRow{Name: name, Value: []web.Text{line(value)}, Means: means}
	}
	scopes := web.SheetRow{Name: "Places it covers", Means: "An empty answer counts only if every one of them could be searched."}
	for _, s := range sh.Scopes {
		scopes.Value = append(scopes.Value, line(s))
	}
	if len(sh.Scopes) == 0 {
		scopes.Value = []web.Text{web.Plain("none named")}
	}
	retention, means := "until somebody deletes it", "The age of an effect does not matter."
	if sh.Retention > 0 {
		retention, means = span(sh.Retention), "Of an older effect an empty answer proves nothing: the provider may have dropped it."
	}
	empty := row("Empty answer", "can prove that it is not there", "If the waiting time is over, every page and place was read and both controls passed.")
	if !conclusive(sh) {
		empty = web.SheetRow{Name: "Empty answer", Value: []web.Text{web.Plain("proves nothing")},
			Means: web.Visible(inconclusive(sh), web.ValueLimit).String() + " What is found still counts."}
	}
	return []web.SheetRow{
		row("How it looks", lookupName(sh.Class), lookupSentence(sh.Class)),
		empty, scopes,
		row("Mode", firstOf(sh.Mode, "not said"), modeSentence(sh.Mode)),
		row("Index lag", lagText(sh.IndexLag), "How long the provider may take to show what has landed. A longer measured lag overrules it."),
		row("Processing horizon", lagText(sh.ProcessingHorizon), "How long a request that the provider took can still land after the worker gave up."),
		row("Retention", retention, means),
		row("Repeats of one key", nativeName(sh.Native), nativeSentence(sh.Native)),
		row("Adapter", strings.TrimSpace(sh.Kind+" "+sh.Version), "The version changes when the way of looking changes; it is kept with every piece of evidence."),
	}
}

func modeBadge(mode string) web.Badge {
	switch mode {
	case "":
		return web.Badge{}
	case "live":
		return web.Badge{Tone: web.ToneInfo, Text: "Live"}
	case "test":
		return web.Badge{Tone: web.ToneWarn, Text: "Test mode"}
	}
	return web.Badge{Tone: web.ToneWarn, Text: line(mode).String()}
}

func modeSentence(mode string) string {
	switch mode {
	case "live":
		return "It sees real effects."
	case "test":
		return "It sees the provider’s test side or a sandbox only: real effects don’t show here."
	}
	return "Neither live nor test: ask whoever runs Landed."
}

func nativeName(n evidence.NativeIdempotency) string {
	switch {
	case n.Header == "":
		return "not dropped"
	case n.Window > 0:
		return fmt.Sprintf("dropped for %s, by %s", span(n.Window), n.Header)
	}
	return "dropped, by " + n.Header
}

func nativeSentence(n evidence.NativeIdempotency) string {
	if n.Header == "" {
		return "The provider takes a repeat as new: it would happen twice."
	}
	out := "Within that time the provider answers a repeat under the same key with its first answer."
	if n.Window <= 0 {
		out = "The provider answers a repeat under the same key with its first answer; for how long is not declared."
	}
	if n.ErrorsKept {
		out += " That goes for errors too."
	}
	if n.BodyCompared {
		out += " It refuses the same key with another content."
	}
	return out
}

// lagText is a lag for people: short ones count.
func lagText(d time.Duration) string {
	switch {
	case d <= 0:
		return "0 s"
	case d < 10*time.Second && d%time.Second != 0:
		return tookText(d)
	case d >= time.Minute && d < time.Hour:
		return two(int64(d/time.Minute), "min", int64(d%time.Minute/time.Second), "s")
	}
	return span(d)
}

// instant is a fact that is a time, or never.
func instant(k clock, name string, t *time.Time) web.Fact {
	if t == nil {
		return web.Fact{Name: name, Value: web.Plain("never")}
	}
	return web.Fact{Name: name, At: k.maybe(*t)}
}
