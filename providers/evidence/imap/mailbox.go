package imap

import (
	"context"
	"fmt"
	"slices"
	"strings"

	goimap "github.com/emersion/go-imap/v2"

	"github.com/landedhq/landed/journal"
)

// mailbox is one folder to look into.
type mailbox struct {
	name string
	how  string // how it was found, for people
	all  bool   // it holds what was received, too
}

const (
	maxSentMailboxes = 8 // RFC 6154 lets a server mark several
	maxListed        = 20000
)

const noSentAdvice = `the server marks no mailbox with \Sent: name the folder that holds sent mail in the setting "mailbox"`

// findMailboxes fills s.mailboxes. None is no error: it is a place that the look
// can't see.
func (s *session) findMailboxes(ctx context.Context) error {
	if s.cfg.Mailbox != "" {
		s.mailboxes = []mailbox{{name: s.cfg.Mailbox, how: "configured"}}
		return nil
	}
	if s.can.specialUse {
		// A refusal here is no fault: the plain form below may still answer.
		err := s.list(`LIST (SPECIAL-USE) "" "*"`, &goimap.ListOptions{SelectSpecialUse: true})
		if err != nil && !refused(err) {
			return s.fault(ctx, "listing mailboxes", err)
		}
	}
	if len(s.mailboxes) == 0 {
		if err := s.list(`LIST "" "*"`, nil); err != nil {
			return s.fault(ctx, "listing mailboxes", err)
		}
	}
	if len(s.mailboxes) == 0 && s.can.xlist {
		if err := s.xlist(); err != nil && !unusable(err) {
			return s.fault(ctx, "listing mailboxes", err)
		}
	}
	if len(s.mailboxes) == 0 {
		s.noMailbox = noSentAdvice
	}
	return nil
}

func (s *session) list(request string, opts *goimap.ListOptions) error {
	return s.do(request, func() (string, error) {
		cmd := s.client.List("", "*", opts)
		listed := 0
		var sent, all []string
		for data := cmd.Next(); data != nil; data = cmd.Next() {
			listed++
			switch {
			case listed > maxListed:
			case len(sent) < maxSentMailboxes && isMarked(data, goimap.MailboxAttrSent):
				sent = append(sent, data.Mailbox)
			case s.can.gmail && len(all) == 0 && isMarked(data, goimap.MailboxAttrAll):
				all = append(all, data.Mailbox)
			}
		}
		if err := cmd.Close(); err != nil {
			return "", err
		}
		s.found(sent, all, "")
		return fmt.Sprintf(`OK, %d listed, marked \Sent: %q, \All: %q`, listed, sent, all), nil
	})
}

// found adds mailboxes that the server marked.
func (s *session) found(sent, all []string, by string) {
	for _, name := range sent {
		s.mailboxes = append(s.mailboxes, mailbox{name: name, how: `marked \Sent by the server` + by})
	}
	for _, name := range all {
		s.mailboxes = append(s.mailboxes, mailbox{name: name, how: `marked \All by the server` + by, all: true})
	}
}

func isMarked(data *goimap.ListData, mark goimap.MailboxAttr) bool {
	has := func(attr goimap.MailboxAttr) bool {
		return slices.ContainsFunc(data.Attrs, func(a goimap.MailboxAttr) bool {
			return strings.EqualFold(string(a), string(attr))
		})
	}
	return has(mark) && !has(goimap.MailboxAttrNoSelect) && !has(goimap.MailboxAttrNonExistent) &&
		checkText("mailbox", data.Mailbox, 500) == nil
}

// examine opens a mailbox read-only. A mailbox that the server refuses comes
// back as nil data with the reason.
func (s *session) examine(mb mailbox) (data *goimap.SelectData, why string, err error) {
	err = s.do(fmt.Sprintf("EXAMINE %q", mb.name), func() (string, error) {
		data, err = s.client.Select(mb.name, &goimap.SelectOptions{ReadOnly: true}).Wait()
		if err != nil {
			return "", err
		}
		return fmt.Sprintf("OK, %d messages, UIDVALIDITY %d", data.NumMessages, data.UIDValidity), nil
	})
	if st := status(err); st != nil && refused(err) {
		return nil, "the server refused to open it: " + s.clean(st.Error(), 200), nil
	}
	return data, "", err
}

// scope names one mailbox for people, with the account (it may differ from the
// one that sends).
func (s *session) scope(mb mailbox, seen bool, detail string) journal.Scope {
	return journal.Scope{Name: fmt.Sprintf("mailbox %q of %s", mb.name, s.account()), Seen: seen, Detail: detail}
}
