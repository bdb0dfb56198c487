package graph

import (
	"errors"
	"strings"

	"github.com/landedhq/landed/journal"
	"github.com/landedhq/landed/providers/evidence"
)

var _ evidence.Instructor = (*Adapter)(nil)

// Instruction says what Properties writes.
func (a *Adapter) Instruction(ref string, issue int) (evidence.Instruction, error) {
	if !journal.ValidRef(ref) || issue < 1 {
		return evidence.Instruction{}, errors.New("graph: an instruction needs a reference and an issue number from 1 on")
	}
	return evidence.Instruction{
		About: "The reference is an extended property of the message, and a header field of it.",
		Setup: []string{
			"saveToSentItems is not false, and no rule deletes the copy: say so by copy_kept in Landed's configuration. Until then an empty answer proves nothing.",
			"A worker that sends MIME can't set the property: it writes Message-ID and " + a.cfg.Carrier.Header + " instead, as for IMAP.",
			"Better in two steps: make a draft, journal its immutable id as the handle \"" + HandleMessage + "\", send it. Package journal/worker/staged/graph does.",
		},
		Request: "POST /v1.0/me/sendMail",
		Fields: []evidence.Field{
			{Place: "json", Name: "message.singleValueExtendedProperties[] (an object with id " + Property + ")", Value: ref, Why: "the messages are filtered by it"},
			{Place: "json", Name: "message.internetMessageHeaders[] (an object with name " + strings.ToLower(a.cfg.Carrier.Header) + ")", Value: ref, Why: "proves a mail that another way found"},
		},
	}, nil
}
