package webhook

import (
	"bytes"
	"context"
	"crypto/ed25519"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
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
)

// SendTimeout caps one attempt. The specification, "Request timeouts", asks for 15
// to 30 seconds.
const SendTimeout = 20 * time.Second

// maxAnswer is how much of an answer is read, maxQuote how much of it an error
// quotes.
const (
	maxAnswer = 4 << 10
	maxQuote  = 160
)

// Key returns a key when it is needed: a rotated one is read anew for every
// attempt. "" = there is none.
type Key func() (string, error)

// Fixed returns a Key that never changes.
func Fixed(s string) Key { return func() (string, error) { return s, nil } }

// Config is one endpoint.
type Config struct {
	// URL of the receiver; http only on a loopback host.
	URL string
	// Secret (whsec_…) is shared with this receiver alone. OldSecret signs as well
	// while the receiver changes over; nil otherwise.
	Secret, OldSecret Key
	// PrivateKey (whsk_…) adds an ed25519 signature, which receivers check with the
	// public key (see Endpoint.PublicKey). Secret or PrivateKey must be set.
	PrivateKey Key
	// HTTPClient should refuse private addresses (providers/evidence/egress); nil =
	// one without proxies. Redirects are never followed, whatever it says.
	HTTPClient *http.Client
	Clock      func() time.Time // nil = time.Now
}

// Endpoint posts signed messages to one receiver.
type Endpoint struct {
	c      Config
	host   string
	client *http.Client
	now    func() time.Time
}

// Open checks the configuration, keys included. It does not call the receiver.
func (c Config) Open() (*Endpoint, error) {
	e := &Endpoint{c: c, now: c.Clock, client: client(c.HTTPClient)}
	if e.now == nil {
		e.now = time.Now
	}
	if err := checkURL(c.URL); err != nil {
		return nil, err
	}
	k, err := c.keys()
	if err != nil {
		return nil, err
	}
	if len(k.secrets) == 0 && k.private == nil {
		return nil, errors.New("neither secret nor private_key is set: an unsigned message could come from anybody")
	}
	u, err := url.Parse(c.URL)
	if err != nil {
		return nil, errors.New("url is no address: write it as https://host/path")
	}
	e.host = u.Host
	return e, nil
}

// keySet is what one attempt signs with.
type keySet struct {
	secrets [][]byte
	private ed25519.PrivateKey // nil = none
}

func (c Config) keys() (keySet, error) {
	var k keySet
	for _, x := range []struct {
		name string
		read Key
	}{{"secret", c.Secret}, {"old_secret", c.OldSecret}} {
		s, err := read(x.name, x.read)
		if err != nil || s == "" {
			if err != nil {
				return k, err
			}
			continue
		}
		b, err := parseSecret(s)
		if err != nil {
			return k, fmt.Errorf("%s %w", x.name, err)
		}
		k.secrets = append(k.secrets, b)
	}
	s, err := read("private_key", c.PrivateKey)
	if err != nil || s == "" {
		return k, err
	}
	if k.private, err = parsePrivate(s); err != nil {
		return k, fmt.Errorf("private_key %w", err)
	}
	return k, nil
}

func read(name string, k Key) (string, error) {
	if k == nil {
		return "", nil
	}
	s, err := k()
	if err != nil {
		return "", fmt.Errorf("%s: %w", name, err)
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
	if out.Timeout == 0 || out.Timeout > SendTimeout {
		out.Timeout = SendTimeout
	}
	out.Jar = nil
	out.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	return &out
}

// Host is the receiver's host, which may be shown.
func (e *Endpoint) Host() string { return e.host }

// Fingerprint tells one address from another without showing it.
func (e *Endpoint) Fingerprint() string {
	sum := sha256.Sum256([]byte(e.c.URL))
	return hex.EncodeToString(sum[:])
}

// PublicKey returns the whpk_… key that receivers check with, "" if the endpoint
// signs with shared secrets only.
func (e *Endpoint) PublicKey() (string, error) {
	k, err := e.c.keys()
	if err != nil || k.private == nil {
		return "", err
	}
	return prefixPublic + base64.StdEncoding.EncodeToString(k.private.Public().(ed25519.PublicKey)), nil
}

// Error says how an attempt failed. It never holds the endpoint's path or query.
type Error struct {
	Status     int           // HTTP status of the answer, 0 if there was none
	RetryAfter time.Duration // what the other side asked for, 0 if nothing
	Throttle   bool          // the other side is overloaded (429, 502, 504)
	Gone       bool          // the other side wants no more messages at all (410)
	Err        error
}

func (e *Error) Error() string { return e.Err.Error() }

func (e *Error) Unwrap() error { return e.Err }

// Post signs and sends a message, and returns up to 4 kB of a good answer's body.
// The error is an *Error.
func (e *Endpoint) Post(ctx context.Context, id, contentType string, body []byte) ([]byte, error) {
	req, err := e.request(ctx, id, contentType, body)
	if err != nil {
		return nil, &Error{Err: err}
	}
	res, err := e.client.Do(req)
	if err != nil {
		var ue *url.Error
		if errors.As(err, &ue) {
			err = ue.Err // url.Error quotes the whole address
		}
		return nil, &Error{Err: fmt.Errorf("no answer from %s: %w", req.URL.Host, err)}
	}
	defer res.Body.Close()
	answer, _ := io.ReadAll(io.LimitReader(res.Body, maxAnswer)) // a broken answer still has its status
	if res.StatusCode >= 200 && res.StatusCode <= 299 {
		return answer, nil
	}
	return nil, e.failure(res, answer)
}

// request signs the body for this attempt.
func (e *Endpoint) request(ctx context.Context, id, contentType string, body []byte) (*http.Request, error) {
	if id == "" || strings.ContainsFunc(id, func(r rune) bool { return r <= ' ' || r > '~' || r == '.' }) {
		return nil, fmt.Errorf("message id %q can't be signed: printable ASCII without dots is needed", id)
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, e.c.URL, bytes.NewReader(body))
	if err != nil {
		return nil, errors.New("the address can't be used")
	}
	k, err := e.c.keys()
	if err != nil {
		return nil, err
	}
	unix := e.now().Unix()
	req.Header.Set("Content-Type", contentType)
	req.Header.Set("User-Agent", "landed")
	req.Header.Set("webhook-id", id)
	req.Header.Set("webhook-timestamp", strconv.FormatInt(unix, 10))
	req.Header.Set("webhook-signature", k.sign(id, unix, body))
	return req, nil
}

func (k keySet) sign(id string, unix int64, body []byte) string {
	content := signed(id, unix, body)
	var list []string
	for _, secret := range k.secrets {
		list = append(list, signV1(secret, content))
	}
	if k.private != nil {
		list = append(list, signV1a(k.private, content))
	}
	return strings.Join(list, " ")
}

// failure reads an answer outside 2xx: the specification's "Delivery success and
// failure".
func (e *Endpoint) failure(res *http.Response, quote []byte) error {
	out := &Error{Status: res.StatusCode, RetryAfter: e.retryAfter(res.Header.Get("Retry-After"))}
	host := res.Request.URL.Host
	switch {
	case res.StatusCode == http.StatusGone:
		out.Gone = true
		out.Err = fmt.Errorf("%s answered 410: it wants no more messages; remove it or correct its address", host)
		return out
	case res.StatusCode >= 300 && res.StatusCode <= 399:
		out.Err = fmt.Errorf("%s answered %d: redirects are not followed, correct the address", host, res.StatusCode)
		return out
	case res.StatusCode == http.StatusTooManyRequests, res.StatusCode == http.StatusBadGateway, res.StatusCode == http.StatusGatewayTimeout:
		out.Throttle = true
	}
	text := []rune(strings.TrimSpace(strings.ToValidUTF8(string(quote), "?")))
	out.Err = fmt.Errorf("%s answered %d: %q", host, res.StatusCode, string(text[:min(len(text), maxQuote)]))
	return out
}

// retryAfter reads seconds or a date (RFC 9110, 10.2.3); 0 if it says nothing.
func (e *Endpoint) retryAfter(h string) time.Duration {
	if n, err := strconv.ParseInt(strings.TrimSpace(h), 10, 32); err == nil {
		return max(0, time.Duration(n)*time.Second)
	}
	if t, err := http.ParseTime(h); err == nil {
		return max(0, t.Sub(e.now()))
	}
	return 0
}
