package schematest

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
)

// Declarations are the types that a vendor's TypeScript client declares: code
// generators write the whole schema down there, in a few regular forms. Others
// are skipped, and fail when they are needed.
type Declarations struct {
	types map[string]*declared
}

type declared struct {
	parents []string
	fields  []field
	members []string // of a union
	values  []string // of an enumeration
	open    bool     // an object of any fields
}

type field struct {
	name     string
	optional bool
	typ      string
}

// ParseDeclarations reads what files declare. Of what they only import, nothing is
// known.
func ParseDeclarations(files ...[]byte) *Declarations {
	p := newDeclarationParser()
	for _, text := range files {
		p.in, p.indent, p.space = nil, "", ""
		for line := range strings.Lines(string(text)) {
			p.line(strings.TrimRight(line, "\r\n"))
		}
	}
	return p.out
}

// declarationParser reads line by line: generators write one field a line.
type declarationParser struct {
	out                                                *Declarations
	in                                                 *declared
	indent                                             string // of the fields of in
	space                                              string // the namespace that the line stands in
	open, empty, enum, union, entry, value, method, ns *regexp.Regexp
}

func newDeclarationParser() *declarationParser {
	return &declarationParser{
		out:    &Declarations{types: map[string]*declared{}},
		open:   regexp.MustCompile(`^(?:export )?(?:declare )?(?:type|interface|class) (\w+) (?:= |extends )?(.*?)[ &]*\{$`),
		empty:  regexp.MustCompile(`^(?:export )?type (\w+) = \{\};$`),
		enum:   regexp.MustCompile(`^\s*(?:export )?(?:declare )?enum (\w+) \{$`),
		union:  regexp.MustCompile(`^(?:export )?type (\w+) = (\w+(?: \| \w+)+);$`),
		entry:  regexp.MustCompile(`^(\s+)["']?(\w+)["']?(\?)?: (.*?)[;{]$`),
		value:  regexp.MustCompile(`^\s+\w+ = "([^"]*)",?$`),
		method: regexp.MustCompile(`^\s+(\w+)\((.+)\): Promise<\w+>;$`),
		ns:     regexp.MustCompile(`^export declare namespace (\w+) \{$`),
	}
}

func (p *declarationParser) line(line string) {
	if m := p.enum.FindStringSubmatch(line); m != nil {
		p.in, p.indent = &declared{}, ""
		p.out.types[p.space+m[1]] = p.in
		return
	}
	if line == "}" || line == "};" {
		p.in, p.indent, p.space = nil, "", ""
		return
	}
	if m := p.method.FindStringSubmatch(line); m != nil {
		p.out.types[m[1]] = arguments(m[2])
		return
	}
	if p.in != nil {
		p.inside(line)
		return
	}
	if m := p.open.FindStringSubmatch(line); m != nil {
		p.in = &declared{parents: regexp.MustCompile(`\w+`).FindAllString(m[2], -1)}
		p.out.types[m[1]] = p.in
	} else if m := p.empty.FindStringSubmatch(line); m != nil {
		p.out.types[m[1]] = &declared{open: true}
	} else if m := p.union.FindStringSubmatch(line); m != nil {
		p.out.types[m[1]] = &declared{members: strings.Split(m[2], " | ")}
	} else if m := p.ns.FindStringSubmatch(line); m != nil {
		p.space = m[1] + "."
	}
}

func (p *declarationParser) inside(line string) {
	if m := p.value.FindStringSubmatch(line); m != nil {
		p.in.values = append(p.in.values, m[1])
		return
	}
	m := p.entry.FindStringSubmatch(line)
	if m == nil || p.indent != "" && m[1] != p.indent { // of an object inside a field
		return
	}
	p.indent = m[1]
	typ := strings.TrimSpace(m[4])
	if strings.HasSuffix(line, "{") {
		typ = "any"
	}
	p.in.fields = append(p.in.fields, field{m[2], m[3] != "", typ})
}

// arguments reads a method's parameters as the fields of a type.
func arguments(list string) *declared {
	d := &declared{}
	for _, a := range strings.Split(list, ", ") {
		if name, typ, ok := strings.Cut(a, ": "); ok {
			plain := strings.TrimSuffix(name, "?")
			d.fields = append(d.fields, field{plain, plain != name, typ})
		}
	}
	return d
}

// fieldsOf are a type's own fields and, under other names, those of its parents.
func (d *Declarations) fieldsOf(name string) (out []field) {
	t := d.types[name]
	if t == nil {
		return nil
	}
	out = slices.Clone(t.fields)
	for _, p := range t.parents {
		for _, f := range d.fieldsOf(p) {
			if !slices.ContainsFunc(out, func(own field) bool { return own.name == f.name }) {
				out = append(out, f)
			}
		}
	}
	return out
}

// expression is a type taken apart.
type expression struct {
	nullable bool
	list     *expression // of what, if it is a list
	name     string
}

func parseExpression(s string) (e expression) {
	for {
		s = strings.TrimSpace(s)
		inner, ok := "", false
		for _, wrapper := range []string{"Maybe<", "InputMaybe<"} {
			if inner, ok = strings.CutPrefix(s, wrapper); ok {
				break
			}
		}
		if cut, null := strings.CutSuffix(s, " | null"); null {
			inner, ok = cut+">", true
		}
		if !ok {
			break
		}
		e.nullable, s = true, strings.TrimSuffix(inner, ">")
	}
	inner, array := strings.CutPrefix(s, "Array<")
	if short, ok := strings.CutSuffix(s, "[]"); ok {
		inner, array = short+">", true
	}
	if array {
		of := parseExpression(strings.TrimSuffix(inner, ">"))
		e.list = &of
		return e
	}
	e.name = strings.TrimSuffix(strings.TrimPrefix(s, `Scalars["`), `"]`)
	return e
}

// graphQL writes an expression in GraphQL's language and tells which type it
// names.
func (e expression) graphQL() (text, name string) {
	text, name = e.name, e.name
	if e.list != nil {
		text, name = e.list.graphQL()
		text = "[" + text + "]"
	}
	if !e.nullable {
		text += "!"
	}
	return text, name
}

// SDL is the GraphQL schema that the declarations were generated from, as far as
// it can be reached from Query. A generator changes the case of some types'
// names.
func (d *Declarations) SDL() (string, error) {
	done, out := map[string]bool{"Int": true, "Float": true, "String": true, "Boolean": true, "ID": true}, strings.Builder{}
	inputs := map[string]bool{}
	for todo := []string{"Query"}; len(todo) > 0; todo = todo[1:] {
		name := todo[0]
		if done[name] {
			continue
		}
		done[name] = true
		more, err := d.define(&out, name, inputs)
		if err != nil {
			return "", err
		}
		todo = append(todo, more...)
	}
	return out.String(), nil
}

// define writes one type and tells which others it needs.
func (d *Declarations) define(out *strings.Builder, name string, inputs map[string]bool) (needs []string, err error) {
	t := d.types[name]
	switch {
	case t == nil && slices.ContainsFunc(d.fieldsOf("Scalars"), func(f field) bool { return f.name == name }):
		fmt.Fprintf(out, "scalar %s\n", name)
		return nil, nil
	case t == nil:
		return nil, fmt.Errorf("no declaration of %s is understood", name)
	case len(t.values) > 0:
		fmt.Fprintf(out, "enum %s { %s }\n", name, strings.Join(t.values, " "))
		return nil, nil
	case len(t.members) > 0:
		fmt.Fprintf(out, "union %s = %s\n", name, strings.Join(t.members, " | "))
		return t.members, nil
	}
	object := slices.ContainsFunc(t.fields, func(f field) bool { return f.name == "__typename" })
	switch {
	case object && len(t.parents) > 0:
		fmt.Fprintf(out, "type %s implements %s {\n", name, strings.Join(t.parents, " & "))
		needs = append(needs, t.parents...)
	case object:
		fmt.Fprintf(out, "type %s {\n", name)
	case inputs[name]:
		fmt.Fprintf(out, "input %s {\n", name)
	default: // met where answers are, and nothing is just that
		fmt.Fprintf(out, "interface %s {\n", name)
	}
	for _, f := range d.fieldsOf(name) {
		if f.name == "__typename" {
			continue
		}
		args := ""
		if !inputs[name] {
			for _, a := range d.fieldsOf(name + strings.ToUpper(f.name[:1]) + f.name[1:] + "Args") {
				text, of := a.graphQL()
				args += a.name + ": " + text + " "
				inputs[of] = true
				needs = append(needs, of)
			}
		}
		text, of := f.graphQL()
		inputs[of] = inputs[of] || inputs[name]
		needs = append(needs, of)
		if args != "" {
			args = "(" + args + ")"
		}
		fmt.Fprintf(out, "  %s%s: %s\n", f.name, args, text)
	}
	out.WriteString("}\n")
	return needs, nil
}

func (f field) graphQL() (text, name string) {
	e := parseExpression(f.typ)
	e.nullable = e.nullable || f.optional
	return e.graphQL()
}
