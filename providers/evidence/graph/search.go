package graph

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"strings"

	"github.com/landedhq/landed/providers/evidence"
	"github.com/landedhq/landed/providers/evidence/faults"
)

// place is a list of messages, as a path below the mailbox.
type place string

// The places: all folders, and the one that a list of all folders leaves out.
const (
	everywhere  place = "messages"
	recoverable place = "mailFolders/recoverableitemsdeletions/messages"
)

func (p place) segments() []string { return strings.Split(string(p), "/") }

const perPage = "50"

// search filters one place by both fields and compares what that brings.
func (l *look) search(ctx context.Context, p place) error {
	for _, filter := range []string{
		"singleValueExtendedProperties/Any(ep: ep/id eq " + literal(Property) + " and ep/value eq " + literal(l.q.Ref) + ")",
		"internetMessageId eq " + literal("<"+l.s.a.cfg.Carrier.MessageID(l.q.Ref)+">"),
	} {
		if err := l.filter(ctx, p, filter); err != nil {
			return err
		}
	}
	return nil
}

// searchRecoverable is a look into a folder that not every mailbox shows: then it
// is a blind spot.
func (l *look) searchRecoverable(ctx context.Context) error {
	err := l.search(ctx, recoverable)
	var pe *evidence.ProviderError
	switch {
	case errors.As(err, &pe) && pe.Kind == evidence.FaultForbidden:
		l.scope(scopeRecoverable, false, pe.Detail)
		return nil
	case errors.Is(err, errAbsent), errors.Is(err, errMalformed):
		l.scope(scopeRecoverable, false, "the mailbox does not show the folder")
		return nil
	case err != nil:
		return err
	}
	l.scope(scopeRecoverable, true, "")
	return nil
}

// filter reads every page of one query. No order is asked for: Exchange refuses
// one together with a filter.
func (l *look) filter(ctx context.Context, p place, filter string) error {
	u, err := l.s.a.mailbox(p.segments(), "$filter", filter, "$select", "id", "$top", perPage)
	if err != nil {
		return err
	}
	first, seen := u, map[string]bool{}
	for range l.s.a.cfg.MaxPages {
		var pg page
		err := l.get(ctx, u, &pg, func() string { return shown(pg) })
		if p == everywhere && (errors.Is(err, errAbsent) || errors.Is(err, errMalformed)) {
			return &evidence.ProviderError{Kind: evidence.FaultForbidden, Detail: "there is no such mailbox for the application"}
		}
		if err != nil {
			return err
		}
		if pg.Value == nil {
			return faults.Bad("the answer of Microsoft Graph is no list of messages")
		}
		for _, m := range *pg.Value {
			if err := l.hit(ctx, p, m.ID); err != nil {
				return err
			}
		}
		if pg.Next == "" {
			return nil
		}
		if u, err = next(first, pg.Next); err != nil {
			return err
		}
		if seen[pg.Next] {
			return faults.Bad("Microsoft Graph gives the same page again and again")
		}
		seen[pg.Next] = true
	}
	l.ans.AllPagesRead = false
	return nil
}

func shown(p page) string {
	if p.Value == nil {
		return "no list"
	}
	return fmt.Sprintf("%d messages, more: %v", len(*p.Value), p.Next != "")
}

// next is the address of the next page. It must be Graph's own: the token goes
// nowhere else, not to the token server either.
func next(first *url.URL, link string) (*url.URL, error) {
	u, err := url.Parse(link)
	if err != nil || u.User != nil || u.Scheme != first.Scheme || !strings.EqualFold(u.Host, first.Host) {
		return nil, faults.Bad("Microsoft Graph names a next page on another server")
	}
	return u, nil
}

// hit compares one message that the search brought. One that two queries bring, or
// that was read by its handle, counts once.
func (l *look) hit(ctx context.Context, p place, id string) error {
	if l.read[id] || l.known[id] {
		return nil
	}
	l.read[id] = true
	m, err := l.message(ctx, p, id)
	if errors.Is(err, errAbsent) || errors.Is(err, errMalformed) {
		return &evidence.ProviderError{Kind: evidence.FaultUnavailable, Detail: "a message that the search found could not be read"}
	}
	if err != nil {
		return err
	}
	if !l.take(m, p, "") {
		l.ans.Unrelated++
	}
	return nil
}

func (l *look) message(ctx context.Context, p place, id string) (message, error) {
	var m message
	if !validID(id) {
		return m, faults.Bad("the answer of Microsoft Graph holds a message without a usable id")
	}
	u, err := l.s.a.mailbox(append(p.segments(), id), "$select", selected,
		"$expand", "singleValueExtendedProperties($filter=id eq "+literal(Property)+")")
	if err != nil {
		return m, err
	}
	err = l.get(ctx, u, &m, func() string { return m.summary() })
	if err == nil && (m.ID != id || m.Draft == nil) {
		err = faults.Bad("Microsoft Graph gave another message than was asked for")
	}
	return m, err
}

// handles reads what the worker journaled. A message that is gone says nothing: it
// may be deleted, or the id was not an immutable one.
func (l *look) handles(ctx context.Context) error {
	for _, h := range l.q.Handles {
		if h.Kind != HandleMessage {
			continue
		}
		if !validID(h.Value) {
			l.scope(scopeHandle, false, "what the worker journaled is no message's id")
			continue
		}
		m, err := l.message(ctx, everywhere, h.Value)
		switch {
		case errors.Is(err, errAbsent):
		case errors.Is(err, errMalformed):
			l.scope(scopeHandle, false, "Exchange says that the journaled id is none of this mailbox")
		case err != nil:
			return err
		default:
			l.take(m, everywhere, "handle "+h.Kind)
		}
	}
	return nil
}

// where names the folder, for people. That it has no name is no fault.
func (l *look) where(ctx context.Context, f found) string {
	if f.place == recoverable {
		return "deleted, can be recovered"
	}
	var folder struct {
		Name string `json:"displayName"`
	}
	u, err := l.s.a.mailbox([]string{"mailFolders", f.message.Folder}, "$select", "displayName")
	if err != nil || !validID(f.message.Folder) {
		return ""
	}
	if err := l.get(ctx, u, &folder, func() string { return fmt.Sprintf("displayName=%.80q", folder.Name) }); err != nil || folder.Name == "" {
		return ""
	}
	return "in " + folder.Name
}
