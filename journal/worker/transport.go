package worker

import (
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptrace"
	"sync"

	"github.com/landedhq/landed/journal"
)

// Transport is an http.RoundTripper for tools. It refuses requests whose
// context has no grant, refuses the first byte after send_by, and records
// whether a byte was written.
//
// Each request that may change things gets a connection of its own, HTTP/1.1,
// closed afterwards. Go's transport resends a request that carries
// Idempotency-Key or X-Idempotency-Key when a reused connection breaks (see
// Request.isReplayable and persistConn.shouldRetryRequest in net/http); on a
// fresh connection it never does. A fresh connection also can't be one that the
// server was just closing, so fewer outcomes are unknown.
type Transport struct {
	effects *http.Transport
	reads   *http.Transport
}

// NewTransport returns a Transport with the dialer, proxy and TLS settings of
// base; nil = http.DefaultTransport's.
func NewTransport(base *http.Transport) *Transport {
	if base == nil {
		base, _ = http.DefaultTransport.(*http.Transport)
	}
	if base == nil { // somebody replaced the default
		base = &http.Transport{Proxy: http.ProxyFromEnvironment}
	}
	return &Transport{effects: effectTransport(base), reads: base.Clone()}
}

func effectTransport(base *http.Transport) *http.Transport {
	t := base.Clone()
	t.DisableKeepAlives = true
	t.ForceAttemptHTTP2 = false
	t.Protocols = new(http.Protocols)
	t.Protocols.SetHTTP1(true)
	t.TLSNextProto = nil
	if t.TLSClientConfig != nil {
		t.TLSClientConfig.NextProtos = nil
	}
	dial := t.DialContext
	if dial == nil {
		dial = withContext(t.Dial) //lint:ignore SA1019 a caller's transport may still use it
	}
	if dial == nil {
		dial = (&net.Dialer{}).DialContext
	}
	t.DialContext = gated(dial)
	if t.DialTLSContext == nil {
		t.DialTLSContext = withContext(t.DialTLS) //lint:ignore SA1019 a caller's transport may still use it
	}
	if t.DialTLSContext != nil {
		t.DialTLSContext = gated(t.DialTLSContext)
	}
	t.Dial, t.DialTLS = nil, nil //lint:ignore SA1019 they would bypass the gate
	return t
}

type dialFunc func(ctx context.Context, network, addr string) (net.Conn, error)

func withContext(dial func(network, addr string) (net.Conn, error)) func(context.Context, string, string) (net.Conn, error) {
	if dial == nil {
		return nil
	}
	return func(_ context.Context, network, addr string) (net.Conn, error) { return dial(network, addr) }
}

// CloseIdleConnections closes kept connections of look-ups.
func (t *Transport) CloseIdleConnections() { t.reads.CloseIdleConnections() }

// RoundTrip implements http.RoundTripper.
func (t *Transport) RoundTrip(req *http.Request) (*http.Response, error) {
	resp, err := t.roundTrip(req)
	if err != nil && resp == nil && req.Body != nil {
		_ = req.Body.Close() // the contract of RoundTripper, also for refusals
	}
	return resp, err
}

func (t *Transport) roundTrip(req *http.Request) (*http.Response, error) {
	g, err := Effect(req.Context())
	if err != nil {
		return nil, err
	}
	if redirectedChange(req) {
		return nil, ErrRedirect
	}
	if isReading(req.Context()) && !g.readOnly {
		if !safeMethod(req.Method) {
			return nil, ErrReadingOnly
		}
		return t.reads.RoundTrip(req)
	}
	if err := g.admit(); err != nil {
		return nil, err
	}
	if g.readOnly {
		return t.reads.RoundTrip(req)
	}
	return t.change(g, req)
}

// change sends one request that may cause the effect.
func (t *Transport) change(g *Grant, req *http.Request) (*http.Response, error) {
	f := &flight{grant: g}
	ctx, cancel := context.WithCancelCause(req.Context())
	stop := context.AfterFunc(g.ctx, func() { cancel(context.Cause(g.ctx)) })
	release := func() { stop(); cancel(nil) }
	ctx = context.WithValue(ctx, flightKey{}, f)
	out := req.Clone(httptrace.WithClientTrace(ctx, &httptrace.ClientTrace{GotConn: f.gotConn}))
	out.GetBody = nil
	if g.tool.KeyHeader != "" {
		key := g.ProviderKey()
		if g.tool.KeyDashed {
			key = journal.Dashed(key)
		}
		out.Header.Set(g.tool.KeyHeader, key)
	}
	resp, err := t.effects.RoundTrip(out)
	if err != nil {
		release()
		g.ended(f.end(), 0)
		return nil, fmt.Errorf("calling %s: %w", req.URL.Host, err)
	}
	g.ended(f.end(), resp.StatusCode)
	resp.Request = req
	if resp.StatusCode != http.StatusSwitchingProtocols {
		resp.Body = &releasingBody{ReadCloser: resp.Body, release: sync.OnceFunc(release)}
	}
	return resp, nil
}

// releasingBody frees the request's context once the body is read or closed.
type releasingBody struct {
	io.ReadCloser
	release func()
}

func (b *releasingBody) Read(p []byte) (int, error) {
	n, err := b.ReadCloser.Read(p)
	if err != nil {
		b.release()
	}
	return n, err
}

func (b *releasingBody) Close() error {
	defer b.release()
	return b.ReadCloser.Close()
}

func safeMethod(m string) bool {
	switch m {
	case "", http.MethodGet, http.MethodHead, http.MethodOptions:
		return true
	}
	return false
}

// redirectedChange reports whether a client follows a redirect that began with
// a request that changes things.
func redirectedChange(req *http.Request) bool {
	for r := req; r.Response != nil && r.Response.Request != nil; {
		r = r.Response.Request
		if !safeMethod(r.Method) {
			return true
		}
	}
	return false
}

// Client returns an HTTP client whose requests all belong to the attempt of
// ctx, also those of libraries that don't pass a context on. It follows
// redirects of look-ups only.
func Client(ctx context.Context) (*http.Client, error) {
	g, err := Effect(ctx)
	if err != nil {
		return nil, err
	}
	return &http.Client{
		Transport: bound{grant: g, reading: isReading(ctx)},
		CheckRedirect: func(_ *http.Request, via []*http.Request) error {
			if !safeMethod(via[0].Method) {
				return http.ErrUseLastResponse
			}
			if len(via) >= 10 {
				return fmt.Errorf("stopped after %d redirects", len(via))
			}
			return nil
		},
	}, nil
}

// bound lends its grant to requests that carry none.
type bound struct {
	grant   *Grant
	reading bool
}

func (b bound) RoundTrip(req *http.Request) (*http.Response, error) {
	ctx := req.Context()
	if _, err := Effect(ctx); err != nil {
		ctx = context.WithValue(ctx, grantKey{}, b.grant)
	}
	if b.reading {
		ctx = Reading(ctx)
	}
	return b.grant.transport.RoundTrip(req.WithContext(ctx))
}
