package guide

import (
	"fmt"
	"strings"
)

// form says how an example's body is written.
type form string

const (
	asJSON    form = "json"
	asForm    form = "form"
	asGraphQL form = "graphql" // body holds the variables
	asRaw     form = "raw"     // a mail, in base64, as member raw of a JSON object
	asSMTP    form = "smtp"    // a mail, handed to a mail server
	asSQL     form = "sql"     // a row, written in one's own database
)

// pair is a header field, or a parameter of a form.
type pair struct {
	name  string
	value Value
	why   string
}

// sample is an example request that the marks are put into. What it holds besides
// them is only so much as shows where they go.
type sample struct {
	base   string // where the API is
	path   Value  // "" = base is the whole address; Arg parts are escaped
	auth   pair   // the header with the worker's own credentials; its value is what stands before them; without a name they are in the body
	header []pair
	form   form
	body   *object // asJSON, asGraphQL: own members; asForm: flat; mails: from, to, subject and text
	query  string  // asGraphQL
	root   []any   // asJSON: where fields go, if that is not the top
	id     []any   // where the answer holds the id of what was made; nil = it holds none
	answer string  // an example of a yes
	args   string  // an example of the tool's arguments
	// source is the document that tells how the rest of the request looks; "" = it
	// was not checked, and the page says so.
	source string
	doubt  string // what of the form itself was not checked
}

// sampleOf finds the example of a guide.
func sampleOf(name string) (sample, error) {
	for _, list := range []map[string]sample{mailSamples(), mailerSamples(), ticketSamples(), trackerSamples(), moneySamples(), ownSamples()} {
		if s, ok := list[name]; ok {
			return s, nil
		}
	}
	return sample{}, fmt.Errorf("guide: %s has no example", name)
}

// request is an example with the marks in it.
type request struct {
	sample
	name    string // of the guide
	marks   []Field
	headers []pair // sample.header and marks
	mime    []pair // marks of a mail
	column  pair   // asSQL
	tool    Tool
	address string // see Entry
}

// newRequest puts the fields of g into its example.
func newRequest(g Guide) (request, error) {
	s, err := sampleOf(g.Name)
	if err != nil {
		return request{}, err
	}
	if s.body != nil {
		s.body = copyOf(s.body).(*object)
	}
	r := request{sample: s, name: g.Name, headers: append([]pair{}, s.header...)}
	for _, f := range g.Fields {
		if err := r.put(f); err != nil {
			return request{}, fmt.Errorf("%s: %w", g.Name, err)
		}
	}
	return r, nil
}

func (r *request) put(f Field) error {
	p := pair{f.Name, f.Value, f.Why}
	switch f.Place {
	case "header":
		r.headers = append(r.headers, p)
	case "mime_header":
		r.mime = append(r.mime, p)
	case "column":
		r.column = p
	case "json", "graphql", "form", "text":
		if r.form == asForm && f.Place == "form" {
			r.body.members = append(r.body.members, &member{f.Name, f.Value, f.Why})
			break
		}
		s, err := readName(f.Place, f.Name)
		if err != nil {
			return err
		}
		if s.skip {
			return nil
		}
		at, err := r.at()
		if err != nil {
			return err
		}
		if err := at.put(s, f.Value, f.Why); err != nil {
			return err
		}
	default:
		return fmt.Errorf("guide: no example for the place %q", f.Place)
	}
	r.marks = append(r.marks, f)
	return nil
}

// at is the object that fields are named from.
func (r *request) at() (*object, error) {
	var n node = r.body
	for _, s := range r.root {
		switch at := n.(type) {
		case *object:
			m := at.member(fmt.Sprint(s))
			if m == nil {
				return nil, fmt.Errorf("guide: the example has no %v", s)
			}
			n = m.value
		case *list:
			n = at.items[s.(int)].value
		}
	}
	o, ok := n.(*object)
	if !ok {
		return nil, fmt.Errorf("guide: %v is no object in the example", r.root)
	}
	return o, nil
}

// uses reports whether a kind of value occurs anywhere in the request.
func (r request) uses(kinds ...Kind) bool {
	for _, list := range [][]pair{r.headers, r.mime, {r.column}} {
		for _, p := range list {
			if p.value.has(kinds...) {
				return true
			}
		}
	}
	return r.path.has(kinds...) || r.body != nil && nodeHas(r.body, kinds)
}

func nodeHas(n node, kinds []Kind) bool {
	switch n := n.(type) {
	case Value:
		return n.has(kinds...)
	case number:
		for _, k := range kinds {
			if k == Arg {
				return true
			}
		}
	case *object:
		for _, m := range n.members {
			if nodeHas(m.value, kinds) {
				return true
			}
		}
	case *list:
		for _, i := range n.items {
			if nodeHas(i.value, kinds) {
				return true
			}
		}
	}
	return false
}

// words makes a name for code out of a guide's: ["google", "calendar", "event"].
func words(name string) []string {
	return strings.FieldsFunc(name, func(r rune) bool { return r == '.' || r == '_' })
}
