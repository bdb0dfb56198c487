package webhook

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"time"

	"github.com/landedhq/landed/providers/alert"
	"github.com/landedhq/landed/providers/webhook"
)

// Config is one endpoint.
type Config struct {
	Name string // the sink's name; "" = "webhook"
	// URL of the receiver; http only on a loopback host.
	URL string
	// Secret (whsec_…) is shared with this receiver alone. OldSecret signs as well
	// while the receiver changes over; empty otherwise.
	Secret, OldSecret string
	// PrivateKey (whsk_…) adds an ed25519 signature, which receivers check with the
	// public key (see Sink.PublicKey). Secret or PrivateKey must be set.
	PrivateKey string
	// HTTPClient should refuse private addresses (providers/evidence/egress); nil =
	// one without proxies. Redirects are never followed, whatever it says.
	HTTPClient *http.Client
	Clock      func() time.Time // nil = time.Now
}

// Sink sends alerts to one endpoint.
type Sink struct {
	name   string
	public string
	to     *webhook.Endpoint
}

var _ alert.Sink = (*Sink)(nil)

// Open checks the configuration. It does not call the endpoint.
func (c Config) Open() (*Sink, error) {
	if c.Name == "" {
		c.Name = "webhook"
	}
	to, err := webhook.Config{URL: c.URL, Secret: webhook.Fixed(c.Secret), OldSecret: webhook.Fixed(c.OldSecret),
		PrivateKey: webhook.Fixed(c.PrivateKey), HTTPClient: c.HTTPClient, Clock: c.Clock}.Open()
	if err != nil {
		return nil, fmt.Errorf("webhook %s: %w", c.Name, err)
	}
	public, err := to.PublicKey()
	if err != nil {
		return nil, fmt.Errorf("webhook %s: %w", c.Name, err)
	}
	return &Sink{name: c.Name, public: public, to: to}, nil
}

// Name returns the configured name.
func (s *Sink) Name() string { return s.name }

// PublicKey returns the whpk_… key that receivers check with, "" if the sink signs
// with the shared secret only.
func (s *Sink) PublicKey() string { return s.public }

// payload is the body: the specification's three fields, and data after the type.
type payload struct {
	Type      string    `json:"type"`
	Timestamp time.Time `json:"timestamp"` // of the event, not of the attempt
	Data      data      `json:"data"`
}

type data struct {
	AlertID       string `json:"alert_id"` // as webhook-id: bodies get stored without headers
	Tool          string `json:"tool"`
	Provider      string `json:"provider"`
	Count         int    `json:"count"`
	FirstEffectID string `json:"first_effect_id"`
	URL           string `json:"url"`
	OldestURL     string `json:"oldest_url"`
}

// Send posts the message. The error is an *alert.SendError and never holds the
// endpoint's path or query.
func (s *Sink) Send(ctx context.Context, m alert.Message) error {
	body, err := json.Marshal(payload{m.Type, m.At.UTC(), data{m.ID, m.Tool, m.Provider, m.Count, m.FirstEffectID, m.URL, m.OldestURL}})
	if err != nil {
		return &alert.SendError{Err: fmt.Errorf("encoding: %w", err)}
	}
	_, err = s.to.Post(ctx, m.ID, "application/json", body)
	var we *webhook.Error
	switch {
	case err == nil:
		return nil
	case errors.As(err, &we):
		return &alert.SendError{Status: we.Status, RetryAfter: we.RetryAfter, Throttle: we.Throttle, Gone: we.Gone, Err: we.Err}
	}
	return &alert.SendError{Err: err}
}
