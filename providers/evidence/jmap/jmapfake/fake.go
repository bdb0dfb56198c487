package jmapfake

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"
)

// Message is one message.
type Message struct {
	ID        string // made up if empty
	Ref       string // value of X-Landed-Ref; empty = no such field
	MessageID string // without the angle brackets
	Subject   string
	Boxes     []string // ids of mailboxes: drafts, sent, inbox, trash; empty = sent
	Draft     bool
	Received  bool // it came from outside
}

// Submission is one submission.
type Submission struct{ ID, EmailID, UndoStatus string }

// Trouble is how requests fail.
type Trouble string

// The troubles.
const (
	TroubleNone         Trouble = ""
	TroubleRateLimited  Trouble = "429"   // with Retry-After: 7
	TroubleLimit        Trouble = "limit" // 400 with the problem type for limits
	TroubleServerError  Trouble = "500"
	TroubleNotFound     Trouble = "404"
	TroubleForbidden    Trouble = "403"
	TroubleUnauthorized Trouble = "401"
	TroubleHang         Trouble = "hang"
	TroubleHuge         Trouble = "huge"
	TroubleRedirect     Trouble = "redirect"
	TroubleHTML         Trouble = "html"
	TroubleGarbage      Trouble = "garbage"
	TroubleNull         Trouble = "null"
)

// Faults is what the account plays. The zero value plays nothing.
type Faults struct {
	Trouble     Trouble
	APIOnly     bool // the session resource still answers
	RedirectTo  string
	Method      string // this method fails with
	MethodError string // this type
	Ignore      bool   // queries ignore their filter
	SamePage    bool   // every page is the first one
	NoTotal     bool   // the total is left out
	MaxLimit    int    // pages are not longer than this
	Changing    bool   // queryState is another one every time
	Unread      bool   // Email/get leaves what was found out
	NoHeader    bool   // Email/get does not know header properties
	APIURL      string // the session's, instead of the account's own
}

// Account is the account. It is an http.Handler, safe for concurrent use.
type Account struct {
	Token       string
	Submissions bool // the token sees submissions

	mu       sync.Mutex
	messages []Message
	subs     []Submission
	faults   Faults
	requests int64
	other    []string // what was called beside gets and queries
	state    int
}

var _ http.Handler = (*Account)(nil)

// New returns an empty account.
func New(token string) *Account { return &Account{Token: token, Submissions: true} }

// Add adds a message and returns its id.
func (a *Account) Add(m Message) string {
	a.mu.Lock()
	defer a.mu.Unlock()
	if m.ID == "" {
		m.ID = fmt.Sprintf("M%d", len(a.messages)+1)
	}
	if len(m.Boxes) == 0 {
		m.Boxes = []string{"sent"}
	}
	a.messages = append(a.messages, m)
	return m.ID
}

// Submit adds a submission and returns its id.
func (a *Account) Submit(emailID, undoStatus string) string {
	a.mu.Lock()
	defer a.mu.Unlock()
	id := fmt.Sprintf("S%d", len(a.subs)+1)
	a.subs = append(a.subs, Submission{id, emailID, undoStatus})
	return id
}

// SetFaults replaces the faults.
func (a *Account) SetFaults(f Faults) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.faults = f
}

// Requests counts the requests so far.
func (a *Account) Requests() int64 {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.requests
}

// Writes lists the methods called so far that are neither get nor query.
func (a *Account) Writes() []string {
	a.mu.Lock()
	defer a.mu.Unlock()
	return slices.Clone(a.other)
}

// ServeHTTP serves the session resource and the API.
func (a *Account) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	a.mu.Lock()
	a.requests++
	f := a.faults
	a.mu.Unlock()
	if !(f.APIOnly && r.Method == http.MethodGet) && play(w, r, f) {
		return
	}
	switch {
	case r.Header.Get("Authorization") != "Bearer "+a.Token:
		problem(w, http.StatusUnauthorized, "about:blank")
	case r.Method == http.MethodGet && r.URL.Path == "/jmap/session":
		a.session(w, f)
	case r.Method == http.MethodPost && r.URL.Path == "/jmap/api/":
		a.api(w, r, f)
	default:
		problem(w, http.StatusNotFound, "about:blank")
	}
}

type obj = map[string]any

func (a *Account) session(w http.ResponseWriter, f Faults) {
	capabilities := obj{"urn:ietf:params:jmap:core": obj{"maxCallsInRequest": 50, "maxObjectsInGet": 4096}, "urn:ietf:params:jmap:mail": obj{}}
	account := obj{"urn:ietf:params:jmap:mail": obj{}}
	if a.Submissions {
		capabilities["urn:ietf:params:jmap:submission"] = obj{}
		account["urn:ietf:params:jmap:submission"] = obj{"maxDelayedSend": 0}
	}
	api := "/jmap/api/"
	if f.APIURL != "" {
		api = f.APIURL
	}
	answer(w, obj{"capabilities": capabilities, "username": "kim@mail.example", "apiUrl": api, "state": "1",
		"accounts":        obj{"A1": obj{"name": "kim@mail.example", "isPersonal": true, "isReadOnly": true, "accountCapabilities": account}},
		"primaryAccounts": obj{"urn:ietf:params:jmap:mail": "A1"}})
}

func (a *Account) api(w http.ResponseWriter, r *http.Request, f Faults) {
	var in struct {
		Using []string
		Calls [][]json.RawMessage `json:"methodCalls"`
	}
	body, err := io.ReadAll(io.LimitReader(r.Body, 1<<20))
	if err != nil || json.Unmarshal(body, &in) != nil || r.Header.Get("Content-Type") != "application/json" {
		problem(w, http.StatusBadRequest, "urn:ietf:params:jmap:error:notRequest")
		return
	}
	responses := []any{}
	results := map[string]obj{}
	for _, c := range in.Calls {
		var name, id string
		var args obj
		if len(c) != 3 || json.Unmarshal(c[0], &name) != nil || json.Unmarshal(c[1], &args) != nil || json.Unmarshal(c[2], &id) != nil {
			problem(w, http.StatusBadRequest, "urn:ietf:params:jmap:error:notRequest")
			return
		}
		out, kind := a.call(name, args, results, f, in.Using)
		if kind != "" {
			responses = append(responses, []any{"error", obj{"type": kind}, id})
			continue
		}
		results[id] = out
		responses = append(responses, []any{name, out, id})
	}
	answer(w, obj{"methodResponses": responses, "sessionState": "1"})
}

// call runs one method; kind is the type of its error.
func (a *Account) call(name string, args obj, results map[string]obj, f Faults, using []string) (out obj, kind string) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if !strings.HasSuffix(name, "/get") && !strings.HasSuffix(name, "/query") {
		a.other = append(a.other, name)
	}
	switch {
	case name == f.Method:
		return nil, f.MethodError
	case args["accountId"] != "A1":
		return nil, "accountNotFound"
	case strings.HasPrefix(name, "EmailSubmission/") && (!a.Submissions || !slices.Contains(using, "urn:ietf:params:jmap:submission")):
		return nil, "unknownMethod"
	}
	ids, ok := wanted(args, results)
	if !ok {
		return nil, "invalidResultReference"
	}
	switch name {
	case "Mailbox/get":
		return obj{"accountId": "A1", "state": "1", "notFound": []any{}, "list": []any{
			obj{"id": "inbox", "name": "Inbox", "role": "inbox"}, obj{"id": "drafts", "name": "Drafts", "role": "drafts"},
			obj{"id": "sent", "name": "Sent", "role": "sent"}, obj{"id": "trash", "name": "Trash", "role": "trash"}, obj{"id": "b1", "name": "Projects", "role": nil},
		}}, ""
	case "Email/query":
		return a.query(args, f)
	case "Email/get":
		return a.get(ids, args, f), ""
	case "EmailSubmission/query":
		return a.submissions(args)
	case "EmailSubmission/get":
		list := []any{}
		for _, s := range a.subs {
			if slices.Contains(ids, s.ID) {
				list = append(list, obj{"id": s.ID, "emailId": s.EmailID, "undoStatus": s.UndoStatus, "sendAt": "2026-03-04T05:06:07Z"})
			}
		}
		return obj{"accountId": "A1", "state": "1", "list": list, "notFound": []any{}}, ""
	}
	return nil, "unknownMethod"
}

// wanted resolves ids, or a back-reference to a query's.
func wanted(args obj, results map[string]obj) ([]string, bool) {
	list, _ := args["ids"].([]any)
	if ref, ok := args["#ids"].(obj); ok {
		of, _ := ref["resultOf"].(string)
		got, ok := results[of]["ids"].([]string)
		return got, ok && ref["path"] == "/ids"
	}
	var out []string
	for _, v := range list {
		s, _ := v.(string)
		out = append(out, s)
	}
	return out, true
}

func now() string { return time.Now().UTC().Format(time.RFC3339) }
