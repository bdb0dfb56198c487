package jmap

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/landedhq/landed/journal"
	"github.com/landedhq/landed/providers/evidence"
)

const perPage = 50

// search looks for the reference in both header fields in the whole account, and
// compares here what it brings.
func (l *look) search(ctx context.Context) error {
	filter := map[string]any{"operator": "OR", "conditions": []any{
		map[string]any{"header": []string{l.s.a.cfg.RefHeader, l.q.Ref}},
		map[string]any{"header": []string{"Message-ID", l.q.Ref}},
	}}
	seen, state := map[string]bool{}, ""
	for n := 0; n < l.s.a.cfg.MaxPages; n++ {
		var p page
		var mails got[json.RawMessage]
		get := l.emailArgs()
		get["#ids"] = map[string]any{"resultOf": "0", "name": "Email/query", "path": "/ids"}
		err := l.methods(ctx, func() string { return l.shown(p, mails) },
			call{"Email/query", map[string]any{"filter": filter, "position": len(seen), "limit": perPage, "calculateTotal": true,
				"sort": []any{map[string]any{"property": "receivedAt", "isAscending": true}}}, &p},
			call{"Email/get", get, &mails})
		if err != nil {
			return err
		}
		if err := l.checkPage(p, mails, len(seen), state); err != nil {
			return err
		}
		state = p.QueryState
		for _, raw := range *mails.List {
			e, ours, err := l.take(raw, "")
			switch {
			case err != nil:
				return err
			case seen[e.ID]:
				return bad("the mail server gave a message twice: its pages can't be trusted to be complete")
			case !ours:
				l.ans.Unrelated++
			}
			seen[e.ID] = true
		}
		if len(*p.IDs) == 0 || p.Total != nil && len(seen) >= *p.Total {
			l.ans.AllPagesRead = p.Total == nil || len(seen) >= *p.Total
			return nil
		}
	}
	return nil
}

// checkPage wants the page that was asked for, with every message of it.
func (l *look) checkPage(p page, mails got[json.RawMessage], position int, state string) error {
	switch {
	case p.IDs == nil || p.Position == nil || mails.List == nil:
		return bad("the mail server's answer is no result of a query")
	case *p.Position != position && len(*p.IDs) > 0:
		return bad("the mail server gave another page than was asked for")
	case state != "" && p.QueryState != state:
		return &evidence.ProviderError{Kind: evidence.FaultUnavailable, Detail: "the result changed while it was read"}
	case len(*mails.List) != len(*p.IDs):
		return &evidence.ProviderError{Kind: evidence.FaultUnavailable, Detail: "messages that the search found could not be read"}
	}
	return nil
}

func (l *look) shown(p page, mails got[json.RawMessage]) string {
	var b strings.Builder
	if p.IDs != nil {
		fmt.Fprintf(&b, "%d messages", len(*p.IDs))
	}
	if p.Total != nil {
		fmt.Fprintf(&b, " of %d", *p.Total)
	}
	if mails.List != nil {
		for _, raw := range *mails.List {
			if e, err := decodeEmail(raw, l.s.a.property()); err == nil {
				b.WriteString("\n" + e.summary())
			}
		}
	}
	return b.String()
}

// handles reads what the worker journaled before the effect: messages, and
// submissions with their messages. A message that is no more was destroyed, as
// some clients do once it is sent: its submission, if journaled, still tells.
func (l *look) handles(ctx context.Context) error {
	mails := map[string]string{}
	for _, h := range l.q.Handles {
		switch {
		case !validID(h.Value):
		case h.Kind == HandleEmail:
			mails[h.Value] = "handle " + HandleEmail
		case h.Kind == HandleSubmission && l.s.account.submissions:
			sub, err := l.submission(ctx, h.Value)
			if err != nil {
				return err
			}
			if sub != nil {
				mails[sub.EmailID] = "handle " + HandleSubmission
				if err := l.destroyed(ctx, *sub); err != nil {
					return err
				}
			}
		}
	}
	for id, by := range mails {
		if _, err := l.email(ctx, id, by); err != nil {
			return err
		}
	}
	return nil
}

// email reads one message by its id and reports whether it is there.
func (l *look) email(ctx context.Context, id, by string) (bool, error) {
	args := l.emailArgs()
	args["ids"] = []string{id}
	var mails got[json.RawMessage]
	if err := l.methods(ctx, func() string { return l.shown(page{}, mails) }, call{"Email/get", args, &mails}); err != nil {
		return false, err
	}
	if mails.List == nil || len(*mails.List) > 1 {
		return false, bad("the response to Email/get has no list of one")
	}
	if len(*mails.List) == 0 {
		return false, nil
	}
	if e, _, err := l.take((*mails.List)[0], by); err != nil || e.ID != id {
		return false, bad("the mail server gave another message than was asked for")
	}
	return true, nil
}

func (l *look) submission(ctx context.Context, id string) (*submission, error) {
	var subs got[submission]
	err := l.methods(ctx, func() string { return shownSubmissions(subs) }, call{"EmailSubmission/get",
		map[string]any{"ids": []string{id}, "properties": submissionProperties()}, &subs})
	switch {
	case err != nil:
		return nil, err
	case subs.List == nil || len(*subs.List) > 1 || len(*subs.List) == 1 && ((*subs.List)[0].ID != id || !validID((*subs.List)[0].EmailID)):
		return nil, bad("the response to EmailSubmission/get has no list of one")
	case len(*subs.List) == 0:
		return nil, nil // servers forget submissions once they are final
	}
	return &(*subs.List)[0], nil
}

// destroyed adds a journaled submission whose message is no more: there is
// nothing left to compare, and the worker's handle says whose it is.
func (l *look) destroyed(ctx context.Context, sub submission) error {
	there, err := l.email(ctx, sub.EmailID, "handle "+HandleSubmission)
	if err != nil || there {
		return err
	}
	l.gone = append(l.gone, journal.Match{ID: sub.ID, Title: "submission of a message that was destroyed since", Status: sub.UndoStatus,
		State: stateOf([]submission{sub}, true), Where: l.s.account.name, Carrier: "handle " + HandleSubmission})
	return nil
}

func submissionProperties() []string { return []string{"id", "emailId", "undoStatus", "sendAt"} }

func shownSubmissions(subs got[submission]) string {
	if subs.List == nil {
		return "no list"
	}
	var b strings.Builder
	fmt.Fprintf(&b, "%d submissions", len(*subs.List))
	for _, s := range *subs.List {
		fmt.Fprintf(&b, "\n%.80s emailId=%.80s undoStatus=%.30q", s.ID, s.EmailID, s.UndoStatus)
	}
	return b.String()
}

// readSubmissions reads the submissions of the messages found.
func (l *look) readSubmissions(ctx context.Context) error {
	l.submissions = map[string][]submission{}
	if len(l.order) == 0 {
		return nil
	}
	if !l.s.account.submissions {
		l.scope(scopeSubmissions, false, "the token lacks the scope for submissions, so a draft can't be told from a message under way")
		return nil
	}
	var p page
	var subs got[submission]
	err := l.methods(ctx, func() string { return shownSubmissions(subs) },
		call{"EmailSubmission/query", map[string]any{"filter": map[string]any{"emailIds": l.order}, "limit": perPage}, &p},
		call{"EmailSubmission/get", map[string]any{"#ids": map[string]any{"resultOf": "0", "name": "EmailSubmission/query", "path": "/ids"},
			"properties": submissionProperties()}, &subs})
	if err != nil {
		return err
	}
	if subs.List == nil {
		return bad("the response to EmailSubmission/get has no list")
	}
	for _, s := range *subs.List {
		l.submissions[s.EmailID] = append(l.submissions[s.EmailID], s)
	}
	l.scope(scopeSubmissions, true, "")
	return nil
}

// stateOf says what submissions make of a message; left: it is no draft any more.
func stateOf(subs []submission, left bool) journal.MatchState {
	canceled := 0
	for _, s := range subs {
		switch s.UndoStatus {
		case "final":
			return journal.MatchEffective
		case "canceled":
			canceled++
		default:
			return journal.MatchPending
		}
	}
	switch {
	case canceled > 0:
		return journal.MatchNotEffective
	case left:
		return journal.MatchEffective
	}
	return journal.MatchNotEffective
}

// assemble turns messages into matches. A copy that was delivered to the account
// itself proves its mail, and is no second one beside the copy that was sent: it
// becomes a fact. Message-IDs don't tell: every attempt writes the same.
func (l *look) assemble() {
	var sent, delivered []journal.Match
	for _, id := range l.order {
		f := l.emails[id]
		draft := f.email.draft(l.s.account.mailboxes)
		m := journal.Match{ID: id, Title: f.email.Subject, Status: "in " + f.email.where(l.s.account.mailboxes), At: f.email.at(),
			Where: l.s.account.name, Carrier: f.carrier, State: stateOf(l.submissions[id], !draft)}
		if draft && !l.s.account.submissions {
			m.State = journal.MatchPending
		}
		for _, s := range l.submissions[id] {
			m.Facts = append(m.Facts, journal.MatchFact{Name: "submission " + s.ID, Value: s.UndoStatus})
		}
		if f.email.delivered(l.s.account.mailboxes) {
			delivered = append(delivered, m)
		} else {
			sent = append(sent, m)
		}
	}
	sent = append(sent, l.gone...)
	if len(sent) == 1 && sent[0].State == journal.MatchEffective {
		for _, m := range delivered {
			sent[0].Facts = append(sent[0].Facts, journal.MatchFact{Name: "delivered copy", Value: m.ID + " " + m.Status})
		}
		delivered = nil
	}
	l.ans.Matches = append(sent, delivered...)
}
