package jirafake

import (
	"encoding/json"
	"net/http"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"
)

func (s *Site) routes() {
	s.mux.HandleFunc("GET /rest/api/3/myself", s.myself)
	s.mux.HandleFunc("GET /rest/api/3/mypermissions", s.permissions)
	s.mux.HandleFunc("GET /rest/api/3/search/jql", s.search)
	s.mux.HandleFunc("GET /rest/api/3/issue/{id}", s.show)
	s.mux.HandleFunc("POST /rest/api/3/issue", s.create)
}

// ServeHTTP plays the faults, then answers as Jira would.
func (s *Site) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	s.requests++
	if r.Method != http.MethodGet {
		s.writes++
	}
	f := s.faults
	s.mu.Unlock()
	if strings.Contains(r.URL.Path, f.Only) && play(w, r, f) {
		return
	}
	s.mux.ServeHTTP(w, r)
}

// who finds the token of a request. A wrong one is nobody's, and no error.
func (s *Site) who(r *http.Request) (t Token, known bool) {
	if user, pass, ok := r.BasicAuth(); ok {
		t, known = s.tokens[pass]
		known = known && t.Email != "" && t.Email == user
	} else {
		t, known = s.tokens[strings.TrimPrefix(r.Header.Get("Authorization"), "Bearer ")]
		known = known && t.Email == ""
	}
	if !known {
		return Token{}, false
	}
	return t, true
}

func (s *Site) myself(w http.ResponseWriter, r *http.Request) {
	t, known := s.who(r)
	if !known {
		fail(w, http.StatusUnauthorized, "Client must be authenticated to access this resource.")
		return
	}
	write(w, http.StatusOK, map[string]any{"accountId": "5b10a2844c20165700ede21g", "displayName": Private, "emailAddress": t.Email, "active": !t.Inactive})
}

func (s *Site) permissions(w http.ResponseWriter, r *http.Request) {
	t, _ := s.who(r)
	keys, project := r.URL.Query().Get("permissions"), r.URL.Query().Get("projectKey")
	switch {
	case keys == "":
		fail(w, http.StatusBadRequest, "The 'permissions' query parameter is required")
		return
	case project != "OPS" && project != "ENG" && project != "SEC" && project != "PUBLIC":
		fail(w, http.StatusNotFound, "No project could be found with key '"+project+"'.")
		return
	}
	out := map[string]any{}
	for _, k := range strings.Split(keys, ",") {
		have := t.Write && t.browses(project) && k != "ADMINISTER"
		if k == "BROWSE_PROJECTS" {
			have = t.browses(project)
		}
		out[k] = map[string]any{"id": "1", "key": k, "name": k, "type": "PROJECT", "havePermission": have}
	}
	write(w, http.StatusOK, map[string]any{"permissions": out})
}

// show reads from the database: what the search knows does not count, and a former
// key finds an issue that was moved.
func (s *Site) show(w http.ResponseWriter, r *http.Request) {
	t, _ := s.who(r)
	issues, _, _ := s.visible(t)
	id := r.PathValue("id")
	for _, i := range issues {
		if !i.Archived && (i.ID == id || strings.EqualFold(i.Key, id) || slices.Contains(i.was, id)) {
			write(w, http.StatusOK, i.json(r))
			return
		}
	}
	fail(w, http.StatusNotFound, "Issue does not exist or you do not have permission to see it.")
}

// search knows labels, and the property if an app has it indexed: a query for a
// property that is not indexed is empty and no error.
func (s *Site) search(w http.ResponseWriter, r *http.Request) {
	t, _ := s.who(r)
	issues, f, index := s.visible(t)
	q := r.URL.Query()
	byLabel := regexp.MustCompile(`^labels = "([A-Za-z0-9_-]+)"$`).FindStringSubmatch(q.Get("jql"))
	byProperty := regexp.MustCompile(`^issue\.property\[landed\]\.ref = "([A-Za-z0-9_-]+)"$`).FindStringSubmatch(q.Get("jql"))
	if byLabel == nil && byProperty == nil {
		fail(w, http.StatusBadRequest, "Error in the JQL Query: "+q.Get("jql"))
		return
	}
	var rows []any
	for _, i := range issues {
		hit := f.IgnoreFilter
		if byLabel != nil {
			hit = hit || slices.ContainsFunc(i.Labels, func(l string) bool { return strings.EqualFold(l, byLabel[1]) })
		} else if v, ok := i.Property["landed"].(map[string]any); ok && index {
			hit = hit || v["ref"] == byProperty[1]
		}
		if hit && !i.Archived && time.Since(i.Created) >= f.SearchLag {
			rows = append(rows, i.json(r))
		}
	}
	searchPage(w, r, rows, f)
}

// searchPage writes one page; the token is the number of the next row.
func searchPage(w http.ResponseWriter, r *http.Request, rows []any, f Faults) {
	size, _ := strconv.Atoi(r.URL.Query().Get("maxResults"))
	if f.PageSize > 0 {
		size = min(size, f.PageSize)
	}
	token := r.URL.Query().Get("nextPageToken")
	if f.EmptyPages && token == "" {
		write(w, http.StatusOK, map[string]any{"issues": []any{}, "nextPageToken": "0", "isLast": false})
		return
	}
	from, _ := strconv.Atoi(token) // none is the first
	from = min(from, len(rows))
	to := min(from+max(size, 1), len(rows))
	body := map[string]any{"issues": some(rows[from:to]), "isLast": to == len(rows)}
	if to < len(rows) {
		body["nextPageToken"] = strconv.Itoa(to)
	}
	if f.Circle {
		body = map[string]any{"issues": []any{}, "nextPageToken": "1", "isLast": false}
	}
	if f.NoIsLast {
		delete(body, "isLast")
	}
	write(w, http.StatusOK, body)
}

func (s *Site) create(w http.ResponseWriter, r *http.Request) {
	t, _ := s.who(r)
	var in struct {
		Fields struct {
			Project struct{ Key string } `json:"project"`
			Summary string               `json:"summary"`
			Labels  []string             `json:"labels"`
		} `json:"fields"`
		Properties []struct {
			Key   string `json:"key"`
			Value any    `json:"value"`
		} `json:"properties"`
	}
	if json.NewDecoder(r.Body).Decode(&in) != nil || !t.Write || !t.browses(in.Fields.Project.Key) {
		fail(w, http.StatusBadRequest, "valid project is required")
		return
	}
	i := Issue{Project: in.Fields.Project.Key, Summary: in.Fields.Summary, Labels: in.Fields.Labels, Property: map[string]any{}}
	for _, p := range in.Properties {
		i.Property[p.Key] = p.Value
	}
	id, key := s.Add(i)
	write(w, http.StatusCreated, map[string]any{"id": id, "key": key, "self": "https://elsewhere.example.com/"})
}

// json is the issue with the fields and properties that r asks for.
func (i Issue) json(r *http.Request) map[string]any {
	all := map[string]any{
		"summary": i.Summary, "labels": some(i.Labels), "created": i.Created.UTC().Format("2006-01-02T15:04:05.000-0700"),
		"status": map[string]any{"name": i.Status}, "issuetype": map[string]any{"name": "Task"}, "project": map[string]any{"key": i.Project},
		"resolution": nil, "description": Private, "reporter": map[string]any{"displayName": Private},
	}
	if i.Resolved != "" {
		all["resolution"] = map[string]any{"name": i.Resolved}
	}
	fields, properties := map[string]any{}, map[string]any{}
	for _, f := range strings.Split(r.URL.Query().Get("fields"), ",") {
		if v, ok := all[f]; ok {
			fields[f] = v
		}
	}
	for _, k := range strings.Split(r.URL.Query().Get("properties"), ",") {
		if v, ok := i.Property[k]; ok {
			properties[k] = v
		}
	}
	return map[string]any{"id": i.ID, "key": i.Key, "self": "https://elsewhere.example.com/", "fields": fields, "properties": properties}
}

// some is rows, never null.
func some[T any](rows []T) []T {
	if rows == nil {
		return []T{}
	}
	return rows
}

func write(w http.ResponseWriter, status int, body any) {
	w.Header().Set("Content-Type", "application/json;charset=UTF-8")
	w.Header().Set("Atl-Traceid", "trace-1")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(body) // the client may be gone
}

func fail(w http.ResponseWriter, status int, message string) {
	write(w, status, map[string]any{"errorMessages": []string{message}, "errors": map[string]any{}})
}
