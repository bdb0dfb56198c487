package jirafake

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"
)

// Private is in the description of every issue and the name of every account:
// evidence must not hold it.
const Private = "private-words-of-a-reporter"

// Token is what one credential is and may do.
type Token struct {
	Email    string   // set: an API token of this account
	Projects []string // that it may browse
	Write    bool     // that it may write there as well
	Level    string   // the issue security level that it has
	Inactive bool
}

// Issue is one issue.
type Issue struct {
	ID       string // made up if empty
	Project  string // "OPS" if empty
	Key      string // made up if empty
	Summary  string
	Labels   []string
	Property map[string]any // the values of issue properties
	Status   string         // "To Do" if empty
	Resolved string
	Created  time.Time
	Level    string // who lacks it does not see the issue
	Archived bool

	was []string // former keys
}

// Site is one site. It is an http.Handler, safe for concurrent use.
type Site struct {
	mux    *http.ServeMux
	tokens map[string]Token

	mu       sync.Mutex
	issues   []Issue // in order of creation
	index    bool    // an app has the property's ref indexed
	faults   Faults
	next     int
	requests int64
	writes   int64
}

var _ http.Handler = (*Site)(nil)

// New returns an empty site with these tokens.
func New(tokens map[string]Token) *Site {
	s := &Site{mux: http.NewServeMux(), tokens: tokens}
	s.routes()
	return s
}

// IndexProperty makes the property landed.ref searchable, as an app does.
func (s *Site) IndexProperty() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.index = true
}

// Add makes an issue and returns its id and key. Faults do not apply.
func (s *Site) Add(i Issue) (id, key string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.add(i)
}

// add needs the lock.
func (s *Site) add(i Issue) (id, key string) {
	s.next++
	if i.Project == "" {
		i.Project = "OPS"
	}
	if i.ID == "" {
		i.ID = fmt.Sprint(10000 + s.next)
	}
	if i.Key == "" {
		i.Key = fmt.Sprintf("%s-%d", i.Project, s.next)
	}
	if i.Status == "" {
		i.Status = "To Do"
	}
	if i.Created.IsZero() {
		i.Created = time.Now()
	}
	s.issues = append(s.issues, i)
	return i.ID, i.Key
}

// Move gives an issue a key of another project; the old one still finds it.
func (s *Site) Move(key, project string) (now string) {
	s.edit(key, func(i *Issue) {
		i.was = append(i.was, i.Key)
		i.Project = project
		i.Key = project + "-9" + strings.TrimLeft(i.Key, "ABCDEFGHIJKLMNOPQRSTUVWXYZ-")
		now = i.Key
	})
	return now
}

// Edit changes an issue.
func (s *Site) Edit(key string, change func(*Issue)) { s.edit(key, change) }

func (s *Site) edit(key string, change func(*Issue)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for n := range s.issues {
		if s.issues[n].Key == key {
			change(&s.issues[n])
		}
	}
}

// Delete removes an issue: Jira keeps no trace of it.
func (s *Site) Delete(key string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.issues = slices.DeleteFunc(s.issues, func(i Issue) bool { return i.Key == key })
}

// Requests counts the requests so far.
func (s *Site) Requests() int64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.requests
}

// Writes counts the requests so far that were no GET.
func (s *Site) Writes() int64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.writes
}

// visible returns copies of the issues that t may see. Nobody in particular sees
// those of project PUBLIC.
func (s *Site) visible(t Token) ([]Issue, Faults, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	var out []Issue
	for _, i := range s.issues {
		if t.browses(i.Project) && (i.Level == "" || i.Level == t.Level) {
			out = append(out, i)
		}
	}
	return out, s.faults, s.index
}

func (t Token) browses(project string) bool {
	return project == "PUBLIC" || slices.Contains(t.Projects, project)
}
