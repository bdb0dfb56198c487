package jira

import (
	"errors"

	"github.com/landedhq/landed/journal"
	"github.com/landedhq/landed/providers/evidence"
)

var _ evidence.Instructor = (*Adapter)(nil)

// Instruction says what CreateBody writes.
func (a *Adapter) Instruction(ref string, issue int) (evidence.Instruction, error) {
	if !journal.ValidRef(ref) || issue < 1 {
		return evidence.Instruction{}, errors.New("jira: an instruction needs a reference and an issue number from 1 on")
	}
	searched := map[Carrier]string{Label: "the search asks for it", Property: "people see it; the search asks for the property"}[a.cfg.Carrier]
	stays := map[Carrier]string{Label: "it stays when people take the label away", Property: "the search asks for it"}[a.cfg.Carrier]
	return evidence.Instruction{
		About: "The reference is a label of the issue and an issue property, set by the request that creates it.",
		Setup: []string{
			"The field Labels is on the project's screen for creating issues: without it Jira refuses the request.",
			"Effects on issues that are there already (comments, transitions) can't be looked up here.",
			"Issues that were deleted or archived, or moved to where Landed's account can't see them, can't be found.",
		},
		Request: "POST /rest/api/3/issue",
		Fields: []evidence.Field{
			{Place: "json", Name: "fields.labels[]", Value: a.cfg.LabelPrefix + ref, Why: searched},
			{Place: "json", Name: "properties[].value.ref (in an object with key " + a.cfg.PropertyKey + ")", Value: ref, Why: stays},
		},
	}, nil
}
