package gmail

import (
	"context"
	"encoding/json"
	"fmt"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/landedhq/landed/journal/worker"
	"github.com/landedhq/landed/journal/worker/staged"
)

// maxFound bounds the messages that are read of one search: few quote the
// reference.
const maxFound = 10

// originalID is where Gmail moves a Message-ID that it replaces, on some paths.
const originalID = "X-Google-Original-Message-ID"

// read tells what became of a draft: by its id, then by its thread's, then by a
// search.
func (d draft) read(ctx context.Context, h staged.Handle) (staged.Reading, error) {
	var found struct {
		ID      string      `json:"id"`
		Message wireMessage `json:"message"`
	}
	there, err := d.get(ctx, "/drafts/"+url.PathEscape(h.Value), url.Values{"format": {"minimal"}}, &found)
	switch {
	case err != nil:
		return staged.Reading{}, err
	case there && found.ID != h.Value:
		return staged.Reading{}, fmt.Errorf("gmail answered draft %.60q", found.ID)
	case there && slices.Contains(found.Message.LabelIDs, "TRASH"):
		return staged.Reading{State: staged.Gone, Detail: "the draft is in the trash"}, nil
	case there:
		return staged.Reading{State: staged.Open}, nil
	}
	sent, err := d.inThread(ctx, h.Beside[HandleThread])
	if err == nil && sent == nil {
		sent, err = d.search(ctx)
	}
	switch {
	case err != nil:
		return staged.Reading{}, err
	case sent != nil:
		return done(*sent)
	}
	return staged.Reading{State: staged.Gone,
		Detail: "neither the draft nor a sent message with the reference is in the mailbox: it was discarded, or the search lags"}, nil
}

func done(m wireMessage) (staged.Reading, error) {
	result, err := json.Marshal(struct {
		ID       string   `json:"id"`
		ThreadID string   `json:"threadId"`
		LabelIDs []string `json:"labelIds"`
	}{m.ID, m.ThreadID, m.LabelIDs})
	return staged.Reading{State: staged.Done, Outcome: worker.Outcome{Result: result, ProviderID: m.ID}}, err
}

// inThread looks for the sent message in its draft's thread; nil = it is not there.
func (d draft) inThread(ctx context.Context, id string) (*wireMessage, error) {
	if id == "" {
		return nil, nil
	}
	var thread struct {
		Messages []wireMessage `json:"messages"`
	}
	if there, err := d.get(ctx, "/threads/"+url.PathEscape(id), d.headers(), &thread); err != nil || !there {
		return nil, err
	}
	return d.ours(thread.Messages), nil
}

// search looks for the Message-ID and for the reference as a word, in the whole
// mailbox, and reads what that brings.
func (d draft) search(ctx context.Context) (*wireMessage, error) {
	for _, q := range []string{"rfc822msgid:" + d.messageID(d.ref), `"` + d.ref + `"`} {
		var list struct {
			Messages []wireMessage `json:"messages"`
		}
		query := url.Values{"q": {q}, "includeSpamTrash": {"true"}, "maxResults": {strconv.Itoa(maxFound)}}
		if _, err := d.get(ctx, "/messages", query, &list); err != nil {
			return nil, err
		}
		for _, m := range list.Messages {
			var one wireMessage
			there, err := d.get(ctx, "/messages/"+url.PathEscape(m.ID), d.headers(), &one)
			if err != nil {
				return nil, err
			}
			if there && d.ours([]wireMessage{one}) != nil {
				return &one, nil
			}
		}
	}
	return nil, nil
}

// ours returns the sent message that carries the reference.
func (d draft) ours(list []wireMessage) *wireMessage {
	for _, m := range list {
		if !slices.Contains(m.LabelIDs, "SENT") {
			continue
		}
		for _, h := range m.Payload.Headers {
			value := strings.TrimSpace(h.Value)
			switch {
			case strings.EqualFold(h.Name, d.refHeader()) && value == d.ref,
				(strings.EqualFold(h.Name, "Message-ID") || strings.EqualFold(h.Name, originalID)) && value == "<"+d.messageID(d.ref)+">":
				return &m
			}
		}
	}
	return nil
}

// headers asks for the carriers only.
func (d draft) headers() url.Values {
	return url.Values{"format": {"metadata"}, "metadataHeaders": {"Message-ID", originalID, d.refHeader()}}
}

func (d draft) get(ctx context.Context, path string, q url.Values, v any) (bool, error) {
	return staged.Get(ctx, d.Client, d.url(path)+"?"+q.Encode(), nil, v)
}
