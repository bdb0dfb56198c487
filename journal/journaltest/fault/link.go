package fault

import (
	"bufio"
	"net"
	"sync"
)

// Link is one connection through the proxy.
type Link struct {
	proxy  *Proxy
	client net.Conn
	over   chan struct{} // closed by cut
	end    sync.Once

	mu     sync.Mutex
	server net.Conn // nil until the server answered the dial
	quiet  bool     // halted
	at     statements
}

func newLink(p *Proxy, client net.Conn) *Link {
	return &Link{proxy: p, client: client, over: make(chan struct{}), at: statements{named: map[string]string{}}}
}

// cut ends both sides.
func (l *Link) cut() {
	l.end.Do(func() {
		close(l.over)
		_ = l.client.Close()
		l.mu.Lock()
		defer l.mu.Unlock()
		if l.server != nil {
			_ = l.server.Close()
		}
	})
}

func (l *Link) halt() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.quiet = true
}

func (l *Link) silent() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.quiet
}

// serve passes messages both ways until either side ends.
func (l *Link) serve(network, addr string) {
	defer l.proxy.forget(l)
	defer l.cut()
	in := bufio.NewReaderSize(l.client, 16<<10)
	first, code, err := readStartup(in)
	for err == nil && (code == sslCode || code == gssCode) {
		if _, err = l.client.Write([]byte{'N'}); err == nil {
			first, code, err = readStartup(in)
		}
	}
	if err != nil {
		return
	}
	if code != cancelCode {
		if t := l.proxy.due(Startup, ""); t != nil {
			t.spring(l)
		}
	}
	if !l.dial(network, addr) {
		return
	}
	if _, err := l.server.Write(first); err != nil {
		return
	}
	if code == cancelCode { // the server says nothing, it hangs up
		_, _ = l.server.Read(make([]byte, 1))
		return
	}
	var wg sync.WaitGroup
	wg.Go(func() { defer l.cut(); l.pump(bufio.NewReaderSize(l.server, 16<<10), l.client, fromServer) })
	l.pump(in, l.server, 0)
	l.cut()
	wg.Wait()
}

// dial connects to the server unless the link is over already.
func (l *Link) dial(network, addr string) bool {
	c, err := net.Dial(network, addr)
	if err != nil {
		return false
	}
	l.mu.Lock()
	l.server = c
	l.mu.Unlock()
	select {
	case <-l.over: // cut before there was a server to cut
		_ = c.Close()
		return false
	default:
		return true
	}
}

// pump passes messages of one direction on, and springs what waits for them.
func (l *Link) pump(src *bufio.Reader, dst net.Conn, side Kind) {
	defer func() {
		if l.silent() { // the other side does not learn that this one gave up
			<-l.over
		}
	}()
	out := bufio.NewWriterSize(dst, 16<<10)
	var buf []byte
	for {
		var err error
		if buf, err = readMessage(src, buf); err != nil {
			return
		}
		kind := side | Kind(buf[0])
		t := l.proxy.due(kind, l.statement(side, buf))
		if t != nil && !t.point.After {
			if out.Flush() != nil || !l.spring(t) {
				return
			}
		}
		if l.silent() {
			return
		}
		if _, err := out.Write(buf); err != nil {
			return
		}
		if (src.Buffered() == 0 || t != nil) && out.Flush() != nil {
			return
		}
		if t != nil && t.point.After && !l.spring(t) {
			return
		}
	}
}

// spring reports whether the link still stands after the act.
func (l *Link) spring(t *Trap) bool {
	t.spring(l)
	select {
	case <-l.over:
		return false
	default:
		return true
	}
}

func (l *Link) statement(side Kind, msg []byte) string {
	l.mu.Lock()
	defer l.mu.Unlock()
	if side != fromServer {
		l.at.note(msg)
	}
	return l.at.current
}

// Statement is the statement that the session is at, for an Act that wants to
// tell where it struck.
func (l *Link) Statement() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.at.current
}
