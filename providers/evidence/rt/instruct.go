package rt

import (
	"errors"

	"github.com/landedhq/landed/journal"
	"github.com/landedhq/landed/providers/evidence"
)

var _ evidence.Instructor = (*Adapter)(nil)

// Instruction says what CreateBody writes.
func (a *Adapter) Instruction(ref string, issue int) (evidence.Instruction, error) {
	if !journal.ValidRef(ref) || issue < 1 {
		return evidence.Instruction{}, errors.New("rt: an instruction needs a reference and an issue number from 1 on")
	}
	return evidence.Instruction{
		About: "The reference goes into a custom field of the ticket when it is created.",
		Setup: []string{
			"A ticket custom field \"" + a.cfg.Field + "\" of the type \"Enter one value\", applied to all queues: a ticket that is moved to a queue without it can't be judged.",
			"The worker's account has CreateTicket, SeeCustomField and ModifyCustomField (or SetInitialCustomField). RT drops a field that the account may not set without a word, so read the first ticket back.",
			"Tickets that were shredded, or whose field a person emptied, can't be found.",
		},
		Request: "POST /REST/2.0/ticket",
		Fields: []evidence.Field{
			{Place: "json", Name: "CustomFields." + a.cfg.Field, Value: ref, Why: "the search asks for it"},
		},
	}, nil
}
