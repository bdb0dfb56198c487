package gmail

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"strconv"
	"strings"

	"github.com/landedhq/landed/providers/evidence"
	"github.com/landedhq/landed/providers/evidence/faults"
	"github.com/landedhq/landed/providers/evidence/mailref"
)

const perPage = 50

// search reads what one query brings and compares it here.
func (l *look) search(ctx context.Context, query string) error {
	asked := map[string]bool{}
	next := ""
	for range l.s.a.cfg.MaxPages {
		q := url.Values{"q": {query}, "includeSpamTrash": {"true"}, "maxResults": {strconv.Itoa(perPage)}}
		if next != "" {
			q.Set("pageToken", next)
		}
		var p page
		err := l.get(ctx, []string{"messages"}, q, &p, func() string { return fmt.Sprintf("%d messages", len(p.Messages)) })
		if err != nil {
			return err
		}
		if p.Messages == nil && p.Estimate == nil {
			return faults.Bad("the answer of Gmail is no list of messages")
		}
		for _, m := range p.Messages {
			if err := l.hit(ctx, m.ID); err != nil {
				return err
			}
		}
		if p.Next == "" {
			return nil
		}
		if next = p.Next; asked[next] {
			return faults.Bad("Gmail gives the same page again and again")
		}
		asked[next] = true
	}
	l.ans.AllPagesRead = false
	return nil
}

// hit compares one message that the search brought. One that two queries bring, or
// that was read by its handle, counts once.
func (l *look) hit(ctx context.Context, id string) error {
	if l.read[id] || l.known[id] {
		return nil
	}
	l.read[id] = true
	if !validID(id) {
		return faults.Bad("the answer of Gmail holds a message without a usable id")
	}
	m, err := l.message(ctx, id)
	if errors.Is(err, errAbsent) {
		return &evidence.ProviderError{Kind: evidence.FaultUnavailable, Detail: "a message that the search found could not be read"}
	}
	if err != nil {
		return err
	}
	if !l.take(m, "") {
		l.ans.Unrelated++
	}
	return nil
}

// metadata asks for the header fields that are compared or shown, and no text.
func (l *look) metadata() url.Values {
	return url.Values{"format": {"metadata"}, "metadataHeaders": {mailref.MessageIDHeader, l.s.a.cfg.Carrier.Header, originalID, "Subject"}}
}

func (l *look) message(ctx context.Context, id string) (message, error) {
	var m message
	err := l.get(ctx, []string{"messages", id}, l.metadata(), &m, func() string { return l.shown(m) })
	if err == nil && (!m.valid() || m.ID != id) {
		err = faults.Bad("Gmail gave another message than was asked for")
	}
	return m, err
}

func (l *look) shown(ms ...message) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%d messages", len(ms))
	for _, m := range ms {
		b.WriteString(m.summary(l.s.a.cfg.Carrier.Header))
	}
	return b.String()
}

// handles reads what the worker journaled. What is gone says nothing: a draft is
// deleted when it is sent, and its message gets a new id.
func (l *look) handles(ctx context.Context) error {
	for _, h := range l.q.Handles {
		if !validID(h.Value) {
			continue
		}
		var err error
		switch h.Kind {
		case HandleMessage:
			var m message
			if m, err = l.message(ctx, h.Value); err == nil {
				l.take(m, "handle "+h.Kind)
			}
		case HandleDraft:
			err = l.draft(ctx, h.Value)
		case HandleThread:
			err = l.thread(ctx, h.Value)
		}
		if err != nil && !errors.Is(err, errAbsent) {
			return err
		}
	}
	return nil
}

func (l *look) draft(ctx context.Context, id string) error {
	var d draft
	err := l.get(ctx, []string{"drafts", id}, url.Values{"format": {"metadata"}}, &d, func() string { return l.shown(d.Message) })
	if err != nil {
		return err
	}
	if d.ID != id || !validID(d.Message.ID) {
		return faults.Bad("Gmail gave another draft than was asked for")
	}
	l.take(d.Message, "handle "+HandleDraft)
	return nil
}

// thread reads the messages of a thread. Those without the reference are others':
// the thread was asked for, not the reference.
func (l *look) thread(ctx context.Context, id string) error {
	var t thread
	err := l.get(ctx, []string{"threads", id}, l.metadata(), &t, func() string { return l.shown(t.Messages...) })
	if err != nil {
		return err
	}
	if t.ID != id {
		return faults.Bad("Gmail gave another thread than was asked for")
	}
	for _, m := range t.Messages {
		if !m.valid() {
			return faults.Bad("the answer of Gmail holds a message without a usable id")
		}
		l.take(m, "")
	}
	return nil
}
