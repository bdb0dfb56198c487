package gmail

import (
	"fmt"

	"github.com/landedhq/landed/providers/evidence"
)

var _ evidence.Instructor = (*Adapter)(nil)

// Instruction says what Fields and BodyLine write.
func (a *Adapter) Instruction(ref string, issue int) (evidence.Instruction, error) {
	if issue < 1 {
		return evidence.Instruction{}, fmt.Errorf("gmail: the issue number is %d, they begin with 1", issue)
	}
	fields, err := Fields(a.cfg.Carrier, ref)
	if err != nil {
		return evidence.Instruction{}, err
	}
	line, err := BodyLine(ref)
	if err != nil {
		return evidence.Instruction{}, err
	}
	out := evidence.Instruction{
		About: "The reference is in two header fields of the mail and, so that Gmail's search finds it, on a line of its text.",
		Setup: []string{
			"Set ref_in_body in Landed's configuration if the line is written, message_id_kept if a trial showed that this sending path keeps the Message-ID. With neither an empty answer proves nothing.",
			"Better in two steps: make a draft, journal its id as the handle \"" + HandleDraft + "\", send it. Package journal/worker/staged/gmail does.",
			"A mail that was deleted for good can't be found.",
		},
		Request: "POST /gmail/v1/users/me/messages/send",
	}
	for i, why := range []string{"proves the mail; the API replaces it, SMTP keeps it", "proves the mail"} {
		out.Fields = append(out.Fields, evidence.Field{Place: "mime_header", Name: fields[i].Name, Value: fields[i].Value, Why: why})
	}
	out.Fields = append(out.Fields, evidence.Field{Place: "text", Name: "text, on a line of its own at the end", Value: line, Why: "the search finds it; people see it"})
	return out, nil
}
