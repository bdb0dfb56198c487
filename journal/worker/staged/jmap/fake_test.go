package jmap_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync"
)

// server is a mail server that speaks JMAP as RFC 8620 and RFC 8621 describe it.
type server struct {
	mu          sync.Mutex
	emails      map[string]map[string]any
	submissions []submission
	made        int
	// forgets: submissions are not kept once they are final.
	forgets bool
	// sent counts what left.
	sent int
	// fail, if set, is the answer to a method in its place.
	fail func(method string) map[string]any
}

type submission struct{ ID, EmailID, UndoStatus string }

func newServer() *server { return &server{emails: map[string]map[string]any{}} }

func (s *server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if r.Method == http.MethodGet {
		answer(w, map[string]any{"apiUrl": "/jmap/api", "primaryAccounts": map[string]string{"urn:ietf:params:jmap:mail": "A1"}})
		return
	}
	var in struct {
		Calls [][3]json.RawMessage `json:"methodCalls"`
	}
	if json.NewDecoder(r.Body).Decode(&in) != nil {
		w.WriteHeader(http.StatusBadRequest)
		return
	}
	var out []any
	for _, c := range in.Calls {
		var name, id string
		var args map[string]any
		_ = json.Unmarshal(c[0], &name)
		_ = json.Unmarshal(c[1], &args)
		_ = json.Unmarshal(c[2], &id)
		if e := s.failure(name); e != nil {
			out = append(out, []any{"error", e, id})
			continue
		}
		got, implicit := s.call(name, args)
		out = append(out, []any{name, got, id})
		if implicit != nil {
			out = append(out, []any{"Email/set", implicit, id})
		}
	}
	answer(w, map[string]any{"methodResponses": out})
}

func (s *server) failure(name string) map[string]any {
	if s.fail == nil {
		return nil
	}
	return s.fail(name)
}

func answer(w http.ResponseWriter, v any) {
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(v)
}

func (s *server) call(name string, args map[string]any) (got, implicit map[string]any) {
	switch name {
	case "Mailbox/get":
		return map[string]any{"list": []any{
			map[string]any{"id": "D", "role": "drafts"}, map[string]any{"id": "S", "role": "sent"},
			map[string]any{"id": "T", "role": "trash"}, map[string]any{"id": "I", "role": nil}}}, nil
	case "Email/set":
		s.made++
		id := fmt.Sprintf("M%d", s.made)
		email, _ := args["create"].(map[string]any)["new"].(map[string]any)
		email["id"] = id
		s.emails[id] = email
		return map[string]any{"created": map[string]any{"new": map[string]any{"id": id}}}, nil
	case "Email/get":
		list, notFound := []any{}, []any{}
		for _, id := range args["ids"].([]any) {
			if e := s.emails[id.(string)]; e != nil {
				list = append(list, map[string]any{"id": e["id"], "mailboxIds": e["mailboxIds"], "keywords": e["keywords"]})
			} else {
				notFound = append(notFound, id)
			}
		}
		return map[string]any{"list": list, "notFound": notFound}, nil
	case "EmailSubmission/set":
		return s.submit(args)
	case "EmailSubmission/query":
		ids := []string{}
		for _, sub := range s.submissions {
			ids = append(ids, sub.ID) // a server that ignores the filter
		}
		return map[string]any{"ids": ids}, nil
	case "EmailSubmission/get":
		list := []any{}
		for _, sub := range s.submissions {
			list = append(list, map[string]any{"id": sub.ID, "emailId": sub.EmailID, "undoStatus": sub.UndoStatus})
		}
		return map[string]any{"list": list}, nil
	}
	return map[string]any{"type": "unknownMethod"}, nil
}

func (s *server) submit(args map[string]any) (got, implicit map[string]any) {
	want, _ := args["create"].(map[string]any)["new"].(map[string]any)
	id, _ := want["emailId"].(string)
	if s.emails[id] == nil {
		return map[string]any{"notCreated": map[string]any{"new": map[string]any{"type": "invalidProperties", "description": "no such email"}}}, nil
	}
	sub := submission{fmt.Sprintf("ES%d", s.sent+1), id, "final"}
	s.sent++
	if !s.forgets {
		s.submissions = append(s.submissions, sub)
	}
	patch, _ := args["onSuccessUpdateEmail"].(map[string]any)["#new"].(map[string]any)
	for path, v := range patch {
		member, key, _ := strings.Cut(path, "/")
		set, _ := s.emails[id][member].(map[string]any)
		if v == nil {
			delete(set, key)
		} else {
			set[key] = v
		}
	}
	return map[string]any{"created": map[string]any{"new": map[string]any{"id": sub.ID, "undoStatus": sub.UndoStatus}}},
		map[string]any{"updated": map[string]any{id: nil}}
}

// eachDraft does something with what waits.
func (s *server) eachDraft(do func(id string, e map[string]any)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for id, e := range s.emails {
		if set, _ := e["keywords"].(map[string]any); set["$draft"] == true {
			do(id, e)
		}
	}
}

func (s *server) sendByHand(id string, _ map[string]any) {
	s.submit(map[string]any{"create": map[string]any{"new": map[string]any{"emailId": id}},
		"onSuccessUpdateEmail": map[string]any{"#new": map[string]any{"keywords/$draft": nil, "mailboxIds/D": nil, "mailboxIds/S": true}}})
}

func (s *server) count() (made, sent int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.made, s.sent
}

// methods are the names of the methods in a request.
func methods(body []byte) []string {
	var in struct {
		Calls [][3]any `json:"methodCalls"`
	}
	_ = json.Unmarshal(body, &in)
	var out []string
	for _, c := range in.Calls {
		name, _ := c[0].(string)
		out = append(out, name)
	}
	return out
}

func calls(body []byte, name string) bool { return slices.Contains(methods(body), name) }
