package imap

import (
	"fmt"
	"strings"

	"github.com/landedhq/landed/journal"
)

// Defaults of Carrier.
const (
	DefaultRefHeader = "X-Landed-Ref"
	DefaultDomain    = "effects.landed"
)

const messageIDHeader = "Message-ID"

// Carrier says which header fields hold the reference: a header of our own, and
// the local part of Message-ID. Two, because some relays replace a Message-ID
// and some libraries drop unknown headers. Worker and adapter use the same one.
type Carrier struct {
	RefHeader string // "" = DefaultRefHeader
	Domain    string // domain part of Message-ID; "" = DefaultDomain
}

// Header is one header field that the worker must set.
type Header struct {
	Name, Value string
}

// Headers returns the header fields that the worker writes into the mail and
// into its copy in the Sent folder. ref is the effect's reference, never its
// key.
func (c Carrier) Headers(ref string) ([]Header, error) {
	c = c.withDefaults()
	if err := c.check(); err != nil {
		return nil, fmt.Errorf("imap: %w", err)
	}
	if !journal.ValidRef(ref) {
		return nil, errRef(ref)
	}
	return []Header{
		{messageIDHeader, "<" + ref + "@" + c.Domain + ">"},
		{c.RefHeader, ref},
	}, nil
}

func errRef(ref string) error {
	return fmt.Errorf("imap: reference %.40q is not 32 lower-case hex digits", ref)
}

func (c Carrier) withDefaults() Carrier {
	c.RefHeader = orDefault(c.RefHeader, DefaultRefHeader)
	c.Domain = orDefault(c.Domain, DefaultDomain)
	return c
}

func (c Carrier) check() error {
	if len(c.RefHeader) > 76 || c.RefHeader == "" || strings.ContainsFunc(c.RefHeader, notTokenRune) {
		return fmt.Errorf("reference header %.80q is not a header name: letters, digits and hyphens, at most 76", c.RefHeader)
	}
	// A standard field has a meaning of its own: a reply copies some of them.
	if len(c.RefHeader) < 3 || !strings.EqualFold(c.RefHeader[:2], "X-") {
		return fmt.Errorf("reference header %q must begin with X-", c.RefHeader)
	}
	if len(c.Domain) > 200 || strings.Trim(c.Domain, "-.") != c.Domain || c.Domain == "" ||
		strings.Contains(c.Domain, "..") || strings.ContainsFunc(c.Domain, notDomainRune) {
		return fmt.Errorf("message id domain %.80q is not a domain name: letters, digits, hyphens and dots", c.Domain)
	}
	return nil
}

func notTokenRune(r rune) bool {
	return (r < '0' || r > '9') && (r < 'a' || r > 'z') && (r < 'A' || r > 'Z') && r != '-'
}

func notDomainRune(r rune) bool { return notTokenRune(r) && r != '.' }
