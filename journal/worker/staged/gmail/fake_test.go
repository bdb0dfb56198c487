package gmail_test

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"net/http"
	"net/mail"
	"slices"
	"strings"
	"sync"
)

// mailbox is a Gmail mailbox as the documents describe it: sending deletes the
// draft and makes a message with a new id and the label SENT in the same thread.
type mailbox struct {
	mu       sync.Mutex
	n        int
	drafts   map[string]*message // by draft id
	messages []*message          // sent, and others
	// rewrites: the Message-ID of what is sent is replaced, as users report.
	rewrites bool
	// noSearch: the search shows nothing yet.
	noSearch bool
	// strayThread: the sent message is put into another thread.
	strayThread bool
	made        int
	asked       []string // paths of requests
}

type message struct {
	ID, ThreadID string
	Labels       []string
	Raw          []byte
	replaced     string // Message-ID, if it was
}

func newMailbox() *mailbox { return &mailbox{drafts: map[string]*message{}} }

func (b *mailbox) id(kind string) string { b.n++; return fmt.Sprintf("%s%d", kind, b.n) }

func (b *mailbox) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	b.mu.Lock()
	defer b.mu.Unlock()
	path, ok := strings.CutPrefix(r.URL.Path, "/gmail/v1/users/me")
	if !ok {
		http.NotFound(w, r)
		return
	}
	b.asked = append(b.asked, r.Method+" "+path)
	kind, id, _ := strings.Cut(strings.TrimPrefix(path, "/"), "/")
	switch {
	case r.Method == http.MethodPost && kind == "drafts" && id == "":
		b.create(w, r)
	case r.Method == http.MethodPost && kind == "drafts" && id == "send":
		b.send(w, r)
	case kind == "drafts" && b.drafts[id] != nil:
		answer(w, map[string]any{"id": id, "message": b.drafts[id].wire()})
	case kind == "threads":
		var list []any
		for _, m := range b.all() {
			if m.ThreadID == id {
				list = append(list, m.wire())
			}
		}
		if list == nil {
			missing(w)
			return
		}
		answer(w, map[string]any{"id": id, "messages": list})
	case kind == "messages" && id == "":
		b.list(w, r)
	case kind == "messages":
		for _, m := range b.all() {
			if m.ID == id {
				answer(w, m.wire())
				return
			}
		}
		missing(w)
	default:
		missing(w)
	}
}

func answer(w http.ResponseWriter, v any) {
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(v)
}

func missing(w http.ResponseWriter) {
	w.WriteHeader(http.StatusNotFound)
	answer(w, map[string]any{"error": map[string]any{"code": 404, "message": "Requested entity was not found.",
		"errors": []any{map[string]any{"reason": "notFound"}}, "status": "NOT_FOUND"}})
}

func (b *mailbox) all() []*message {
	list := slices.Clone(b.messages)
	for _, d := range b.drafts {
		list = append(list, d)
	}
	return list
}

func (b *mailbox) create(w http.ResponseWriter, r *http.Request) {
	var in struct {
		Message struct {
			Raw      string `json:"raw"`
			ThreadID string `json:"threadId"`
		} `json:"message"`
	}
	_ = json.NewDecoder(r.Body).Decode(&in)
	raw, err := base64.URLEncoding.DecodeString(in.Message.Raw)
	if err != nil {
		w.WriteHeader(http.StatusBadRequest)
		return
	}
	b.made++
	m := &message{ID: b.id("m"), ThreadID: in.Message.ThreadID, Labels: []string{"DRAFT"}, Raw: raw}
	if m.ThreadID == "" {
		m.ThreadID = m.ID
	}
	id := b.id("r-")
	b.drafts[id] = m
	answer(w, map[string]any{"id": id, "message": m.wire()})
}

func (b *mailbox) send(w http.ResponseWriter, r *http.Request) {
	var in struct {
		ID string `json:"id"`
	}
	_ = json.NewDecoder(r.Body).Decode(&in)
	if b.drafts[in.ID] == nil {
		missing(w)
		return
	}
	answer(w, b.complete(in.ID).wire())
}

func (b *mailbox) complete(draft string) *message {
	d := b.drafts[draft]
	delete(b.drafts, draft)
	m := &message{ID: b.id("m"), ThreadID: d.ThreadID, Labels: []string{"SENT"}, Raw: d.Raw}
	if b.rewrites {
		m.replaced = "<CAF" + m.ID + "@mail.gmail.com>"
	}
	if b.strayThread {
		m.ThreadID = m.ID
	}
	b.messages = append(b.messages, m)
	return m
}

func (b *mailbox) list(w http.ResponseWriter, r *http.Request) {
	q, list := r.URL.Query().Get("q"), []any{}
	for _, m := range b.all() {
		id, byID := strings.CutPrefix(q, "rfc822msgid:")
		_, text, _ := bytes.Cut(m.Raw, []byte("\r\n\r\n"))
		hit := byID && m.messageID() == "<"+id+">" || !byID && bytes.Contains(text, []byte(strings.Trim(q, `"`)))
		if hit && !b.noSearch {
			list = append(list, map[string]any{"id": m.ID, "threadId": m.ThreadID})
		}
	}
	answer(w, map[string]any{"messages": list, "resultSizeEstimate": len(list)})
}

func (m *message) header(name string) string {
	parsed, err := mail.ReadMessage(bytes.NewReader(m.Raw))
	if err != nil {
		return ""
	}
	return parsed.Header.Get(name)
}

func (m *message) messageID() string {
	if m.replaced != "" {
		return m.replaced
	}
	return m.header("Message-ID")
}

func (m *message) wire() map[string]any {
	headers := []any{map[string]any{"name": "Message-Id", "value": m.messageID()}}
	if v := m.header("X-Landed-Ref"); v != "" {
		headers = append(headers, map[string]any{"name": "X-Landed-Ref", "value": v})
	}
	return map[string]any{"id": m.ID, "threadId": m.ThreadID, "labelIds": m.Labels, "payload": map[string]any{"headers": headers}}
}

// eachDraft does something with what waits.
func (b *mailbox) eachDraft(do func(id string)) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for id := range b.drafts {
		do(id)
	}
}

func (b *mailbox) sent() int {
	b.mu.Lock()
	defer b.mu.Unlock()
	n := 0
	for _, m := range b.messages {
		if slices.Contains(m.Labels, "SENT") {
			n++
		}
	}
	return n
}
