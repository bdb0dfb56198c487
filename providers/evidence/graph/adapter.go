package graph

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strings"

	"github.com/landedhq/landed/providers/evidence"
	"github.com/landedhq/landed/providers/evidence/oauth"
)

// The adapter's kind and version on its capability sheet. Version changes when
// the way of looking does.
const (
	Kind    = "graph"
	Version = "1"
)

const (
	who       = "Microsoft Graph"
	whoTokens = "Microsoft's token server"

	scopeMail        = "every folder of the mailbox"
	scopeRecoverable = "deleted messages that can still be recovered"
	scopeHandle      = "the message by its journaled id"
)

// Adapter asks one mailbox.
type Adapter struct {
	cfg         Config
	base, token *url.URL
	scope       string // of the token: all that the application was granted
	client      *http.Client
	tokens      *oauth.Cache
}

var _ evidence.Adapter = (*Adapter)(nil)

// Sheet returns the capability sheet. Graph has no protection against repeated
// mails.
func (a *Adapter) Sheet() evidence.Sheet {
	s := evidence.Sheet{
		Kind: Kind, Version: Version, Class: evidence.L2,
		ProcessingHorizon: a.cfg.ProcessingHorizon, IndexLag: a.cfg.IndexLag, Retention: a.cfg.Retention,
		Scopes: []string{scopeMail, scopeRecoverable}, Mode: "live", Conclusive: a.cfg.CopyKept,
	}
	if a.cfg.TestMode {
		s.Mode = "test"
	}
	if !s.Conclusive {
		s.InconclusiveWhy = "It is not known that the sending path keeps a copy of what it sends (copy_kept), so a missing message proves nothing."
	}
	return s
}

// Session returns a session. It reads the secret and does no other I/O.
func (a *Adapter) Session(context.Context) (evidence.Session, error) {
	secret, err := a.cfg.ClientSecret()
	if err != nil {
		return nil, fmt.Errorf("graph: reading the client's secret: %w", err)
	}
	if strings.TrimSpace(secret) == "" {
		return nil, errors.New("graph: the client's secret is empty")
	}
	return &session{a: a, secret: secret}, nil
}
