package jmap

import (
	"errors"

	"github.com/landedhq/landed/journal"
	"github.com/landedhq/landed/providers/evidence"
)

var _ evidence.Instructor = (*Adapter)(nil)

// Instruction says what Properties writes.
func (a *Adapter) Instruction(ref string, issue int) (evidence.Instruction, error) {
	if !journal.ValidRef(ref) || issue < 1 {
		return evidence.Instruction{}, errors.New("jmap: an instruction needs a reference and an issue number from 1 on")
	}
	return evidence.Instruction{
		About: "The reference is in two header fields of the message: one of our own, and Message-ID.",
		Setup: []string{
			"The submission moves the message to Sent with onSuccessUpdateEmail. One that uses onSuccessDestroyEmail leaves nothing to be found.",
			"Set copy_kept in Landed's configuration once that is so: until then an empty answer proves nothing.",
			"Better in two steps: make the message, journal its id as the handle \"email\", submit it. Package journal/worker/staged/jmap does.",
		},
		Request: "Email/set, create",
		Fields: []evidence.Field{
			{Place: "json", Name: "messageId[]", Value: ref + "@" + a.cfg.Domain, Why: "the search asks for it; some relays replace it"},
			{Place: "json", Name: "header:" + a.cfg.RefHeader + ":asText", Value: ref, Why: "the search asks for it; some libraries drop it"},
		},
	}, nil
}
