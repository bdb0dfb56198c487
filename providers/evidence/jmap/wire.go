package jmap

import (
	"encoding/json"
	"fmt"
	"net/url"
	"slices"
	"strings"
	"time"
)

// The capabilities of a session (RFC 8620, section 2; RFC 8621, section 1.3).
const (
	capCore       = "urn:ietf:params:jmap:core"
	capMail       = "urn:ietf:params:jmap:mail"
	capSubmission = "urn:ietf:params:jmap:submission"
)

// sessionResource is what the adapter reads of the session.
type sessionResource struct {
	APIURL   string `json:"apiUrl"`
	Accounts map[string]struct {
		Name         string                     `json:"name"`
		Capabilities map[string]json.RawMessage `json:"accountCapabilities"`
	} `json:"accounts"`
	Primary map[string]string `json:"primaryAccounts"`
}

// account is the account that is asked.
type account struct {
	id          string
	name        string
	api         *url.URL
	submissions bool // the token sees them
	mailboxes   map[string]mailbox
}

func (a *account) using() []string {
	if a.submissions {
		return []string{capCore, capMail, capSubmission}
	}
	return []string{capCore, capMail}
}

type mailbox struct {
	ID   string `json:"id"`
	Name string `json:"name"`
	Role string `json:"role"` // empty where JSON has null
}

// email is what the adapter reads of a message; the value of our own header comes
// under a name that the configuration decides.
type email struct {
	ID         string          `json:"id"`
	MessageID  []string        `json:"messageId"`
	Subject    string          `json:"subject"`
	SentAt     string          `json:"sentAt"`
	ReceivedAt string          `json:"receivedAt"`
	MailboxIDs map[string]bool `json:"mailboxIds"`
	Keywords   map[string]bool `json:"keywords"`
	Received   []string        `json:"header:Received:all"`
	Refs       []string        `json:"-"`
}

// decodeEmail decodes a message. The header property must be there: a server that
// does not know it would make every message a stranger.
func decodeEmail(raw json.RawMessage, property string) (email, error) {
	var e email
	var all map[string]json.RawMessage
	if json.Unmarshal(raw, &e) != nil || json.Unmarshal(raw, &all) != nil || !validID(e.ID) || e.MailboxIDs == nil || e.Keywords == nil {
		return e, bad("the mail server's answer is no message")
	}
	values, ok := all[property]
	if !ok || json.Unmarshal(values, &e.Refs) != nil {
		return e, bad("the mail server's answer lacks the header field that was asked for")
	}
	return e, nil
}

// carries says which field holds the reference, byte for byte; empty = none.
func (e email) carries(ref, header, domain string) string {
	same := func(v string) bool { return strings.Trim(v, " \t\r\n") == ref }
	switch {
	case slices.ContainsFunc(e.Refs, same):
		return "header " + header
	case slices.Contains(e.MessageID, ref+"@"+domain):
		return "Message-ID"
	}
	return ""
}

func (e email) at() time.Time {
	for _, s := range []string{e.SentAt, e.ReceivedAt} {
		if at, err := time.Parse(time.RFC3339, s); err == nil {
			return at.UTC()
		}
	}
	return time.Time{}
}

// draft: the keyword, or nowhere but in the drafts.
func (e email) draft(boxes map[string]mailbox) bool {
	if e.Keywords["$draft"] {
		return true
	}
	for id := range e.MailboxIDs {
		if boxes[id].Role != "drafts" {
			return false
		}
	}
	return len(e.MailboxIDs) > 0
}

// delivered: it came from outside, and not into the mailbox for what was sent.
func (e email) delivered(boxes map[string]mailbox) bool {
	for id := range e.MailboxIDs {
		if boxes[id].Role == "sent" {
			return false
		}
	}
	return len(e.Received) > 0
}

// where names the message's mailboxes.
func (e email) where(boxes map[string]mailbox) string {
	var names []string
	for id := range e.MailboxIDs {
		name := boxes[id].Name
		if name == "" {
			name = id
		}
		names = append(names, name)
	}
	slices.Sort(names)
	return strings.Join(names, ", ")
}

func (e email) summary() string {
	return fmt.Sprintf("%.80s messageId=%.120q ref=%.120q draft=%v", e.ID, e.MessageID, e.Refs, e.Keywords["$draft"])
}

type submission struct {
	ID         string `json:"id"`
	EmailID    string `json:"emailId"`
	UndoStatus string `json:"undoStatus"`
	SendAt     string `json:"sendAt"`
}

// page is one answer of Email/query or EmailSubmission/query.
type page struct {
	QueryState string    `json:"queryState"`
	Position   *int      `json:"position"`
	IDs        *[]string `json:"ids"`
	Total      *int      `json:"total"`
}

// got is one answer of a get method.
type got[T any] struct {
	List     *[]T     `json:"list"`
	NotFound []string `json:"notFound"`
}
