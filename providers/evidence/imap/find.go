package imap

import (
	"context"
	"fmt"
	"time"

	goimap "github.com/emersion/go-imap/v2"

	"github.com/landedhq/landed/journal"
	"github.com/landedhq/landed/providers/evidence"
)

// look is one Find in one mailbox.
type look struct {
	*session
	mb       mailbox
	q        evidence.Query
	selected *goimap.SelectData
	seen     map[goimap.UID]bool // compared already

	hits      []hit
	unrelated int
	complete  bool
	how       string // how the mailbox was read, for the scope
}

// Find looks one reference up in every Sent folder of the account. AllPagesRead
// speaks of the folders that were seen; the scopes say which could not be.
func (s *session) Find(ctx context.Context, q evidence.Query) (evidence.Answer, error) {
	if !journal.ValidRef(q.Ref) {
		return evidence.Answer{}, errRef(q.Ref)
	}
	if err := ctx.Err(); err != nil {
		return evidence.Answer{}, fmt.Errorf("imap: looking up: %w", err)
	}
	if s.broken {
		return evidence.Answer{}, &evidence.ProviderError{
			Kind: evidence.FaultUnavailable, Detail: "the connection to " + s.cfg.Address + " is gone: open a new session",
		}
	}
	ctx, cancel := context.WithTimeout(ctx, s.cfg.Timeout)
	defer cancel()
	defer s.guard(ctx)()
	s.conn.refill(s.cfg.lookBytes())

	if len(s.mailboxes) == 0 {
		scope := journal.Scope{Name: s.scopeName(), Detail: s.noMailbox}
		return evidence.Answer{AllPagesRead: true, Scopes: []journal.Scope{scope}, Exchanges: s.takeExchanges()}, nil
	}
	a := evidence.Answer{AllPagesRead: true}
	var hits []hit
	for _, mb := range s.mailboxes {
		l := &look{session: s, mb: mb, q: q, seen: map[goimap.UID]bool{}}
		scope, err := l.run()
		if err != nil {
			return evidence.Answer{}, s.fault(ctx, fmt.Sprintf("looking into %q", mb.name), err)
		}
		hits = append(hits, l.hits...)
		a.Unrelated += l.unrelated
		a.AllPagesRead = a.AllPagesRead && l.complete
		a.Scopes = append(a.Scopes, scope)
	}
	a.Matches = oneMail(hits)
	a.Exchanges = s.takeExchanges()
	return a, nil
}

// run opens the mailbox anew for each look, so that it sees what arrived since.
func (l *look) run() (journal.Scope, error) {
	data, refused, err := l.examine(l.mb)
	if err != nil {
		return journal.Scope{}, err
	}
	l.complete = true
	if data == nil {
		return l.scope(l.mb, false, refused), nil
	}
	l.selected = data
	if data.NumMessages == 0 {
		return l.scope(l.mb, true, l.mb.how+"; it is empty"), nil
	}
	trusted, err := l.search()
	if err != nil {
		return journal.Scope{}, err
	}
	l.how = "searched by header"
	if !trusted {
		if err := l.scan(); err != nil {
			return journal.Scope{}, err
		}
	}
	return l.scope(l.mb, true, l.mb.how+"; "+l.how), nil
}

// since is the first day to search: messages of the window may carry the day
// before, in a time zone west of UTC. The window's end is not used: a mail with
// the reference is the effect, however late it came.
func (l *look) since() time.Time {
	if l.q.From.IsZero() {
		return time.Time{} // no limit
	}
	return l.q.From.UTC().AddDate(0, 0, -1)
}
