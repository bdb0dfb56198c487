package httpkey

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"mime"
	"strings"
	"unicode/utf8"

	"github.com/landedhq/landed/journal"
)

// content is a body inside of a JSON document, so that people can read it and it
// comes out byte for byte: JSON stands as it is, other text as a string, the rest
// in base64. At most one of Body, Text and Base64 is set.
type content struct {
	Body   json.RawMessage `json:"body,omitempty"`
	End    string          `json:"body_end,omitempty"` // white space after Body
	Text   string          `json:"body_text,omitempty"`
	Base64 string          `json:"body_base64,omitempty"`
}

const jsonSpace = " \t\r\n"

// members returns the JSON members that hold a body, with a leading comma, or
// nothing for an empty one. asJSON says whether it may stand as it is.
func members(body []byte, asJSON bool) []byte {
	switch {
	case len(body) == 0:
		return nil
	case asJSON:
		bare := bytes.TrimRight(body, jsonSpace)
		out := append([]byte(`,"body":`), bare...)
		if end := body[len(bare):]; len(end) > 0 {
			out = append(out, `,"body_end":`...)
			out = append(out, quote(string(end))...)
		}
		return out
	}
	if utf8.Valid(body) {
		if text := quote(string(body)); len(text) <= len(body)/3*4+64 {
			return append([]byte(`,"body_text":`), text...)
		}
	}
	out := append([]byte(`,"body_base64":"`), base64.StdEncoding.EncodeToString(body)...)
	return append(out, '"')
}

// embeds reports whether a body may stand in a document as it is: an object or
// array without white space before it, in the strict form that the journal takes.
func embeds(body []byte) bool {
	return len(body) > 0 && (body[0] == '{' || body[0] == '[') && len(body) <= journal.MaxArgsBytes && journal.CheckArgs(body) == nil
}

// bytes returns the body.
func (c content) bytes() ([]byte, error) {
	set := 0
	for _, have := range []bool{len(c.Body) > 0, c.Text != "", c.Base64 != ""} {
		if have {
			set++
		}
	}
	if set > 1 || c.End != "" && len(c.Body) == 0 {
		return nil, errors.New("has more than one of body, body_text and body_base64")
	}
	if strings.Trim(c.End, jsonSpace) != "" {
		return nil, errors.New("has a body_end that is more than white space")
	}
	switch {
	case len(c.Body) > 0:
		return append(bytes.Clone(c.Body), c.End...), nil
	case c.Text != "":
		return []byte(c.Text), nil
	}
	b, err := base64.StdEncoding.DecodeString(c.Base64)
	if err != nil {
		return nil, fmt.Errorf("has a body_base64 that can't be read: %w", err)
	}
	return b, nil
}

// quote returns s as a JSON string, without escaping what only HTML needs.
func quote(s string) []byte {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	_ = e.Encode(s) // a string can always be encoded
	return bytes.TrimRight(b.Bytes(), "\n")
}

// isJSON reports whether a content type is JSON or one built on it (RFC 6839).
func isJSON(contentType string) bool {
	t, _, err := mime.ParseMediaType(contentType)
	return err == nil && (t == "application/json" || strings.HasSuffix(t, "+json"))
}
