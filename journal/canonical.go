package journal

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"unicode/utf16"
	"unicode/utf8"
)

// Limits of JSON that a caller hands over.
const (
	MaxArgsBytes   = 1 << 20 // 1 MiB
	MaxResultBytes = 8 << 20 // 8 MiB
	MaxJSONDepth   = 200
)

// member is one member of a JSON object: its name in canonical form (a quoted
// string) and its value's canonical text.
type member struct {
	name  string   // decoded
	units []uint16 // of the name; nil if it is plain ASCII, which sorts as it is
	quote string   // canonical, quoted
	value string   // canonical
}

// before sorts by UTF-16 code units.
func (m *member) before(o *member) bool {
	if m.units == nil && o.units == nil {
		return m.name < o.name
	}
	a, b := m.units, o.units
	if a == nil {
		a = utf16.Encode([]rune(m.name))
	}
	if b == nil {
		b = utf16.Encode([]rune(o.name))
	}
	return lessUnits(a, b)
}

// canonicalize returns the RFC 8785 form of one JSON text: members sorted by
// UTF-16 code units, no white space, minimal escapes, ECMAScript numbers. It
// departs from RFC 8785 where that would call two different texts the same:
// a number that a double can't hold exactly keeps its digits, and a lone
// surrogate keeps its escape. It refuses invalid UTF-8, duplicate members and
// nesting beyond MaxJSONDepth.
func canonicalize(raw []byte) (string, error) {
	p := &canonParser{in: string(raw)}
	out, err := p.document()
	if err != nil {
		return "", err
	}
	return out, nil
}

// canonicalMembers returns the top-level members of an object; ok is false if
// raw holds something else.
func canonicalMembers(raw []byte) (members []member, ok bool, err error) {
	p := &canonParser{in: string(raw)}
	p.space()
	if p.peek() != '{' {
		_, err := canonicalize(raw)
		return nil, false, err
	}
	members, err = p.object(1)
	if err == nil {
		err = p.end()
	}
	return members, err == nil, err
}

// canonParser hands out pieces of its input: text that is canonical already,
// as most of it is, is never copied.
type canonParser struct {
	in  string
	pos int
}

func (p *canonParser) document() (string, error) {
	if !utf8.ValidString(p.in) {
		return "", fmt.Errorf("is not valid UTF-8")
	}
	v, err := p.value(0)
	if err != nil {
		return "", err
	}
	return v, p.end()
}

func (p *canonParser) end() error {
	p.space()
	if p.pos != len(p.in) {
		return p.fail("holds more than one JSON value")
	}
	return nil
}

func (p *canonParser) fail(what string) error { return fmt.Errorf("%s at byte %d", what, p.pos) }

func (p *canonParser) space() {
	for p.pos < len(p.in) {
		switch p.in[p.pos] {
		case ' ', '\t', '\n', '\r':
			p.pos++
		default:
			return
		}
	}
}

func (p *canonParser) peek() byte {
	if p.pos < len(p.in) {
		return p.in[p.pos]
	}
	return 0
}

func (p *canonParser) value(depth int) (string, error) {
	p.space()
	if c := p.peek(); (c == '{' || c == '[') && depth >= MaxJSONDepth {
		return "", p.fail(fmt.Sprintf("is nested deeper than %d levels", MaxJSONDepth))
	}
	switch c := p.peek(); {
	case c == '{':
		ms, err := p.object(depth + 1)
		return joinMembers(ms), err
	case c == '[':
		return p.array(depth + 1)
	case c == '"':
		_, _, q, err := p.str()
		return q, err
	case c == '-' || c >= '0' && c <= '9':
		return p.number()
	}
	for _, lit := range []string{"true", "false", "null"} {
		if strings.HasPrefix(p.in[p.pos:], lit) {
			p.pos += len(lit)
			return lit, nil
		}
	}
	return "", p.fail("is not valid JSON")
}

func joinMembers(ms []member) string {
	n := 2
	for i := range ms {
		n += len(ms[i].quote) + len(ms[i].value) + 2
	}
	b := make([]byte, 0, n)
	for i := range ms {
		b = append(b, ',')
		b = append(append(append(b, ms[i].quote...), ':'), ms[i].value...)
	}
	if len(ms) == 0 {
		return "{}"
	}
	b[0] = '{'
	return string(append(b, '}'))
}

func (p *canonParser) object(depth int) ([]member, error) {
	p.pos++ // {
	ms := make([]member, 0, 8)
	for p.space(); p.peek() != '}'; p.space() {
		if len(ms) > 0 {
			if p.peek() != ',' {
				return nil, p.fail("is not valid JSON")
			}
			p.pos++
			p.space()
		}
		if p.peek() != '"' {
			return nil, p.fail("is not valid JSON")
		}
		name, units, quote, err := p.str()
		if err != nil {
			return nil, err
		}
		p.space()
		if p.peek() != ':' {
			return nil, p.fail("is not valid JSON")
		}
		p.pos++
		v, err := p.value(depth)
		if err != nil {
			return nil, err
		}
		ms = append(ms, member{name: name, units: units, quote: quote, value: v})
	}
	p.pos++ // }
	order := func(a, b member) int {
		switch {
		case a.before(&b):
			return -1
		case b.before(&a):
			return 1
		}
		return 0
	}
	if !slices.IsSortedFunc(ms, order) {
		slices.SortStableFunc(ms, order)
	}
	for i := 1; i < len(ms); i++ {
		if ms[i].quote == ms[i-1].quote {
			return nil, fmt.Errorf("holds member %s twice", ms[i].quote)
		}
	}
	return ms, nil
}

func lessUnits(a, b []uint16) bool {
	for i := range min(len(a), len(b)) {
		if a[i] != b[i] {
			return a[i] < b[i]
		}
	}
	return len(a) < len(b)
}

func (p *canonParser) array(depth int) (string, error) {
	p.pos++ // [
	var parts []string
	for p.space(); p.peek() != ']'; p.space() {
		if len(parts) > 0 {
			if p.peek() != ',' {
				return "", p.fail("is not valid JSON")
			}
			p.pos++
		}
		v, err := p.value(depth)
		if err != nil {
			return "", err
		}
		parts = append(parts, v)
	}
	p.pos++ // ]
	return "[" + strings.Join(parts, ",") + "]", nil
}

// str reads a string and returns it decoded, as UTF-16 units (nil if it is plain
// ASCII), and in canonical quotes.
func (p *canonParser) str() (string, []uint16, string, error) {
	if end := p.plain(); end > 0 {
		quoted := p.in[p.pos : end+1]
		p.pos = end + 1
		return quoted[1 : len(quoted)-1], nil, quoted, nil
	}
	p.pos++ // "
	var units []uint16
	for {
		if p.pos >= len(p.in) {
			return "", nil, "", p.fail("ends inside a string")
		}
		c := p.in[p.pos]
		switch {
		case c == '"':
			p.pos++
			return string(utf16.Decode(units)), units, quoteUnits(units), nil
		case c < 0x20:
			return "", nil, "", p.fail("holds a raw control character in a string")
		case c == '\\':
			u, err := p.escape()
			if err != nil {
				return "", nil, "", err
			}
			units = append(units, u)
		default:
			r, n := utf8.DecodeRuneInString(p.in[p.pos:])
			if r == utf8.RuneError && n <= 1 {
				return "", nil, "", p.fail("is not valid UTF-8")
			}
			units = utf16.AppendRune(units, r)
			p.pos += n
		}
	}
}

// plain returns where the string that begins here ends, if it is printable ASCII
// without escapes and so canonical already; else 0.
func (p *canonParser) plain() int {
	for i := p.pos + 1; i < len(p.in); i++ {
		switch c := p.in[i]; {
		case c == '"':
			return i
		case c < 0x20 || c >= 0x7f || c == '\\':
			return 0
		}
	}
	return 0
}

func (p *canonParser) escape() (uint16, error) {
	if p.pos+1 >= len(p.in) {
		return 0, p.fail("ends inside a string")
	}
	c := p.in[p.pos+1]
	if c == 'u' {
		if p.pos+6 > len(p.in) {
			return 0, p.fail("ends inside an escape")
		}
		n, err := strconv.ParseUint(p.in[p.pos+2:p.pos+6], 16, 16)
		if err != nil {
			return 0, p.fail("holds a broken \\u escape")
		}
		p.pos += 6
		return uint16(n), nil
	}
	i := strings.IndexByte(`"\/bfnrt`, c)
	if i < 0 {
		return 0, p.fail("holds an unknown escape")
	}
	p.pos += 2
	return uint16("\"\\/\b\f\n\r\t"[i]), nil
}

func quoteUnits(units []uint16) string {
	var b strings.Builder
	b.WriteByte('"')
	for i := 0; i < len(units); i++ {
		u := units[i]
		switch {
		case utf16.IsSurrogate(rune(u)):
			if i+1 < len(units) {
				if r := utf16.DecodeRune(rune(u), rune(units[i+1])); r != utf8.RuneError {
					b.WriteRune(r)
					i++
					continue
				}
			}
			fmt.Fprintf(&b, "\\u%04x", u)
		case u == '"' || u == '\\':
			b.WriteByte('\\')
			b.WriteByte(byte(u))
		case u < 0x20:
			if j := strings.IndexByte("\b\f\n\r\t", byte(u)); j >= 0 {
				b.WriteByte('\\')
				b.WriteByte("bfnrt"[j])
			} else {
				fmt.Fprintf(&b, "\\u%04x", u)
			}
		default:
			b.WriteRune(rune(u))
		}
	}
	b.WriteByte('"')
	return b.String()
}

func (p *canonParser) number() (string, error) {
	start := p.pos
	for p.pos < len(p.in) && strings.IndexByte("+-.eE0123456789", p.in[p.pos]) >= 0 {
		p.pos++
	}
	text := p.in[start:p.pos]
	if !validNumber(text) {
		p.pos = start
		return "", p.fail("holds a broken number")
	}
	f, err := strconv.ParseFloat(text, 64)
	if err != nil || math.IsInf(f, 0) {
		return normalDigits(text), nil
	}
	if s := formatES6(f); normalDigits(s) == normalDigits(text) {
		return s, nil
	}
	return normalDigits(text), nil // a double would change it: keep the digits
}

func validNumber(s string) bool {
	s = strings.TrimPrefix(s, "-")
	i := 0
	digits := func() int {
		n := 0
		for i < len(s) && s[i] >= '0' && s[i] <= '9' {
			i++
			n++
		}
		return n
	}
	n := digits()
	if n == 0 || n > 1 && s[0] == '0' {
		return false
	}
	if i < len(s) && s[i] == '.' {
		i++
		if digits() == 0 {
			return false
		}
	}
	if i < len(s) && (s[i] == 'e' || s[i] == 'E') {
		i++
		if i < len(s) && (s[i] == '+' || s[i] == '-') {
			i++
		}
		if digits() == 0 {
			return false
		}
	}
	return i == len(s)
}

// normalDigits writes a number as sign, significant digits and exponent of the
// last digit: the same for every spelling of one exact value.
func normalDigits(s string) string {
	neg := strings.HasPrefix(s, "-")
	s = strings.ToLower(strings.TrimPrefix(s, "-"))
	mant, expText, _ := strings.Cut(s, "e")
	exp, err := strconv.Atoi(strings.TrimPrefix(expText, "+"))
	if expText != "" && err != nil {
		return s // an exponent beyond int: keep the spelling
	}
	whole, frac, _ := strings.Cut(mant, ".")
	digits := strings.TrimLeft(whole+frac, "0")
	exp -= len(frac)
	trimmed := strings.TrimRight(digits, "0")
	exp += len(digits) - len(trimmed)
	if trimmed == "" {
		return "0"
	}
	sign := ""
	if neg {
		sign = "-"
	}
	return sign + trimmed + "e" + strconv.Itoa(exp)
}

// formatES6 writes f as ECMAScript's Number::toString does (RFC 8785, 3.2.2.3).
func formatES6(f float64) string {
	if f == 0 {
		return "0"
	}
	if a := math.Abs(f); a < 1e-6 || a >= 1e21 {
		s := strconv.FormatFloat(f, 'e', -1, 64)
		m, e, _ := strings.Cut(s, "e")
		return m + "e" + e[:1] + strings.TrimLeft(e[1:], "0")
	}
	return strconv.FormatFloat(f, 'f', -1, 64)
}
