package alert

import (
	"context"
	"fmt"
	"net/url"
	"strings"
	"time"

	"github.com/landedhq/landed/journal"
)

// The types of messages: what it is about, and how its data looks.
const (
	// TypeEffectAlert: effects are newly stuck or parked.
	TypeEffectAlert = "effect.alert.v1"
	// TypeUndelivered: resolutions reached no runtime for too long. Same data.
	TypeUndelivered = "effect.undelivered.v1"
)

// Sink is one place that people look at. Implementations are safe for use by
// several goroutines, and keep to the context's deadline.
type Sink interface {
	// Name is how the configuration and the queue call the sink; it never changes.
	Name() string
	// Send delivers the message or says why not, if it can as a *SendError. Sending
	// the same ID again must not show the alert twice where the sink can tell.
	Send(context.Context, Message) error
}

// Message says that effects of one tool at one provider are newly stuck or
// parked, or that what was decided about them reached nobody. It carries nothing about the business: no args, key, subject or
// amount. Names are as registered and are still hostile: a sink escapes them in
// every field.
type Message struct {
	ID            string // of the message, the same in every attempt; a UUID
	Type          string // TypeEffectAlert or TypeUndelivered
	At            time.Time
	Tool          string
	Provider      string
	Count         int    // effects, at least 1
	FirstEffectID string // the oldest
	URL           string // the effect's page if Count is 1, else the filtered list
	OldestURL     string // the page of the oldest effect; the same as URL if Count is 1
}

// SendError says how a delivery failed.
type SendError struct {
	Status     int           // HTTP status of the answer, 0 if there was none
	RetryAfter time.Duration // what the other side asked for, 0 if nothing
	Throttle   bool          // the other side is overloaded (429, 502, 504)
	Gone       bool          // the other side wants no more messages at all (410)
	Err        error
}

func (e *SendError) Error() string {
	if e.Err == nil {
		return fmt.Sprintf("delivery failed with status %d", e.Status)
	}
	return e.Err.Error()
}

func (e *SendError) Unwrap() error { return e.Err }

// newMessage shapes the message of one outgoing row. external is the desk's
// address without a slash at its end.
func newMessage(external string, o Outgoing) Message {
	m := Message{ID: o.ID, Type: TypeEffectAlert, At: o.CreatedAt.UTC(), Tool: o.Tool, Provider: o.Provider, Count: o.Count, FirstEffectID: o.FirstEffectID}
	m.OldestURL = external + "/e/" + url.PathEscape(o.FirstEffectID)
	m.URL = m.OldestURL
	switch {
	case o.Kind == journal.AlertUndelivered:
		m.Type = TypeUndelivered
		if o.Count != 1 {
			m.URL = external + "/outcomes"
		}
	case o.Count != 1:
		m.URL = external + "/?" + url.Values{"tool": {o.Tool}, "provider": {o.Provider}}.Encode()
	}
	return m
}

// checkExternal returns the desk's address without a slash at its end.
func checkExternal(s string) (string, error) {
	u, err := url.Parse(s)
	if err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" || u.User != nil || u.RawQuery != "" || u.Fragment != "" {
		return "", fmt.Errorf("external address %q must be an http or https address: links in alerts begin with it", s)
	}
	return strings.TrimRight(s, "/"), nil
}
