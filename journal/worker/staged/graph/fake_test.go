package graph_test

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
)

// mailbox is an Exchange mailbox behind Microsoft Graph as the documents describe
// it: an id stays only for who asks for immutable ids.
type mailbox struct {
	mu       sync.Mutex
	messages map[string]*message // by immutable id
	made     int
	// late: what was sent is not in Sent Items yet; the mailbox has no such message.
	late bool
	bad  []string // requests that no client should make
}

type message struct {
	folder string
	body   map[string]any
}

func newMailbox() *mailbox { return &mailbox{messages: map[string]*message{}} }

func (b *mailbox) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if r.Header.Get("Prefer") != `IdType="ImmutableId"` {
		b.bad = append(b.bad, r.Method+" "+r.URL.Path+" without immutable ids")
	}
	path, ok := strings.CutPrefix(r.URL.EscapedPath(), "/me")
	rest, isMessage := strings.CutPrefix(path, "/messages")
	rest = strings.TrimPrefix(rest, "/")
	folder, isFolder := strings.CutPrefix(path, "/mailFolders/")
	id, sends := strings.CutSuffix(rest, "/send")
	id = strings.ReplaceAll(id, "%252F", "/")
	switch {
	case ok && isFolder:
		answer(w, http.StatusOK, map[string]any{"id": "folder-" + folder})
	case !ok || !isMessage:
		missing(w)
	case r.Method == http.MethodPost && rest == "":
		b.create(w, r)
	case b.messages[id] == nil || b.late && b.messages[id].folder == "sentitems":
		missing(w)
	case sends:
		b.send(w, r, id)
	default:
		m := b.messages[id]
		answer(w, http.StatusOK, map[string]any{"id": id, "isDraft": m.folder != "sentitems", "parentFolderId": "folder-" + m.folder})
	}
}

func answer(w http.ResponseWriter, status int, v any) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(v)
}

func missing(w http.ResponseWriter) {
	answer(w, http.StatusNotFound, map[string]any{"error": map[string]any{"code": "ErrorItemNotFound", "message": "The specified object was not found in the store."}})
}

func (b *mailbox) create(w http.ResponseWriter, r *http.Request) {
	m := &message{folder: "drafts"}
	if json.NewDecoder(r.Body).Decode(&m.body) != nil {
		w.WriteHeader(http.StatusBadRequest)
		return
	}
	b.made++
	id := fmt.Sprintf("AAkALg/AAA=%d", b.made)
	b.messages[id] = m
	answer(w, http.StatusCreated, map[string]any{"id": id, "isDraft": true, "parentFolderId": "folder-drafts"})
}

func (b *mailbox) send(w http.ResponseWriter, r *http.Request, id string) {
	if body, _ := io.ReadAll(r.Body); len(body) > 0 || r.ContentLength != 0 {
		b.bad = append(b.bad, "a send with a body")
	}
	m := b.messages[id]
	if m.folder == "sentitems" {
		answer(w, http.StatusBadRequest, map[string]any{"error": map[string]any{"code": "ErrorInvalidOperation"}})
		return
	}
	m.folder = "sentitems"
	w.WriteHeader(http.StatusAccepted)
}

// move puts what is in one folder into another; an empty one deletes it.
func (b *mailbox) move(from, to string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for id, m := range b.messages {
		switch {
		case m.folder != from:
		case to == "":
			delete(b.messages, id)
		default:
			m.folder = to
		}
	}
}

func (b *mailbox) in(folder string) int {
	b.mu.Lock()
	defer b.mu.Unlock()
	n := 0
	for _, m := range b.messages {
		if m.folder == folder {
			n++
		}
	}
	return n
}
