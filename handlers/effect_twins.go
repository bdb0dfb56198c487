package handlers

import (
	"fmt"
	"strings"

	"github.com/landedhq/landed/journal"
	"github.com/landedhq/landed/web"
)

// twinCards names the effects that look like the same deed under another key, with
// the arguments that differ side by side. What the tool does not show stays hidden.
func twinCards(c clock, k *journal.Case) []web.TwinCard {
	var out []web.TwinCard
	for _, t := range k.Twins {
		card := web.TwinCard{URL: web.EffectURL(t.ID), Subject: line(firstOf(strings.TrimSpace(t.Subject), t.Operation, "the other effect")),
			Operation: line(t.Operation), Money: money(t.Amount, t.Currency), State: siblingState(t.State), Began: c.ago(t.CreatedAt), Why: twinWhy(t)}
		for _, d := range t.Diff {
			card.Diff = append(card.Diff, diffRow(k.Tool, d))
		}
		out = append(out, card)
	}
	return out
}

func hiddenField(t journal.Tool, name string) bool {
	if len(t.DisplayFields) == 0 {
		return false
	}
	for _, f := range t.DisplayFields {
		if f == name {
			return false
		}
	}
	return true
}

func twinWhy(t journal.Twin) string {
	why := ""
	switch t.Why {
	case journal.TwinSubject:
		why = "The same subject"
	case journal.TwinLabels:
		why = "The same labels"
	case journal.TwinAmount:
		why = "The same operation and amount"
	case journal.TwinArgs:
		why = "The same operation"
	}
	if t.AllArgs > 0 {
		why += fmt.Sprintf("; %d of %s equal", t.SameArgs, web.Count(t.AllArgs, "argument", "arguments"))
	}
	return why + "."
}
