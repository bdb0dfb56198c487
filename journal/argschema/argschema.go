// Package argschema checks a tool's arguments against the JSON Schema that the
// tool registered: for a worker before it begins, and for a person who corrects
// them. It loads nothing from disk or network.
package argschema

import (
	"bytes"
	"errors"
	"fmt"
	"slices"

	"github.com/landedhq/landed/journal"
	"github.com/santhosh-tekuri/jsonschema/v6"
)

// maxProblems bounds what a model is told about one bad call.
const maxProblems = 20

// Compile reads a tool's schema. References to other documents are
// refused: nothing is loaded from disk or network.
func Compile(raw []byte) (*jsonschema.Schema, error) {
	doc, err := jsonschema.UnmarshalJSON(bytes.NewReader(raw))
	if err != nil {
		return nil, fmt.Errorf("args_schema is not JSON: %w", err)
	}
	c := jsonschema.NewCompiler()
	c.UseLoader(noLoader{})
	if err := c.AddResource("tool:args", doc); err != nil {
		return nil, fmt.Errorf("args_schema can't be used: %w", err)
	}
	s, err := c.Compile("tool:args")
	if err != nil {
		return nil, fmt.Errorf("args_schema can't be used: %w", err)
	}
	return s, nil
}

type noLoader struct{}

func (noLoader) Load(url string) (any, error) {
	return nil, fmt.Errorf("%s is another document: put its definitions into the schema itself", url)
}

// Problems lists why args don't fit, in sentences for the model that made
// them; empty means they fit.
func Problems(s *jsonschema.Schema, args []byte) []string {
	if err := journal.CheckArgs(args); err != nil {
		return []string{err.Error()}
	}
	if s == nil {
		return nil
	}
	if args == nil {
		return []string{"args are missing: the tool has a schema for them"}
	}
	value, err := jsonschema.UnmarshalJSON(bytes.NewReader(args))
	if err != nil {
		return []string{"args are not JSON: " + err.Error()}
	}
	err = s.Validate(value)
	var bad *jsonschema.ValidationError
	if errors.As(err, &bad) {
		return leaves(bad)
	}
	if err != nil {
		return []string{err.Error()}
	}
	return nil
}

// leaves flattens a validation error to the statements that name a place.
func leaves(e *jsonschema.ValidationError) []string {
	var out []string
	for _, u := range e.BasicOutput().Errors {
		if u.Error == nil || len(out) == maxProblems {
			continue
		}
		if line := "args" + u.InstanceLocation + ": " + u.Error.String(); !slices.Contains(out, line) {
			out = append(out, line)
		}
	}
	if len(out) == 0 {
		return []string{e.Error()}
	}
	return out
}
