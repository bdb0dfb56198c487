package gmail

import (
	"context"
	"errors"
	"time"

	"github.com/landedhq/landed/journal"
	"github.com/landedhq/landed/providers/evidence"
	"github.com/landedhq/landed/providers/evidence/mailref"
	"github.com/landedhq/landed/providers/evidence/oauth"
)

// session holds the credentials of one look, and nothing of what it found.
type session struct {
	a     *Adapter
	grant func() (oauth.Grant, error) // nil = closed
	hide  []string                    // never shown
}

var _ evidence.Session = (*session)(nil)

// Find looks one reference up.
func (s *session) Find(ctx context.Context, q evidence.Query) (evidence.Answer, error) {
	if !journal.ValidRef(q.Ref) {
		return evidence.Answer{}, errors.New("gmail: the reference is not 32 lower-case hex digits")
	}
	if s.grant == nil {
		return evidence.Answer{}, errors.New("gmail: the session is closed")
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

// Close forgets the credentials. Connections belong to the adapter.
func (s *session) Close() error {
	s.grant, s.hide = nil, nil
	return nil
}

// found is a message that carries the reference, and how that is known.
type found struct {
	message message
	carrier string
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
	for _, q := range []string{"rfc822msgid:" + l.s.a.cfg.Carrier.MessageID(l.q.Ref), `"` + l.q.Ref + `"`} {
		if err := l.search(ctx, q); err != nil {
			return err
		}
	}
	l.ans.Scopes = append(l.ans.Scopes, journal.Scope{Name: scopeMail, Seen: true})
	l.assemble()
	return nil
}

// take keeps a message that carries the reference and reports whether it does. by
// is why a message without any reference is the effect's all the same: the worker
// journaled its id.
func (l *look) take(m message, by string) bool {
	values := m.header(l.s.a.cfg.Carrier.Header)
	carrier := l.s.a.cfg.Carrier.Held(l.q.Ref, values, m.header(mailref.MessageIDHeader))
	if carrier == "" && l.s.a.cfg.Carrier.Held(l.q.Ref, nil, m.header(originalID)) != "" {
		carrier = originalID
	}
	if carrier == "" && len(values) == 0 {
		carrier = by
	}
	if carrier == "" {
		return false
	}
	if !l.known[m.ID] {
		l.known[m.ID] = true
		l.found = append(l.found, found{m, carrier})
	}
	return true
}

// assemble turns messages into matches.
func (l *look) assemble() {
	var sent, delivered []journal.Match
	for _, f := range l.found {
		m := journal.Match{ID: f.message.ID, Title: first(f.message.header("Subject")), Status: f.message.status(), At: f.message.at(),
			Where: l.s.a.cfg.Mailbox, Carrier: f.carrier, State: journal.MatchEffective}
		for _, id := range f.message.header(mailref.MessageIDHeader) {
			m.Facts = append(m.Facts, journal.MatchFact{Name: mailref.MessageIDHeader, Value: id})
		}
		switch {
		case f.message.label("DRAFT"):
			m.State = l.draftState()
			sent = append(sent, m)
		case f.message.label("SENT"):
			sent = append(sent, m)
		default:
			delivered = append(delivered, m)
		}
	}
	l.ans.Matches = mailref.OneMail(sent, delivered)
}

// draftState: a request in flight may still send a draft. The window ends after the
// last request of ours could land, so what is a draft then was not sent.
func (l *look) draftState() journal.MatchState {
	if time.Now().After(l.q.To) {
		return journal.MatchNotEffective
	}
	return journal.MatchPending
}

func first(s []string) string {
	if len(s) == 0 {
		return ""
	}
	return s[0]
}
