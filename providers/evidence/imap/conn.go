package imap

import (
	"errors"
	"net"
	"sync"
)

// lookBytes is what one look, or the opening of a session, may receive. A message
// of a scan takes about 300 bytes.
func (c Config) lookBytes() int { return 2<<20 + c.MaxScan<<10 }

var errTooMuch = errors.New("the server sent too much")

// meteredConn is a connection that counts what it receives and remembers why it
// ended: the IMAP library's errors don't tell a broken line from a broken
// protocol.
type meteredConn struct {
	net.Conn

	mu   sync.Mutex
	left int
	err  error // first error of the network
}

// refill grants the next look its bytes.
func (c *meteredConn) refill(bytes int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.left = bytes
}

// ended returns the first error of the network, nil while there was none.
func (c *meteredConn) ended() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.err
}

func (c *meteredConn) fail(err error) {
	if c.err == nil {
		c.err = err
	}
}

func (c *meteredConn) Read(p []byte) (int, error) {
	n, err := c.Conn.Read(p)
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.left -= n; c.left < 0 {
		c.fail(errTooMuch)
		c.Conn.Close()
		return 0, errTooMuch
	}
	if err != nil {
		c.fail(err)
	}
	return n, err
}

func (c *meteredConn) Write(p []byte) (int, error) {
	n, err := c.Conn.Write(p)
	if err != nil {
		c.mu.Lock()
		defer c.mu.Unlock()
		c.fail(err)
	}
	return n, err
}
