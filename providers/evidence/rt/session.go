package rt

import (
	"context"
	"errors"
	"fmt"

	"github.com/landedhq/landed/journal"
	"github.com/landedhq/landed/providers/evidence"
)

// maxReads caps the tickets that one look reads again.
const maxReads = 25

// session remembers between queries what can't turn a miss into a wrong one:
// where the queue and the field are, and that tickets were visible.
type session struct {
	a       *Adapter
	token   string
	place   *place
	visible bool
}

var _ evidence.Session = (*session)(nil)

// Find looks one reference up.
func (s *session) Find(ctx context.Context, q evidence.Query) (evidence.Answer, error) {
	if !journal.ValidRef(q.Ref) {
		return evidence.Answer{}, errors.New("rt: the reference is not 32 lower-case hex digits")
	}
	l := &look{s: s, q: q}
	if err := l.run(ctx); err != nil {
		var pe *evidence.ProviderError
		if errors.As(err, &pe) {
			pe.Exchanges = l.ans.Exchanges
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

// look is one query under way.
type look struct {
	s    *session
	q    evidence.Query
	ans  evidence.Answer
	read int // tickets read again

	unreadable     int    // rows for the reference that could not be compared
	unreadableText string // the first of them
}

func (l *look) run(ctx context.Context) error {
	if l.s.token == "" {
		return errors.New("rt: the session is closed")
	}
	if err := l.locate(ctx); err != nil {
		return err
	}
	res, err := l.search(ctx, refQuery(l.s.place.field, l.q.Ref))
	if err != nil {
		return err
	}
	l.ans.AllPagesRead = res.complete
	for _, row := range res.rows {
		if err := l.checkRow(ctx, row); err != nil {
			return err
		}
	}
	l.liveScope(res)
	if len(l.ans.Matches) > 0 {
		return nil
	}
	if err := l.deleted(ctx); err != nil {
		return err
	}
	return l.checkVisible(ctx)
}

// liveScope states what the search covered.
func (l *look) liveScope(res result) {
	l.scope(l.s.a.liveScope(), !res.heldBack,
		"RT does not tell how many tickets it held back for want of rights: grant ShowTicket globally, or leave $UseSQLForACLChecks on")
	if l.unreadable > 0 {
		l.scope("tickets that RT's search gives for the reference", false,
			fmt.Sprintf("%d can't be compared; %s", l.unreadable, l.unreadableText))
	}
}

// scope adds a scope; why is kept only if it was not seen.
func (l *look) scope(name string, seen bool, why string) {
	if seen {
		why = ""
	}
	l.ans.Scopes = append(l.ans.Scopes, journal.Scope{Name: name, Seen: seen, Detail: why})
}

// cantCompare counts a row that RT gave for the reference and that can't be
// compared: it is neither a match nor a stranger.
func (l *look) cantCompare(text string) {
	if l.unreadable == 0 {
		l.unreadableText = text
	}
	l.unreadable++
}
