package imap

import (
	"mime"
	"strings"
	"unicode"
)

// Bounds of a message's header fields; they come from anybody who can write mail.
const (
	maxHeaderBytes = 64 << 10 // read from one message
	maxFields      = 200
)

// field is one header field, unfolded, without white space at its ends.
type field struct {
	name  string // in lower case
	value string
}

// parseFields reads the answer to a header fetch. Lines that are no header
// fields are left out; nothing here fails.
func parseFields(raw []byte) []field {
	if len(raw) > maxHeaderBytes {
		raw = raw[:maxHeaderBytes]
	}
	var (
		fields []field
		name   string
		value  strings.Builder
		open   bool
	)
	flush := func() {
		if open {
			fields = append(fields, field{name, strings.Trim(value.String(), " \t")})
		}
		open = false
		value.Reset()
	}
	for line := range strings.Lines(string(raw)) {
		line = strings.TrimRight(line, "\r\n")
		if line == "" || len(fields) == maxFields {
			break
		}
		if line[0] == ' ' || line[0] == '\t' {
			value.WriteString(line) // unfolding removes the line break only
			continue
		}
		flush()
		n, v, ok := strings.Cut(line, ":")
		if name = strings.ToLower(strings.TrimRight(n, " \t")); ok && name != "" {
			open = true
			value.WriteString(v)
		}
	}
	flush()
	return fields
}

// first returns the value of the first field of that name.
func first(fields []field, name string) string {
	for _, f := range fields {
		if strings.EqualFold(f.name, name) {
			return f.value
		}
	}
	return ""
}

// carriers names the header fields that hold exactly ref.
func (c Carrier) carriers(fields []field, ref string) []string {
	var names []string
	for _, f := range fields {
		switch {
		case strings.EqualFold(f.name, c.RefHeader) && f.value == ref:
			names = append(names, c.RefHeader)
		case strings.EqualFold(f.name, messageIDHeader) && localPart(f.value) == ref:
			names = append(names, messageIDHeader)
		}
	}
	return names
}

// localPart returns what stands before the @ of a message id. The domain is not
// compared: a reference is unique by itself, and a domain that was changed in
// the configuration must not hide older mail.
func localPart(messageID string) string {
	id, ok := strings.CutPrefix(messageID, "<")
	if !ok {
		return ""
	}
	if id, ok = strings.CutSuffix(id, ">"); !ok {
		return ""
	}
	local, domain, ok := strings.Cut(id, "@")
	if !ok || domain == "" || strings.ContainsAny(domain, "<>@ \t") {
		return ""
	}
	return local
}

// token returns the longest run of ASCII letters and digits in s, or "" if none
// has at least 6: something that a search for this very header must find.
func token(s string) string {
	best := ""
	for _, run := range strings.FieldsFunc(s, func(r rune) bool { return notTokenRune(r) || r == '-' }) {
		if len(run) > len(best) {
			best = run
		}
	}
	if len(best) < 6 {
		return ""
	}
	return best[:min(len(best), 64)]
}

// readable makes a header value fit for people: decoded, then as oneLine. It
// stays hostile until it is escaped.
func readable(value string, limit int) string {
	dec := mime.WordDecoder{}
	if s, err := dec.DecodeHeader(value); err == nil {
		value = s
	}
	return oneLine(value, limit)
}

// oneLine makes text valid, on one line, and at most limit runes.
func oneLine(s string, limit int) string {
	s = strings.ToValidUTF8(s, "\uFFFD")
	s = strings.Join(strings.FieldsFunc(s, func(r rune) bool {
		return unicode.IsControl(r) || unicode.IsSpace(r)
	}), " ")
	if runes := []rune(s); len(runes) > limit {
		s = string(runes[:limit]) + "…"
	}
	return s
}
