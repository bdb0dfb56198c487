package imap

import (
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	goimap "github.com/emersion/go-imap/v2"
	"github.com/emersion/go-imap/v2/imapclient"

	"github.com/landedhq/landed/journal"
)

// message is what was fetched of one message.
type message struct {
	uid    goimap.UID
	date   time.Time // INTERNALDATE
	flags  []goimap.Flag
	fields []field
	whole  bool // all requested header fields were read
}

// fetchCarriers reads the two carrier fields of messages.
func (l *look) fetchCarriers(set goimap.NumSet) ([]message, error) {
	return l.fetch(set, messageIDHeader, l.cfg.Carrier.RefHeader)
}

// fetch reads header fields with PEEK, so that no flag changes.
func (l *look) fetch(set goimap.NumSet, fields ...string) ([]message, error) {
	name := "FETCH"
	if _, ok := set.(goimap.UIDSet); ok {
		name = "UID FETCH"
	}
	request := fmt.Sprintf("%s %s (UID FLAGS INTERNALDATE BODY.PEEK[HEADER.FIELDS (%s)])",
		name, oneLine(set.String(), 200), strings.Join(fields, " "))
	var msgs []message
	err := l.do(request, func() (string, error) {
		cmd := l.client.Fetch(set, &goimap.FetchOptions{
			UID: true, Flags: true, InternalDate: true,
			BodySection: []*goimap.FetchItemBodySection{{
				Specifier: goimap.PartSpecifierHeader, HeaderFields: fields, Peek: true,
			}},
		})
		for data := cmd.Next(); data != nil; data = cmd.Next() {
			m, err := readMessage(data)
			if err != nil {
				// Not closed: the library would read the broken literal on, beside
				// its own reader. The connection is over, and with it the command.
				return "", err
			}
			msgs = append(msgs, m)
		}
		if err := cmd.Close(); err != nil {
			return "", err
		}
		return fmt.Sprintf("OK, %d messages", len(msgs)), nil
	})
	return msgs, err
}

// readMessage fails only when the connection ends within a literal.
func readMessage(data *imapclient.FetchMessageData) (message, error) {
	var m message
	for item := data.Next(); item != nil; item = data.Next() {
		switch item := item.(type) {
		case imapclient.FetchItemDataUID:
			m.uid = item.UID
		case imapclient.FetchItemDataFlags:
			m.flags = item.Flags
		case imapclient.FetchItemDataInternalDate:
			m.date = item.Time
		case imapclient.FetchItemDataBodySection:
			if item.Literal == nil {
				continue
			}
			// What is over the cap is thrown away by the next call of Next.
			size := item.Literal.Size()
			raw, err := io.ReadAll(io.LimitReader(item.Literal, maxHeaderBytes))
			if err == nil && int64(len(raw)) < min(size, maxHeaderBytes) {
				err = io.ErrUnexpectedEOF
			}
			if err != nil {
				return m, err
			}
			m.fields = parseFields(raw)
			m.whole = size <= maxHeaderBytes
		}
	}
	return m, nil
}

func (m message) has(flag goimap.Flag) bool {
	return slices.ContainsFunc(m.flags, func(f goimap.Flag) bool { return strings.EqualFold(string(f), string(flag)) })
}

// compareHits fetches what a header search found and compares it: what does not
// carry the reference is unrelated.
func (l *look) compareHits(uids []goimap.UID) error {
	if len(uids) == 0 {
		return nil
	}
	msgs, err := l.fetchCarriers(goimap.UIDSetNum(uids...))
	if err != nil {
		return err
	}
	if len(msgs) < len(uids) {
		l.complete = false // removed meanwhile, or kept back
	}
	found, err := l.compare(msgs)
	l.unrelated += len(msgs) - found
	return err
}

// compare adds those messages that carry the reference to the matches.
func (l *look) compare(msgs []message) (found int, err error) {
	for _, m := range msgs {
		if !m.whole || m.uid == 0 {
			l.complete = false
		}
		carriers := l.cfg.Carrier.carriers(m.fields, l.q.Ref)
		if len(carriers) == 0 {
			continue
		}
		found++
		if l.seen[m.uid] {
			continue
		}
		l.seen[m.uid] = true
		h, err := l.hit(m, carriers)
		if err != nil {
			return found, err
		}
		l.hits = append(l.hits, h)
	}
	return found, nil
}

// Caps of text that comes with a match.
const (
	maxSubject = 200
	maxFact    = 300
)

// details reads what people want to know of a match. It does without where the
// server refuses, and beyond a number that no honest mailbox reaches.
func (l *look) details(uid goimap.UID) ([]field, error) {
	const maxDescribed = 20
	if len(l.hits) >= maxDescribed {
		return nil, nil
	}
	msgs, err := l.fetch(goimap.UIDSetNum(uid), "SUBJECT", "FROM", "TO", "DATE", "MESSAGE-ID", "RECEIVED")
	if err != nil && !refused(err) {
		return nil, err
	}
	if len(msgs) != 1 {
		return nil, nil
	}
	return msgs[0].fields, nil
}

// hit describes a message that carries the reference.
func (l *look) hit(m message, carriers []string) (hit, error) {
	fields, err := l.details(m.uid)
	if err != nil {
		return hit{}, err
	}
	who, err := l.identify(m.uid)
	if err != nil {
		return hit{}, err
	}
	return hit{
		match: l.match(m, carriers, fields, who), mailbox: l.mb.name, all: l.mb.all, who: who,
		received: first(fields, "Received") != "", mail: shared(fields),
	}, nil
}

func (l *look) match(m message, carriers []string, fields []field, who identity) journal.Match {
	out := journal.Match{
		ID:      fmt.Sprintf("%s;UIDVALIDITY=%d;UID=%d", l.mb.name, l.selected.UIDValidity, m.uid),
		Title:   readable(first(fields, "Subject"), maxSubject),
		Status:  flagText(m.flags),
		State:   journal.MatchEffective,
		At:      m.date,
		Where:   fmt.Sprintf("mailbox %q of %s", l.mb.name, l.account()),
		Carrier: strings.Join(slices.Compact(carriers), ", "),
	}
	for _, name := range []string{"From", "To", "Date", "Message-ID"} {
		if v := readable(first(fields, name), maxFact); v != "" {
			out.Facts = append(out.Facts, journal.MatchFact{Name: name, Value: v})
		}
	}
	if m.has(goimap.FlagDeleted) {
		out.Facts = append(out.Facts, journal.MatchFact{Name: "Deleted", Value: "marked for removal, not yet removed"})
	}
	if len(who.labels) > 0 {
		out.Facts = append(out.Facts, journal.MatchFact{Name: "Labels", Value: oneLine(strings.Join(who.labels, ", "), maxFact)})
	}
	if m.has(goimap.FlagDraft) || l.mb.all && who.label(`\Draft`, `\Drafts`) {
		out.State = l.draftState()
		out.Facts = append(out.Facts, journal.MatchFact{Name: "Draft", Value: "marked as a draft: it was not sent from here"})
	}
	return out
}

func flagText(flags []goimap.Flag) string {
	names := make([]string, 0, len(flags))
	for _, f := range flags {
		names = append(names, string(f))
	}
	slices.Sort(names)
	return oneLine(strings.Join(names, " "), maxFact)
}
