package sqltest

import (
	"io"
	"net"
	"net/url"
	"path/filepath"
	"sync"
	"testing"
)

// Relay is a TCP address on loopback that leads to a server's Unix socket.
type Relay struct {
	ln     net.Listener
	socket string

	mu    sync.Mutex
	sent  []byte
	conns []net.Conn
	ended bool
}

// NewRelay relays to the server of dsn, which names its socket's folder and port
// as the private cluster does, until the test ends.
func NewRelay(t testing.TB, dsn string) *Relay {
	t.Helper()
	u, err := url.Parse(dsn)
	if err != nil {
		t.Fatal(err)
	}
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatalf("listening: %v", err)
	}
	r := &Relay{ln: ln, socket: filepath.Join(u.Query().Get("host"), ".s.PGSQL."+u.Query().Get("port"))}
	var wg sync.WaitGroup
	wg.Go(func() { r.accept(&wg) })
	t.Cleanup(func() {
		r.close()
		wg.Wait()
	})
	return r
}

// DSN returns dsn with the relay for its server.
func (r *Relay) DSN(t testing.TB, dsn string) string { return AtAddress(t, dsn, r.ln.Addr().String()) }

// AtAddress returns dsn with another server's TCP address.
func AtAddress(t testing.TB, dsn, addr string) string {
	t.Helper()
	u, err := url.Parse(dsn)
	if err != nil {
		t.Fatal(err)
	}
	q := u.Query()
	q.Del("host")
	q.Del("port")
	u.Host, u.RawQuery = addr, q.Encode()
	return u.String()
}

// Sent returns all that clients sent so far, in the order of arrival.
func (r *Relay) Sent() []byte {
	r.mu.Lock()
	defer r.mu.Unlock()
	return append([]byte(nil), r.sent...)
}

func (r *Relay) accept(wg *sync.WaitGroup) {
	for {
		in, err := r.ln.Accept()
		if err != nil {
			return
		}
		out, err := net.Dial("unix", r.socket)
		if err != nil {
			in.Close()
			continue
		}
		r.keep(in, out)
		wg.Go(func() { pipe(out, io.TeeReader(in, recorder{r})) })
		wg.Go(func() { pipe(in, out) })
	}
}

func (r *Relay) keep(conns ...net.Conn) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.conns = append(r.conns, conns...)
	if r.ended {
		for _, c := range conns {
			c.Close()
		}
	}
}

func (r *Relay) close() {
	r.ln.Close()
	r.mu.Lock()
	defer r.mu.Unlock()
	r.ended = true
	for _, c := range r.conns {
		c.Close()
	}
}

func pipe(dst net.Conn, src io.Reader) {
	_, _ = io.Copy(dst, src) // either side may hang up at any time
	dst.Close()
}

// recorder keeps what a client sent before it is passed on.
type recorder struct{ *Relay }

func (r recorder) Write(p []byte) (int, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.sent = append(r.sent, p...)
	return len(p), nil
}

// Serve takes connections on loopback, hands each to f and closes it after.
func Serve(t testing.TB, f func(net.Conn)) string {
	t.Helper()
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatalf("listening: %v", err)
	}
	r := &Relay{ln: ln}
	var wg sync.WaitGroup
	wg.Go(func() {
		for {
			c, err := ln.Accept()
			if err != nil {
				return
			}
			r.keep(c)
			wg.Go(func() {
				defer c.Close()
				f(c)
			})
		}
	})
	t.Cleanup(func() {
		r.close()
		wg.Wait()
	})
	return ln.Addr().String()
}
