package declared

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/google/cel-go/common/types/ref"

	"github.com/landedhq/landed/journal"
	"github.com/landedhq/landed/providers/definition"
	"github.com/landedhq/landed/providers/evidence"
)

// look is one Find under way.
type look struct {
	s        *session
	q        evidence.Query
	vars     definition.Vars
	ans      evidence.Answer
	seen     map[string]int // matches by id
	requests int
	searched bool
	whole    bool // nothing was left unread so far
}

// Find runs the definition's steps for one reference.
func (s *session) Find(ctx context.Context, q evidence.Query) (evidence.Answer, error) {
	if s.open.Closed() {
		return evidence.Answer{}, errors.New("declared: the session is closed")
	}
	if !journal.ValidRef(q.Ref) {
		return evidence.Answer{}, errors.New("declared: the reference is not 32 lower-case hex digits")
	}
	if err := ctx.Err(); err != nil {
		return evidence.Answer{}, fmt.Errorf("declared: %w", err)
	}
	handles := make([]any, 0, len(q.Handles))
	for _, h := range q.Handles {
		handles = append(handles, map[string]any{"kind": h.Kind, "value": h.Value})
	}
	l := &look{s: s, q: q, seen: map[string]int{}, whole: true}
	l.vars = s.a.params.With(definition.Vars{"ref": q.Ref, "from": q.From.UTC(), "to": q.To.UTC(), "now": time.Now().UTC(), "handles": handles, "each": nil})
	for _, st := range s.a.def.steps {
		if err := l.run(ctx, st); err != nil {
			return evidence.Answer{}, l.fault(err)
		}
	}
	if !l.searched {
		return evidence.Answer{}, l.fault(&evidence.ProviderError{Kind: evidence.FaultRefused, Detail: "there is nothing to search in at " + s.a.title() + " for this account"})
	}
	l.ans.AllPagesRead = l.whole
	return l.ans, nil
}

// fault puts the exchanges so far on the error: they show what was asked.
func (l *look) fault(err error) error {
	var pe *evidence.ProviderError
	if !errors.As(err, &pe) {
		var no *definition.Unusable
		if !errors.As(err, &no) {
			return l.badAnswer(err)
		}
		pe = &evidence.ProviderError{Kind: evidence.FaultRefused, Detail: "the question to " + l.s.a.title() + " can't be put: " + no.Error(), Err: err}
	}
	out := *pe
	out.Exchanges = l.ans.Exchanges
	return &out
}

// badAnswer is an answer that the definition can't read.
func (l *look) badAnswer(err error) error {
	pe := &evidence.ProviderError{Kind: evidence.FaultBadAnswer, Err: err, Exchanges: l.ans.Exchanges,
		Detail: l.s.open.Clean(fmt.Sprintf("the answer of %s does not have the expected form (%.300s)", l.s.a.title(), err))}
	return pe
}

// run does one step, once or once per element.
func (l *look) run(ctx context.Context, st *step) error {
	if st.when != nil {
		on, err := st.when.Bool(ctx, l.vars)
		if err != nil {
			return err
		}
		if !on {
			return nil
		}
	}
	if st.each == nil {
		return l.once(ctx, st, l.vars)
	}
	list, err := st.each.List(ctx, l.vars)
	if err != nil {
		return err
	}
	for i, x := range list {
		if i == maxEach {
			l.whole = false
			break
		}
		if err := l.once(ctx, st, l.vars.With(definition.Vars{"each": x})); err != nil {
			return err
		}
	}
	return nil
}

// maxEach caps how often a step runs in one look.
const maxEach = 20

func (l *look) once(ctx context.Context, st *step, v definition.Vars) error {
	if st.items != nil {
		return l.search(ctx, st, v)
	}
	b, err := st.request.Build(ctx, l.s.a.account.Base, v)
	if err != nil {
		return &definition.Unusable{Err: err}
	}
	a, err := l.exchange(ctx, b, st, v)
	if err != nil {
		return err
	}
	for _, s := range st.save {
		x, err := s.expr.Eval(ctx, a.vars)
		if err != nil {
			return err
		}
		l.vars["saved."+s.name] = x
	}
	return l.scopes(ctx, st, a.vars)
}

// search reads all pages and looks at every row.
func (l *look) search(ctx context.Context, st *step, v definition.Vars) error {
	l.searched = true
	g := &pager{p: st.pages, seen: map[string]bool{}}
	for {
		if g.number == st.pages.max {
			l.whole = false
			return nil
		}
		b, err := st.request.Build(ctx, l.s.a.account.Base, v)
		if err != nil {
			return &definition.Unusable{Err: err}
		}
		if err := g.apply(b); err != nil {
			return err
		}
		a, err := l.exchange(ctx, b, st, v)
		if err != nil {
			return err
		}
		more, err := l.page(ctx, st, g, a)
		if err != nil || !more {
			return err
		}
	}
}

// page handles one page; more says that another one follows.
func (l *look) page(ctx context.Context, st *step, g *pager, a *answer) (bool, error) {
	if err := l.scopes(ctx, st, a.vars); err != nil {
		return false, err
	}
	if a.absent {
		return false, nil
	}
	rows, err := st.items.List(ctx, a.vars)
	if err != nil {
		return false, err
	}
	if st.truncated != nil {
		cut, err := st.truncated.Bool(ctx, a.vars)
		if err != nil {
			return false, err
		}
		l.whole = l.whole && !cut
	}
	refetched := 0
	for _, row := range rows {
		if err := l.row(ctx, st, a.vars.With(definition.Vars{"row": row, "item": row}), &refetched); err != nil {
			return false, err
		}
	}
	more, complete, err := g.advance(ctx, a, len(rows))
	if err != nil {
		return false, err
	}
	l.whole = l.whole && (more || complete)
	return more, nil
}

// row compares one row, read again if the definition says so.
func (l *look) row(ctx context.Context, st *step, v definition.Vars, refetched *int) error {
	ours := true
	if st.refetch != nil {
		if st.refetch.when != nil {
			var err error
			if ours, err = st.refetch.when.Bool(ctx, v); err != nil {
				return err
			}
		}
		if ours {
			if *refetched++; *refetched > st.refetch.max {
				l.whole = false
				return nil
			}
			item, err := l.again(ctx, st, v)
			if err != nil || item == nil {
				return err // gone between the two reads: not there
			}
			v = v.With(definition.Vars{"item": item})
		}
	}
	if ours {
		hit, err := st.match.holds(ctx, v, l.q.Ref)
		if err != nil {
			return err
		}
		if hit {
			return l.found(ctx, st, v)
		}
	}
	if st.unrelated != nil {
		odd, err := st.unrelated.Bool(ctx, v)
		if err != nil || !odd {
			return err
		}
	}
	l.ans.Unrelated++
	return nil
}

// holds is the local check: one of the values is the reference, byte for byte.
func (m *match) holds(ctx context.Context, v definition.Vars, reference string) (bool, error) {
	want := reference
	if m.dashed {
		want = journal.Dashed(reference)
	}
	got, err := m.value.Strings(ctx, v)
	if err != nil {
		return false, err
	}
	for _, s := range got {
		if s == want {
			return true, nil
		}
	}
	return false, nil
}

// again reads one row's object by its id.
func (l *look) again(ctx context.Context, st *step, v definition.Vars) (ref.Val, error) {
	r := st.refetch
	b, err := r.request.Build(ctx, l.s.a.account.Base, v)
	if err != nil {
		return nil, &definition.Unusable{Err: err}
	}
	a, err := l.exchange(ctx, b, &step{id: st.id, errors: st.errors, absent: r.absent}, v)
	if err != nil {
		return nil, err
	}
	if a.absent {
		return nil, nil
	}
	return r.item.Eval(ctx, a.vars)
}

// scopes notes what a step covered; a scope is seen only if it always was.
func (l *look) scopes(ctx context.Context, st *step, v definition.Vars) error {
	for _, sc := range st.scopes {
		name, err := sc.name.Render(ctx, v)
		if err != nil {
			return err
		}
		seen := true
		if sc.seen != nil {
			if seen, err = sc.seen.Bool(ctx, v); err != nil {
				return err
			}
		}
		l.scope(name, seen, sc.detail)
	}
	return nil
}

func (l *look) scope(name string, seen bool, detail string) {
	if seen {
		detail = ""
	}
	for i := range l.ans.Scopes {
		if l.ans.Scopes[i].Name == name {
			if !seen {
				l.ans.Scopes[i].Seen, l.ans.Scopes[i].Detail = false, detail
			}
			return
		}
	}
	l.ans.Scopes = append(l.ans.Scopes, journal.Scope{Name: name, Seen: seen, Detail: detail})
}
