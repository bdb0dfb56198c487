package handlers

import (
	"fmt"
	"net/url"
	"strings"

	"github.com/landedhq/landed/journal"
	"github.com/landedhq/landed/web"
)

// newBasis says what the evidence stands on: a read by the id of what a worker
// journaled before the effect, or a search. e is the look that is shown, nil if
// there is none.
func newBasis(k *journal.Case, e *journal.Evidence) web.Basis {
	var b web.Basis
	seen := map[[2]string]bool{}
	for _, h := range k.Handles {
		if id := [2]string{h.Kind, h.Value}; !seen[id] {
			seen[id] = true
			b.Handles = append(b.Handles, web.HandleNote{
				Kind: line(strings.ReplaceAll(h.Kind, "_", " ")), Value: web.Visible(h.Value, web.ValueLimit),
				Attempt: fmt.Sprintf("attempt %d", h.Attempt), Means: handleMeans(k, h, e),
			})
		}
	}
	switch {
	case len(b.Handles) > 0:
	case e != nil:
		b.Search = "No id was journaled before the effect: this look was a search for the reference."
	case k.CanLook:
		b.Search = "No id was journaled before the effect: evidence is a search for the reference."
	}
	return b
}

// handleMeans says what the look made of a handle. Not every adapter reads every
// kind: what the look itself shows decides.
func handleMeans(k *journal.Case, h journal.Handle, e *journal.Evidence) string {
	switch {
	case e == nil && !k.CanLook:
		return "no adapter is set up that could read it by its id."
	case e == nil:
		return "evidence reads it by its id, where the adapter knows this kind, and does not depend on a search."
	case readByID(e, h):
		return "evidence reads it by its id; the look below did."
	case h.At.After(e.StartedAt):
		return "it came after the look below: the next one can read it by its id."
	}
	return "the look below did not read it by its id: it was a search for the reference."
}

// readByID reports whether a look asked for a handle's value. A match that bears
// the id was read by it, however the request was kept.
func readByID(e *journal.Evidence, h journal.Handle) bool {
	for _, m := range e.Matches {
		if m.ID == h.Value || m.Carrier == "handle "+h.Kind {
			return true
		}
	}
	for _, x := range e.Exchanges {
		if namesID(x.Request, h.Value) || namesID(x.Request, url.PathEscape(h.Value)) {
			return true
		}
	}
	return false
}

// namesID reports whether text holds id as a whole: d-1 is not named by d-17.
func namesID(text, id string) bool {
	for id != "" {
		at := strings.Index(text, id)
		if at < 0 {
			return false
		}
		before, after := text[:at], text[at+len(id):]
		if !endsInID(before) && !startsInID(after) {
			return true
		}
		text = after
	}
	return false
}

const idBytes = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-"

func endsInID(s string) bool {
	return s != "" && strings.IndexByte(idBytes, s[len(s)-1]) >= 0
}

func startsInID(s string) bool { return s != "" && strings.IndexByte(idBytes, s[0]) >= 0 }
