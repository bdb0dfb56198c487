package graph

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/landedhq/landed/journal"
	"github.com/landedhq/landed/providers/evidence"
	"github.com/landedhq/landed/providers/evidence/mailref"
)

// session holds the secret of one look, and nothing of what it found.
type session struct {
	a      *Adapter
	secret string // empty = closed
}

var _ evidence.Session = (*session)(nil)

// Find looks one reference up.
func (s *session) Find(ctx context.Context, q evidence.Query) (evidence.Answer, error) {
	if !journal.ValidRef(q.Ref) {
		return evidence.Answer{}, errors.New("graph: the reference is not 32 lower-case hex digits")
	}
	if s.secret == "" {
		return evidence.Answer{}, errors.New("graph: the session is closed")
	}
	l := &look{s: s, q: q, read: map[string]bool{}, known: map[string]bool{}}
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

// Close forgets the secret. Connections belong to the adapter.
func (s *session) Close() error {
	s.secret = ""
	return nil
}

// found is a message that carries the reference, and how that is known.
type found struct {
	message message
	carrier string
	place   place
}

// look is one query under way.
type look struct {
	s     *session
	q     evidence.Query
	ans   evidence.Answer
	token string
	found []found
	known map[string]bool // ids of found
	read  map[string]bool // ids of search hits that were compared
}

func (l *look) run(ctx context.Context) error {
	if err := l.handles(ctx); err != nil {
		return err
	}
	l.ans.AllPagesRead = true
	if err := l.search(ctx, everywhere); err != nil {
		return err
	}
	l.scope(scopeMail, true, "")
	if err := l.searchRecoverable(ctx); err != nil {
		return err
	}
	l.assemble(ctx)
	return nil
}

// scope adds a scope; why is kept only if it was not seen.
func (l *look) scope(name string, seen bool, why string) {
	if seen {
		why = ""
	}
	l.ans.Scopes = append(l.ans.Scopes, journal.Scope{Name: name, Seen: seen, Detail: why})
}

// take keeps a message that carries the reference and reports whether it does. by
// is why a message without any reference is the effect's all the same: the worker
// journaled its id.
func (l *look) take(m message, p place, by string) bool {
	c := l.s.a.cfg.Carrier
	values := m.property()
	carrier := ""
	for _, v := range values {
		if v == l.q.Ref {
			carrier = "extended property " + propertyName
		}
	}
	headers := m.header(c.Header)
	if carrier == "" {
		carrier = c.Held(l.q.Ref, headers, []string{m.InternetID})
	}
	if carrier == "" && len(values) == 0 && len(headers) == 0 {
		carrier = by
	}
	if carrier == "" {
		return false
	}
	if !l.known[m.ID] {
		l.known[m.ID] = true
		l.found = append(l.found, found{m, carrier, p})
	}
	return true
}

// assemble turns messages into matches.
func (l *look) assemble(ctx context.Context) {
	var sent, delivered []journal.Match
	for _, f := range l.found {
		m := journal.Match{ID: f.message.ID, URL: f.message.link(), Title: f.message.Subject, Status: l.where(ctx, f), At: f.message.at(),
			Where: l.s.a.cfg.Mailbox, Carrier: f.carrier, State: journal.MatchEffective}
		if f.message.InternetID != "" {
			m.Facts = append(m.Facts, journal.MatchFact{Name: mailref.MessageIDHeader, Value: f.message.InternetID})
		}
		switch {
		case *f.message.Draft:
			m.State = l.draftState(ctx, f.message)
			sent = append(sent, m)
		case len(f.message.header("Received")) > 0:
			delivered = append(delivered, m)
		default:
			sent = append(sent, m)
		}
	}
	l.ans.Matches = mailref.OneMail(sent, delivered)
}

// draftState: a message that was accepted waits in Drafts or the Outbox. The window
// ends after the last request of ours could still land, so what is a draft then, and
// not in the Outbox, was not sent.
func (l *look) draftState(ctx context.Context, m message) journal.MatchState {
	if !time.Now().After(l.q.To) {
		return journal.MatchPending
	}
	var outbox struct {
		ID string `json:"id"`
	}
	u, err := l.s.a.mailbox([]string{"mailFolders", "outbox"}, "$select", "id")
	if err == nil {
		err = l.get(ctx, u, &outbox, func() string { return fmt.Sprintf("id=%.120q", outbox.ID) })
	}
	if err != nil || outbox.ID == "" || outbox.ID == m.Folder {
		return journal.MatchPending
	}
	return journal.MatchNotEffective
}
