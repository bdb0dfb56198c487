package imap

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
)

// answer is one untagged answer, as a list of its words.
type answer []node

// node is a word, a string, or a list.
type node struct {
	text string
	list []node
	kind nodeKind
}

type nodeKind int

const (
	atomNode nodeKind = iota
	stringNode
	listNode
)

const maxNesting = 20

// parseAnswer splits what follows "* ", literals in place.
func parseAnswer(s string) (answer, error) {
	s = strings.TrimSuffix(strings.TrimSuffix(s, "\n"), "\r")
	nodes, rest, err := parseNodes(s, 0)
	if err == nil && rest != "" {
		err = errAnswerEnds
	}
	if err != nil {
		return nil, fmt.Errorf("%w: %.60q: %w", errBadAnswer, s, err)
	}
	return nodes, nil
}

// parseNodes reads up to the end, or to the bracket that closes the list.
func parseNodes(s string, depth int) (nodes []node, rest string, err error) {
	if depth > maxNesting {
		return nil, "", fmt.Errorf("more than %d brackets", maxNesting)
	}
	for s != "" {
		switch s[0] {
		case ' ':
			s = s[1:]
		case ')':
			if depth == 0 {
				return nil, "", errors.New("a bracket too many")
			}
			return nodes, s[1:], nil
		case '(':
			var inner []node
			if inner, s, err = parseNodes(s[1:], depth+1); err != nil {
				return nil, "", err
			}
			nodes = append(nodes, node{list: inner, kind: listNode})
		default:
			var n node
			if n, s, err = parseWord(s); err != nil {
				return nil, "", err
			}
			nodes = append(nodes, n)
		}
	}
	if depth > 0 {
		return nil, "", errAnswerEnds
	}
	return nodes, "", nil
}

// parseWord reads an atom, a quoted string or a literal.
func parseWord(s string) (node, string, error) {
	switch s[0] {
	case '"':
		return parseQuoted(s[1:])
	case '{':
		head, body, ok := strings.Cut(s, "\n")
		size := literalSize([]byte(head))
		if !ok || size < 0 || size > len(body) {
			return node{}, "", errAnswerEnds
		}
		return node{text: body[:size], kind: stringNode}, body[size:], nil
	}
	end := strings.IndexAny(s, " ()")
	if end < 0 {
		end = len(s)
	}
	return node{text: s[:end]}, s[end:], nil
}

func parseQuoted(s string) (node, string, error) {
	var b strings.Builder
	for i := 0; i < len(s); i++ {
		switch {
		case s[i] == '"':
			return node{text: b.String(), kind: stringNode}, s[i+1:], nil
		case s[i] == '\\' && i+1 < len(s):
			i++
		}
		b.WriteByte(s[i])
	}
	return node{}, "", errAnswerEnds
}

// is reports whether the answer is of that name.
func (a answer) is(name string) bool { return len(a) > 0 && strings.EqualFold(a[0].text, name) }

// fetched returns the items of a FETCH answer by their names in upper case, or nil.
func (a answer) fetched() map[string]node {
	if len(a) != 3 || !strings.EqualFold(a[1].text, "FETCH") || a[2].kind != listNode {
		return nil
	}
	items := map[string]node{}
	for list := a[2].list; len(list) >= 2; list = list[2:] {
		items[strings.ToUpper(list[0].text)] = list[1]
	}
	return items
}

// numbers returns what a SEARCH answer lists.
func (a answer) numbers() ([]uint32, error) {
	var out []uint32
	for _, n := range a[1:] {
		if n.kind == listNode { // (MODSEQ …)
			continue
		}
		v, err := strconv.ParseUint(n.text, 10, 32)
		if err != nil || v == 0 {
			return nil, fmt.Errorf("%w: a search result with %.20q in it", errBadAnswer, n.text)
		}
		out = append(out, uint32(v))
	}
	return out, nil
}
