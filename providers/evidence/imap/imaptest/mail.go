package imaptest

import (
	"strings"
	"time"
)

// Field is one header field of a test mail.
type Field struct{ Name, Value string }

// Mail renders a mail with these header fields and a short body. Date, From, To
// and Subject are added where they are missing.
func Mail(fields ...Field) []byte {
	have := map[string]bool{}
	for _, f := range fields {
		have[strings.ToLower(f.Name)] = true
	}
	for _, f := range []Field{
		{"Date", time.Now().Format(time.RFC1123Z)},
		{"From", "Ann <ann@example.org>"},
		{"To", "Bob <bob@example.net>"},
		{"Subject", "Your order"},
	} {
		if !have[strings.ToLower(f.Name)] {
			fields = append(fields, f)
		}
	}
	var b strings.Builder
	for _, f := range fields {
		b.WriteString(f.Name + ": " + f.Value + "\r\n")
	}
	b.WriteString("\r\nHello Bob,\r\nit is on its way.\r\n")
	return []byte(b.String())
}
