package gmail

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/landedhq/landed/providers/evidence"
	"github.com/landedhq/landed/providers/evidence/oauth"
)

// The adapter's kind and version on its capability sheet. Version changes when
// the way of looking does.
const (
	Kind    = "gmail"
	Version = "1"
)

const (
	who       = "Gmail"
	whoTokens = "Google's token server"
	scopeMail = "every message of the mailbox, with Spam and Trash"
)

// Adapter asks one mailbox.
type Adapter struct {
	cfg         Config
	base, token *url.URL
	client      *http.Client
	tokens      *oauth.Cache
	back        backoff
}

var _ evidence.Adapter = (*Adapter)(nil)

// Sheet returns the capability sheet. Gmail has no protection against repeats.
func (a *Adapter) Sheet() evidence.Sheet {
	s := evidence.Sheet{
		Kind: Kind, Version: Version, Class: evidence.L3,
		ProcessingHorizon: a.cfg.ProcessingHorizon, IndexLag: a.cfg.IndexLag, Retention: a.cfg.Retention,
		Scopes: []string{scopeMail}, Mode: "live", Conclusive: a.cfg.MessageIDKept || a.cfg.RefInBody,
	}
	if a.cfg.TestMode {
		s.Mode = "test"
	}
	if !s.Conclusive {
		s.InconclusiveWhy = "Gmail replaces the Message-ID of mail sent through its API and can't search other header fields, so a search finds only mail whose text holds the reference (ref_in_body) or whose Message-ID is known to stay (message_id_kept)."
	}
	return s
}

// Session returns a session. It reads the secrets and does no other I/O.
func (a *Adapter) Session(context.Context) (evidence.Session, error) {
	s := &session{a: a}
	if a.cfg.ServiceAccount != nil {
		file, err := a.cfg.ServiceAccount()
		if err != nil {
			return nil, fmt.Errorf("gmail: reading the service account's key: %w", err)
		}
		key, err := oauth.ParseServiceAccount(file, a.token)
		if err != nil {
			return nil, fmt.Errorf("gmail: %w", err)
		}
		s.grant = func() (oauth.Grant, error) {
			return key.Assertion(a.token, scopeReadonly, a.cfg.Mailbox, time.Now())
		}
		return s, nil
	}
	secret, err := a.cfg.ClientSecret()
	if err != nil {
		return nil, fmt.Errorf("gmail: reading the client's secret: %w", err)
	}
	refresh, err := a.cfg.RefreshToken()
	if err != nil {
		return nil, fmt.Errorf("gmail: reading the refresh token: %w", err)
	}
	if strings.TrimSpace(secret) == "" || strings.TrimSpace(refresh) == "" {
		return nil, errors.New("gmail: the client's secret or the refresh token is empty")
	}
	s.hide = []string{secret, refresh}
	s.grant = func() (oauth.Grant, error) {
		return oauth.Refresh(a.token, a.cfg.ClientID, secret, refresh), nil
	}
	return s, nil
}
