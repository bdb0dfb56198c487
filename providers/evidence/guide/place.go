package guide

import (
	"fmt"
	"strconv"
	"strings"
)

// step is one step of a path: a member, then perhaps an element of the list there.
type step struct {
	name  string
	list  bool
	index int // of the element; -1 = a new one, or each where the path goes on
}

// spot is where a field goes, as its name says: see the package documentation.
type spot struct {
	name   string // without the remark
	steps  []step
	inside string // the element is an object; this member of it says which
	is     string // its value
	value  bool   // the field is the element's member "value"
	glue   string // a text goes after what is there, behind this
	skip   bool   // only with another setting
}

const (
	onALine = ", on a line of its own at the end"
	atEnd   = ", at the end after a space"
)

// readName reads a field's name.
func readName(place, name string) (spot, error) {
	s := spot{name: name}
	remark := ""
	if place == "text" {
		switch {
		case strings.HasSuffix(name, onALine):
			s.name, s.glue = strings.TrimSuffix(name, onALine), "\n\n"
		case strings.HasSuffix(name, atEnd):
			s.name, s.glue = strings.TrimSuffix(name, atEnd), " "
		default:
			return s, fmt.Errorf("guide: %q does not say where in a text", name)
		}
	} else if i := strings.Index(name, " ("); i > 0 && strings.HasSuffix(name, ")") {
		s.name, remark = name[:i], name[i+2:len(name)-1]
	}
	switch what, rest, _ := cut3(remark); {
	case remark == "", remark == "the only one":
	case strings.HasPrefix(remark, "only with "):
		s.skip = true
	case what == "an object with":
		s.inside, s.is, _ = strings.Cut(rest, " ")
		s.value = true
	case what == "in an object with":
		s.inside, s.is, _ = strings.Cut(rest, " ")
	default:
		return s, fmt.Errorf("guide: the remark %q is not known", remark)
	}
	var err error
	s.steps, err = readPath(s.name)
	return s, err
}

// cut3 cuts "… object with" off.
func cut3(remark string) (what, rest string, ok bool) {
	what, rest, ok = strings.Cut(remark, " with ")
	return what + " with", rest, ok
}

// readPath reads a dotted path.
func readPath(path string) ([]step, error) {
	var out []step
	for _, part := range strings.Split(path, ".") {
		s := step{name: part, index: -1}
		if open := strings.LastIndex(part, "["); open > 0 && strings.HasSuffix(part, "]") {
			s.name, s.list = part[:open], true
			if in := part[open+1 : len(part)-1]; in != "" {
				n, err := strconv.Atoi(in)
				if err != nil {
					return nil, fmt.Errorf("guide: %q is no path", path)
				}
				s.index = n
			}
		}
		if s.name == "" {
			return nil, fmt.Errorf("guide: %q is no path", path)
		}
		out = append(out, s)
	}
	return out, nil
}

// put sets a value in an object where a spot says.
func (o *object) put(s spot, v Value, why string) error {
	if s.inside != "" {
		return o.putInside(s, v, why)
	}
	return o.putAt(s.steps, s.glue, v, why)
}

func (o *object) putAt(path []step, glue string, v Value, why string) error {
	head, last := path[0], len(path) == 1
	m := o.member(head.name)
	if m == nil {
		m = field(head.name, nil)
		o.members = append(o.members, m)
	}
	if !head.list {
		return m.put(path[1:], glue, v, why)
	}
	l, err := m.list()
	if err != nil {
		return err
	}
	if last {
		l.items = append(l.items, &item{value: v, why: why})
		return nil
	}
	if len(l.items) == 0 {
		l.items = append(l.items, &item{value: obj()})
	}
	for i, it := range l.items {
		if head.index >= 0 && head.index != i {
			continue
		}
		inner, ok := it.value.(*object)
		if !ok {
			return fmt.Errorf("guide: an element of %s is no object", head.name)
		}
		if err := inner.putAt(path[1:], glue, v, why); err != nil {
			return err
		}
	}
	return nil
}

// put sets what is below a member, or the member itself.
func (m *member) put(rest []step, glue string, v Value, why string) error {
	if len(rest) > 0 {
		if m.value == nil {
			m.value = obj()
		}
		inner, ok := m.value.(*object)
		if !ok {
			return fmt.Errorf("guide: %s is no object", m.name)
		}
		return inner.putAt(rest, glue, v, why)
	}
	if was, ok := m.value.(Value); ok && glue != "" {
		v = append(append(Value{}, was...), append(Value{{Text: glue}}, v...)...)
	} else if m.value != nil {
		return fmt.Errorf("guide: %s is set twice", m.name)
	}
	m.value, m.why = v, why
	return nil
}

func (m *member) list() (*list, error) {
	if m.value == nil {
		m.value = &list{}
	}
	l, ok := m.value.(*list)
	if !ok {
		return nil, fmt.Errorf("guide: %s is no list", m.name)
	}
	return l, nil
}

// putInside adds an element that says by a member of its own which one it is.
func (o *object) putInside(s spot, v Value, why string) error {
	at := -1
	for i, st := range s.steps {
		if st.list {
			at = i
		}
	}
	if at < 0 || s.value != (at == len(s.steps)-1) {
		return fmt.Errorf("guide: %q names no element of a list", s.name)
	}
	var id node = str(s.is)
	if _, err := strconv.Atoi(s.is); err == nil {
		id = literal(s.is)
	}
	element, rest := obj(field(s.inside, id)), s.steps[at+1:]
	if s.value {
		rest = []step{{name: "value", index: -1}}
	}
	if err := element.putAt(rest, "", v, ""); err != nil {
		return err
	}
	inner := o
	for _, st := range s.steps[:at] {
		m := inner.member(st.name)
		if m == nil {
			m = field(st.name, obj())
			inner.members = append(inner.members, m)
		}
		next, ok := m.value.(*object)
		if !ok {
			return fmt.Errorf("guide: %s is no object", st.name)
		}
		inner = next
	}
	m := inner.member(s.steps[at].name)
	if m == nil {
		m = field(s.steps[at].name, nil)
		inner.members = append(inner.members, m)
	}
	l, err := m.list()
	if err != nil {
		return err
	}
	l.items = append(l.items, &item{value: element, why: why})
	return nil
}
