package fault

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"time"
)

// Gateway stands between HTTP clients and one server, on a loopback port. It
// loses requests and answers where it is told to.
type Gateway struct {
	server *url.URL
	addr   string
	front  *http.Server
	client *http.Transport

	mu     sync.Mutex
	faults []*HTTPFault
}

// HTTPFault is one loss that waits for its request.
type HTTPFault struct {
	path   string
	after  bool
	nth    int
	sprung chan struct{}
}

// Sprung is closed once the connection was cut.
func (f *HTTPFault) Sprung() <-chan struct{} { return f.sprung }

// NewGateway starts a gateway in front of a server's address.
func NewGateway(server string) (*Gateway, error) {
	u, err := url.Parse(server)
	if err != nil || u.Host == "" {
		return nil, errors.New("the gateway needs the server's address as a URL")
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, fmt.Errorf("listening for the gateway: %w", err)
	}
	g := &Gateway{server: u, addr: l.Addr().String(), client: &http.Transport{}}
	g.front = &http.Server{Handler: g, ReadHeaderTimeout: 10 * time.Second}
	go func() { _ = g.front.Serve(l) }()
	return g, nil
}

// URL is the address that leads through the gateway.
func (g *Gateway) URL() string { return "http://" + g.addr }

// Lose cuts the connection of the nth request (from 1) whose path ends with
// path: before the server sees it, or after the server has answered.
func (g *Gateway) Lose(path string, nth int, after bool) *HTTPFault {
	f := &HTTPFault{path: path, after: after, nth: nth, sprung: make(chan struct{})}
	g.mu.Lock()
	defer g.mu.Unlock()
	g.faults = append(g.faults, f)
	return f
}

// Close ends the gateway.
func (g *Gateway) Close() {
	_ = g.front.Close()
	g.client.CloseIdleConnections()
}

// due counts a request and returns the loss that it meets.
func (g *Gateway) due(path string) *HTTPFault {
	g.mu.Lock()
	defer g.mu.Unlock()
	for i, f := range g.faults {
		if !strings.HasSuffix(path, f.path) {
			continue
		}
		if f.nth--; f.nth < 1 {
			g.faults = append(g.faults[:i:i], g.faults[i+1:]...)
			return f
		}
	}
	return nil
}

// ServeHTTP passes a request on and its answer back, or neither.
func (g *Gateway) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	f := g.due(r.URL.Path)
	if f != nil && !f.after {
		f.lose()
	}
	out := r.Clone(r.Context())
	out.URL.Scheme, out.URL.Host, out.RequestURI, out.Host = g.server.Scheme, g.server.Host, "", g.server.Host
	if f != nil { // its caller may give up before the server has answered
		out = out.WithContext(context.WithoutCancel(r.Context()))
	}
	res, err := g.client.RoundTrip(out)
	if err != nil {
		panic(http.ErrAbortHandler)
	}
	defer func() { _ = res.Body.Close() }()
	body, err := io.ReadAll(res.Body)
	if f != nil {
		f.lose()
	}
	if err != nil {
		panic(http.ErrAbortHandler)
	}
	for name, values := range res.Header {
		w.Header()[name] = values
	}
	w.WriteHeader(res.StatusCode)
	_, _ = w.Write(body)
}

// lose cuts the client's connection; net/http does it without a log line.
func (f *HTTPFault) lose() {
	close(f.sprung)
	panic(http.ErrAbortHandler)
}
