package stripe

import (
	"context"
	"fmt"
	"net/http"
	"net/url"
	"time"

	"github.com/landedhq/landed/providers/evidence"
)

// The adapter's kind and version on its capability sheet. Version changes when
// the way of looking does.
const (
	Kind    = "stripe"
	Version = "1"
)

// eventsKept is how far events go back (API reference, "List all events"), less a
// day for clocks and for how Stripe counts.
const eventsKept = 29 * 24 * time.Hour

// Adapter asks for one kind of object in one account.
type Adapter struct {
	cfg    Config
	kind   kind
	base   *url.URL
	client *http.Client
}

var _ evidence.Adapter = (*Adapter)(nil)

// Sheet returns the capability sheet.
func (a *Adapter) Sheet() evidence.Sheet {
	scopes := []string{a.listScope()}
	if len(a.kind.events) > 0 {
		scopes = append(scopes, a.eventScope())
	}
	return evidence.Sheet{
		Kind:              Kind,
		Version:           Version + "/" + APIVersion,
		Class:             evidence.L5,
		ProcessingHorizon: a.cfg.ProcessingHorizon,
		IndexLag:          a.cfg.IndexLag,
		Native: evidence.NativeIdempotency{
			Header: "Idempotency-Key", Window: 24 * time.Hour, ErrorsKept: true, BodyCompared: true,
		},
		Scopes:     scopes,
		Mode:       string(a.cfg.Mode),
		Conclusive: true,
	}
}

// Session returns a session. It reads the key and does no other I/O.
func (a *Adapter) Session(context.Context) (evidence.Session, error) {
	key, err := a.cfg.Key()
	if err != nil {
		return nil, fmt.Errorf("stripe: reading the key: %w", err)
	}
	if err := checkKey(key, a.cfg.Mode); err != nil {
		return nil, fmt.Errorf("stripe: %w", err)
	}
	return &session{a: a, key: key}, nil
}

func (a *Adapter) listScope() string {
	where := string(a.cfg.Mode) + " mode"
	if a.cfg.Account != "" {
		where += " of " + a.cfg.Account
	}
	return string(a.cfg.Object) + " created in the window, " + where
}

func (a *Adapter) eventScope() string {
	return "events of the last 30 days, by the effect's Idempotency-Key"
}

// link is the dashboard's page for people, where its address is known.
func (a *Adapter) link(o object) string {
	id := o.ID
	if a.cfg.Object != PaymentIntents && a.cfg.Object != Charges {
		return ""
	}
	u := url.URL{Scheme: "https", Host: "dashboard.stripe.com", Path: "/payments/" + id}
	if a.cfg.Mode == Test {
		u.Path = "/test" + u.Path
	}
	return u.String()
}
