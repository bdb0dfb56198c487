package definition

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

// Param is one setting that a team's configuration fills in.
type Param struct {
	Type    string   `yaml:"type"` // string, int, bool, url, label
	About   string   `yaml:"about"`
	Secret  bool     `yaml:"secret"`
	Default *string  `yaml:"default"` // nil = required
	Pattern string   `yaml:"pattern"` // Go regular expression; the whole value must match
	Values  []string `yaml:"values"`  // allowed ones; empty = all
}

// ParamInfo describes one parameter of a definition, for configuration pages and
// messages.
type ParamInfo struct {
	Name, Type, About string
	Secret, Required  bool
	Default           string
}

// maxParamBytes bounds what a configuration may give.
const maxParamBytes = 1000

// CELType is the type that expressions see.
func (p Param) CELType() *cel.Type {
	switch p.Type {
	case "int":
		return cel.IntType
	case "bool":
		return cel.BoolType
	}
	return cel.StringType
}

// Check looks at the declaration itself.
func (p Param) Check() error {
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
		if _, err := p.Parse(*p.Default); err != nil {
			return fmt.Errorf("default: %w", err)
		}
	}
	return nil
}

// Parse turns a configured value into a typed one.
func (p Param) Parse(s string) (any, error) {
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
		return ParseBase(s)
	case "label":
		if !hostLabel(s) {
			return nil, fmt.Errorf("%q is no part of a host name", s)
		}
	}
	return s, nil
}

// ParseBase takes an address without credentials, query and fragment, and drops
// slashes at its end.
func ParseBase(s string) (string, error) {
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

// Params are a definition's parameters, by name.
type Params map[string]Param

// Check looks at the declarations themselves and notes what is wrong with them.
func (ps Params) Check(src *Source) {
	for _, name := range SortedKeys(ps) {
		if !paramName(name) {
			src.Fail("params."+name, "a parameter's name has lower-case letters, digits and _")
		}
		if err := ps[name].Check(); err != nil {
			src.Fail("params."+name, "%v", err)
		}
	}
}

func paramName(s string) bool {
	return regexp.MustCompile(`^[a-z][a-z0-9_]{0,40}$`).MatchString(s)
}

// Types are the variables that expressions get: plain parameters, and the secret
// ones, which only auth may see.
func (ps Params) Types() (plain, secrets map[string]*cel.Type) {
	plain, secrets = map[string]*cel.Type{}, map[string]*cel.Type{}
	for name, p := range ps {
		if p.Secret {
			secrets["secrets."+name] = cel.StringType
		} else {
			plain["params."+name] = p.CELType()
		}
	}
	return plain, secrets
}

// Secrets are the names of the secret parameters.
func (ps Params) Secrets() []string {
	var out []string
	for _, name := range SortedKeys(ps) {
		if ps[name].Secret {
			out = append(out, name)
		}
	}
	return out
}

// Fill checks configured values against the declared parameters. Of the secrets
// those in needed must be among the given names; their values are not looked at.
// who is how messages call the definition. All problems are listed.
func (ps Params) Fill(who string, given map[string]string, secrets, needed []string) (Vars, error) {
	out := Vars{}
	var errs []error
	for name, p := range ps {
		value, ok := given[name]
		switch {
		case p.Secret && ok:
			errs = append(errs, fmt.Errorf("params.%s is a secret: give it under secrets", name))
		case p.Secret:
			if slices.Contains(needed, name) && !slices.Contains(secrets, name) {
				errs = append(errs, fmt.Errorf("secrets.%s is not set: %s", name, p.About))
			}
		case !ok && p.Default == nil:
			errs = append(errs, fmt.Errorf("params.%s is not set: %s", name, p.About))
		default:
			if !ok {
				value = *p.Default
			}
			v, err := p.Parse(value)
			if err != nil {
				errs = append(errs, fmt.Errorf("params.%s: %w", name, err))
				continue
			}
			out["params."+name] = v
		}
	}
	for name := range given {
		if _, ok := ps[name]; !ok {
			errs = append(errs, fmt.Errorf("params.%s is not known: %s has %s", name, who, ps.names(false)))
		}
	}
	for _, name := range secrets {
		if p, ok := ps[name]; !ok || !p.Secret {
			errs = append(errs, fmt.Errorf("secrets.%s is not known: %s has %s", name, who, ps.names(true)))
		}
	}
	sort.Slice(errs, func(i, j int) bool { return errs[i].Error() < errs[j].Error() })
	return out, errors.Join(errs...)
}

func (ps Params) names(secret bool) string {
	var out []string
	for _, p := range ps.List() {
		if p.Secret == secret {
			out = append(out, p.Name)
		}
	}
	if len(out) == 0 {
		return "none"
	}
	return strings.Join(out, ", ")
}

// List describes the parameters, by name.
func (ps Params) List() []ParamInfo {
	var out []ParamInfo
	for _, name := range SortedKeys(ps) {
		p := ps[name]
		i := ParamInfo{Name: name, Type: p.Type, About: p.About, Secret: p.Secret, Required: p.Default == nil}
		if p.Default != nil {
			i.Default = *p.Default
		}
		out = append(out, i)
	}
	return out
}
