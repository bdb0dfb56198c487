package jira

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/landedhq/landed/journal"
	"github.com/landedhq/landed/providers/evidence"
	"github.com/landedhq/landed/providers/evidence/faults"
)

// maxReads caps the issues that one look reads by their id.
const maxReads = 25

// session holds the token. What it remembers between queries can't turn a miss
// into a wrong one: who the token is.
type session struct {
	a       *Adapter
	token   string
	account *account
}

var _ evidence.Session = (*session)(nil)

// Find looks one reference up.
func (s *session) Find(ctx context.Context, q evidence.Query) (evidence.Answer, error) {
	if !journal.ValidRef(q.Ref) {
		return evidence.Answer{}, errors.New("jira: the reference is not 32 lower-case hex digits")
	}
	if s.token == "" {
		return evidence.Answer{}, errors.New("jira: the session is closed")
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

// Close forgets the token. Connections belong to the adapter.
func (s *session) Close() error {
	s.token = ""
	return nil
}

// look is one query under way.
type look struct {
	s     *session
	q     evidence.Query
	ans   evidence.Answer
	read  map[string]bool // keys and ids that were asked for, and ids that came
	reads int

	unreadable string // why an issue that was named could not be compared
}

// run goes from the strongest way to the weakest. Handles do not end it: another
// attempt may have made a second issue.
func (l *look) run(ctx context.Context) error {
	who, err := l.identify(ctx)
	if err != nil {
		return err
	}
	if err := l.handles(ctx); err != nil {
		return err
	}
	if err := l.search(ctx); err != nil {
		return err
	}
	l.scope(l.s.a.searchScope(), true, "")
	l.scope(l.s.a.projectScope(), who.blind == "", who.blind)
	if l.unreadable != "" {
		l.scope("issues that were named for the reference", false, l.unreadable)
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

// HandleKind is the kind of a handle that holds an issue's key or id.
const HandleKind = "issue"

// handles reads the issues whose keys or ids the worker journaled.
func (l *look) handles(ctx context.Context) error {
	for _, h := range l.q.Handles {
		if h.Kind != HandleKind || !validID(h.Value) {
			continue // another provider's
		}
		if err := l.again(ctx, h.Value, "handle "+HandleKind); err != nil {
			return err
		}
	}
	return nil
}

// validID reports whether s can be an issue's key or id: it may stand in a path.
func validID(s string) bool {
	if s == "" || len(s) > 255 {
		return false
	}
	if strings.Trim(s, "0123456789") == "" {
		return true
	}
	project, number, ok := strings.Cut(s, "-")
	return ok && checkProject(project) == nil && number != "" && strings.Trim(number, "0123456789") == ""
}

// again reads one issue by its key or id and adds it if it is the reference's: a
// label or the property says so; or neither carries any reference and the worker's
// handle (by) does.
func (l *look) again(ctx context.Context, id, by string) error {
	if l.read[id] {
		return nil
	}
	if l.reads >= maxReads {
		l.ans.AllPagesRead = false
		l.unreadable = fmt.Sprintf("Jira names more than %d issues", maxReads)
		return nil
	}
	l.read[id] = true
	l.reads++
	var i issue
	cfg := l.s.a.cfg
	err := l.get(ctx, "issue/"+id, url.Values{"fields": {wanted}, "properties": {cfg.PropertyKey}}, &i, func() string { return i.summary(cfg) })
	if code := status(err); code == http.StatusNotFound || code == http.StatusForbidden {
		l.unreadable = fmt.Sprintf("issue %s can't be read (%d): it was deleted or archived, or it is in a project or at a security level that the account can't see", id, code)
		return nil
	}
	if err != nil {
		return err
	}
	if !i.whole() || i.ID != id && by == "" {
		return faults.Bad("Jira's answer is no issue " + id)
	}
	if i.ID != id && l.read[i.ID] {
		return nil // the same issue under another name
	}
	l.read[i.ID] = true
	labels, property := i.labelled(cfg.LabelPrefix), i.property(cfg.PropertyKey)
	switch {
	case slices.Contains(labels, l.q.Ref):
		l.add(i, id, "label "+cfg.LabelPrefix+l.q.Ref)
	case property == l.q.Ref:
		l.add(i, id, "issue property "+cfg.PropertyKey)
	case len(labels) == 0 && property == "" && by != "":
		l.add(i, id, by)
	case by == "":
		l.unreadable = fmt.Sprintf("issue %s is found for the reference and does not carry it any more", i.Key)
	}
	return nil
}

// add adds an issue; asked is the key or id that it was read by.
func (l *look) add(i issue, asked, carrier string) {
	f := i.Fields
	m := journal.Match{
		ID: i.Key, URL: l.s.a.issueURL(i.Key), Title: f.Summary, Status: f.Status.Name, State: journal.MatchEffective,
		At: f.Created.Time, Where: l.s.a.site.Host + ", project " + f.Project.Key, Carrier: carrier,
	}
	if !l.s.a.cfg.effective(f.Status.Name) {
		m.State = journal.MatchNotEffective
	}
	fact := func(name, value string) {
		if value != "" {
			m.Facts = append(m.Facts, journal.MatchFact{Name: name, Value: value})
		}
	}
	fact("type", f.Type.Name)
	if f.Resolution != nil {
		fact("resolution", f.Resolution.Name)
	}
	switch {
	case asked != i.ID && asked != i.Key:
		fact("moved", "it was "+asked)
	case f.Project.Key != l.s.a.cfg.Project:
		fact("moved", "it is not in project "+l.s.a.cfg.Project)
	}
	l.ans.Matches = append(l.ans.Matches, m)
}
