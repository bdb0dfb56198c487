package egress

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"slices"
	"strings"
	"syscall"
	"time"
)

// Why a request did not go out, or its answer was not taken. All of them reach
// the caller wrapped in *url.Error, or as the error of reading the body.
var (
	ErrHost     = errors.New("egress: host is not allowed")
	ErrAddress  = errors.New("egress: address is not allowed")
	ErrScheme   = errors.New("egress: scheme is not allowed")
	ErrRedirect = errors.New("egress: redirect to another origin refused")
	ErrTooLarge = errors.New("egress: answer is larger than the cap")
	ErrEncoding = errors.New("egress: answer has a content encoding that was not asked for")
)

// The caps that hold where Config leaves them zero.
const (
	DefaultTimeout     = 30 * time.Second
	DefaultDialTimeout = 5 * time.Second
	DefaultMaxBody     = 1 << 20

	maxRedirects = 3
	maxHeader    = 64 << 10
)

// Config says where a client may go and how much it takes.
type Config struct {
	// Hosts are the allowed hosts as in a URL's authority ("desk.example.com",
	// "127.0.0.1:8081"); a host without port means the scheme's own. Compared
	// without regard to case. None allowed = none reachable.
	Hosts []string
	// AllowPrivate lets loopback, private and carrier-grade NAT addresses through.
	// Link-local, metadata, multicast and reserved ones stay refused.
	AllowPrivate bool
	// AllowPlainHTTP lets http:// URLs through, to private addresses only: it
	// needs AllowPrivate.
	AllowPlainHTTP bool
	// Timeout caps one request with the reading of its answer.
	Timeout time.Duration
	// DialTimeout caps connecting and, again, the TLS handshake.
	DialTimeout time.Duration
	// MaxBody caps an answer's body in bytes; reading past it gives ErrTooLarge.
	MaxBody int64
	// RootCAs replaces the system's certificate authorities; nil = the system's.
	RootCAs *x509.CertPool
	// Certificate is what the client shows to a server that asks for one; nil = none.
	Certificate *tls.Certificate
}

// Client returns a client for c. It follows at most three redirects, and only
// within the origin; it keeps no cookies, sends no Referer and takes no proxy
// from the environment.
func Client(c Config) *http.Client {
	c = withDefaults(c)
	rt := &roundTripper{
		hosts:   make([]string, 0, len(c.Hosts)),
		maxBody: c.MaxBody,
		secure:  transport(c, false),
	}
	for _, h := range c.Hosts {
		rt.hosts = append(rt.hosts, strings.ToLower(h))
	}
	if c.AllowPlainHTTP && c.AllowPrivate {
		rt.plain = transport(c, true)
	}
	return &http.Client{Transport: rt, Timeout: c.Timeout, CheckRedirect: checkRedirect}
}

func withDefaults(c Config) Config {
	if c.Timeout <= 0 {
		c.Timeout = DefaultTimeout
	}
	if c.DialTimeout <= 0 {
		c.DialTimeout = DefaultDialTimeout
	}
	if c.MaxBody <= 0 {
		c.MaxBody = DefaultMaxBody
	}
	return c
}

// transport builds one transport. plain is for http:// URLs, which may only lead
// to private addresses.
func transport(c Config, plain bool) *http.Transport {
	d := &net.Dialer{
		Timeout: c.DialTimeout,
		ControlContext: func(_ context.Context, network, address string, _ syscall.RawConn) error {
			if network != "tcp4" && network != "tcp6" {
				return fmt.Errorf("%w: network %s", ErrAddress, network)
			}
			ap, err := netip.ParseAddrPort(address)
			if err != nil {
				return fmt.Errorf("%w: %s", ErrAddress, address)
			}
			return checkAddr(ap.Addr(), c.AllowPrivate, plain)
		},
	}
	secure := &tls.Config{RootCAs: c.RootCAs, MinVersion: tls.VersionTLS12}
	if c.Certificate != nil {
		secure.Certificates = []tls.Certificate{*c.Certificate}
	}
	return &http.Transport{
		Proxy:                  nil,
		DialContext:            d.DialContext,
		TLSClientConfig:        secure,
		TLSHandshakeTimeout:    c.DialTimeout,
		ResponseHeaderTimeout:  c.Timeout,
		MaxResponseHeaderBytes: maxHeader,
		DisableCompression:     true, // a small packed answer can unpack to gigabytes
		ForceAttemptHTTP2:      true,
		MaxIdleConns:           4,
		MaxIdleConnsPerHost:    2,
		MaxConnsPerHost:        4,
		IdleConnTimeout:        30 * time.Second,
	}
}

// checkRedirect follows within the origin only. The first request decides what
// the origin is.
func checkRedirect(req *http.Request, via []*http.Request) error {
	first := via[0].URL
	if req.URL.Scheme != first.Scheme || !strings.EqualFold(req.URL.Host, first.Host) {
		return fmt.Errorf("%w: from %s to %s", ErrRedirect, first.Host, req.URL.Host)
	}
	if len(via) > maxRedirects {
		return fmt.Errorf("%w: more than %d redirects", ErrRedirect, maxRedirects)
	}
	req.Header.Del("Referer")
	return nil
}

type roundTripper struct {
	hosts         []string
	maxBody       int64
	secure, plain *http.Transport
}

var _ http.RoundTripper = (*roundTripper)(nil)

// RoundTrip checks the request against the policy, sends it and caps its answer.
func (rt *roundTripper) RoundTrip(req *http.Request) (*http.Response, error) {
	t, err := rt.pick(req.URL)
	if err != nil {
		if req.Body != nil {
			_ = req.Body.Close() // RoundTrip owns the body even when it refuses
		}
		return nil, err
	}
	shared := shareOf(req.Context())
	if shared != nil && req.Method == http.MethodGet {
		if resp, ok := shared.known(req); ok {
			return resp, nil
		}
	}
	out := req.Clone(req.Context())
	out.Header.Set("Accept-Encoding", "identity")
	resp, err := t.RoundTrip(out)
	if err != nil {
		return nil, err
	}
	if enc := resp.Header.Get("Content-Encoding"); enc != "" && !strings.EqualFold(enc, "identity") {
		_ = resp.Body.Close() // nothing of it is wanted
		return nil, fmt.Errorf("%w: %.40q", ErrEncoding, enc)
	}
	if resp.ContentLength > rt.maxBody {
		_ = resp.Body.Close() // nothing of it is wanted
		return nil, fmt.Errorf("%w: %d bytes announced, %d allowed", ErrTooLarge, resp.ContentLength, rt.maxBody)
	}
	resp.Body = &cappedBody{ReadCloser: resp.Body, left: rt.maxBody}
	if shared != nil && req.Method == http.MethodGet {
		shared.keep(req, resp)
	}
	return resp, nil
}

// CloseIdleConnections closes what is kept open between requests.
func (rt *roundTripper) CloseIdleConnections() {
	rt.secure.CloseIdleConnections()
	if rt.plain != nil {
		rt.plain.CloseIdleConnections()
	}
}

func (rt *roundTripper) pick(u *url.URL) (*http.Transport, error) {
	if !slices.Contains(rt.hosts, strings.ToLower(u.Host)) {
		return nil, fmt.Errorf("%w: %.100q", ErrHost, u.Host)
	}
	switch {
	case u.Scheme == "https":
		return rt.secure, nil
	case u.Scheme == "http" && rt.plain != nil:
		return rt.plain, nil
	}
	return nil, fmt.Errorf("%w: %.20q", ErrScheme, u.Scheme)
}

// cappedBody gives ErrTooLarge instead of the byte after the cap.
type cappedBody struct {
	io.ReadCloser
	left int64
}

func (b *cappedBody) Read(p []byte) (int, error) {
	if len(p) == 0 {
		return 0, nil
	}
	if b.left < 0 {
		return 0, ErrTooLarge
	}
	if int64(len(p)) > b.left+1 {
		p = p[:b.left+1] // one more than allowed tells a full answer from a longer one
	}
	n, err := b.ReadCloser.Read(p)
	b.left -= int64(n)
	if b.left < 0 {
		return n - 1, ErrTooLarge
	}
	return n, err
}
