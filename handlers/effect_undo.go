package handlers

import (
	"strings"

	"github.com/landedhq/landed/journal"
	"github.com/landedhq/landed/web"
)

// undoBox says what a decision would have undone, or nil: only closing as not
// landed asks for it, and only where the tool's policy is to.
func undoBox(k *journal.Case, verb journal.Verb) *web.UndoBox {
	if verb != journal.VerbCloseNotLanded || !k.CompensateRun {
		return nil
	}
	b := &web.UndoBox{}
	switch n := len(k.Undoable); {
	case n == 0:
		b.Lead = "The runtime is asked to undo the run, which has completed nothing that can be undone and is not undone yet."
	case n == 1:
		b.Lead = "The runtime is asked to undo the run’s completed effect."
	case n < journal.MaxUndoPage:
		b.Lead = "The runtime is asked to undo the run’s " + web.Count(n, "completed effect", "completed effects") + ", the last one first."
	default:
		b.Lead = "The runtime is asked to undo the run’s completed effects, the last one first: at least " + web.Count(n, "effect", "effects") + "."
		b.More = "Only the last " + web.Count(n, "effect", "effects") + " are listed; the run may have completed more."
	}
	for _, u := range k.Undoable {
		b.Rows = append(b.Rows, web.UndoRow{URL: web.EffectURL(u.EffectID), Subject: line(firstOf(strings.TrimSpace(u.Subject), u.Operation, u.Tool)),
			Money: money(u.Amount, u.Currency), Tool: line(u.Tool), By: line(u.CompensatedBy), Note: undoNote(u)})
	}
	return b
}

// undoNote is what is odd about one of them.
func undoNote(u journal.Undoable) string {
	var out []string
	switch u.Undo {
	case "":
	case journal.StateParked:
		out = append(out, "Its undo waits for a decision.")
	case journal.StateAbandoned:
		out = append(out, "Its undo was closed as not landed and is not tried again.")
	default:
		out = append(out, "Its undo has begun.")
	}
	if u.ProbablyDouble {
		out = append(out, "It probably happened twice: one undo undoes one.")
	}
	return strings.Join(out, " ")
}
