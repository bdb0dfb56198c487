package temporal

import (
	"errors"
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/landedhq/landed/journal"
	"github.com/landedhq/landed/providers/resume"
)

// DefaultSignal is the signal's name where an address gives none.
const DefaultSignal = "landed"

// address is begin's resume as this target reads it.
type address struct {
	To         string `json:"to"`
	WorkflowID string `json:"workflow_id"`
	// RunID pins one run; "" = the current one.
	RunID  string `json:"run_id,omitempty"`
	Signal string `json:"signal,omitempty"`
	Update string `json:"update,omitempty"`
	// FirstRunID, for updates: the run that the chain must have begun with, so that
	// a later workflow under the same id is not taken for this one.
	FirstRunID string `json:"first_run_id,omitempty"`
}

// Check implements resume.Target.
func (t *Target) Check(raw []byte) error {
	_, err := parseAddress(raw)
	return err
}

func parseAddress(raw []byte) (address, error) {
	var a address
	if err := resume.Address(raw, &a); err != nil {
		return a, err
	}
	if a.WorkflowID == "" {
		return a, errors.New("the effect's resume names no workflow: give workflow_id")
	}
	errs := []error{checkPart("workflow_id", a.WorkflowID), checkRun("run_id", a.RunID), checkRun("first_run_id", a.FirstRunID)}
	switch {
	case a.Signal != "" && a.Update != "":
		errs = append(errs, errors.New("both signal and update are given: name one"))
	case a.FirstRunID != "" && a.Update == "":
		errs = append(errs, errors.New("first_run_id is given for a signal: Temporal compares it for updates only"))
	case a.Update != "":
		errs = append(errs, checkPart("update", a.Update))
	case a.Signal == "":
		a.Signal = DefaultSignal
	default:
		errs = append(errs, checkPart("signal", a.Signal))
	}
	return a, errors.Join(errs...)
}

func checkRun(what, id string) error {
	if id != "" && !journal.ValidID(id) {
		return fmt.Errorf("%s %.60q is not a run id: those are UUIDs in lower case", what, id)
	}
	return nil
}

// checkPart is checkName for what has to go into a path. The HTTP API unescapes
// %2F before it takes the path apart (grpc-gateway's legacy unescaping, which
// service/frontend/http_api_server.go leaves on), so that nothing there can hold a
// slash.
func checkPart(what, name string) error {
	if strings.Contains(name, "/") {
		return fmt.Errorf("%s %.60q holds a slash, which Temporal's HTTP API can't address: let the workflow pull its decisions, or give it an id without one", what, name)
	}
	return checkName(what, name)
}

func checkName(what, name string) error {
	switch {
	case name == "":
		return fmt.Errorf("%s is not set", what)
	case len(name) > maxName:
		return fmt.Errorf("%s has %d bytes: at most %d are allowed", what, len(name), maxName)
	case !utf8.ValidString(name) || strings.ContainsFunc(name, func(r rune) bool { return !unicode.IsPrint(r) }):
		return fmt.Errorf("%s %.60q holds control characters or is not UTF-8", what, name)
	}
	return nil
}
