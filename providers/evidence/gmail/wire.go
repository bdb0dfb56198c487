package gmail

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/landedhq/landed/providers/evidence"
)

// originalID is where Gmail puts a Message-ID that it replaced, if anywhere.
const originalID = "X-Google-Original-Message-ID"

// page is one answer of messages.list. Estimate tells an empty result from an
// answer of another kind.
type page struct {
	Messages []struct {
		ID string `json:"id"`
	} `json:"messages"`
	Next     string `json:"nextPageToken"`
	Estimate *int64 `json:"resultSizeEstimate"`
}

// message is what the adapter reads of a message.
type message struct {
	ID           string   `json:"id"`
	ThreadID     string   `json:"threadId"`
	Labels       []string `json:"labelIds"`
	InternalDate string   `json:"internalDate"` // milliseconds
	Payload      struct {
		Headers []struct {
			Name  string `json:"name"`
			Value string `json:"value"`
		} `json:"headers"`
	} `json:"payload"`
}

type draft struct {
	ID      string  `json:"id"`
	Message message `json:"message"`
}

type thread struct {
	ID       string    `json:"id"`
	Messages []message `json:"messages"`
}

// validID allows what ids of messages, threads and drafts are made of.
func validID(s string) bool {
	return len(s) >= 1 && len(s) <= 128 && strings.Trim(s, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_") == ""
}

func (m message) valid() bool { return validID(m.ID) && m.InternalDate != "" }

// header returns the values of one header field.
func (m message) header(name string) []string {
	var out []string
	for _, h := range m.Payload.Headers {
		if strings.EqualFold(h.Name, name) {
			out = append(out, h.Value)
		}
	}
	return out
}

func (m message) label(name string) bool { return slices.Contains(m.Labels, name) }

func (m message) at() time.Time {
	ms, err := strconv.ParseInt(m.InternalDate, 10, 64)
	if err != nil {
		return time.Time{}
	}
	return time.UnixMilli(ms).UTC()
}

// status names the places that people know. Labels of a team's own are left out:
// they are ids.
func (m message) status() string {
	var in []string
	for _, l := range []struct{ label, name string }{{"DRAFT", "Drafts"}, {"SENT", "Sent"}, {"INBOX", "Inbox"}, {"SPAM", "Spam"}, {"TRASH", "Trash"}} {
		if m.label(l.label) {
			in = append(in, l.name)
		}
	}
	if in == nil {
		return "in All Mail"
	}
	return "in " + strings.Join(in, ", ")
}

func (m message) summary(header string) string {
	return fmt.Sprintf("\n%.80s %s Message-ID=%.120q %s=%.120q", m.ID, m.status(), m.header("Message-ID"), header, m.header(header))
}

// scopeReadonly is what the adapter asks for.
const scopeReadonly = "https://www.googleapis.com/auth/gmail.readonly"

// checkScope refuses a token that can't search, or that could write or send.
// granted is what the server said; empty = what was asked for.
func checkScope(granted string) error {
	if granted == "" {
		return nil
	}
	reads := false
	for _, s := range strings.Fields(granted) {
		name, gmail := strings.CutPrefix(s, "https://www.googleapis.com/auth/gmail.")
		switch {
		case s == scopeReadonly:
			reads = true
		case s == "https://mail.google.com/" || gmail && name != "metadata":
			return &evidence.ProviderError{Kind: evidence.FaultForbidden, Detail: "the token may change or send mail: consent to gmail.readonly only"}
		}
	}
	if !reads {
		return &evidence.ProviderError{Kind: evidence.FaultForbidden, Detail: "the token lacks the scope gmail.readonly: with gmail.metadata Gmail can't search"}
	}
	return nil
}
