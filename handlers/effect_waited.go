package handlers

import (
	"fmt"

	"github.com/landedhq/landed/journal"
	"github.com/landedhq/landed/web"
)

// waitedText says which index lag a verdict counted with, and why that one; empty
// where it did not matter or was not kept.
func waitedText(e *journal.Evidence) string {
	verb := "waited"
	switch {
	case e.Waited == (journal.Waited{}):
		return ""
	case e.Verdict == journal.CannotTell && e.Reason == journal.CannotTooEarly:
		verb = "waits"
	case e.Verdict != journal.NotFound:
		return ""
	}
	w := e.Waited
	head := fmt.Sprintf("Landed %s %s: the adapter declares %s", verb, lagText(w.Lag), lagText(w.Declared))
	switch {
	case w.Samples == 0:
		return head + ", and nothing is measured yet."
	case w.Samples == w.Lost:
		return head + ", and no committed effect has shown yet."
	}
	counts := "which is less even three times over"
	if w.Lag > w.Declared {
		counts = "and three times that counts"
	}
	text := fmt.Sprintf("%s, and 99 of 100 committed effects showed within %s (%s), %s.", head, lagText(w.P99), web.Count(w.Samples, "sample", "samples"), counts)
	if w.Lost > 0 {
		text += fmt.Sprintf(" %s never showed.", web.Count(w.Lost, "sample", "samples"))
	}
	return text
}
