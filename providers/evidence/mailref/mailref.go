// Package mailref says which header fields of a mail hold an effect's reference,
// and what counts as one mail. Workers write what Carrier.Fields gives; adapters
// for mail APIs compare with Carrier.Held. How a mailbox is searched is each
// adapter's business.
package mailref

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/landedhq/landed/journal"
)

// The values that hold where Carrier leaves them empty.
const (
	DefaultHeader = "X-Landed-Ref"
	DefaultDomain = "effects.landed"
)

// MessageIDHeader is the field that some sending paths replace: see Carrier.
const MessageIDHeader = "Message-ID"

// Carrier names the two fields that hold the reference: a header of our own, and
// Message-ID. Two, because some sending paths replace the second and some libraries
// drop the first. Worker and adapter use the same one.
type Carrier struct {
	Header string // empty = DefaultHeader
	Domain string // domain part of Message-ID; empty = DefaultDomain
}

// Field is one header field.
type Field struct{ Name, Value string }

// WithDefaults fills what is empty.
func (c Carrier) WithDefaults() Carrier {
	if c.Header == "" {
		c.Header = DefaultHeader
	}
	if c.Domain == "" {
		c.Domain = DefaultDomain
	}
	return c
}

// Check allows header fields of our own and domain names.
func (c Carrier) Check() error {
	const letters = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-"
	var errs []error
	if len(c.Header) < 3 || len(c.Header) > 76 || !strings.EqualFold(c.Header[:2], "X-") || strings.Trim(c.Header, letters) != "" {
		errs = append(errs, fmt.Errorf("header %.80q is no header of our own: X- and letters, digits and hyphens, at most 76", c.Header))
	}
	if c.Domain == "" || len(c.Domain) > 200 || strings.Trim(c.Domain, letters+".") != "" || strings.Trim(c.Domain, "-.") != c.Domain || strings.Contains(c.Domain, "..") {
		errs = append(errs, fmt.Errorf("domain %.80q is no domain name", c.Domain))
	}
	return errors.Join(errs...)
}

// MessageID is the Message-ID of ref without its angle brackets.
func (c Carrier) MessageID(ref string) string { return ref + "@" + c.Domain }

// Fields returns the header fields that a worker writes. ref is the effect's
// reference, never its key.
func (c Carrier) Fields(ref string) ([]Field, error) {
	c = c.WithDefaults()
	if err := c.Check(); err != nil {
		return nil, err
	}
	if !journal.ValidRef(ref) {
		return nil, errors.New("the reference is not 32 lower-case hex digits")
	}
	return []Field{{MessageIDHeader, "<" + c.MessageID(ref) + ">"}, {c.Header, ref}}, nil
}

// Held says which field holds ref, byte for byte but for the blanks around it;
// empty = none. values are those of Header, ids those of Message-ID.
func (c Carrier) Held(ref string, values, ids []string) string {
	is := func(want string) func(string) bool {
		return func(v string) bool { return strings.Trim(v, " \t\r\n") == want }
	}
	switch {
	case slices.ContainsFunc(values, is(ref)):
		return "header " + c.Header
	case slices.ContainsFunc(ids, is("<"+c.MessageID(ref)+">")):
		return MessageIDHeader
	}
	return ""
}

// OneMail joins messages as they are in the sender's mailbox with copies that came
// back to it. A copy proves its mail, and is no second one beside the message that
// was sent: it becomes a fact of it. Message-IDs don't tell, since every attempt
// writes the same.
func OneMail(sent, delivered []journal.Match) []journal.Match {
	if len(sent) == 1 && sent[0].State == journal.MatchEffective {
		for _, m := range delivered {
			sent[0].Facts = append(sent[0].Facts, journal.MatchFact{Name: "delivered copy", Value: m.ID + " " + m.Status})
		}
		return sent
	}
	return append(sent, delivered...)
}
