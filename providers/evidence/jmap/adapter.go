package jmap

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strings"

	"github.com/landedhq/landed/providers/evidence"
)

// The adapter's kind and version on its capability sheet. Version changes when
// the way of looking does.
const (
	Kind    = "jmap"
	Version = "1"
)

const (
	scopeMail        = "every message of the account, in all mailboxes"
	scopeSubmissions = "submissions of the messages found"
)

// Adapter asks one mail account.
type Adapter struct {
	cfg     Config
	session *url.URL
	client  *http.Client
}

var _ evidence.Adapter = (*Adapter)(nil)

// Sheet returns the capability sheet. JMAP has no protection against repeats.
func (a *Adapter) Sheet() evidence.Sheet {
	s := evidence.Sheet{
		Kind: Kind, Version: Version, Class: evidence.L2,
		ProcessingHorizon: a.cfg.ProcessingHorizon, IndexLag: a.cfg.IndexLag,
		Scopes: []string{scopeMail}, Mode: "live", Conclusive: a.cfg.CopyKept,
	}
	if a.cfg.TestMode {
		s.Mode = "test"
	}
	if !s.Conclusive {
		s.InconclusiveWhy = "It is not known that the sending path keeps a copy of what it sends (copy_kept), so a missing message proves nothing."
	}
	return s
}

// Session returns a session. It reads the token and does no other I/O.
func (a *Adapter) Session(context.Context) (evidence.Session, error) {
	token, err := a.cfg.Token()
	if err != nil {
		return nil, fmt.Errorf("jmap: reading the token: %w", err)
	}
	if token == "" || strings.ContainsFunc(token, func(r rune) bool { return r <= ' ' || r > '~' }) {
		return nil, errors.New("jmap: the token is empty or holds characters that no bearer token has")
	}
	return &session{a: a, token: token}, nil
}
