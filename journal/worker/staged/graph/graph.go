package graph

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"strings"

	"github.com/landedhq/landed/journal/worker"
	"github.com/landedhq/landed/journal/worker/staged"
)

// HandleMessage is the kind of the handle: the message's immutable id.
const HandleMessage = "graph_message"

// Property is the id of the extended property that holds the reference. It is kept
// whatever the way to the recipient does to header fields.
const Property = "String {6f0a8c52-3c1d-4b7e-9a51-2f8e4d7c0b13} Name LandedRef"

// The default header of the reference, and Microsoft's address.
const (
	DefaultRefHeader = "X-Landed-Ref"
	DefaultBaseURL   = "https://graph.microsoft.com/v1.0"
)

// Sender sends from one mailbox. It is safe for concurrent use.
type Sender struct {
	// Client adds the credentials to each request. Not worker.Client: see package
	// staged.
	Client *http.Client
	// User is the mailbox's id or address; "" = the signed-in user's.
	User string
	// RefHeader must be the evidence adapter's; "" = DefaultRefHeader.
	RefHeader string
	BaseURL   string // "" = DefaultBaseURL
}

// Send sends a message as the effect that ctx belongs to: it is what a tool's
// function calls. mail is a message resource as POST …/messages takes it, without
// the reference: Send adds it. The outcome's id is the immutable one.
func (s Sender) Send(ctx context.Context, mail map[string]any) (worker.Outcome, error) {
	ref, err := worker.RefFrom(ctx)
	if err != nil {
		return worker.Outcome{}, err
	}
	body, err := s.mark(mail, ref)
	if err != nil {
		return worker.Outcome{}, worker.NotSent(fmt.Errorf("graph: %w", err))
	}
	out, err := staged.Run(ctx, staged.Steps{
		Kind:   HandleMessage,
		Create: func(ctx context.Context) (staged.Handle, error) { return s.create(ctx, body) },
		Read:   s.read, Finish: s.send,
	})
	if err != nil {
		return worker.Outcome{}, fmt.Errorf("graph: %w", err)
	}
	return out, nil
}

func (s Sender) url(path string) string {
	user := "/me"
	if s.User != "" {
		user = "/users/" + url.PathEscape(s.User)
	}
	return strings.TrimSuffix(or(s.BaseURL, DefaultBaseURL), "/") + user + path
}

// segment is an id within a path: Graph wants a slash in it encoded twice.
func segment(id string) string { return strings.ReplaceAll(url.PathEscape(id), "%2F", "%252F") }

func or(s, def string) string {
	if s == "" {
		return def
	}
	return s
}

// header asks for ids that stay. It counts for the one request that carries it.
func header() http.Header {
	return http.Header{"Content-Type": {"application/json"}, "Prefer": {`IdType="ImmutableId"`}}
}

func (s Sender) create(ctx context.Context, body []byte) (staged.Handle, error) {
	out, err := s.post(ctx, "/messages", body, func(r worker.Response) (worker.Outcome, error) {
		out, err := worker.ParseJSON(r)
		if err == nil && out.ProviderID == "" {
			err = errors.New("the answer has no id")
		}
		return out, err
	})
	return staged.Handle{Value: out.ProviderID}, err
}

// send asks for the one thing that has an effect. Its answer has no body and no id:
// the journaled one stays.
func (s Sender) send(ctx context.Context, h staged.Handle) (worker.Outcome, error) {
	return s.post(ctx, "/messages/"+segment(h.Value)+"/send", nil, func(worker.Response) (worker.Outcome, error) {
		return done(h.Value)
	})
}

func done(id string) (worker.Outcome, error) {
	result, err := json.Marshal(struct {
		ID string `json:"id"`
	}{id})
	return worker.Outcome{Result: result, ProviderID: id}, err
}

func (s Sender) post(ctx context.Context, path string, body []byte, parse func(worker.Response) (worker.Outcome, error)) (worker.Outcome, error) {
	req, err := staged.Request(ctx, http.MethodPost, s.url(path), header(), body)
	if err != nil {
		return worker.Outcome{}, err
	}
	return worker.Classifier{Parse: parse}.Send(staged.Once(s.Client), req)
}

// read tells what became of a message.
func (s Sender) read(ctx context.Context, h staged.Handle) (staged.Reading, error) {
	var m struct {
		ID      string `json:"id"`
		IsDraft *bool  `json:"isDraft"`
		Folder  string `json:"parentFolderId"`
	}
	there, err := staged.Get(ctx, s.Client, s.url("/messages/"+segment(h.Value)+"?$select=id,isDraft,parentFolderId"), header(), &m)
	switch {
	case err != nil:
		return staged.Reading{}, err
	case !there:
		return staged.Reading{State: staged.Gone,
			Detail: "the mailbox has no such message: it was deleted, or it is sent and its copy is not there yet"}, nil
	case m.ID != h.Value || m.IsDraft == nil:
		return staged.Reading{}, fmt.Errorf("graph did not answer for message %.60q", h.Value)
	case !*m.IsDraft:
		out, err := done(m.ID)
		return staged.Reading{State: staged.Done, Outcome: out}, err
	}
	return s.draftIn(ctx, m.Folder)
}

// draftIn tells a draft that waits from one that is on its way, and from one that
// a person threw away.
func (s Sender) draftIn(ctx context.Context, folder string) (staged.Reading, error) {
	for _, f := range []struct {
		name string
		r    staged.Reading
	}{
		{"outbox", staged.Reading{State: staged.Pending, Detail: "it waits in the Outbox"}},
		{"deleteditems", staged.Reading{State: staged.Gone, Detail: "the draft was moved to Deleted Items"}},
	} {
		var known struct {
			ID string `json:"id"`
		}
		if _, err := staged.Get(ctx, s.Client, s.url("/mailFolders/"+f.name+"?$select=id"), header(), &known); err != nil {
			return staged.Reading{}, fmt.Errorf("reading the folder %s: %w", f.name, err)
		}
		if known.ID != "" && known.ID == folder {
			return f.r, nil
		}
	}
	return staged.Reading{State: staged.Open}, nil
}

// mark adds the two carriers to a copy of the message. Header fields of the caller's
// stay.
func (s Sender) mark(mail map[string]any, ref string) ([]byte, error) {
	out := maps.Clone(mail)
	if out == nil {
		out = map[string]any{}
	}
	for member, mine := range map[string]map[string]string{
		"internetMessageHeaders":        {"name": strings.ToLower(or(s.RefHeader, DefaultRefHeader)), "value": ref},
		"singleValueExtendedProperties": {"id": Property, "value": ref},
	} {
		list, err := entries(out[member])
		if err != nil {
			return nil, fmt.Errorf("%s: %w", member, err)
		}
		out[member] = append(list, mine)
	}
	return json.Marshal(out)
}

// entries returns a copy of a list that the caller gave in any form that is one in
// JSON.
func entries(v any) ([]any, error) {
	raw, err := json.Marshal(v)
	if err != nil {
		return nil, err
	}
	var list []any
	err = json.Unmarshal(raw, &list)
	return list, err
}
