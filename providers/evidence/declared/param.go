package declared

import (
	"errors"
	"fmt"
	"net/url"
	"regexp"
	"slices"
	"sort"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/google/cel-go/cel"
)

// ParamInfo describes one parameter of a definition, for configuration pages and
// messages.
type ParamInfo struct {
	Name, Type, About string
	Secret, Required  bool
	Default           string
}

// maxParamBytes bounds what a configuration may give.
const maxParamBytes = 1000

func (p param) celType() *cel.Type {
	switch p.Type {
	case "int":
		return cel.IntType
	case "bool":
		return cel.BoolType
	}
	return cel.StringType
}

// check looks at the declaration itself.
func (p param) check() error {
	if !slices.Contains([]string{"string", "int", "bool", "url", "label"}, p.Type) {
		return fmt.Errorf("type %q is none of string, int, bool, url, label", p.Type)
	}
	if p.About == "" {
		return errors.New("about is missing: say in one sentence what to put here")
	}
	if p.Secret && (p.Type != "string" || p.Default != nil || p.Pattern != "" || len(p.Values) > 0) {
		return errors.New("a secret is of type string and has no default, pattern or values")
	}
	if _, err := regexp.Compile(p.Pattern); err != nil {
		return fmt.Errorf("pattern is no regular expression: %w", err)
	}
	if p.Default != nil {
		if _, err := p.parse(*p.Default); err != nil {
			return fmt.Errorf("default: %w", err)
		}
	}
	return nil
}

// parse turns a configured value into a typed one.
func (p param) parse(s string) (any, error) {
	if len(s) > maxParamBytes || !utf8.ValidString(s) || strings.ContainsFunc(s, unicode.IsControl) {
		return nil, errors.New("is too long, not UTF-8, or holds control characters")
	}
	if len(p.Values) > 0 && !slices.Contains(p.Values, s) {
		return nil, fmt.Errorf("%q is none of %s", s, strings.Join(p.Values, ", "))
	}
	if p.Pattern != "" && s != "" && !regexp.MustCompile(`^(?:`+p.Pattern+`)$`).MatchString(s) {
		return nil, fmt.Errorf("%q does not have the form %s", s, p.Pattern)
	}
	switch p.Type {
	case "int":
		n, err := strconv.ParseInt(s, 10, 64)
		if err != nil {
			return nil, fmt.Errorf("%q is no whole number", s)
		}
		return n, nil
	case "bool":
		b, err := strconv.ParseBool(s)
		if err != nil {
			return nil, fmt.Errorf("%q is neither true nor false", s)
		}
		return b, nil
	case "url":
		return parseBase(s)
	case "label":
		if !hostLabel(s) {
			return nil, fmt.Errorf("%q is no part of a host name", s)
		}
	}
	return s, nil
}

// parseBase takes an address without credentials, query and fragment, and drops
// slashes at its end.
func parseBase(s string) (string, error) {
	u, err := url.Parse(s)
	switch {
	case err != nil || u.Hostname() == "" || (u.Scheme != "https" && u.Scheme != "http"):
		return "", fmt.Errorf("%q is no address: write it like https://desk.example.com", s)
	case u.User != nil:
		return "", errors.New("the address holds credentials: they go into a secret")
	case u.RawQuery != "" || u.Fragment != "" || u.ForceQuery:
		return "", errors.New("the address holds a query or a fragment: give the address only")
	}
	return strings.TrimRight(u.String(), "/"), nil
}

func hostLabel(s string) bool {
	return regexp.MustCompile(`^[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?$`).MatchString(s)
}

// fill checks configured values against the declared parameters. Secrets are
// checked for presence only. All problems are listed.
func (d *Definition) fill(given map[string]string, secrets []string) (vars, error) {
	out := vars{}
	var errs []error
	for name, p := range d.file.Params {
		value, ok := given[name]
		switch {
		case p.Secret && ok:
			errs = append(errs, fmt.Errorf("params.%s is a secret: give it under secrets", name))
		case p.Secret:
			if !slices.Contains(secrets, name) {
				errs = append(errs, fmt.Errorf("secrets.%s is not set: %s", name, p.About))
			}
		case !ok && p.Default == nil:
			errs = append(errs, fmt.Errorf("params.%s is not set: %s", name, p.About))
		default:
			if !ok {
				value = *p.Default
			}
			v, err := p.parse(value)
			if err != nil {
				errs = append(errs, fmt.Errorf("params.%s: %w", name, err))
				continue
			}
			out["params."+name] = v
		}
	}
	for name := range given {
		if _, ok := d.file.Params[name]; !ok {
			errs = append(errs, fmt.Errorf("params.%s is not known: %s has %s", name, d.file.Adapter, d.names(false)))
		}
	}
	for _, name := range secrets {
		if p, ok := d.file.Params[name]; !ok || !p.Secret {
			errs = append(errs, fmt.Errorf("secrets.%s is not known: %s has %s", name, d.file.Adapter, d.names(true)))
		}
	}
	sort.Slice(errs, func(i, j int) bool { return errs[i].Error() < errs[j].Error() })
	return out, errors.Join(errs...)
}

func (d *Definition) names(secret bool) string {
	var out []string
	for _, p := range d.Params() {
		if p.Secret == secret {
			out = append(out, p.Name)
		}
	}
	if len(out) == 0 {
		return "none"
	}
	return strings.Join(out, ", ")
}

// Params lists the parameters by name.
func (d *Definition) Params() []ParamInfo {
	var out []ParamInfo
	for name, p := range d.file.Params {
		i := ParamInfo{Name: name, Type: p.Type, About: p.About, Secret: p.Secret, Required: p.Default == nil}
		if p.Default != nil {
			i.Default = *p.Default
		}
		out = append(out, i)
	}
	sort.Slice(out, func(i, j int) bool { return out[i].Name < out[j].Name })
	return out
}
