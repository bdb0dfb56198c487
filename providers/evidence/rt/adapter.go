package rt

import (
	"context"
	"fmt"
	"net/http"
	"net/url"
	"strings"

	"github.com/landedhq/landed/providers/evidence"
)

// The adapter's kind and version on its capability sheet. Version changes when
// the way of looking does.
const (
	Kind    = "rt"
	Version = "1"
)

// Adapter asks one account at one RT.
type Adapter struct {
	cfg    Config
	base   *url.URL
	client *http.Client
}

var _ evidence.Adapter = (*Adapter)(nil)

// Sheet returns the capability sheet. RT has no idempotency of its own: the same
// create request twice makes two tickets.
func (a *Adapter) Sheet() evidence.Sheet {
	mode := "live"
	if a.cfg.TestMode {
		mode = "test"
	}
	return evidence.Sheet{
		Kind:              Kind,
		Version:           Version,
		Class:             evidence.L2,
		ProcessingHorizon: a.cfg.ProcessingHorizon,
		IndexLag:          a.cfg.IndexLag,
		Scopes:            []string{a.liveScope(), a.deletedScope()},
		Mode:              mode,
		Conclusive:        true,
	}
}

// Session returns a session. It reads the token and does no other I/O.
func (a *Adapter) Session(context.Context) (evidence.Session, error) {
	token, err := a.cfg.Token()
	if err != nil {
		return nil, fmt.Errorf("rt: reading the token: %w", err)
	}
	if token == "" || strings.ContainsFunc(token, func(r rune) bool { return r <= ' ' || r > '~' }) {
		return nil, fmt.Errorf("rt: the token is empty or holds characters that no RT token has")
	}
	return &session{a: a, token: token}, nil
}

func (a *Adapter) liveScope() string {
	return "tickets of queue " + a.cfg.Queue + ", merged ones, and tickets of every other queue that the account sees"
}

func (a *Adapter) deletedScope() string {
	return "deleted tickets of queue " + a.cfg.Queue + " that were created in the window"
}

// ticketURL is the page of a ticket for people. It is built from the configured
// address, never from what the provider says; whether a page links to it is the
// page's rule.
func (a *Adapter) ticketURL(id string) string {
	u := *a.base
	u.Path += "/Ticket/Display.html"
	u.RawQuery = url.Values{"id": {id}}.Encode()
	return u.String()
}
