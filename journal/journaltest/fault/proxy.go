package fault

import (
	"errors"
	"fmt"
	"net"
	"net/url"
	"path/filepath"
	"strings"
	"sync"
)

// Proxy stands between clients and one PostgreSQL server, on a loopback port.
// The address stays the same while the server goes and comes back.
type Proxy struct {
	dsn  *url.URL
	addr string

	mu       sync.Mutex
	network  string // of the server
	server   string
	listener net.Listener // nil while refusing
	links    map[*Link]bool
	traps    []*Trap
	closed   bool
	wg       sync.WaitGroup
}

// Listen starts a proxy in front of the server of a connection string in URL
// form. TLS is off on both sides.
func Listen(dsn string) (*Proxy, error) {
	u, err := url.Parse(dsn)
	if err != nil || u.Scheme != "postgres" && u.Scheme != "postgresql" {
		return nil, errors.New("the proxy needs a connection string in URL form")
	}
	p := &Proxy{dsn: u, links: map[*Link]bool{}}
	p.network, p.server = serverOf(u)
	if p.listener, err = net.Listen("tcp", "127.0.0.1:0"); err != nil {
		return nil, fmt.Errorf("listening for the proxy: %w", err)
	}
	p.addr = p.listener.Addr().String()
	p.wg.Add(1)
	go p.accept(p.listener)
	return p, nil
}

// serverOf finds where a connection string leads.
func serverOf(u *url.URL) (network, addr string) {
	q := u.Query()
	host, port := u.Hostname(), u.Port()
	if h := q.Get("host"); h != "" {
		host = h
	}
	if n := q.Get("port"); n != "" {
		port = n
	}
	if port == "" {
		port = "5432"
	}
	if strings.HasPrefix(host, "/") {
		return "unix", filepath.Join(host, ".s.PGSQL."+port)
	}
	return "tcp", net.JoinHostPort(host, port)
}

// DSN is the connection string that leads through the proxy.
func (p *Proxy) DSN() string {
	u := *p.dsn
	q := u.Query()
	q.Del("port")
	q.Set("host", "127.0.0.1")
	q.Set("sslmode", "disable")
	_, port, _ := net.SplitHostPort(p.addr)
	q.Set("port", port)
	u.Host, u.RawQuery = "", strings.ReplaceAll(q.Encode(), "+", "%20")
	return u.String()
}

// Redirect leads new connections to another server.
func (p *Proxy) Redirect(dsn string) error {
	u, err := url.Parse(dsn)
	if err != nil {
		return fmt.Errorf("reading the server's address: %w", err)
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.network, p.server = serverOf(u)
	return nil
}

// Arm sets a trap.
func (p *Proxy) Arm(at Point, act Act) *Trap {
	if at.Nth < 1 {
		at.Nth = 1
	}
	t := &Trap{point: at, act: act, proxy: p, sprung: make(chan struct{})}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.traps = append(p.traps, t)
	return t
}

func (p *Proxy) disarm(t *Trap) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for i, o := range p.traps {
		if o == t {
			p.traps = append(p.traps[:i:i], p.traps[i+1:]...)
			return
		}
	}
}

// due counts a message and returns the trap that it springs, if any.
func (p *Proxy) due(k Kind, sql string) *Trap {
	p.mu.Lock()
	defer p.mu.Unlock()
	var hit *Trap
	for i := 0; i < len(p.traps); i++ {
		t := p.traps[i]
		if !t.point.matches(k, sql) {
			continue
		}
		if t.point.Nth > 1 || hit != nil {
			t.point.Nth = max(t.point.Nth-1, 1)
			continue
		}
		hit = t
		t.met.Store(true)
		p.traps = append(p.traps[:i:i], p.traps[i+1:]...)
		i--
	}
	return hit
}

// CutAll ends every connection, silent ones too.
func (p *Proxy) CutAll() int {
	p.mu.Lock()
	links := make([]*Link, 0, len(p.links))
	for l := range p.links {
		links = append(links, l)
	}
	p.mu.Unlock()
	for _, l := range links {
		l.cut()
	}
	return len(links)
}

// HaltAll silences every connection that stands; new ones pass.
func (p *Proxy) HaltAll() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	for l := range p.links {
		l.halt()
	}
	return len(p.links)
}

// Refuse closes the port, or opens it again.
func (p *Proxy) Refuse(yes bool) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	switch {
	case yes && p.listener != nil:
		err := p.listener.Close()
		p.listener = nil
		return err
	case !yes && p.listener == nil && !p.closed:
		l, err := net.Listen("tcp", p.addr)
		if err != nil {
			return fmt.Errorf("listening again: %w", err)
		}
		p.listener = l
		p.wg.Add(1)
		go p.accept(l)
	}
	return nil
}

// Close ends the proxy and every connection.
func (p *Proxy) Close() {
	p.mu.Lock()
	p.closed = true
	if p.listener != nil {
		_ = p.listener.Close()
		p.listener = nil
	}
	p.mu.Unlock()
	p.CutAll()
	p.wg.Wait()
}

func (p *Proxy) accept(l net.Listener) {
	defer p.wg.Done()
	for {
		c, err := l.Accept()
		if err != nil {
			return
		}
		p.mu.Lock()
		network, server := p.network, p.server
		link := newLink(p, c)
		closed := p.closed
		if !closed {
			p.links[link] = true
			p.wg.Add(1)
		}
		p.mu.Unlock()
		if closed {
			_ = c.Close()
			return
		}
		go link.serve(network, server)
	}
}

func (p *Proxy) forget(l *Link) {
	p.mu.Lock()
	delete(p.links, l)
	p.mu.Unlock()
	p.wg.Done()
}
