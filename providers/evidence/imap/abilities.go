package imap

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"

	goimap "github.com/emersion/go-imap/v2"
)

// abilities are what the server says it can. Nothing here goes by its name or
// address.
type abilities struct {
	specialUse bool // RFC 6154
	xlist      bool // what Gmail had before RFC 6154
	gmail      bool // X-GM-EXT-1
	objectID   bool // RFC 8474
}

// learn asks what the server can, and says who we are.
func (s *session) learn(ctx context.Context) error {
	// Asked again: many servers say it only after the login, and what the library
	// knows may still be the older answer.
	var caps goimap.CapSet
	err := s.do("CAPABILITY", func() (string, error) {
		var err error
		caps, err = s.client.Capability().Wait()
		return "OK, " + capText(caps), err
	})
	if err != nil {
		return s.fault(ctx, "asking for capabilities", err)
	}
	s.can.specialUse = caps.Has(goimap.CapSpecialUse) || caps.Has(goimap.CapIMAP4rev2)
	if s.aside != nil {
		s.can.xlist, s.can.gmail, s.can.objectID = hasCap(caps, "XLIST"), hasCap(caps, "X-GM-EXT-1"), hasCap(caps, string(goimap.CapObjectID))
	}
	if hasCap(caps, string(goimap.CapUTF8Only)) {
		// Such a server opens no mailbox before (RFC 9755, 6). Elsewhere nothing that
		// is searched or compared needs it: it is ASCII.
		err := s.do("ENABLE UTF8=ACCEPT", func() (string, error) {
			_, err := s.client.Enable(goimap.CapUTF8Accept).Wait()
			return "OK", err
		})
		if err != nil {
			return s.fault(ctx, "enabling UTF-8", err)
		}
	}
	if s.aside != nil && hasCap(caps, string(goimap.CapID)) {
		if err := s.identify(); err != nil && !unusable(err) {
			return s.fault(ctx, "saying who we are", err)
		}
	}
	return nil
}

// identify says who asks, as Gmail recommends and some servers demand before they
// open a mailbox (RFC 2971). What the server says of itself is for people only.
func (s *session) identify() error {
	_, err := s.extra(`ID ("name" "Landed")`, func(list []answer) (string, error) {
		for _, a := range list {
			if a.is("ID") && len(a) > 1 {
				var words []string
				for pair := a[1].list; len(pair) >= 2; pair = pair[2:] {
					if slices.Contains([]string{"name", "vendor", "version"}, strings.ToLower(pair[0].text)) {
						words = append(words, pair[1].text)
					}
				}
				return "OK, the server calls itself " + strconv.Quote(oneLine(strings.Join(words, ", "), 200)), nil
			}
		}
		return "OK", nil
	})
	return err
}

// extra runs a command that the library doesn't know and records what read makes
// of the answers.
func (s *session) extra(text string, read func([]answer) (string, error)) ([]answer, error) {
	var list []answer
	err := s.do(text, func() (string, error) {
		var err error
		if list, err = s.aside.command(text); err != nil {
			return "", err
		}
		return read(list)
	})
	return list, err
}

// xlist finds the marked mailboxes as Gmail showed them before RFC 6154.
func (s *session) xlist() error {
	_, err := s.extra(`XLIST "" "*"`, func(list []answer) (string, error) {
		var sent, all []string
		for _, a := range list {
			if !a.is("XLIST") || len(a) != 4 || a[1].kind != listNode {
				continue
			}
			name, ok := decodeName(a[3].text)
			switch {
			case !ok || checkText("mailbox", name, 500) != nil:
			case len(sent) < maxSentMailboxes && hasMark(a[1], `\Sent`):
				sent = append(sent, name)
			case s.can.gmail && len(all) == 0 && hasMark(a[1], `\AllMail`):
				all = append(all, name)
			}
		}
		s.found(sent, all, " (XLIST)")
		return fmt.Sprintf(`OK, %d listed, marked \Sent: %q, \AllMail: %q`, len(list), sent, all), nil
	})
	return err
}

func hasMark(list node, mark string) bool {
	return slices.ContainsFunc(list.list, func(n node) bool { return strings.EqualFold(n.text, mark) })
}

func hasCap(caps goimap.CapSet, name string) bool {
	for c := range caps {
		if strings.EqualFold(string(c), name) {
			return true
		}
	}
	return false
}

// capText names the capabilities that change how is looked.
func capText(caps goimap.CapSet) string {
	var names []string
	for _, name := range []string{"SPECIAL-USE", "XLIST", "X-GM-EXT-1", "OBJECTID", "UTF8=ONLY", "ID"} {
		if hasCap(caps, name) {
			names = append(names, name)
		}
	}
	return fmt.Sprintf("%d capabilities, of them %s", len(caps), strings.Join(names, " "))
}
