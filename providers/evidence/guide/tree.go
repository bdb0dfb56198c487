package guide

// node is a part of an example's body: *object, *list, Value (a text), number or
// literal.
type node any

// object is a JSON object with its members in order.
type object struct{ members []*member }

type member struct {
	name  string
	value node
	why   string // of a field that the instruction names
}

// list is a JSON list.
type list struct{ items []*item }

type item struct {
	value node
	why   string
}

// number is a whole number among the tool's arguments.
type number string

// literal is JSON that stays as it is: true, 2.
type literal string

func obj(members ...*member) *object        { return &object{members} }
func field(name string, value node) *member { return &member{name: name, value: value} }

func arr(values ...node) *list {
	l := &list{}
	for _, v := range values {
		l.items = append(l.items, &item{value: v})
	}
	return l
}

// arg is a text among the tool's arguments.
func arg(name string) Value { return Value{{Kind: Arg, Text: name}} }

// str is a text that stays as it is.
func str(text string) Value { return Value{{Text: text}} }

func (o *object) member(name string) *member {
	for _, m := range o.members {
		if m.name == name {
			return m
		}
	}
	return nil
}

// copyOf lets marks be put into an example without changing it.
func copyOf(n node) node {
	switch n := n.(type) {
	case *object:
		out := &object{}
		for _, m := range n.members {
			out.members = append(out.members, &member{m.name, copyOf(m.value), m.why})
		}
		return out
	case *list:
		out := &list{}
		for _, i := range n.items {
			out.items = append(out.items, &item{copyOf(i.value), i.why})
		}
		return out
	}
	return n
}
