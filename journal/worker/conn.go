package worker

import (
	"context"
	"errors"
	"net"
	"net/http/httptrace"
	"sync"
)

type flightKey struct{}

// flight follows one HTTP request from its dial to its first byte. Its
// connection belongs to it alone.
type flight struct {
	grant *Grant

	mu      sync.Mutex
	armed   bool  // the connection is ready: what is written now is the request
	written bool  // the first byte was allowed
	refused error // it was not; nothing else may be written either
}

// gotConn is called once the connection stands, TLS and proxy included. Until
// then writes are handshakes and prove nothing.
func (f *flight) gotConn(info httptrace.GotConnInfo) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.armed = true
	if info.Reused { // not one of ours: it can't be watched, so it counts as sent
		f.refused = f.grant.sending()
		f.written = f.refused == nil
	}
}

// beforeWrite decides on the first byte, exactly once.
func (f *flight) beforeWrite() error {
	f.mu.Lock()
	defer f.mu.Unlock()
	if !f.armed || f.written {
		return nil
	}
	if f.refused == nil {
		f.refused = f.grant.sending()
	}
	f.written = f.refused == nil
	return f.refused
}

// end reports whether a byte was written, and forbids one from now on: the
// transport's writer may outlive a cancelled request.
func (f *flight) end() bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	if !f.written && f.refused == nil {
		f.refused = ErrGrantOver
	}
	return f.written
}

// gatedConn asks before the request's first byte.
type gatedConn struct {
	net.Conn
	flight *flight
}

func (c *gatedConn) Write(p []byte) (int, error) {
	if err := c.flight.beforeWrite(); err != nil {
		return 0, err
	}
	return c.Conn.Write(p)
}

// gated wraps a dialer. net/http hands the dialer the values of the request's
// context, and with keep-alives off the connection goes to that request only.
func gated(dial dialFunc) func(context.Context, string, string) (net.Conn, error) {
	return func(ctx context.Context, network, addr string) (net.Conn, error) {
		f, ok := ctx.Value(flightKey{}).(*flight)
		if !ok {
			return nil, errors.New("a connection was dialled outside of a request")
		}
		c, err := dial(ctx, network, addr)
		if err != nil {
			return nil, err
		}
		return &gatedConn{Conn: c, flight: f}, nil
	}
}
