// Package rtdesk is a ticket desk in memory that speaks the part of Request
// Tracker's REST2 API that workers and the adapter use: creating a ticket,
// searching tickets and deleted ones, reading a ticket, a queue and a custom
// field. It serves the demo's sandbox and the adapter's tests.
//
// It owns its tickets and the faults that it plays. Its answers are compared
// with a recording of the real server, see the transcript in package rt. What it
// leaves out: updates over the API (people act through the Desk's methods),
// attachments, mail, custom lifecycles, and rights finer than an Account's.
package rtdesk

import (
	"net/http"
	"slices"
	"strconv"
	"sync"
	"time"
)

// Account is who sends requests with one token.
type Account struct {
	Name     string
	Create   bool // CreateTicket, and setting the field
	SeeQueue bool
	SeeField bool
	Show     bool // ShowTicket
}

// Worker returns an account that may create tickets and see everything.
func Worker(name string) Account {
	return Account{Name: name, Create: true, SeeQueue: true, SeeField: true, Show: true}
}

// Reader returns an account that may see everything, as the adapter's should.
func Reader(name string) Account {
	return Account{Name: name, SeeQueue: true, SeeField: true, Show: true}
}

// Config describes a desk. Zero fields take the defaults that a fresh RT has
// after one queue and one custom field were made.
type Config struct {
	Queue    string             // name of the queue; "Desk"
	QueueID  int                // 3
	Field    string             // name of the custom field; "Landed Ref"
	FieldID  int                // 2
	Accounts map[string]Account // by token
	Now      func() time.Time   // time.Now
}

// Archive is the name of a second queue, which the field is not applied to. Its
// id is one above the first one's.
const Archive = "Archive"

// Ticket is one ticket.
type Ticket struct {
	ID         int
	Queue      string
	Subject    string
	Content    string
	Requestor  string
	Creator    string
	Status     string
	Ref        string // value of the custom field
	Created    time.Time
	Updated    time.Time
	UpdatedBy  string
	Resolved   time.Time
	MergedInto int // 0 = not merged

	visibleAt time.Time // searches leave it out until then
}

// Desk is the desk. It is an http.Handler, safe for concurrent use.
type Desk struct {
	cfg Config
	mux *http.ServeMux

	mu       sync.Mutex
	tickets  []*Ticket // ids ascend from 1
	faults   Faults
	requests int64
	writes   int64
}

var _ http.Handler = (*Desk)(nil)

// New returns an empty desk.
func New(c Config) *Desk {
	if c.Queue == "" {
		c.Queue = "Desk"
	}
	if c.QueueID == 0 {
		c.QueueID = 3
	}
	if c.Field == "" {
		c.Field = "Landed Ref"
	}
	if c.FieldID == 0 {
		c.FieldID = 2
	}
	if c.Now == nil {
		c.Now = time.Now
	}
	d := &Desk{cfg: c, mux: http.NewServeMux()}
	d.routes()
	return d
}

// Tickets returns a copy of all tickets, oldest first.
func (d *Desk) Tickets() []Ticket {
	d.mu.Lock()
	defer d.mu.Unlock()
	out := make([]Ticket, 0, len(d.tickets))
	for _, t := range d.tickets {
		out = append(out, *t)
	}
	return out
}

// Requests counts the requests so far.
func (d *Desk) Requests() int64 {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.requests
}

// Writes counts the requests so far that were no GET or HEAD.
func (d *Desk) Writes() int64 {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.writes
}

// Add makes a ticket in the desk's queue as a person at the desk would, and
// returns its id. Faults do not apply.
func (d *Desk) Add(subject, ref string) int {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.add(Ticket{Queue: d.cfg.Queue, Subject: subject, Ref: ref, Requestor: "kim@customer.example", Creator: person}, 0)
}

// person is who acts through the Desk's methods.
const person = "agent"

// SetStatus changes a ticket's status, as a person would. Status "deleted"
// deletes it: RT keeps deleted tickets and leaves them out of searches. It
// reports whether there is such a ticket.
func (d *Desk) SetStatus(id int, status string) bool {
	return d.change(id, func(t *Ticket) {
		t.Status = status
		if slices.Contains([]string{"resolved", "rejected", statusDeleted}, status) {
			t.Resolved = d.now()
		}
	})
}

// Merge merges ticket id into another one.
func (d *Desk) Merge(id, into int) bool {
	if d.ticket(into) == nil || id == into {
		return false
	}
	return d.change(id, func(t *Ticket) { t.MergedInto = into }) && d.change(into, func(*Ticket) {})
}

// Move puts a ticket into another queue: the desk's own or Archive.
func (d *Desk) Move(id int, queue string) bool {
	return d.change(id, func(t *Ticket) { t.Queue = queue })
}

func (d *Desk) change(id int, f func(*Ticket)) bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	t := d.byID(id)
	if t == nil {
		return false
	}
	f(t)
	t.Updated, t.UpdatedBy = d.now(), person
	return true
}

// ticket returns a copy of a ticket, or nil.
func (d *Desk) ticket(id int) *Ticket {
	d.mu.Lock()
	defer d.mu.Unlock()
	t := d.byID(id)
	if t == nil {
		return nil
	}
	c := *t
	return &c
}

// effective returns a copy of the ticket that id leads to: itself, or the one
// that it was merged into, in the end.
func (d *Desk) effective(id int) *Ticket {
	t := d.ticket(id)
	for hops := 0; t != nil && t.MergedInto != 0 && hops < 100; hops++ {
		t = d.ticket(t.MergedInto)
	}
	return t
}

// byID needs the lock.
func (d *Desk) byID(id int) *Ticket {
	if id < 1 || id > len(d.tickets) {
		return nil
	}
	return d.tickets[id-1]
}

// add needs the lock.
func (d *Desk) add(t Ticket, lag time.Duration) int {
	now := d.now()
	t.ID, t.Status, t.Created, t.Updated, t.UpdatedBy = len(d.tickets)+1, "new", now, now, t.Creator
	t.visibleAt = d.cfg.Now().Add(lag)
	d.tickets = append(d.tickets, &t)
	return t.ID
}

// now is the desk's clock in RT's resolution.
func (d *Desk) now() time.Time { return d.cfg.Now().UTC().Truncate(time.Second) }

// queueID returns the id of a queue by its name or id; 0 = none.
func (d *Desk) queueID(nameOrID string) int {
	switch nameOrID {
	case d.cfg.Queue, strconv.Itoa(d.cfg.QueueID):
		return d.cfg.QueueID
	case Archive, strconv.Itoa(d.cfg.QueueID + 1):
		return d.cfg.QueueID + 1
	}
	return 0
}

func (d *Desk) queueName(id int) string {
	if id == d.cfg.QueueID {
		return d.cfg.Queue
	}
	return Archive
}
