package webhook

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"time"

	"github.com/landedhq/landed/journal"
	"github.com/landedhq/landed/providers/resume"
	"github.com/landedhq/landed/providers/webhook"
)

// TypeChallenge is the type of the message by which an endpoint proves itself.
const TypeChallenge = "landed.challenge.v1"

// typeCloudEvent is the CloudEvent's type: the specification asks for a reverse DNS
// name.
const typeCloudEvent = "dev.landed." + resume.TypeResolution

// Config is one endpoint.
type Config struct {
	Name string // the target's name
	// URL of the receiver; http only on a loopback host.
	URL string
	// Secret (whsec_…) is shared with this receiver alone. OldSecret signs as well
	// while the receiver changes over. PrivateKey (whsk_…) adds an ed25519 signature.
	// One of Secret and PrivateKey must be set; all are read for every attempt.
	Secret, OldSecret, PrivateKey webhook.Key
	// CloudEvents makes the body a CloudEvent 1.0.
	CloudEvents bool
	// Source is the CloudEvent's source: the desk's address.
	Source string
	// HTTPClient should refuse private addresses (providers/evidence/egress); nil =
	// one without proxies. Redirects are never followed, whatever it says.
	HTTPClient *http.Client
	Clock      func() time.Time // nil = time.Now
}

// Target hands resolutions over to one endpoint.
type Target struct {
	name   string
	to     *webhook.Endpoint
	events bool
	source string
	now    func() time.Time
}

var (
	_ resume.Target     = (*Target)(nil)
	_ resume.Challenger = (*Target)(nil)
	_ resume.Prober     = (*Target)(nil)
)

// Open checks the configuration. It does not call the endpoint.
func (c Config) Open() (*Target, error) {
	to, err := webhook.Config{URL: c.URL, Secret: c.Secret, OldSecret: c.OldSecret, PrivateKey: c.PrivateKey, HTTPClient: c.HTTPClient, Clock: c.Clock}.Open()
	if err != nil {
		return nil, fmt.Errorf("webhook %s: %w", c.Name, err)
	}
	if c.CloudEvents && c.Source == "" {
		return nil, fmt.Errorf("webhook %s: a CloudEvent needs a source", c.Name)
	}
	t := &Target{name: c.Name, to: to, events: c.CloudEvents, source: c.Source, now: c.Clock}
	if t.now == nil {
		t.now = time.Now
	}
	return t, nil
}

// Name returns the configured name.
func (t *Target) Name() string { return t.name }

// Sheet says what a webhook can promise: little by itself.
func (t *Target) Sheet() resume.Sheet {
	return resume.Sheet{Kind: "webhook", Residual: "A message may come more than once: the receiver ignores a webhook-id that it has seen, for four days."}
}

// PublicKey returns the whpk_… key that receivers check with; "" = there is none.
func (t *Target) PublicKey() (string, error) { return t.to.PublicKey() }

// address is what begin's resume may say: the receiver gets it as it is, and finds
// the work by it.
type address struct {
	To   string          `json:"to"`
	Work json.RawMessage `json:"work,omitempty"`
}

// Check accepts the member "work": any JSON, which the receiver gets back.
func (t *Target) Check(b []byte) error {
	var a address
	return resume.Address(b, &a)
}

// body is resume.Payload with the effect's own word beside the data.
type body struct {
	Type      string    `json:"type"`
	Timestamp time.Time `json:"timestamp"` // of the resolution, not of the attempt
	Data      data      `json:"data"`
}

type data struct {
	resume.Data
	Work json.RawMessage `json:"work,omitempty"`
}

type cloudEvent struct {
	SpecVersion     string    `json:"specversion"`
	ID              string    `json:"id"`
	Source          string    `json:"source"`
	Type            string    `json:"type"`
	Subject         string    `json:"subject"`
	Time            time.Time `json:"time"`
	DataContentType string    `json:"datacontenttype"`
	Data            data      `json:"data"`
}

// Deliver posts the message. The error is a *resume.Failure and never holds the
// endpoint's path or query.
func (t *Target) Deliver(ctx context.Context, m resume.Message) (resume.Receipt, error) {
	d := data{Data: m.Data}
	if len(m.Resume) > 0 {
		var a address
		if err := json.Unmarshal(m.Resume, &a); err == nil {
			d.Work = a.Work
		}
	}
	var out any = body{resume.TypeResolution, m.At.UTC(), d}
	kind := "application/json"
	if t.events {
		kind = "application/cloudevents+json"
		out = cloudEvent{SpecVersion: "1.0", ID: m.ID, Source: t.source, Type: typeCloudEvent, Subject: m.Data.EffectID, Time: m.At.UTC(),
			DataContentType: "application/json", Data: d}
	}
	b, err := json.Marshal(out)
	if err != nil {
		return resume.Receipt{}, fmt.Errorf("encoding: %w", err)
	}
	if _, err := t.to.Post(ctx, m.ID, kind, b); err != nil {
		return resume.Receipt{}, failure(err)
	}
	return resume.Receipt{Detail: t.to.Host() + " took it"}, nil
}

// failure types what the endpoint answered.
func failure(err error) error {
	var we *webhook.Error
	if !errors.As(err, &we) {
		return err
	}
	f := &resume.Failure{Outcome: journal.HandoverTransient, RetryAfter: we.RetryAfter, Err: we.Err}
	switch we.Status {
	case http.StatusGone:
		f.Outcome, f.Stop = journal.HandoverGone, true
	case http.StatusNotFound:
		f.Outcome = journal.HandoverUnknown
	case http.StatusConflict, http.StatusTooEarly:
		f.Outcome = journal.HandoverNotWaiting
	case http.StatusUnauthorized, http.StatusForbidden:
		f.Outcome = journal.HandoverAuth
	case http.StatusRequestEntityTooLarge:
		f.Outcome = journal.HandoverTooLarge
	}
	if we.Throttle {
		f.RetryAfter = max(f.RetryAfter, time.Minute)
	}
	return f
}

// Endpoint is a hash of the address.
func (t *Target) Endpoint() string { return t.to.Fingerprint() }

// Challenge sends a random value, signed, and wants it back.
func (t *Target) Challenge(ctx context.Context) error {
	value := journal.NewToken()
	b, err := json.Marshal(struct {
		Type      string    `json:"type"`
		Timestamp time.Time `json:"timestamp"`
		Data      any       `json:"data"`
	}{TypeChallenge, t.now().UTC(), map[string]string{"challenge": value}})
	if err != nil {
		return fmt.Errorf("encoding: %w", err)
	}
	answer, err := t.to.Post(ctx, journal.NewID(t.now()), "application/json", b)
	if err != nil {
		return failure(err)
	}
	var back struct {
		Challenge string `json:"challenge"`
	}
	if json.Unmarshal(answer, &back) != nil || back.Challenge != value {
		return resume.Fail(journal.HandoverAuth, "%s has not proved that it expects Landed: it must answer a message of type %s with {\"challenge\": …}, the value that came in data.challenge", t.to.Host(), TypeChallenge)
	}
	return nil
}

// Probe challenges the endpoint.
func (t *Target) Probe(ctx context.Context) error { return t.Challenge(ctx) }
