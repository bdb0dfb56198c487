package rttest

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"testing"
)

// Do sends one request to RT's REST2 API as an account (empty = none; unknown =
// taken as a token) and returns the answer with its body.
func (s *Server) Do(t testing.TB, account, method, path string, query url.Values, body []byte) (*http.Response, []byte) {
	t.Helper()
	u := s.URL + "/REST/2.0/" + path
	if len(query) > 0 {
		u += "?" + query.Encode()
	}
	req, err := http.NewRequestWithContext(t.Context(), method, u, bytes.NewReader(body))
	if err != nil {
		t.Fatalf("building a request: %v", err)
	}
	if token, ok := s.tokens[account]; ok {
		req.Header.Set("Authorization", "token "+token)
	} else if account != "" {
		req.Header.Set("Authorization", "token "+account)
	}
	if body != nil {
		req.Header.Set("Content-Type", "application/json")
	}
	resp, err := s.http.Do(req)
	if err != nil {
		t.Fatalf("%s %s: %v", method, path, err)
	}
	defer resp.Body.Close()
	b, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatalf("%s %s: reading the answer: %v", method, path, err)
	}
	return resp, b
}

// Create makes a ticket as an account and returns its id. An empty value leaves
// the field out.
func (s *Server) Create(t testing.TB, account, queue, subject, value string) string {
	t.Helper()
	ticket := map[string]any{"Queue": queue, "Subject": subject, "Requestor": "kim@customer.example", "Content": "made by a test"}
	if value != "" {
		ticket["CustomFields"] = map[string]string{Field: value}
	}
	var made struct {
		ID string `json:"id"`
	}
	s.must(t, account, http.MethodPost, "ticket", ticket, &made)
	if made.ID == "" {
		t.Fatal("RT made a ticket without id")
	}
	return made.ID
}

// Delete deletes a ticket as a person would: it is kept with status deleted.
func (s *Server) Delete(t testing.TB, id string) {
	t.Helper()
	s.must(t, accountAdmin, http.MethodDelete, "ticket/"+id, nil, nil)
}

// Merge merges ticket id into another one.
func (s *Server) Merge(t testing.TB, id, into string) {
	t.Helper()
	s.must(t, accountAdmin, http.MethodPut, "ticket/"+id, map[string]string{"MergeInto": into}, nil)
}

// Move puts a ticket into another queue.
func (s *Server) Move(t testing.TB, id, queue string) {
	t.Helper()
	s.must(t, accountAdmin, http.MethodPut, "ticket/"+id, map[string]string{"Queue": queue}, nil)
}

// SetStatus changes a ticket's status.
func (s *Server) SetStatus(t testing.TB, id, status string) {
	t.Helper()
	s.must(t, accountAdmin, http.MethodPut, "ticket/"+id, map[string]string{"Status": status}, nil)
}

// must sends body as JSON, wants a 2xx and decodes the answer into out.
func (s *Server) must(t testing.TB, account, method, path string, body, out any) {
	t.Helper()
	var b []byte
	if body != nil {
		var err error
		if b, err = json.Marshal(body); err != nil {
			t.Fatalf("encoding: %v", err)
		}
	}
	resp, answer := s.Do(t, account, method, path, nil, b)
	err := error(nil)
	if resp.StatusCode/100 != 2 {
		err = fmt.Errorf("status %d", resp.StatusCode)
	} else if out != nil {
		err = json.Unmarshal(answer, out)
	}
	if err != nil {
		t.Fatalf("%s %s as %s: %v: %s", method, path, account, err, answer)
	}
}
