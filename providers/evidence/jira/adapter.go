package jira

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
	Kind    = "jira"
	Version = "1"
)

// Adapter asks one site for the issues of one project.
type Adapter struct {
	cfg    Config
	site   *url.URL // where people open issues
	api    *url.URL // where requests go
	client *http.Client
}

var _ evidence.Adapter = (*Adapter)(nil)

// Sheet returns the capability sheet.
func (a *Adapter) Sheet() evidence.Sheet {
	mode := "live"
	if a.cfg.TestMode {
		mode = "test"
	}
	return evidence.Sheet{
		Kind: Kind, Version: Version, Class: evidence.L3,
		ProcessingHorizon: a.cfg.ProcessingHorizon, IndexLag: a.cfg.IndexLag,
		Scopes: []string{a.searchScope(), a.projectScope()},
		Mode:   mode, Conclusive: true,
	}
}

// Session returns a session. It reads the token and does no other I/O.
func (a *Adapter) Session(context.Context) (evidence.Session, error) {
	token, err := a.cfg.Token()
	if err != nil {
		return nil, fmt.Errorf("jira: reading the token: %w", err)
	}
	if token == "" || strings.ContainsFunc(token, func(r rune) bool { return r <= ' ' || r > '~' }) {
		return nil, errors.New("jira: the token is empty or holds characters that no token has")
	}
	return &session{a: a, token: token}, nil
}

func (a *Adapter) searchScope() string {
	if a.cfg.Carrier == Property {
		return "issues that the account may browse, by the issue property " + a.cfg.PropertyKey
	}
	return "issues that the account may browse, by label"
}

func (a *Adapter) projectScope() string { return "project " + a.cfg.Project }

// issueURL is the page of an issue for people, built from the configured address.
func (a *Adapter) issueURL(key string) string { return a.site.JoinPath("browse", key).String() }
