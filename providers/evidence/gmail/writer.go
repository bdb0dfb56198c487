package gmail

import (
	"errors"
	"fmt"

	"github.com/landedhq/landed/journal"
	"github.com/landedhq/landed/providers/evidence/mailref"
)

// The kinds of handles that a worker journals before it sends: the id of the draft
// that it created, and of its message and thread. Sending deletes the draft and
// gives the message a new id, so these answer "not sent yet"; what was sent is
// found by the search, or in the thread.
const (
	HandleDraft   = "gmail_draft"
	HandleMessage = "gmail_message"
	HandleThread  = "gmail_thread"
)

// Fields returns the header fields that a worker writes into the MIME message, and
// is, with BodyLine and the handles, all that it must get right. c must be the
// adapter's.
func Fields(c mailref.Carrier, ref string) ([]mailref.Field, error) {
	f, err := c.Fields(ref)
	if err != nil {
		return nil, fmt.Errorf("gmail: %w", err)
	}
	return f, nil
}

// BodyLine returns the line that a worker writes into the text of the mail, in
// every alternative of it, so that the search finds it: see Config.RefInBody.
// People see it.
func BodyLine(ref string) (string, error) {
	if !journal.ValidRef(ref) {
		return "", errors.New("gmail: the reference is not 32 lower-case hex digits")
	}
	return "Ref: " + ref, nil
}
