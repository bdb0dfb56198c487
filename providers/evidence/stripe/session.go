package stripe

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"time"

	"github.com/landedhq/landed/journal"
	"github.com/landedhq/landed/providers/evidence"
)

// maxReads caps the objects that one look reads by their id.
const maxReads = 25

// session holds the key. Nothing of an answer is remembered.
type session struct {
	a   *Adapter
	key string
}

var _ evidence.Session = (*session)(nil)

// Find looks one reference up.
func (s *session) Find(ctx context.Context, q evidence.Query) (evidence.Answer, error) {
	if !journal.ValidRef(q.Ref) {
		return evidence.Answer{}, errors.New("stripe: the reference is not 32 lower-case hex digits")
	}
	if s.key == "" {
		return evidence.Answer{}, errors.New("stripe: the session is closed")
	}
	l := &look{s: s, q: q, read: map[string]bool{}}
	if err := l.run(ctx); err != nil {
		var pe *evidence.ProviderError
		if errors.As(err, &pe) {
			pe.Exchanges = l.ans.Exchanges
		}
		return evidence.Answer{}, err
	}
	return l.ans, nil
}

// Close forgets the key. Connections belong to the adapter.
func (s *session) Close() error {
	s.key = ""
	return nil
}

// look is one query under way.
type look struct {
	s    *session
	q    evidence.Query
	ans  evidence.Answer
	read map[string]bool // ids that were read again

	otherMode  int    // objects of the other mode
	unreadable string // why a hit could not be read again
}

// run goes from the strongest way to the weakest. Handles do not end it: another
// attempt may have made a second object.
func (l *look) run(ctx context.Context) error {
	if err := l.handles(ctx); err != nil {
		return err
	}
	if err := l.list(ctx); err != nil {
		return err
	}
	if len(l.ans.Matches) == 0 {
		if err := l.events(ctx); err != nil {
			return err
		}
	}
	if len(l.ans.Matches) == 0 {
		if err := l.search(ctx); err != nil {
			return err
		}
	}
	l.scope(l.s.a.listScope(), l.otherMode == 0, fmt.Sprintf(
		"%d objects are not of %s mode: the key or the account is another one than configured", l.otherMode, l.s.a.cfg.Mode))
	if l.unreadable != "" {
		l.scope("objects that Stripe named for the reference", false, l.unreadable)
	}
	return nil
}

// scope adds a scope; why is kept only if it was not seen.
func (l *look) scope(name string, seen bool, why string) {
	if seen {
		why = ""
	}
	l.ans.Scopes = append(l.ans.Scopes, journal.Scope{Name: name, Seen: seen, Detail: why})
}

// handles reads the objects whose ids the worker journaled before the effect.
// One that this account can't see means that it is the wrong account or mode.
func (l *look) handles(ctx context.Context) error {
	for _, h := range l.q.Handles {
		if !l.s.a.kind.owns(h.Value) {
			continue // another kind's
		}
		if err := l.again(ctx, h.Value, "handle "+h.Kind); err != nil {
			return err
		}
	}
	return nil
}

// again reads one object by its id and adds it if it is the reference's: its
// metadata says so; or they say nothing and the worker's handle or the effect's
// Idempotency-Key (by) does.
func (l *look) again(ctx context.Context, id, by string) error {
	if l.read[id] {
		return nil
	}
	if len(l.read) >= maxReads {
		l.ans.AllPagesRead = false
		return nil
	}
	l.read[id] = true
	var o object
	key := l.s.a.cfg.MetadataKey
	err := l.get(ctx, l.s.a.kind.path+"/"+id, nil, &o, func() string { return o.summary(key) })
	if code, reason := status(err); code == http.StatusNotFound && reason == "resource_missing" {
		l.unreadable = fmt.Sprintf("Stripe has no %s %s in this account and mode", l.s.a.kind.object, id)
		return nil
	}
	if err != nil {
		return err
	}
	if o.ID != id || o.Object != l.s.a.kind.object || o.Created <= 0 {
		return bad(fmt.Sprintf("Stripe's answer is no %s %s", l.s.a.kind.object, id))
	}
	if !l.ofMode(o.Livemode) {
		return nil
	}
	ref, marked := o.Metadata[key]
	switch {
	case ref == l.q.Ref:
		l.add(o, "metadata "+key)
	case !marked && by != "":
		l.add(o, by)
	}
	return nil
}

// ofMode counts objects of the other mode: they are nobody's evidence.
func (l *look) ofMode(live *bool) bool {
	switch {
	case live == nil && !l.s.a.kind.livemode:
		return true
	case live != nil && *live == (l.s.a.cfg.Mode == Live):
		return true
	}
	l.otherMode++
	return false
}

func (l *look) add(o object, carrier string) {
	m := journal.Match{
		ID: o.ID, URL: l.s.a.link(o), Title: l.s.a.kind.object, Status: o.Status, State: o.state(l.over()), At: o.at(),
		Where: "Stripe, " + string(l.s.a.cfg.Mode) + " mode", Carrier: carrier,
	}
	if l.s.a.cfg.Account != "" {
		m.Where += ", account " + l.s.a.cfg.Account
	}
	fact := func(name, value string) {
		if value != "" {
			m.Facts = append(m.Facts, journal.MatchFact{Name: name, Value: value})
		}
	}
	fact("amount", o.amount())
	fact("payment status", o.PaymentStatus)
	fact("payment intent", string(o.PaymentIntent))
	fact("charge", string(o.Charge))
	fact("destination", string(o.Destination))
	if o.Reversed {
		fact("reversed", "fully")
	}
	if o.Refunded {
		fact("refunded", "fully")
	}
	if o.Captured != nil && !*o.Captured {
		fact("captured", "no")
	}
	if o.unconfirmed() {
		fact("confirmed", "no; whoever holds its client secret can still confirm it until it is canceled")
	}
	l.ans.Matches = append(l.ans.Matches, m)
}

// over reports whether the look's window has ended: it ends after the last request
// of ours could still land.
func (l *look) over() bool { return time.Now().After(l.q.To) }
