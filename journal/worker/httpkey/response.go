package httpkey

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"
)

// storedAnswer is what is journaled of an answer, as its effect's result.
type storedAnswer struct {
	Status  int         `json:"status"`
	At      time.Time   `json:"at"`
	Headers http.Header `json:"headers,omitempty"`
	// Bytes is the body's length if it was too large to keep; the body is then left
	// out.
	Bytes int64 `json:"body_bytes_not_kept,omitempty"`
	content
}

// keptHeaders are recorded and replayed. Left out are cookies and challenges,
// which belong to one exchange, and what a server or cache says of a connection
// or a copy.
func keptHeaders() []string {
	return []string{"Content-Type", "Content-Language", "Content-Encoding", "Content-Disposition", "Content-Location",
		"Etag", "Last-Modified", "Link", "Location", "Preference-Applied", "X-Request-Id"}
}

// kept returns the headers of an answer that may be replayed.
func (g *guard) kept(h http.Header) http.Header {
	out := http.Header{}
	for name, values := range h {
		if slices.Contains(g.keep, name) {
			out[name] = values
		}
	}
	return out
}

// encodeAnswer returns the result of an answer; total is the length of the whole
// body, of which body may be the start only.
func (g *guard) encodeAnswer(status int, h http.Header, body []byte, total int64, at time.Time) ([]byte, error) {
	a := storedAnswer{Status: status, At: at.UTC().Truncate(time.Second), Headers: g.kept(h)}
	if total > int64(len(body)) {
		a.Bytes, body = total, nil
	}
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(a); err != nil {
		return nil, fmt.Errorf("encoding the answer: %w", err)
	}
	head := bytes.TrimSuffix(bytes.TrimSpace(b.Bytes()), []byte("}"))
	return document(head, members(body, embeds(body))), nil
}

// decodeAnswer reads a result. false: it was recorded by something else.
func decodeAnswer(result []byte) (storedAnswer, []byte, bool) {
	var a storedAnswer
	if json.Unmarshal(result, &a) != nil || !validStatus(a.Status) {
		return a, nil, false
	}
	body, err := a.bytes()
	return a, body, err == nil
}

func validStatus(n int) bool { return n >= 200 && n <= 599 }

// maxRefusal is how much of a refusal the journal keeps: the worker cuts errors
// above this.
const maxRefusal = 2000

// refusalText is what is journaled of a refusal: an HTTP answer as people read
// it, from which refusalOf makes the same answer again. It ends after the headers
// if the body can't be kept as text.
func (g *guard) refusalText(status int, h http.Header, body []byte, whole bool, at time.Time) string {
	var b strings.Builder
	fmt.Fprintf(&b, "HTTP %d\nDate: %s\n", status, at.UTC().Format(http.TimeFormat))
	kept := g.kept(h)
	for _, name := range sortedNames(kept) {
		for _, v := range kept[name] {
			if printableLine(v) {
				fmt.Fprintf(&b, "%s: %s\n", name, v)
			}
		}
	}
	head := b.String()
	full := head + "\n" + string(body)
	if whole && len(full) <= maxRefusal && utf8.Valid(body) && bytes.IndexByte(body, 0) < 0 {
		return full
	}
	note := head + "Landed-Not-Kept: the body\n"
	if len(note) > maxRefusal { // headers beyond measure
		return fmt.Sprintf("HTTP %d\nLanded-Not-Kept: the body\n", status)
	}
	return note
}

func sortedNames(h http.Header) []string {
	var out []string
	for name := range h {
		out = append(out, name)
	}
	slices.Sort(out)
	return out
}

func printableLine(s string) bool {
	return utf8.ValidString(s) && !strings.ContainsFunc(s, func(r rune) bool { return r < ' ' || r == 0x7f })
}

// refusal is a recorded refusal.
type refusal struct {
	status int
	at     time.Time // zero = unknown
	header http.Header
	body   []byte
	kept   bool // body is the whole body
}

var errNotARefusal = errors.New("the recorded refusal is not an HTTP answer")

// refusalOf reads what refusalText wrote.
func refusalOf(text string) (refusal, error) {
	head, body, kept := strings.Cut(text, "\n\n")
	lines := strings.Split(strings.TrimRight(head, "\n"), "\n")
	status, ok := strings.CutPrefix(lines[0], "HTTP ")
	n, err := strconv.Atoi(status)
	if !ok || err != nil || !validStatus(n) {
		return refusal{}, errNotARefusal
	}
	out := refusal{status: n, header: http.Header{}, body: []byte(body), kept: kept}
	for _, line := range lines[1:] {
		name, v, ok := strings.Cut(line, ": ")
		switch {
		case !ok:
			return refusal{}, errNotARefusal
		case name == "Date":
			out.at, _ = http.ParseTime(v)
		case name == "Landed-Not-Kept":
			out.kept = false
		default:
			out.header.Add(name, v)
		}
	}
	return out, nil
}
