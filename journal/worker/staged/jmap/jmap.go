package jmap

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/http"

	"github.com/landedhq/landed/journal/worker"
	"github.com/landedhq/landed/journal/worker/staged"
)

// HandleEmail is the kind of the handle: the message's id.
const HandleEmail = "email"

// The defaults of the carriers.
const (
	DefaultRefHeader = "X-Landed-Ref"
	DefaultDomain    = "effects.landed"
)

// Sender sends from one mail account. It is safe for concurrent use.
type Sender struct {
	// Client adds the credentials to each request. Not worker.Client: see package
	// staged.
	Client     *http.Client
	SessionURL string // of the session resource, e.g. https://api.fastmail.com/jmap/session
	AccountID  string // "" = the primary account for mail
	IdentityID string // who sends: one of Identity/get
	// RefHeader and Domain must be the evidence adapter's; "" = the defaults.
	RefHeader, Domain string
}

// Send sends a message as the effect that ctx belongs to: it is what a tool's
// function calls. email holds the properties of Email/set "create" (from, to,
// subject, textBody, bodyValues, …) but for mailboxIds, keywords, messageId and the
// reference's header, which Send sets. The outcome's id is the submission's, or
// the message's where an earlier attempt sent it and its submission is forgotten.
func (s Sender) Send(ctx context.Context, email map[string]any) (worker.Outcome, error) {
	ref, err := worker.RefFrom(ctx)
	if err != nil {
		return worker.Outcome{}, err
	}
	m, err := s.open(ctx)
	if err == nil {
		m.properties, err = s.mark(email, ref)
	}
	if err != nil {
		return worker.Outcome{}, worker.NotSent(fmt.Errorf("jmap: %w", err))
	}
	out, err := staged.Run(ctx, staged.Steps{Kind: HandleEmail, Create: m.create, Read: m.read, Finish: m.submit})
	if err != nil {
		return worker.Outcome{}, fmt.Errorf("jmap: %w", err)
	}
	return out, nil
}

// mark adds the two carriers to a copy of the properties.
func (s Sender) mark(email map[string]any, ref string) (map[string]any, error) {
	header := "header:" + or(s.RefHeader, DefaultRefHeader) + ":asText"
	for _, name := range []string{"messageId", "mailboxIds", "keywords", header} {
		if _, set := email[name]; set {
			return nil, fmt.Errorf("the message sets %s itself", name)
		}
	}
	out := maps.Clone(email)
	if out == nil {
		out = map[string]any{}
	}
	out["messageId"], out[header] = []string{ref + "@" + or(s.Domain, DefaultDomain)}, ref
	return out, nil
}

func or(s, def string) string {
	if s == "" {
		return def
	}
	return s
}

// message is one effect's mail on its way.
type message struct {
	account
	identity   string
	properties map[string]any
}

// created is the answer of a set method to the creation "new".
type created struct {
	Created map[string]struct {
		ID string `json:"id"`
	} `json:"created"`
	NotCreated map[string]setError `json:"notCreated"`
}

func (c created) id() (string, error) {
	if e, refused := c.NotCreated["new"]; refused {
		return "", e.failure()
	}
	if id := c.Created["new"].ID; id != "" {
		return id, nil
	}
	return "", errors.New("the answer names neither a created object nor an error")
}

func (m message) create(ctx context.Context) (staged.Handle, error) {
	email := maps.Clone(m.properties)
	email["mailboxIds"] = map[string]bool{m.drafts: true}
	email["keywords"] = map[string]bool{"$draft": true, "$seen": true}
	var made created
	_, err := m.call(ctx, invocation{"Email/set", map[string]any{"create": map[string]any{"new": email}}, &made})
	if err != nil {
		return staged.Handle{}, err
	}
	id, err := made.id()
	return staged.Handle{Value: id}, err
}

// submit asks for the one thing that has an effect. Whether the message could be
// moved afterwards does not change that it is sent.
func (m message) submit(ctx context.Context, h staged.Handle) (worker.Outcome, error) {
	patch := map[string]any{"keywords/$draft": nil}
	if m.sent != "" && m.sent != m.drafts {
		patch["mailboxIds/"+m.drafts], patch["mailboxIds/"+m.sent] = nil, true
	}
	var made created
	raw, err := m.call(ctx, invocation{"EmailSubmission/set", map[string]any{
		"create":               map[string]any{"new": map[string]any{"identityId": m.identity, "emailId": h.Value}},
		"onSuccessUpdateEmail": map[string]any{"#new": patch},
	}, &made})
	if err != nil {
		return worker.Outcome{}, err
	}
	id, err := made.id()
	return worker.Outcome{Result: raw, ProviderID: id}, err
}

// read tells what became of a message.
func (m message) read(ctx context.Context, h staged.Handle) (staged.Reading, error) {
	var submissions struct {
		List []struct {
			ID         string `json:"id"`
			EmailID    string `json:"emailId"`
			UndoStatus string `json:"undoStatus"`
		} `json:"list"`
	}
	var emails struct {
		List []struct {
			ID         string          `json:"id"`
			MailboxIDs map[string]bool `json:"mailboxIds"`
			Keywords   map[string]bool `json:"keywords"`
		} `json:"list"`
		NotFound []string `json:"notFound"`
	}
	_, err := m.call(ctx,
		invocation{"EmailSubmission/query", map[string]any{"filter": map[string]any{"emailIds": []string{h.Value}}}, new(json.RawMessage)},
		invocation{"EmailSubmission/get", map[string]any{
			"#ids":       map[string]any{"resultOf": "0", "name": "EmailSubmission/query", "path": "/ids"},
			"properties": []string{"id", "emailId", "undoStatus"}}, &submissions},
		invocation{"Email/get", map[string]any{"ids": []string{h.Value}, "properties": []string{"id", "mailboxIds", "keywords"}}, &emails})
	if err != nil {
		return staged.Reading{}, err
	}
	canceled := ""
	for _, s := range submissions.List {
		switch {
		case s.EmailID != h.Value: // the filter was not honoured
		case s.UndoStatus == "canceled":
			canceled = s.ID
		default:
			return done(s.ID, h.Value, s.UndoStatus)
		}
	}
	switch {
	case canceled != "":
		return staged.Reading{State: staged.Gone, Detail: "its submission " + canceled + " was canceled"}, nil
	case len(emails.List) == 0 && len(emails.NotFound) == 1:
		return staged.Reading{State: staged.Gone, Detail: "the message was destroyed"}, nil
	case len(emails.List) != 1 || emails.List[0].ID != h.Value:
		return staged.Reading{}, fmt.Errorf("the mail server did not answer for message %.60q", h.Value)
	}
	e := emails.List[0]
	if m.trash != "" && e.MailboxIDs[m.trash] && e.Keywords["$draft"] {
		return staged.Reading{State: staged.Gone, Detail: "the draft was moved to the trash"}, nil
	}
	if e.Keywords["$draft"] || len(e.MailboxIDs) == 1 && e.MailboxIDs[m.drafts] {
		return staged.Reading{State: staged.Open}, nil
	}
	return done(h.Value, h.Value, "forgotten")
}

// done is the outcome of a message that an earlier attempt sent.
func done(id, emailID, status string) (staged.Reading, error) {
	result, err := json.Marshal(struct {
		ID         string `json:"id"`
		EmailID    string `json:"emailId"`
		UndoStatus string `json:"undoStatus"`
	}{id, emailID, status})
	return staged.Reading{State: staged.Done, Outcome: worker.Outcome{Result: result, ProviderID: id}}, err
}
