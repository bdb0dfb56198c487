package webhook

import (
	"bytes"
	"context"
	"crypto/ed25519"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/landedhq/landed/providers/alert"
)

// maxAnswer is how much of an answer is read, maxQuote how much of it an error
// quotes.
const (
	maxAnswer = 4 << 10
	maxQuote  = 160
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
	name    string
	url     string
	secrets [][]byte
	key     ed25519.PrivateKey // nil = none
	client  *http.Client
	now     func() time.Time
}

var _ alert.Sink = (*Sink)(nil)

// Open checks the configuration. It does not call the endpoint.
func (c Config) Open() (*Sink, error) {
	if c.Name == "" {
		c.Name = "webhook"
	}
	s := &Sink{name: c.Name, url: c.URL, now: c.Clock, client: client(c.HTTPClient)}
	if s.now == nil {
		s.now = time.Now
	}
	if err := checkURL(c.URL); err != nil {
		return nil, fmt.Errorf("webhook %s: %w", c.Name, err)
	}
	if c.Secret == "" && c.PrivateKey == "" {
		return nil, fmt.Errorf("webhook %s: neither secret nor private_key is set: an unsigned alert could come from anybody", c.Name)
	}
	for _, k := range []struct{ name, value string }{{"secret", c.Secret}, {"old_secret", c.OldSecret}} {
		if k.value == "" {
			continue
		}
		b, err := parseSecret(k.value)
		if err != nil {
			return nil, fmt.Errorf("webhook %s: %s %w", c.Name, k.name, err)
		}
		s.secrets = append(s.secrets, b)
	}
	if c.PrivateKey != "" {
		key, err := parsePrivate(c.PrivateKey)
		if err != nil {
			return nil, fmt.Errorf("webhook %s: private_key %w", c.Name, err)
		}
		s.key = key
	}
	return s, nil
}

// checkURL never quotes more than the host: query and path may hold a secret.
func checkURL(s string) error {
	u, err := url.Parse(s)
	if err != nil || u.Hostname() == "" || u.Opaque != "" {
		return errors.New("url is no address: write it as https://host/path")
	}
	if u.User != nil || u.Fragment != "" {
		return fmt.Errorf("url at %s must hold neither user name nor fragment", u.Host)
	}
	if u.Scheme == "https" || u.Scheme == "http" && loopback(u.Hostname()) {
		return nil
	}
	return fmt.Errorf("url at %s must begin with https:// (http is for loopback hosts)", u.Host)
}

func loopback(host string) bool {
	ip, err := netip.ParseAddr(host)
	return strings.EqualFold(host, "localhost") || err == nil && ip.Unmap().IsLoopback()
}

// client copies c, and takes the redirects out of its hands.
func client(c *http.Client) *http.Client {
	var out http.Client
	if c != nil {
		out = *c
	} else {
		out.Transport = &http.Transport{
			Proxy: nil, DialContext: (&net.Dialer{Timeout: 5 * time.Second}).DialContext,
			TLSHandshakeTimeout: 5 * time.Second, MaxIdleConnsPerHost: 2, IdleConnTimeout: 90 * time.Second, ForceAttemptHTTP2: true,
		}
	}
	if out.Timeout == 0 || out.Timeout > alert.SendTimeout {
		out.Timeout = alert.SendTimeout
	}
	out.Jar = nil
	out.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	return &out
}

// Name returns the configured name.
func (s *Sink) Name() string { return s.name }

// PublicKey returns the whpk_… key that receivers check with, "" if the sink signs
// with the shared secret only.
func (s *Sink) PublicKey() string {
	if s.key == nil {
		return ""
	}
	return prefixPublic + base64.StdEncoding.EncodeToString(s.key.Public().(ed25519.PublicKey))
}

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
	req, err := s.request(ctx, m.ID, body)
	if err != nil {
		return &alert.SendError{Err: err}
	}
	res, err := s.client.Do(req)
	if err != nil {
		var ue *url.Error
		if errors.As(err, &ue) {
			err = ue.Err // url.Error quotes the whole address
		}
		return &alert.SendError{Err: fmt.Errorf("no answer from %s: %w", req.URL.Host, err)}
	}
	defer res.Body.Close()
	quote, _ := io.ReadAll(io.LimitReader(res.Body, maxAnswer)) // a broken answer still has its status
	if res.StatusCode >= 200 && res.StatusCode <= 299 {
		return nil
	}
	return s.failure(res, quote)
}

// request signs the body for this attempt.
func (s *Sink) request(ctx context.Context, id string, body []byte) (*http.Request, error) {
	if id == "" || strings.ContainsFunc(id, func(r rune) bool { return r <= ' ' || r > '~' || r == '.' }) {
		return nil, fmt.Errorf("message id %q can't be signed: printable ASCII without dots is needed", id)
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, s.url, bytes.NewReader(body))
	if err != nil {
		return nil, errors.New("the address can't be used")
	}
	unix := s.now().Unix()
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("User-Agent", "landed")
	req.Header.Set("webhook-id", id)
	req.Header.Set("webhook-timestamp", strconv.FormatInt(unix, 10))
	req.Header.Set("webhook-signature", s.sign(id, unix, body))
	return req, nil
}

func (s *Sink) sign(id string, unix int64, body []byte) string {
	content := signed(id, unix, body)
	var list []string
	for _, secret := range s.secrets {
		list = append(list, signV1(secret, content))
	}
	if s.key != nil {
		list = append(list, signV1a(s.key, content))
	}
	return strings.Join(list, " ")
}

// failure reads an answer outside 2xx: Standard Webhooks 1.0.0, "Delivery success
// and failure".
func (s *Sink) failure(res *http.Response, quote []byte) error {
	e := &alert.SendError{Status: res.StatusCode, RetryAfter: s.retryAfter(res.Header.Get("Retry-After"))}
	host := res.Request.URL.Host
	switch {
	case res.StatusCode == http.StatusGone:
		e.Gone = true
		e.Err = fmt.Errorf("%s answered 410: it wants no more alerts; remove the sink or correct its address", host)
		return e
	case res.StatusCode >= 300 && res.StatusCode <= 399:
		e.Err = fmt.Errorf("%s answered %d: redirects are not followed, correct the address", host, res.StatusCode)
		return e
	case res.StatusCode == http.StatusTooManyRequests, res.StatusCode == http.StatusBadGateway, res.StatusCode == http.StatusGatewayTimeout:
		e.Throttle = true
	}
	text := []rune(strings.ToValidUTF8(string(quote), "?"))
	e.Err = fmt.Errorf("%s answered %d: %q", host, res.StatusCode, string(text[:min(len(text), maxQuote)]))
	return e
}

// retryAfter reads seconds or a date (RFC 9110, 10.2.3); 0 if it says nothing.
func (s *Sink) retryAfter(h string) time.Duration {
	if n, err := strconv.ParseInt(strings.TrimSpace(h), 10, 32); err == nil {
		return max(0, time.Duration(n)*time.Second)
	}
	if t, err := http.ParseTime(h); err == nil {
		return max(0, t.Sub(s.now()))
	}
	return 0
}
