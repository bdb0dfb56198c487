package redminetest

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"testing"
)

// Issue is an issue to create; the zero value is one of project desk.
type Issue struct {
	Project string // "" = desk
	Field   string // "" = Field
	Ref     string // what the custom field holds
	Private bool
}

// Create makes an issue as the worker and returns its number.
func (s *Server) Create(t testing.TB, i Issue) int {
	t.Helper()
	if i.Project == "" {
		i.Project = "desk"
	}
	if i.Field == "" {
		i.Field = Field
	}
	var made struct{ Issue struct{ ID int } }
	s.must(t, Worker, http.MethodPost, "/issues.json", map[string]any{"issue": map[string]any{
		"project_id": s.Projects[i.Project], "tracker_id": s.tracker, "subject": "Order", "description": "made by a test", "is_private": i.Private,
		"custom_fields": []map[string]any{{"id": s.Fields[i.Field], "value": i.Ref}},
	}}, &made)
	if made.Issue.ID == 0 {
		t.Fatal("Redmine made an issue without number")
	}
	return made.Issue.ID
}

// SetStatus changes an issue's status.
func (s *Server) SetStatus(t testing.TB, issue int, status string) {
	t.Helper()
	s.must(t, Worker, http.MethodPut, fmt.Sprintf("/issues/%d.json", issue), map[string]any{"issue": map[string]any{"status_id": s.Statuses[status]}}, nil)
}

// ArchiveProject archives a project: its issues are then out of sight.
func (s *Server) ArchiveProject(t testing.TB, project string) {
	t.Helper()
	s.must(t, Admin, http.MethodPut, fmt.Sprintf("/projects/%d/archive.json", s.Projects[project]), nil, nil)
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
	req, err := http.NewRequestWithContext(t.Context(), method, s.URL+path, bytes.NewReader(b))
	if err != nil {
		t.Fatalf("building a request: %v", err)
	}
	req.Header.Set("X-Redmine-API-Key", s.keys[account])
	req.Header.Set("Content-Type", "application/json")
	s.writes.Lock()
	defer s.writes.Unlock()
	resp, err := s.http.Do(req)
	if err != nil {
		t.Fatalf("%s %s: %v", method, path, err)
	}
	defer resp.Body.Close()
	answer, err := io.ReadAll(resp.Body)
	if err == nil && resp.StatusCode/100 != 2 {
		err = fmt.Errorf("status %d", resp.StatusCode)
	}
	if err == nil && out != nil {
		err = json.Unmarshal(answer, out)
	}
	if err != nil {
		t.Fatalf("%s %s as %s: %v: %.600s", method, path, account, err, answer)
	}
}
