package client

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/landedhq/landed/journal"
)

// DefaultTimeout bounds one call, the waiting of a long poll not counted.
const DefaultTimeout = 10 * time.Second

// maxAnswerBytes bounds what is read of an answer: an effect with its largest
// args and result, both in base64, and room around them.
const maxAnswerBytes = 16 << 20

// Config says where the journal is. BaseURL and Token are required.
type Config struct {
	BaseURL string // the server's address, without /v1
	Token   string // the bearer token's secret
	// HTTPClient gives transport and cookie settings; nil = one of its own. Its
	// redirect policy is replaced, its time-out must leave room for long polls.
	HTTPClient *http.Client
	Timeout    time.Duration // of one call; 0 = 10 s
	UserAgent  string        // "" = landed-client
}

// Client is the journal behind a worker API: a worker.Journal, which its tests
// assert, so that this package needs no more than the standard library. Safe
// for concurrent use.
type Client struct {
	base    string
	token   string
	agent   string
	timeout time.Duration
	http    *http.Client
}

// New checks the configuration; it calls nobody.
func New(c Config) (*Client, error) {
	u, err := url.Parse(c.BaseURL)
	if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "" || u.RawQuery != "" || u.Fragment != "" || u.User != nil {
		return nil, fmt.Errorf("the journal's address %q must be an http or https URL without query, fragment and user", c.BaseURL)
	}
	if strings.TrimSpace(c.Token) == "" || strings.ContainsAny(c.Token, " \r\n\t") {
		return nil, errors.New("a token without white space is needed to call the journal: landed token create makes one")
	}
	hc := http.Client{}
	if c.HTTPClient != nil {
		hc = *c.HTTPClient
	}
	hc.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	out := &Client{base: strings.TrimRight(c.BaseURL, "/") + "/v1", token: c.Token, agent: c.UserAgent, timeout: c.Timeout, http: &hc}
	if out.agent == "" {
		out.agent = "landed-client"
	}
	if out.timeout <= 0 {
		out.timeout = DefaultTimeout
	}
	return out, nil
}

// reply is an answer that was read to its end.
type reply struct {
	status int
	kind   string // content type
	body   []byte
}

// call sends one request and reads the whole answer. extra is added to the
// time-out: what a long poll waits for.
func (c *Client) call(ctx context.Context, method, path string, body []byte, extra time.Duration) (reply, error) {
	once, cancel := context.WithTimeout(ctx, c.timeout+extra)
	defer cancel()
	req, err := http.NewRequestWithContext(once, method, c.base+path, bytes.NewReader(body))
	if err != nil {
		return reply{}, err
	}
	if body == nil {
		req.Body, req.ContentLength = http.NoBody, 0
	} else {
		req.Header.Set("Content-Type", "application/json")
	}
	req.Header.Set("Accept", "application/json, application/problem+json")
	req.Header.Set("Authorization", "Bearer "+c.token)
	req.Header.Set("User-Agent", c.agent)
	res, err := c.http.Do(req)
	if err != nil {
		return reply{}, unreachable(ctx, err)
	}
	defer func() { _ = res.Body.Close() }()
	answer, err := io.ReadAll(io.LimitReader(res.Body, maxAnswerBytes+1))
	if err != nil {
		return reply{}, unreachable(ctx, err)
	}
	if len(answer) > maxAnswerBytes {
		return reply{}, fmt.Errorf("the journal's answer has more than %d bytes", maxAnswerBytes)
	}
	return reply{res.StatusCode, res.Header.Get("Content-Type"), answer}, nil
}

// unreachable tells the end of the caller's context from a failed connection.
func unreachable(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return ctx.Err()
	}
	var u *url.Error
	if errors.As(err, &u) {
		err = u.Err // the address may hold a key
	}
	return fmt.Errorf("%w: %w", journal.ErrUnavailable, &transportError{err})
}

// transportError hides what lies below it: a time-out of this client must not
// look like the end of the caller's context.
type transportError struct{ err error }

func (e *transportError) Error() string { return e.err.Error() }

// do is call for answers with a form; decode reads a 200.
func do[T any](ctx context.Context, c *Client, method, path string, body []byte, decode func([]byte) (T, error)) (T, error) {
	var zero T
	r, err := c.call(ctx, method, path, body, 0)
	if err != nil {
		return zero, err
	}
	if r.status != http.StatusOK {
		return zero, r.failure()
	}
	out, err := decode(r.body)
	return out, unreadable(err)
}

// send is call for answers without a form.
func (c *Client) send(ctx context.Context, method, path string, body []byte) error {
	r, err := c.call(ctx, method, path, body, 0)
	if err != nil {
		return err
	}
	if r.status != http.StatusNoContent {
		return r.failure()
	}
	return nil
}

// unreadable: a 200 that can't be read was garbled on its way.
func unreadable(err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("%w: its answer can't be read: %w", journal.ErrUnavailable, &transportError{err})
}

// doing wraps an error once, at this package's edge.
func doing(what string, err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("%s over HTTP: %w", what, err)
}

// effectPath is the address of a call on an effect. An id that is none goes
// out as one that no journal has, so that the key of the report decides.
func effectPath(id, call string) string {
	if !journal.ValidID(id) {
		id = "00000000-0000-0000-0000-000000000000"
	}
	return "/effects/" + id + call
}
