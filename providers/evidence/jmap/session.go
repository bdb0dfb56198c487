package jmap

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/url"

	"github.com/landedhq/landed/journal"
	"github.com/landedhq/landed/providers/evidence"
)

// session remembers where the account is and its mailboxes' roles, neither of
// which can turn a miss into a wrong one.
type session struct {
	a       *Adapter
	token   string
	account *account
}

var _ evidence.Session = (*session)(nil)

// Find looks one reference up.
func (s *session) Find(ctx context.Context, q evidence.Query) (evidence.Answer, error) {
	if !journal.ValidRef(q.Ref) {
		return evidence.Answer{}, errors.New("jmap: the reference is not 32 lower-case hex digits")
	}
	if s.token == "" {
		return evidence.Answer{}, errors.New("jmap: the session is closed")
	}
	l := &look{s: s, q: q, emails: map[string]found{}}
	if err := l.run(ctx); err != nil {
		var pe *evidence.ProviderError
		if errors.As(err, &pe) {
			pe.Exchanges = l.ans.Exchanges
			return evidence.Answer{}, pe
		}
		return evidence.Answer{}, err
	}
	return l.ans, nil
}

// Close forgets the token. Connections belong to the adapter.
func (s *session) Close() error {
	s.token = ""
	return nil
}

// connect reads the session resource and the mailboxes, once.
func (l *look) connect(ctx context.Context) error {
	if l.s.account != nil {
		return nil
	}
	var res sessionResource
	if err := l.send(ctx, l.s.a.session, nil, &res, func() string { return "apiUrl " + res.APIURL }); err != nil {
		return err
	}
	api, err := l.s.a.session.Parse(res.APIURL)
	if res.APIURL == "" || err != nil || api.User != nil {
		return bad("the mail server's answer is no session resource")
	}
	acc, err := l.pick(res, api)
	if err != nil {
		return err
	}
	l.s.account = acc
	var boxes got[mailbox]
	err = l.methods(ctx, func() string { return fmt.Sprintf("%d mailboxes", len(acc.mailboxes)) },
		call{"Mailbox/get", map[string]any{"ids": nil, "properties": []string{"id", "name", "role"}}, &boxes})
	if err == nil && boxes.List == nil {
		err = bad("the response to Mailbox/get has no list")
	}
	if err != nil {
		l.s.account = nil
		return err
	}
	for _, b := range *boxes.List {
		acc.mailboxes[b.ID] = b
	}
	return nil
}

// pick chooses the account.
func (l *look) pick(res sessionResource, api *url.URL) (*account, error) {
	id := l.s.a.cfg.AccountID
	if id == "" {
		id = res.Primary[capMail]
	}
	a, ok := res.Accounts[id]
	if !ok || !validID(id) {
		return nil, &evidence.ProviderError{Kind: evidence.FaultForbidden, Detail: fmt.Sprintf("the token sees no mail account %.60q: it lacks the scope for mail, or account_id is another one's", id)}
	}
	if _, ok := a.Capabilities[capMail]; !ok {
		return nil, &evidence.ProviderError{Kind: evidence.FaultForbidden, Detail: "the token may not read this account's mail"}
	}
	_, submissions := a.Capabilities[capSubmission]
	return &account{id: id, name: a.Name, api: api, submissions: submissions, mailboxes: map[string]mailbox{}}, nil
}

// found is a message that carries the reference, and how that is known.
type found struct {
	email   email
	carrier string
}

// look is one query under way.
type look struct {
	s      *session
	q      evidence.Query
	ans    evidence.Answer
	emails map[string]found
	order  []string
	gone   []journal.Match // of submissions whose message is no more

	submissions map[string][]submission // by message
}

func (l *look) run(ctx context.Context) error {
	if err := l.connect(ctx); err != nil {
		return err
	}
	if err := l.handles(ctx); err != nil {
		return err
	}
	if err := l.search(ctx); err != nil {
		return err
	}
	if err := l.readSubmissions(ctx); err != nil {
		return err
	}
	l.scope(scopeMail, true, "")
	l.assemble()
	return nil
}

// scope adds a scope; why is kept only if it was not seen.
func (l *look) scope(name string, seen bool, why string) {
	if seen {
		why = ""
	}
	l.ans.Scopes = append(l.ans.Scopes, journal.Scope{Name: name, Seen: seen, Detail: why})
}

// property asks for every value of our header as it stands in the message.
func (a *Adapter) property() string { return "header:" + a.cfg.RefHeader + ":all" }

func (l *look) emailArgs() map[string]any {
	return map[string]any{"properties": []string{"id", "messageId", "subject", "sentAt", "receivedAt", "mailboxIds", "keywords", "header:Received:all", l.s.a.property()}}
}

// take keeps a message that carries the reference. by is why a message without
// any reference is the effect's all the same: the worker journaled its id.
func (l *look) take(raw json.RawMessage, by string) (email, bool, error) {
	e, err := decodeEmail(raw, l.s.a.property())
	if err != nil {
		return e, false, err
	}
	carrier := e.carries(l.q.Ref, l.s.a.cfg.RefHeader, l.s.a.cfg.Domain)
	if carrier == "" && len(e.Refs) == 0 {
		carrier = by
	}
	if carrier == "" {
		return e, false, nil
	}
	if _, ok := l.emails[e.ID]; !ok {
		l.emails[e.ID] = found{e, carrier}
		l.order = append(l.order, e.ID)
	}
	return e, true, nil
}
