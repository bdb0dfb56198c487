package zendeskfake

import (
	"net/http"
	"slices"
	"sync"
	"time"
)

// Private is in the description and requester of every ticket: evidence must not
// hold it.
const Private = "private-words-of-a-customer"

// Token is what one credential is and may do.
type Token struct {
	Email       string   // set: an API token of this user
	Scopes      []string // of an OAuth token
	Role        string   // "admin", "agent" or "end-user"; "" = admin
	Restriction string   // ticket_restriction
	Restricted  bool     // restricted_agent: only tickets of group 1 are listed
	Suspended   bool
	NoShadows   bool // the lists of deleted and suspended tickets are refused
	NoTokenInfo bool // oauth/tokens/current is refused
}

// Client is an OAuth client.
type Client struct {
	Secret string
	Allows []string // the scopes that it may ask for
	Life   int      // of its tokens in seconds; 0 = 1800
}

// Ticket is one ticket.
type Ticket struct {
	ID         int64 // made up if 0
	ExternalID string
	Subject    string
	Status     string // "open" if empty
	Created    time.Time
	Tags       []string
	AIAgent    bool // support type: left out of lists unless asked for
	Group      int  // 1 is what a restricted agent sees
	Archived   bool
}

type gone struct {
	Ticket
	deletedAt time.Time
	actor     string
}

type held struct {
	id      int64
	channel string
	at      time.Time
	subject string
}

// Account is one account. It is an http.Handler, safe for concurrent use.
type Account struct {
	mux     *http.ServeMux
	clients map[string]Client // by id

	mu       sync.Mutex
	tokens   map[string]Token
	issued   int
	tickets  []Ticket // in order of creation
	deleted  []gone
	held     []held
	faults   Faults
	replies  map[string]reply // by Idempotency-Key
	next     int64
	requests int64
	writes   int64
}

var _ http.Handler = (*Account)(nil)

// New returns an empty account with these tokens.
func New(tokens map[string]Token, clients map[string]Client) *Account {
	a := &Account{mux: http.NewServeMux(), tokens: tokens, clients: clients, replies: map[string]reply{}, next: 100}
	a.routes()
	return a
}

// Add makes a ticket and returns its id. Faults do not apply.
func (a *Account) Add(t Ticket) int64 {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.add(t)
}

// add needs the lock.
func (a *Account) add(t Ticket) int64 {
	if t.ID == 0 {
		a.next++
		t.ID = a.next
	}
	if t.Status == "" {
		t.Status = "open"
	}
	if t.Created.IsZero() {
		t.Created = time.Now()
	}
	if t.Subject == "" {
		t.Subject = "A ticket"
	}
	a.tickets = append(a.tickets, t)
	return t.ID
}

// Delete moves a ticket to the deleted ones.
func (a *Account) Delete(id int64, at time.Time, actor string) {
	a.mu.Lock()
	defer a.mu.Unlock()
	for i, t := range a.tickets {
		if t.ID == id {
			a.deleted = append(a.deleted, gone{t, at, actor})
			a.tickets = slices.Delete(a.tickets, i, i+1)
			return
		}
	}
}

// Suspend adds a suspended ticket that came through channel.
func (a *Account) Suspend(channel, subject string, at time.Time) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.next++
	a.held = append(a.held, held{a.next, channel, at, subject})
}

// Edit changes a ticket.
func (a *Account) Edit(id int64, change func(*Ticket)) {
	a.mu.Lock()
	defer a.mu.Unlock()
	for i := range a.tickets {
		if a.tickets[i].ID == id {
			change(&a.tickets[i])
		}
	}
}

// Revoke ends every token.
func (a *Account) Revoke() {
	a.mu.Lock()
	defer a.mu.Unlock()
	clear(a.tokens)
}

// Issued counts the tokens that clients got.
func (a *Account) Issued() int {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.issued
}

// Requests counts the requests so far.
func (a *Account) Requests() int64 {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.requests
}

// Writes counts the requests so far that were no GET and no request for a token.
func (a *Account) Writes() int64 {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.writes
}

// Tickets counts the tickets that are there.
func (a *Account) Tickets() int {
	a.mu.Lock()
	defer a.mu.Unlock()
	return len(a.tickets)
}

// snapshot returns copies of what is there.
func (a *Account) snapshot() ([]Ticket, []gone, []held, Faults) {
	a.mu.Lock()
	defer a.mu.Unlock()
	return slices.Clone(a.tickets), slices.Clone(a.deleted), slices.Clone(a.held), a.faults
}
