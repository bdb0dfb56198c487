package zendesk

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"time"

	"github.com/landedhq/landed/journal"
	"github.com/landedhq/landed/providers/evidence"
	"github.com/landedhq/landed/providers/evidence/faults"
)

// maxReads caps the tickets that one look reads by their id.
const maxReads = 25

// session holds the secret and the token. What it remembers between queries can't turn a miss
// into a wrong one: who the token is, and the lists of what is not shown, for the
// few seconds that a look with its controls takes.
type session struct {
	a       *Adapter
	secret  string // the token, or the OAuth client's; "" = the session is closed
	token   string // "" = not asked for yet
	account *account
	shadows map[string]shadowList
}

var _ evidence.Session = (*session)(nil)

// Find looks one reference up.
func (s *session) Find(ctx context.Context, q evidence.Query) (evidence.Answer, error) {
	if !journal.ValidRef(q.Ref) {
		return evidence.Answer{}, errors.New("zendesk: the reference is not 32 lower-case hex digits")
	}
	if s.secret == "" {
		return evidence.Answer{}, errors.New("zendesk: the session is closed")
	}
	l := &look{s: s, q: q, read: map[int64]bool{}}
	if err := l.run(ctx); err != nil {
		var pe *evidence.ProviderError
		if errors.As(err, &pe) {
			pe.Exchanges = l.ans.Exchanges
		}
		return evidence.Answer{}, err
	}
	return l.ans, nil
}

// Close forgets secret and token. Connections belong to the adapter.
func (s *session) Close() error {
	s.secret, s.token = "", ""
	return nil
}

// look is one query under way.
type look struct {
	s    *session
	q    evidence.Query
	ans  evidence.Answer
	read map[int64]bool // tickets that were read again

	unreadable string // why a ticket that Zendesk named could not be compared
}

// run goes from the strongest way to the weakest. Handles do not end it: another
// attempt may have made a second ticket.
func (l *look) run(ctx context.Context) error {
	if err := l.authorize(ctx); err != nil {
		return err
	}
	who, err := l.identify(ctx)
	if err != nil {
		return err
	}
	if err := l.handles(ctx); err != nil {
		return err
	}
	if err := l.list(ctx); err != nil {
		return err
	}
	l.scope(scopeTickets, true, "")
	l.scope(scopeAll, who.blind == "", who.blind)
	if len(l.ans.Matches) == 0 {
		if err := l.lookBehind(ctx); err != nil {
			return err
		}
	}
	if l.unreadable != "" {
		l.scope("tickets that Zendesk named for the reference", false, l.unreadable)
	}
	return nil
}

// lookBehind covers what the list leaves out. The lists are asked after the list
// of tickets: one that was deleted in between is then seen.
func (l *look) lookBehind(ctx context.Context) error {
	if err := l.deleted(ctx); err != nil {
		return err
	}
	if err := l.suspended(ctx); err != nil {
		return err
	}
	if time.Since(l.q.From) < l.s.a.retention() {
		return nil
	}
	return l.search(ctx)
}

// scope adds a scope; why is kept only if it was not seen.
func (l *look) scope(name string, seen bool, why string) {
	if seen {
		why = ""
	}
	l.ans.Scopes = append(l.ans.Scopes, journal.Scope{Name: name, Seen: seen, Detail: why})
}

// HandleKind is the kind of a handle that holds a ticket's id.
const HandleKind = "ticket"

// handles reads the tickets whose ids the worker journaled.
func (l *look) handles(ctx context.Context) error {
	for _, h := range l.q.Handles {
		id, err := strconv.ParseInt(h.Value, 10, 64)
		if h.Kind != HandleKind || err != nil || id <= 0 {
			continue // another provider's
		}
		if err := l.again(ctx, id, "handle "+HandleKind); err != nil {
			return err
		}
	}
	return nil
}

// again reads one ticket by its id and adds it if it is the reference's: its
// external_id says so; or it has none and the worker's handle (by) does.
func (l *look) again(ctx context.Context, id int64, by string) error {
	if l.read[id] {
		return nil
	}
	if len(l.read) >= maxReads {
		l.ans.AllPagesRead = false
		l.unreadable = fmt.Sprintf("Zendesk names more than %d tickets", maxReads)
		return nil
	}
	l.read[id] = true
	var one struct {
		Ticket *ticket `json:"ticket"`
	}
	err := l.get(ctx, "tickets/"+strconv.FormatInt(id, 10), nil, &one, func() string {
		if one.Ticket == nil {
			return "no ticket"
		}
		return one.Ticket.summary()
	})
	if code := status(err); code == http.StatusNotFound || code == http.StatusForbidden {
		l.unreadable = fmt.Sprintf("ticket %d can't be read (%d): it was deleted, or the account may not see it", id, code)
		return nil
	}
	if err != nil {
		return err
	}
	t := one.Ticket
	if t == nil || t.ID != id || t.Status == "" || t.CreatedAt.IsZero() {
		return faults.Bad(fmt.Sprintf("Zendesk's answer is no ticket %d", id))
	}
	switch ref := t.externalID(); {
	case ref == l.q.Ref:
		l.add(*t, "external_id")
	case ref == "" && by != "":
		l.add(*t, by)
	case by == "":
		l.unreadable = fmt.Sprintf("ticket %d was named for the reference and does not carry it any more", id)
	}
	return nil
}

func (l *look) add(t ticket, carrier string) {
	m := journal.Match{
		ID: strconv.FormatInt(t.ID, 10), URL: l.s.a.ticketURL(t.ID), Title: t.Subject, Status: t.Status,
		State: journal.MatchEffective, At: t.CreatedAt.UTC(), Where: l.s.a.place(), Carrier: carrier,
	}
	if !l.s.a.cfg.effective(t.Status) {
		m.State = journal.MatchNotEffective
	}
	fact := func(name, value string) {
		if value != "" {
			m.Facts = append(m.Facts, journal.MatchFact{Name: name, Value: value})
		}
	}
	fact("channel", t.Via.String())
	if t.Submitter != 0 {
		fact("submitter", "user "+strconv.FormatInt(t.Submitter, 10))
	}
	if t.merged() {
		fact("merged", "closed and merged into another ticket")
	}
	l.ans.Matches = append(l.ans.Matches, m)
}
