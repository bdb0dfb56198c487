package gmailfake

import (
	"crypto/rsa"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"
)

// Message is one message.
type Message struct {
	ID        string // made up if empty
	Thread    string // its own if empty
	MessageID string // without the angle brackets
	Original  string // of a Message-ID that was replaced
	Ref       string // value of X-Landed-Ref; empty = no such field
	Subject   string
	Body      string
	Labels    []string // nil = SENT
}

// Trouble is how requests fail.
type Trouble string

// The troubles.
const (
	TroubleNone         Trouble = ""
	TroubleRateLimited  Trouble = "429" // with Retry-After: 70
	TroubleUserRate     Trouble = "403 userRateLimitExceeded"
	TroubleProjectRate  Trouble = "403 rateLimitExceeded"
	TroubleDaily        Trouble = "403 dailyLimitExceeded"
	TroubleForbidden    Trouble = "403 insufficientPermissions"
	TroublePolicy       Trouble = "403 domainPolicy"
	TroubleUnauthorized Trouble = "401"
	TroubleNotFound     Trouble = "404 notFound"
	TroubleBadRequest   Trouble = "400 failedPrecondition"
	TroubleServerError  Trouble = "503"
	TroubleHang         Trouble = "hang"
	TroubleHuge         Trouble = "huge"
	TroubleRedirect     Trouble = "redirect"
	TroubleHTML         Trouble = "html"
	TroubleGarbage      Trouble = "garbage"
	TroubleNull         Trouble = "null"
)

// Faults is what the account plays. The zero value plays nothing.
type Faults struct {
	Trouble    Trouble
	APIOnly    bool // tokens are still given
	TokenOnly  bool // the API still answers
	RedirectTo string
	Ignore     bool   // queries ignore their filter
	SamePage   bool   // every page names the same next one
	Unread     bool   // what a search found can't be read
	Other      bool   // a read gives another message
	Scope      string // what the token server says was granted
	NoHeaders  bool   // our header field is dropped, as some sending paths do
}

// Account is the mailbox. It is an http.Handler, safe for concurrent use.
type Account struct {
	Mailbox string
	Refresh string         // the refresh token that is taken
	Secret  string         // the client's secret
	Key     *rsa.PublicKey // of the service account, if assertions are taken
	Access  string         // the token that is given

	mu       sync.Mutex
	messages []Message
	drafts   map[string]string // id of the draft → of its message
	faults   Faults
	requests int64
	tokens   int64
	queries  []string
	other    []string
	made     int
}

var _ http.Handler = (*Account)(nil)

// New returns an empty mailbox.
func New(mailbox string) *Account {
	return &Account{Mailbox: mailbox, Refresh: "1//refresh-5ec7e7", Secret: "GOCSPX-5ec7e7", Access: "ya29.acce55", drafts: map[string]string{}}
}

// Add adds a message as it is and returns its id.
func (a *Account) Add(m Message) string {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.add(m)
}

func (a *Account) add(m Message) string {
	a.made++
	if m.ID == "" {
		m.ID = fmt.Sprintf("18%014x", a.made)
	}
	if m.Thread == "" {
		m.Thread = m.ID
	}
	if m.Labels == nil {
		m.Labels = []string{"SENT"}
	}
	a.messages = append(a.messages, m)
	return m.ID
}

// Send sends a message as the API does: with a Message-ID of Gmail's own.
func (a *Account) Send(m Message) string {
	a.mu.Lock()
	defer a.mu.Unlock()
	m.MessageID = fmt.Sprintf("CA+%d@mail.gmail.example", a.made)
	return a.add(m)
}

// Draft creates a draft and returns its id, and its message's.
func (a *Account) Draft(m Message) (id, messageID string) {
	a.mu.Lock()
	defer a.mu.Unlock()
	m.Labels = []string{"DRAFT"}
	messageID = a.add(m)
	id = fmt.Sprintf("r-%d", a.made)
	a.drafts[id] = messageID
	return id, messageID
}

// SendDraft deletes a draft and adds the message that it became.
func (a *Account) SendDraft(id string) string {
	a.mu.Lock()
	defer a.mu.Unlock()
	at := slices.IndexFunc(a.messages, func(m Message) bool { return m.ID == a.drafts[id] })
	m := a.messages[at]
	a.messages = slices.Delete(a.messages, at, at+1)
	delete(a.drafts, id)
	m.ID, m.Labels, m.MessageID = "", nil, fmt.Sprintf("CA+%d@mail.gmail.example", a.made)
	return a.add(m)
}

// Revoke makes the token that was given worthless; next is given from now on.
func (a *Account) Revoke(next string) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.Access = next
}

// SetFaults replaces the faults.
func (a *Account) SetFaults(f Faults) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.faults = f
}

// Requests counts the requests so far, Tokens those for a token.
func (a *Account) Requests() int64 {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.requests
}

// Tokens counts the requests for a token so far.
func (a *Account) Tokens() int64 {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.tokens
}

// Queries lists the values of q so far.
func (a *Account) Queries() []string {
	a.mu.Lock()
	defer a.mu.Unlock()
	return slices.Clone(a.queries)
}

// Writes lists the requests so far that were neither GET nor for a token.
func (a *Account) Writes() []string {
	a.mu.Lock()
	defer a.mu.Unlock()
	return slices.Clone(a.other)
}

// ServeHTTP serves the token server and the API.
func (a *Account) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	token := r.Method == http.MethodPost && r.URL.Path == "/token"
	a.mu.Lock()
	a.requests++
	if token {
		a.tokens++
	} else if r.Method != http.MethodGet {
		a.other = append(a.other, r.Method+" "+r.URL.Path)
	}
	f, access := a.faults, a.Access
	a.mu.Unlock()
	if !(f.APIOnly && token) && !(f.TokenOnly && !token) && play(w, r, f) {
		return
	}
	rest, ok := strings.CutPrefix(r.URL.Path, "/gmail/v1/users/")
	mailbox, what, _ := strings.Cut(rest, "/")
	switch {
	case token:
		a.token(w, r, f, access)
	case r.Header.Get("Authorization") != "Bearer "+access:
		fail(w, http.StatusUnauthorized, "authError")
	case !ok || r.Method != http.MethodGet:
		http.NotFound(w, r)
	case mailbox != a.Mailbox:
		fail(w, http.StatusForbidden, "forbidden") // delegation denied
	default:
		a.api(w, r, what, f)
	}
}

func now() string { return fmt.Sprint(time.Now().UnixMilli()) }
