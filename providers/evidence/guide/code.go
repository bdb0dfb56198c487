package guide

import (
	"embed"
	"fmt"
	"strconv"
	"strings"
)

//go:embed frames
var frames embed.FS

// Lang is a language that examples are written in.
type Lang string

// The languages.
const (
	Go     Lang = "go"
	Python Lang = "python"
	Java   Lang = "java"
)

// Langs lists the languages.
func Langs() []Lang { return []Lang{Go, Python, Java} }

// Name is how people call a language.
func (l Lang) Name() string {
	return map[Lang]string{Go: "Go", Python: "Python", Java: "Java"}[l]
}

// File is one source file of a worker.
type File struct {
	Name    string `json:"name"`
	Content string `json:"content"`
}

// syntax is how one language writes a body.
type syntax struct {
	object, objectEnd, list, listEnd string
	colon                            string // between a member's name and value
	comment                          string
	indent                           string
	trailing                         bool // the last element has a comma as well
	literals                         map[literal]string
	part                             func(Part) string // an expression
	number                           func(name string) string
}

const lineWidth = 110

// text is the expression of a value.
func (s syntax) text(v Value) string {
	var parts []string
	text := ""
	for i, p := range v {
		if text += p.Text; p.Kind != Literal {
			parts, text = append(parts, s.part(p)), ""
		} else if i == len(v)-1 || v[i+1].Kind != Literal {
			parts, text = append(parts, strconv.Quote(text)), ""
		}
	}
	if len(parts) == 0 {
		return `""`
	}
	return strings.Join(parts, " + ")
}

func (s syntax) leaf(n node) string {
	switch n := n.(type) {
	case Value:
		return s.text(n)
	case number:
		return s.number(string(n))
	case literal:
		if w, ok := s.literals[n]; ok {
			return w
		}
		return string(n)
	}
	return ""
}

// entry is an element of an object or list on its way to a line.
type entry struct {
	head  string // `"name": `, or nothing
	value node
	why   string
}

func (s syntax) entries(n node) (open, end string, out []entry, ok bool) {
	switch n := n.(type) {
	case *object:
		for _, m := range n.members {
			out = append(out, entry{strconv.Quote(m.name) + s.colon, m.value, m.why})
		}
		return s.object, s.objectEnd, out, true
	case *list:
		for _, i := range n.items {
			out = append(out, entry{"", i.value, i.why})
		}
		return s.list, s.listEnd, out, true
	}
	return "", "", nil, false
}

// tree writes a body. It stays on one line if it fits and no part has a remark.
func (s syntax) tree(n node, depth, used int) string {
	open, end, list, ok := s.entries(n)
	if !ok {
		return s.leaf(n)
	}
	if one, ok := s.line(n); ok && used+len(one) <= lineWidth {
		return one
	}
	var b strings.Builder
	b.WriteString(open + "\n")
	for i, e := range list {
		pad := strings.Repeat(s.indent, depth+1)
		b.WriteString(pad + e.head + s.tree(e.value, depth+1, len(pad)+len(e.head)))
		if s.trailing || i < len(list)-1 {
			b.WriteString(",")
		}
		if e.why != "" {
			b.WriteString(s.comment + e.why)
		}
		b.WriteString("\n")
	}
	b.WriteString(strings.Repeat(s.indent, depth) + end)
	return b.String()
}

// line writes a body on one line; false if a part of it has a remark.
func (s syntax) line(n node) (string, bool) {
	open, end, list, ok := s.entries(n)
	if !ok {
		return s.leaf(n), true
	}
	var parts []string
	for _, e := range list {
		inner, ok := s.line(e.value)
		if !ok || e.why != "" {
			return "", false
		}
		parts = append(parts, e.head+inner)
	}
	return open + strings.Join(parts, ", ") + end, true
}

// frame reads a file that is the same for every provider.
func frame(name string) string {
	b, err := frames.ReadFile("frames/" + name)
	if err != nil {
		return "" // an embedded file can be read
	}
	return string(b)
}

// Example renders the tool of one provider in one language: the code that the
// provider's page shows. Worker makes whole programs of it.
func Example(name string, l Lang) (File, error) {
	r, err := requestOf(name)
	if err != nil {
		return File{}, err
	}
	switch l {
	case Go:
		return goExample(r)
	case Python:
		return pythonExample(r), nil
	case Java:
		return javaExample(r), nil
	}
	return File{}, fmt.Errorf("guide: there is no language %.20q, there are go, python and java", l)
}

func requestOf(name string) (request, error) {
	g, err := Of(name)
	if err != nil {
		return request{}, err
	}
	r, err := newRequest(g)
	r.tool = g.Tool
	return r, err
}

// Entry is one tool of a worker: a guide's name. Address is where its provider is;
// "" = what the environment of the worker says.
type Entry struct {
	Name, Address string
}

// Worker renders a program with these tools: all its files but the client's.
func Worker(l Lang, tools ...Entry) ([]File, error) {
	var list []request
	var out []File
	for _, e := range tools {
		r, err := requestOf(e.Name)
		if err != nil {
			return nil, err
		}
		r.address = e.Address
		list = append(list, r)
		f, err := Example(e.Name, l)
		if err != nil {
			return nil, err
		}
		out = append(out, f)
	}
	switch l {
	case Go:
		return goWorker(list, out), nil
	case Python:
		return pythonWorker(list, out), nil
	}
	return javaWorker(list, out), nil
}

// where is the expression of a provider's address.
func (r request) where() string {
	if r.address != "" {
		return strconv.Quote(r.address)
	}
	return "base"
}

func mails(list []request) bool {
	for _, r := range list {
		if r.form == asSMTP || r.form == asRaw {
			return true
		}
	}
	return false
}

func camel(words []string) string {
	var b strings.Builder
	for _, w := range words {
		b.WriteString(strings.ToUpper(w[:1]) + w[1:])
	}
	return b.String()
}
