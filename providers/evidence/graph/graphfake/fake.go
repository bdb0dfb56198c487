package graphfake

import (
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync"
)

// Property is the extended property that holds references; upper case, as the
// GUID comes back.
const Property = "String {6F0A8C52-3C1D-4B7E-9A51-2F8E4D7C0B13} Name LandedRef"

// Message is one message.
type Message struct {
	ID         string // immutable; made up if empty
	InternetID string // with the angle brackets
	Ref        string // value of the extended property; empty = none
	Header     string // value of x-landed-ref; empty = none
	Subject    string
	Folder     string // drafts, outbox, sentitems, inbox, deleteditems or recoverableitemsdeletions; empty = sentitems
	Draft      bool
	Received   bool // it came from outside
	Link       string
	moves      int
}

// Trouble is how requests fail.
type Trouble string

// The troubles.
const (
	TroubleNone         Trouble = ""
	TroubleRateLimited  Trouble = "429 ApplicationThrottled" // with Retry-After: 7
	TroubleBandwidth    Trouble = "509 BandwidthLimitExceeded"
	TroubleInefficient  Trouble = "400 InefficientFilter"
	TroubleDenied       Trouble = "403 ErrorAccessDenied"
	TroubleNoUser       Trouble = "404 ErrorInvalidUser"
	TroubleNoItem       Trouble = "404 ErrorItemNotFound"
	TroubleUnauthorized Trouble = "401 InvalidAuthenticationToken"
	TroubleServerError  Trouble = "503 UnknownError"
	TroubleTimeout      Trouble = "504 UnknownError"
	TroubleHang         Trouble = "hang"
	TroubleHuge         Trouble = "huge"
	TroubleRedirect     Trouble = "redirect"
	TroubleHTML         Trouble = "html"
	TroubleGarbage      Trouble = "garbage"
	TroubleNull         Trouble = "null"
)

// Faults is what the mailbox plays. The zero value plays nothing.
type Faults struct {
	Trouble    Trouble
	APIOnly    bool   // tokens are still given
	TokenOnly  bool   // Graph still answers
	Under      string // trouble only for paths that hold this
	RedirectTo string
	Ignore     bool   // lists ignore their filter
	SamePage   bool   // every page names the same next one
	Gaps       bool   // a page without messages before every other
	NextLink   string // instead of the mailbox's own address
	Unread     bool   // what a list names can't be read
	Other      bool   // a read gives another message
	NoFolders  bool   // folders can't be read
}

// Mailbox is the mailbox. It is an http.Handler, safe for concurrent use.
type Mailbox struct {
	User, Tenant, Client, Secret string
	Access                       string // the token that is given

	mu       sync.Mutex
	messages []Message
	faults   Faults
	requests int64
	tokens   int64
	filters  []string // raw query strings of lists
	other    []string
	made     int
}

var _ http.Handler = (*Mailbox)(nil)

// New returns an empty mailbox.
func New(user string) *Mailbox {
	return &Mailbox{User: user, Tenant: "contoso.example", Client: "535fb089-9ff3-47b6-9bfb-4f1264799865", Secret: "qWg~5ec7e75ec7e7", Access: "eyJ0.acce55.sig"}
}

// Add adds a message as it is and returns its immutable id.
func (b *Mailbox) Add(m Message) string {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.made++
	if m.ID == "" {
		m.ID = fmt.Sprintf("AAkALgAA%06d_-=", b.made)
	}
	if m.Folder == "" {
		m.Folder = "sentitems"
	}
	b.messages = append(b.messages, m)
	return m.ID
}

// Sent moves a draft to Sent Items, as the transport service does once it took the
// message over.
func (b *Mailbox) Sent(id string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	at := slices.IndexFunc(b.messages, func(m Message) bool { return m.ID == id })
	b.messages[at].Draft, b.messages[at].Folder = false, "sentitems"
	b.messages[at].moves++
}

// Moving returns the id that a message has without Prefer: it changes with every
// move.
func (b *Mailbox) Moving(id string) string {
	b.mu.Lock()
	defer b.mu.Unlock()
	at := slices.IndexFunc(b.messages, func(m Message) bool { return m.ID == id })
	return b.messages[at].moving()
}

func (m Message) moving() string { return fmt.Sprintf("AAMk%s%d=", strings.Trim(m.ID, "=-_"), m.moves) }

// Revoke makes the token that was given worthless; next is given from now on.
func (b *Mailbox) Revoke(next string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.Access = next
}

// SetFaults replaces the faults.
func (b *Mailbox) SetFaults(f Faults) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.faults = f
}

// Requests counts the requests so far.
func (b *Mailbox) Requests() int64 {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.requests
}

// Tokens counts the requests for a token so far.
func (b *Mailbox) Tokens() int64 {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.tokens
}

// Queries lists the raw query strings of lists so far.
func (b *Mailbox) Queries() []string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return slices.Clone(b.filters)
}

// Writes lists the requests so far that were neither GET nor for a token.
func (b *Mailbox) Writes() []string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return slices.Clone(b.other)
}

// ServeHTTP serves the token server and Graph.
func (b *Mailbox) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	token := r.Method == http.MethodPost && r.URL.Path == "/"+b.Tenant+"/oauth2/v2.0/token"
	b.mu.Lock()
	b.requests++
	if token {
		b.tokens++
	} else if r.Method != http.MethodGet {
		b.other = append(b.other, r.Method+" "+r.URL.Path)
	}
	f, access := b.faults, b.Access
	b.mu.Unlock()
	if !(f.APIOnly && token) && !(f.TokenOnly && !token) && strings.Contains(r.URL.Path, f.Under) && play(w, r, f) {
		return
	}
	rest, ok := strings.CutPrefix(r.URL.EscapedPath(), "/v1.0/users/")
	segments := strings.Split(rest, "/")
	for i, s := range segments { // a slash within a segment is escaped twice
		s, _ = url.PathUnescape(s)
		segments[i], _ = url.PathUnescape(s)
	}
	switch {
	case token:
		b.token(w, r, access)
	case r.Header.Get("Authorization") != "Bearer "+access:
		fail(w, http.StatusUnauthorized, "InvalidAuthenticationToken")
	case !ok || r.Method != http.MethodGet:
		fail(w, http.StatusBadRequest, "BadRequest")
	case segments[0] != b.User:
		fail(w, http.StatusNotFound, "ErrorInvalidUser")
	default:
		b.api(w, r, segments[1:], f)
	}
}
