package imap

import (
	"fmt"

	"github.com/landedhq/landed/providers/evidence"
)

var _ evidence.Instructor = (*adapter)(nil)

// Instruction says what Carrier.Headers writes.
func (a *adapter) Instruction(ref string, issue int) (evidence.Instruction, error) {
	if issue < 1 {
		return evidence.Instruction{}, fmt.Errorf("imap: the issue number is %d, they begin with 1", issue)
	}
	headers, err := a.cfg.Carrier.Headers(ref)
	if err != nil {
		return evidence.Instruction{}, err
	}
	out := evidence.Instruction{
		About: "The reference is in two header fields of the mail, and of its copy in the Sent folder.",
		Setup: []string{
			"A copy reaches the Sent folder with every mail: the server that takes the mail saves it there (sent_saved), or the sending path appends it as a step that the worker journals (sent_appended). Else an empty folder proves nothing.",
			"A mail that a person moves or deletes from there can't be found.",
		},
		Request: "the message that is handed to SMTP",
	}
	for i, why := range []string{"the search asks for it; some relays replace it", "the search asks for it; some libraries drop it"} {
		out.Fields = append(out.Fields, evidence.Field{Place: "mime_header", Name: headers[i].Name, Value: headers[i].Value, Why: why})
	}
	return out, nil
}
