package declared

import (
	"context"
	"net/url"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/landedhq/landed/journal"
	"github.com/landedhq/landed/providers/definition"
	"github.com/landedhq/landed/providers/evidence"
)

// maxFactBytes caps a title, a status and each further fact.
const maxFactBytes = 300

// found notes a match with its facts. Only the id must be readable: a hit is
// never lost for a title or a time.
func (l *look) found(ctx context.Context, st *step, v definition.Vars) error {
	f := st.facts
	id, err := f.id.Text(ctx, v)
	if err != nil {
		return err
	}
	if id == "" {
		return &unreadable{f.id.Path()}
	}
	m := journal.Match{ID: l.fact(id), Carrier: st.match.carrier, State: journal.MatchPending, Where: l.where(ctx, f, st, v)}
	m.Title, m.Status = l.optional(ctx, f.title, v), l.optional(ctx, f.status, v)
	m.URL = l.link(l.optional(ctx, f.url, v))
	if f.time != nil {
		if out, err := f.time.Eval(ctx, v); err == nil {
			if t, ok := out.Value().(time.Time); ok {
				m.At = t.UTC()
			}
		}
	}
	m.State, err = state(ctx, f, v)
	if err != nil { // present, and nobody can say whether it took effect
		m.Facts = append(m.Facts, journal.MatchFact{Name: "state", Value: "the provider's state is not one that the definition knows"})
	}
	for _, more := range f.more {
		if s := l.optional(ctx, more.expr, v); s != "" {
			m.Facts = append(m.Facts, journal.MatchFact{Name: more.name, Value: s})
		}
	}
	l.keep(id, m)
	return nil
}

// keep adds a match. An object that comes twice (on two pages, in two searches,
// as two events of one message) is one match, and its newest row tells.
func (l *look) keep(id string, m journal.Match) {
	at, there := l.seen[id]
	switch {
	case !there:
		l.seen[id] = len(l.ans.Matches)
		l.ans.Matches = append(l.ans.Matches, m)
	case m.At.After(l.ans.Matches[at].At):
		l.ans.Matches[at] = m
	}
}

// unreadable is a match without an id.
type unreadable struct{ path string }

func (e *unreadable) Error() string { return e.path + ": the object has no id" }

// state reads whether the object took effect. Anything unknown is pending: it
// blocks a re-issue and settles nothing.
func state(ctx context.Context, f *facts, v definition.Vars) (journal.MatchState, error) {
	s, err := f.state.Text(ctx, v)
	if err != nil {
		return journal.MatchPending, err
	}
	switch st := journal.MatchState(s); st {
	case journal.MatchEffective, journal.MatchPending, journal.MatchNotEffective:
		return st, nil
	}
	return journal.MatchPending, &unreadable{f.state.Path()}
}

func (l *look) where(ctx context.Context, f *facts, st *step, v definition.Vars) string {
	t := f.where
	if t == nil && len(st.scopes) > 0 {
		t = st.scopes[0].name
	}
	if t == nil {
		return l.s.a.title()
	}
	s, err := t.Render(ctx, v)
	if err != nil {
		return l.s.a.title()
	}
	return s
}

// optional reads a fact that may be missing.
func (l *look) optional(ctx context.Context, e *definition.Expr, v definition.Vars) string {
	if e == nil {
		return ""
	}
	s, err := e.Text(ctx, v)
	if err != nil {
		return ""
	}
	return l.fact(s)
}

// fact makes provider text storable and short.
func (l *look) fact(s string) string {
	s = evidence.CapText(l.s.open.Clean(s))
	if len(s) > maxFactBytes {
		cut := maxFactBytes
		for cut > 0 && !utf8.RuneStart(s[cut]) {
			cut--
		}
		s = s[:cut] + "…"
	}
	return strings.TrimSpace(s)
}

// link keeps https addresses without credentials, and those below the configured
// address.
func (l *look) link(s string) string {
	u, err := url.Parse(s)
	if err != nil || u.Host == "" || u.User != nil {
		return ""
	}
	base := l.s.a.account.Base
	if u.Scheme == "https" || u.Scheme == base.Scheme && u.Host == base.Host {
		return u.String()
	}
	return ""
}
