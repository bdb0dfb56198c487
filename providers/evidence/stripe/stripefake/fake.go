package stripefake

import (
	"crypto/rand"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"time"
)

// Key is what one API key may do.
type Key struct {
	Live   bool
	Read   []string // names of kinds, and "event"
	Create bool
}

// Thing is one object.
type Thing struct {
	Kind     string // "payment_intent", "charge", "refund", "transfer" or "checkout.session"
	ID       string // made up if empty
	Created  time.Time
	Live     bool
	Status   string
	Paid     string // payment_status of a checkout session
	Metadata map[string]string
	// Key is the Idempotency-Key of the request that made it; its event names it.
	Key string

	seq int
}

// Account is one Stripe account. It is an http.Handler, safe for concurrent use.
type Account struct {
	mux  *http.ServeMux
	keys map[string]Key

	mu       sync.Mutex
	things   []*Thing // in order of creation
	faults   Faults
	replies  map[string]reply // by Idempotency-Key
	requests int64
	writes   int64
}

var _ http.Handler = (*Account)(nil)

// New returns an empty account with these keys.
func New(keys map[string]Key) *Account {
	a := &Account{mux: http.NewServeMux(), keys: keys, replies: map[string]reply{}}
	a.routes()
	return a
}

// kinds maps an object's name to its path and the prefix of its ids.
func kinds() map[string][2]string {
	return map[string][2]string{
		"payment_intent":   {"payment_intents", "pi_"},
		"charge":           {"charges", "ch_"},
		"refund":           {"refunds", "re_"},
		"transfer":         {"transfers", "tr_"},
		"checkout.session": {"checkout/sessions", "cs_test_"},
	}
}

// Add makes an object and returns its id. Faults do not apply.
func (a *Account) Add(t Thing) string {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.add(t)
}

// add needs the lock.
func (a *Account) add(t Thing) string {
	if t.Kind == "" {
		t.Kind = "payment_intent"
	}
	if t.ID == "" {
		t.ID = kinds()[t.Kind][1] + "3" + rand.Text()[:20]
	}
	if t.Created.IsZero() {
		t.Created = time.Now()
	}
	if t.Status == "" && t.Kind != "transfer" {
		t.Status = "succeeded"
	}
	t.seq = len(a.things) + 1
	a.things = append(a.things, &t)
	return t.ID
}

// Remove takes an object out of the account; search goes on naming it.
func (a *Account) Remove(id string) {
	a.mu.Lock()
	defer a.mu.Unlock()
	for _, t := range a.things {
		if t.ID == id {
			t.Kind = "gone." + t.Kind
		}
	}
}

// SetMetadata replaces an object's metadata; search goes on with the old ones
// while it lags.
func (a *Account) SetMetadata(id string, m map[string]string) {
	a.mu.Lock()
	defer a.mu.Unlock()
	for _, t := range a.things {
		if t.ID == id {
			t.Metadata = m
		}
	}
}

// Requests counts the requests so far.
func (a *Account) Requests() int64 {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.requests
}

// Writes counts the requests so far that were no GET.
func (a *Account) Writes() int64 {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.writes
}

// visible returns copies of the objects of a kind in a key's mode, newest first.
func (a *Account) visible(kind string, live bool) []*Thing {
	a.mu.Lock()
	defer a.mu.Unlock()
	var out []*Thing
	for i := len(a.things) - 1; i >= 0; i-- {
		t := *a.things[i]
		hidden := time.Since(t.Created) < a.faults.ListLag
		if t.Kind == kind && (t.Live == live || a.faults.MixModes) && !hidden {
			out = append(out, &t)
		}
	}
	return out
}

func (t *Thing) eventID() string { return fmt.Sprintf("evt_3%020d", t.seq) }

func (t *Thing) eventType() string {
	switch t.Kind {
	case "charge":
		return "charge." + strings.ReplaceAll(t.Status, "canceled", "failed")
	case "checkout.session":
		return "checkout.session.completed"
	}
	return t.Kind + ".created"
}
