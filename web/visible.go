package web

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"io"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/a-h/templ"
)

// Text is hostile text made safe to look at. It is a templ component: it renders
// itself, escaped and isolated from the text around it.
type Text struct {
	Spans []Span
	// Cut counts the characters left out of the middle.
	Cut int
}

// Span is a stretch of text of one kind.
type Span struct {
	Kind  SpanKind
	Text  string
	Title string // what a mark stands for
	runes int    // how many characters of the original it stands for
}

// SpanKind says how a span is to be read.
type SpanKind int

// The kinds of spans.
const (
	SpanPlain SpanKind = iota
	SpanMark           // a character that would not show, by name
	SpanGap            // characters left out, with their count
)

// Limits of what is shown unless the reader asks for all.
const (
	LineLimit  = 200   // one line: subjects, names, ids
	ValueLimit = 2_000 // one value of a payload, one error text
	NoLimit    = 1 << 30
	minRun     = 8 // equal white space from this length on is counted, not shown
	minMarks   = 5 // combining characters from this length on
	minCut     = 24
	maxJoined  = 64 // marks in one element
)

// Visible makes hostile text visible: control, bidirectional and invisible
// characters and broken bytes become marks, runs of white space become a count,
// and what exceeds limit characters is cut out of the middle, so that neither
// padding nor length hides the end.
func Visible(s string, limit int) Text {
	var l spanList
	l.hostile(s)
	return cutMiddle(l.done(), limit)
}

// Plain is text of our own, or one known to be short and printable.
func Plain(s string) Text {
	if s == "" {
		return Text{}
	}
	return Text{Spans: []Span{{Text: s, runes: utf8.RuneCountInString(s)}}}
}

// Empty reports whether there is nothing to show.
func (t Text) Empty() bool { return len(t.Spans) == 0 }

// String is the text as it is read, marks and gaps included; for titles.
func (t Text) String() string {
	var b strings.Builder
	for _, s := range t.Spans {
		b.WriteString(s.Text)
	}
	return b.String()
}

// Render writes the text as one isolated element.
func (t Text) Render(_ context.Context, w io.Writer) error {
	var b strings.Builder
	b.WriteString("<bdi>")
	for _, s := range t.Spans {
		switch s.Kind {
		case SpanMark:
			b.WriteString(`<span class="mark" title="` + templ.EscapeString(s.Title) + `">` + templ.EscapeString(s.Text) + `</span>`)
		case SpanGap:
			b.WriteString(`<span class="gap">` + templ.EscapeString(s.Text) + `</span>`)
		default:
			b.WriteString(templ.EscapeString(s.Text))
		}
	}
	b.WriteString("</bdi>")
	_, err := io.WriteString(w, b.String())
	return err
}

// Digest is the short SHA-256 that identifies a payload on the page.
func Digest(b []byte) string {
	sum := sha256.Sum256(b)
	return hex.EncodeToString(sum[:])
}

// spanList collects spans. Plain text gathers in a buffer of its own, so that a
// payload of a million tokens takes time in proportion.
type spanList struct {
	spans []Span
	buf   strings.Builder
	runes int
}

// own appends layout of our own, which is never marked or counted as padding.
func (l *spanList) own(s string) {
	l.buf.WriteString(s)
	l.runes += utf8.RuneCountInString(s)
}

func (l *spanList) flush() {
	if l.buf.Len() > 0 {
		l.spans = append(l.spans, Span{Text: l.buf.String(), runes: l.runes})
		l.buf.Reset()
		l.runes = 0
	}
}

// done returns the spans; gaps of joined marks get their count only now.
func (l *spanList) done() []Span {
	l.flush()
	for i := range l.spans {
		if s := &l.spans[i]; s.Text == "" {
			s.Text = "… " + Count(s.runes, "more invisible character", "more invisible characters") + " …"
		}
	}
	return l.spans
}

// hostile appends s with marks and gaps where they are needed.
func (l *spanList) hostile(s string) {
	plain := 0
	for i := 0; i < len(s); {
		n, span, odd := oddAt(s[i:])
		if odd {
			l.own(s[plain:i])
			l.odd(span)
			plain = i + n
		}
		i += n
	}
	l.own(s[plain:])
}

// odd joins neighbouring marks: ten thousand of them make one element.
func (l *spanList) odd(s Span) {
	l.flush()
	k := len(l.spans) - 1
	switch {
	case s.Kind != SpanMark || k < 0 || l.spans[k].Kind == SpanPlain:
	case l.spans[k].Kind == SpanMark && l.spans[k].runes < maxJoined:
		last := &l.spans[k]
		last.Text += " " + s.Text
		if !strings.HasSuffix(last.Title, s.Title) {
			last.Title += ", " + s.Title
		}
		last.runes += s.runes
		return
	case l.spans[k].Kind == SpanMark:
		s = Span{Kind: SpanGap, runes: s.runes}
	case l.spans[k].Text == "":
		l.spans[k].runes += s.runes
		return
	}
	l.spans = append(l.spans, s)
}

// oddAt looks at the start of s: how many bytes belong together, and whether
// they need a span of their own.
func oddAt(s string) (n int, span Span, odd bool) {
	r, size := utf8.DecodeRuneInString(s)
	if r == utf8.RuneError && size <= 1 {
		return 1, Span{Kind: SpanMark, Text: `\x` + hexUpper(rune(s[0]), 2), Title: "a byte that is not UTF-8", runes: 1}, true
	}
	if unicode.IsSpace(r) && r != 0x85 {
		return spaceAt(s)
	}
	if unicode.Is(unicode.Mn, r) || unicode.Is(unicode.Me, r) {
		return combiningAt(s, size)
	}
	if name := invisibleName(r); name != "" {
		return size, Span{Kind: SpanMark, Text: "U+" + hexUpper(r, 4), Title: name, runes: 1}, true
	}
	return size, Span{}, false
}

func hexUpper(r rune, digits int) string {
	h := strings.ToUpper(strconv.FormatInt(int64(r), 16))
	return strings.Repeat("0", max(0, digits-len(h))) + h
}

// spaceAt handles white space: long runs are counted, single odd ones marked.
func spaceAt(s string) (int, Span, bool) {
	n, runes, onlyLines := 0, 0, true
	for n < len(s) {
		r, size := utf8.DecodeRuneInString(s[n:])
		if !unicode.IsSpace(r) || r == 0x85 {
			break
		}
		onlyLines = onlyLines && (r == '\n' || r == '\r')
		n += size
		runes++
	}
	if runes >= minRun {
		what := Count(runes, "space", "spaces")
		if onlyLines {
			what = Count(runes, "empty line", "empty lines")
		}
		return n, Span{Kind: SpanGap, Text: "… " + what + " …", runes: runes}, true
	}
	r, size := utf8.DecodeRuneInString(s)
	switch r {
	case ' ', '\n':
		return size, Span{}, false
	case '\t':
		return size, Span{Kind: SpanMark, Text: "⇥", Title: "tab", runes: 1}, true
	case '\r':
		return size, Span{Kind: SpanMark, Text: "␍", Title: "carriage return", runes: 1}, true
	case 0xa0:
		return size, Span{Kind: SpanMark, Text: "⍽", Title: "no-break space", runes: 1}, true
	}
	return size, Span{Kind: SpanMark, Text: "U+" + hexUpper(r, 4), Title: "unusual white space", runes: 1}, true
}

// combiningAt keeps a few combining characters and counts heaps of them.
func combiningAt(s string, size int) (int, Span, bool) {
	n, runes := 0, 0
	for n < len(s) {
		r, w := utf8.DecodeRuneInString(s[n:])
		if !unicode.Is(unicode.Mn, r) && !unicode.Is(unicode.Me, r) {
			break
		}
		n += w
		runes++
	}
	if runes < minMarks {
		return max(n, size), Span{}, false
	}
	return n, Span{Kind: SpanGap, Text: "… " + Count(runes, "combining character", "combining characters") + " …", runes: runes}, true
}

// invisibleName names a character that would not show, or show elsewhere.
func invisibleName(r rune) string {
	switch {
	case r < 0x20 || r == 0x7f || r >= 0x80 && r < 0xa0:
		return "control character"
	case r == 0x061c || r == 0x200e || r == 0x200f || r >= 0x202a && r <= 0x202e || r >= 0x2066 && r <= 0x2069:
		return "changes the direction of writing"
	case r >= 0x200b && r <= 0x200d || r == 0xfeff || r == 0x2060 || r == 0x034f || r == 0x180e:
		return "has no width"
	case r == 0xad:
		return "soft hyphen"
	case r == 0x2028 || r == 0x2029:
		return "line separator"
	case r == 0x115f || r == 0x1160 || r == 0x3164 || r == 0xffa0 || r == 0x2800:
		return "looks like a space"
	case r >= 0xe0000 && r <= 0xe0fff:
		return "invisible tag or variation"
	case unicode.Is(unicode.Co, r):
		return "private use"
	case unicode.Is(unicode.Cf, r):
		return "invisible format character"
	}
	return ""
}

// cost is how much room a span takes on the page, in characters.
func (s Span) cost() int {
	if s.Kind == SpanPlain {
		return s.runes
	}
	return utf8.RuneCountInString(s.Text)
}

// cutMiddle keeps three fifths of the room for the head and the rest for the tail.
func cutMiddle(spans []Span, limit int) Text {
	total := 0
	for _, s := range spans {
		total += s.cost()
	}
	if total <= limit+minCut {
		return Text{Spans: spans}
	}
	head, rest := takeHead(spans, limit*3/5)
	tail, left := takeTail(rest, limit*2/5)
	cut := 0
	for _, s := range left {
		cut += s.runes
	}
	gap := Span{Kind: SpanGap, Text: "… " + Count(cut, "character not shown", "characters not shown") + " …", runes: cut}
	return Text{Spans: append(append(head, gap), tail...), Cut: cut}
}

func takeHead(spans []Span, room int) (head, rest []Span) {
	for i, s := range spans {
		if c := s.cost(); c <= room {
			head, room = append(head, s), room-c
			continue
		}
		if s.Kind != SpanPlain || room == 0 {
			return head, spans[i:]
		}
		at := byteAt(s.Text, room)
		head = append(head, Span{Text: s.Text[:at], runes: room})
		rest = append([]Span{{Text: s.Text[at:], runes: s.runes - room}}, spans[i+1:]...)
		return head, rest
	}
	return head, nil
}

func takeTail(spans []Span, room int) (tail, left []Span) {
	for i := len(spans) - 1; i >= 0; i-- {
		s := spans[i]
		if c := s.cost(); c <= room {
			tail, room = append([]Span{s}, tail...), room-c
			continue
		}
		if s.Kind != SpanPlain || room == 0 {
			return tail, spans[:i+1]
		}
		at := byteAt(s.Text, s.runes-room)
		tail = append([]Span{{Text: s.Text[at:], runes: room}}, tail...)
		left = append(append([]Span{}, spans[:i]...), Span{Text: s.Text[:at], runes: s.runes - room})
		return tail, left
	}
	return tail, nil
}

// byteAt is where rune n begins.
func byteAt(s string, n int) int {
	for i := range s {
		if n == 0 {
			return i
		}
		n--
	}
	return len(s)
}

// Count puts a number, in groups of three, before its noun.
func Count(n int, one, many string) string {
	if n == 1 {
		return "1 " + one
	}
	return Number(n) + " " + many
}

// Number groups digits by thin spaces that do not break.
func Number(n int) string {
	s := strconv.Itoa(n)
	if n < 0 {
		return s
	}
	var b strings.Builder
	for i, c := range s {
		if i > 0 && (len(s)-i)%3 == 0 {
			b.WriteRune('\u202f')
		}
		b.WriteRune(c)
	}
	return b.String()
}
