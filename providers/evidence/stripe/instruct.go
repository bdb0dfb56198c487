package stripe

import (
	"errors"

	"github.com/landedhq/landed/journal"
	"github.com/landedhq/landed/providers/evidence"
)

var _ evidence.Instructor = (*Adapter)(nil)

// Instruction says what Form and Header write, for the kind of object that is
// configured.
func (a *Adapter) Instruction(ref string, issue int) (evidence.Instruction, error) {
	if !journal.ValidRef(ref) || issue < 1 {
		return evidence.Instruction{}, errors.New("stripe: an instruction needs a reference and an issue number from 1 on")
	}
	return evidence.Instruction{
		About: "The reference is a metadata field of the object, the provider key the request's idempotency key.",
		Setup: []string{
			"The metadata belong to the kind of object that is looked at, here " + string(a.cfg.Object) + ": those of a checkout session are not those of its payment intent.",
			"Stripe compares the parameters of a repeated request with the first one's: send the same ones.",
			"A payment intent that is made first and confirmed later: journal its id as a handle before confirming it.",
		},
		Request: "POST /v1/" + a.kind.path,
		Fields: []evidence.Field{
			{Place: "form", Name: "metadata[" + a.cfg.MetadataKey + "]", Value: ref, Why: "the list shows it"},
			{Place: "header", Name: "Idempotency-Key", Value: journal.ProviderKey(ref, issue), Why: "Stripe answers a repeat for 24 hours at least; the event of the payment shows the key"},
		},
	}, nil
}
