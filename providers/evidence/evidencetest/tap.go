package evidencetest

import (
	"io"
	"net"
	"sync"
	"sync/atomic"
	"testing"
)

// Tap is a TCP relay in front of a real server. It counts the bytes that
// clients sent and keeps them, so that a test can say what was asked.
type Tap struct {
	ln     net.Listener
	target string
	bytes  atomic.Int64

	mu    sync.Mutex
	sent  []byte
	conns map[net.Conn]struct{}
	ended bool
}

// NewTap relays a loopback address to target until the test ends.
func NewTap(t testing.TB, target string) *Tap {
	t.Helper()
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatalf("listening: %v", err)
	}
	tap := &Tap{ln: ln, target: target, conns: map[net.Conn]struct{}{}}
	var wg sync.WaitGroup
	wg.Go(func() { tap.accept(&wg) })
	t.Cleanup(func() {
		tap.close()
		wg.Wait()
	})
	return tap
}

// Addr is where clients connect.
func (tap *Tap) Addr() string { return tap.ln.Addr().String() }

// Bytes counts what clients sent so far.
func (tap *Tap) Bytes() int64 { return tap.bytes.Load() }

// Sent returns all that clients sent so far, in the order of arrival.
func (tap *Tap) Sent() string {
	tap.mu.Lock()
	defer tap.mu.Unlock()
	return string(tap.sent)
}

func (tap *Tap) accept(wg *sync.WaitGroup) {
	for {
		in, err := tap.ln.Accept()
		if err != nil {
			return
		}
		out, err := net.Dial("tcp", tap.target)
		if err != nil {
			in.Close()
			continue
		}
		tap.mu.Lock()
		tap.conns[in], tap.conns[out] = struct{}{}, struct{}{}
		if tap.ended {
			in.Close()
			out.Close()
		}
		tap.mu.Unlock()
		wg.Go(func() { pipe(out, io.TeeReader(in, keeper{tap}), in) })
		wg.Go(func() { pipe(in, out, out) })
	}
}

// keeper keeps what a client sent before it is passed on.
type keeper struct{ *Tap }

func (tap keeper) Write(p []byte) (int, error) {
	tap.mu.Lock()
	defer tap.mu.Unlock()
	tap.sent = append(tap.sent, p...)
	tap.bytes.Add(int64(len(p)))
	return len(p), nil
}

func pipe(dst net.Conn, src io.Reader, srcConn net.Conn) {
	_, _ = io.Copy(dst, src) // either side may hang up at any time
	dst.Close()
	srcConn.Close()
}

func (tap *Tap) close() {
	tap.ln.Close()
	tap.mu.Lock()
	defer tap.mu.Unlock()
	tap.ended = true
	for c := range tap.conns {
		c.Close()
	}
}
