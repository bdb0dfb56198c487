package imap

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	goimap "github.com/emersion/go-imap/v2"
)

// identity is what the server says of a message beyond its content: which
// message it is, in whatever mailbox or under whatever label.
type identity struct {
	id     string   // "" = not said
	kind   string   // the item that said it
	labels []string // Gmail's; without that of the mailbox that is open
}

// identify asks who the messages are. A server that refuses or answers nonsense
// leaves them unknown: each then counts for itself.
func (l *look) identify(uid goimap.UID) (identity, error) {
	var items string
	switch {
	case l.can.gmail:
		items = "X-GM-MSGID X-GM-LABELS"
	case l.can.objectID:
		items = "EMAILID"
	default:
		return identity{}, nil
	}
	var who identity
	_, err := l.extra(fmt.Sprintf("UID FETCH %d (UID %s)", uid, items), func(list []answer) (string, error) {
		for _, a := range list {
			it := a.fetched()
			if it == nil || it["UID"].text != strconv.FormatUint(uint64(uid), 10) {
				continue
			}
			who = readIdentity(it)
		}
		return fmt.Sprintf("OK, %s %q, labels %q", who.kind, who.id, who.labels), nil
	})
	if err != nil && !unusable(err) {
		return identity{}, err
	}
	return who, nil
}

func readIdentity(it map[string]node) identity {
	var who identity
	switch {
	case it["X-GM-MSGID"].text != "":
		who.id, who.kind = it["X-GM-MSGID"].text, "X-GM-MSGID"
	case len(it["EMAILID"].list) == 1: // in brackets (RFC 8474, 5.1)
		who.id, who.kind = it["EMAILID"].list[0].text, "EMAILID"
	}
	if strings.Trim(who.id, "0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ_-") != "" || len(who.id) > 255 {
		who.id = ""
	}
	for _, n := range it["X-GM-LABELS"].list {
		who.labels = append(who.labels, oneLine(n.text, 100))
	}
	return who
}

func (i identity) label(names ...string) bool {
	return slices.ContainsFunc(i.labels, func(l string) bool {
		return slices.ContainsFunc(names, func(n string) bool { return strings.EqualFold(l, n) })
	})
}
