package zendesk

import (
	"errors"

	"github.com/landedhq/landed/journal"
	"github.com/landedhq/landed/providers/evidence"
)

var _ evidence.Instructor = (*Adapter)(nil)

// Instruction says what CreateBody and Header write.
func (a *Adapter) Instruction(ref string, issue int) (evidence.Instruction, error) {
	if !journal.ValidRef(ref) || issue < 1 {
		return evidence.Instruction{}, errors.New("zendesk: an instruction needs a reference and an issue number from 1 on")
	}
	return evidence.Instruction{
		About: "The reference is the ticket's external_id, the provider key the request's idempotency key.",
		Setup: []string{
			"The external_id is then no longer free for an id of your own.",
			"An agent creates the ticket: one that an end user sends may be suspended, and then has no external_id.",
			"Tickets that were deleted for good, or whose external_id a person changed, can't be found.",
			"Zendesk compares the body of a repeated request with the first one's: send the same bytes.",
		},
		Request: "POST /api/v2/tickets",
		Fields: []evidence.Field{
			{Place: "json", Name: "ticket.external_id", Value: ref, Why: "the list is filtered by it"},
			{Place: "header", Name: "Idempotency-Key", Value: journal.ProviderKey(ref, issue), Why: "Zendesk answers a repeat for two hours without a second ticket"},
		},
	}, nil
}
