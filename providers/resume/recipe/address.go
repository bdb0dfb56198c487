package recipe

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"sort"
	"strings"

	"github.com/landedhq/landed/providers/definition"
)

// maxAddressBytes bounds begin's resume.
const maxAddressBytes = 16 << 10

// address reads begin's resume against what is declared. configured stand in for
// members that it leaves out. All problems are listed.
func (d *Definition) address(raw []byte, configured map[string]string) (definition.Vars, error) {
	given := map[string]any{}
	if len(raw) > maxAddressBytes {
		return nil, fmt.Errorf("the effect's resume has %d bytes, at most %d are allowed", len(raw), maxAddressBytes)
	}
	if len(raw) > 0 {
		x, err := definition.DecodeJSON(raw)
		if err != nil {
			return nil, fmt.Errorf("the effect's resume can't be read: %w", err)
		}
		var ok bool
		if given, ok = x.(map[string]any); !ok {
			return nil, errors.New("the effect's resume is no JSON object")
		}
	}
	var errs []error
	if to, ok := given["to"]; ok {
		if _, ok := to.(string); !ok {
			errs = append(errs, errors.New(`the effect's resume: "to" is the name of a target`))
		}
		delete(given, "to")
	}
	out := definition.Vars{}
	for name, p := range d.file.Address {
		v, err := d.member(name, p, given, configured)
		if err != nil {
			errs = append(errs, fmt.Errorf("the effect's resume: %s %w", name, err))
			continue
		}
		out["address."+name] = v
	}
	for name := range given {
		if _, ok := d.file.Address[name]; !ok {
			errs = append(errs, fmt.Errorf("the effect's resume: %.60q is not known, %s has %s", name, d.file.Adapter, d.members()))
		}
	}
	sort.Slice(errs, func(i, j int) bool { return errs[i].Error() < errs[j].Error() })
	return out, errors.Join(errs...)
}

// member finds one member's value: what the worker gave, else what is configured,
// else the file's default.
func (d *Definition) member(name string, p definition.Param, given map[string]any, configured map[string]string) (any, error) {
	raw, ok := given[name]
	var text string
	switch set, there := configured[name]; {
	case ok:
		var err error
		if text, err = written(p, raw); err != nil {
			return nil, err
		}
	case there:
		text = set
	case p.Default != nil:
		text = *p.Default
	default:
		return nil, fmt.Errorf("is missing: %s", p.About)
	}
	v, err := p.Parse(text)
	if err != nil {
		return nil, err
	}
	if slices.Contains(d.inPath, name) {
		return v, segment(text)
	}
	return v, nil
}

// written takes a JSON value of the declared type, and no other.
func written(p definition.Param, raw any) (string, error) {
	switch x := raw.(type) {
	case string:
		if p.Type == "string" {
			return x, nil
		}
	case int64:
		if p.Type == "int" {
			return fmt.Sprint(x), nil
		}
	case bool:
		if p.Type == "bool" {
			return fmt.Sprint(x), nil
		}
	}
	return "", fmt.Errorf("is not of type %s", p.Type)
}

// segment refuses what could be more or less than one segment of a path, also for
// a server or a proxy that decodes before it cuts.
func segment(s string) error {
	low := strings.ToLower(s)
	switch {
	case s == "":
		return errors.New("is empty, but is a part of the path that is called")
	case s == "." || s == ".." || low == "%2e" || low == "%2e%2e" || low == ".%2e" || low == "%2e.":
		return errors.New("is a dot segment, which would lead to another path")
	case strings.ContainsAny(s, `/\`) || strings.Contains(low, "%2f") || strings.Contains(low, "%5c"):
		return errors.New("holds a slash, which would lead to another path")
	}
	return nil
}

func (d *Definition) members() string {
	names := definition.SortedKeys(d.file.Address)
	if len(names) == 0 {
		return "none"
	}
	return strings.Join(names, ", ")
}

// payload turns a message's payload into what expressions and bodies take.
func payload(p any) (any, error) {
	b, err := json.Marshal(p)
	if err != nil {
		return nil, fmt.Errorf("writing the message: %w", err)
	}
	return definition.DecodeJSON(b)
}
