package client_test

import (
	"bufio"
	"fmt"
	"net"
	"slices"
	"strings"
	"sync"
	"testing"
)

// mailServer is an SMTP server that counts what it was handed. The script maps
// a command, or "." for the end of a message, to another reply; an empty reply
// cuts the connection.
type mailServer struct {
	addr   string
	script map[string]string
	mu     sync.Mutex
	taken  []string
}

func newMailServer(t *testing.T, script map[string]string) *mailServer {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	m := &mailServer{addr: l.Addr().String(), script: script}
	t.Cleanup(func() { _ = l.Close() })
	go func() {
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			go m.serve(conn)
		}
	}()
	return m
}

func (m *mailServer) mails() []string {
	m.mu.Lock()
	defer m.mu.Unlock()
	return slices.Clone(m.taken)
}

func (m *mailServer) serve(conn net.Conn) {
	defer func() { _ = conn.Close() }()
	say := func(verb, reply string) bool {
		if other, ok := m.script[verb]; ok {
			reply = other
		}
		if reply != "" {
			_, _ = fmt.Fprintf(conn, "%s\r\n", reply)
		}
		return reply != ""
	}
	in := bufio.NewScanner(conn)
	for ok := say("", "220 test"); ok && in.Scan(); {
		verb, _, _ := strings.Cut(in.Text(), " ")
		switch verb {
		case "DATA":
			if ok = say("DATA", "354 go on"); ok && m.script["DATA"] == "" {
				m.take(in)
				ok = say(".", "250 2.0.0 taken")
			}
		case "QUIT":
			say("QUIT", "221 bye")
			return
		default:
			ok = say(verb, "250 ok")
		}
	}
}

// take reads a message up to its final dot.
func (m *mailServer) take(in *bufio.Scanner) {
	var lines []string
	for in.Scan() && in.Text() != "." {
		lines = append(lines, strings.TrimPrefix(in.Text(), "."))
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	m.taken = append(m.taken, strings.Join(lines, "\n"))
}
