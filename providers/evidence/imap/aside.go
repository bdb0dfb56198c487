package imap

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"net"
	"slices"
	"strconv"
	"strings"
	"sync"

	goimap "github.com/emersion/go-imap/v2"
)

// asideConn is a connection on which commands can be run beside the library: it
// knows neither Gmail's extensions nor OBJECTID, and gives the connection up at a
// FETCH item that it does not know. While such a command runs, what answers it is
// kept from the library, line by line. The library may have a CAPABILITY of its
// own under way then, and nothing else.
//
// It can't be put below STARTTLS, which the library does by itself.
type asideConn struct {
	net.Conn

	mu      sync.Mutex
	more    *sync.Cond
	tags    int
	tag     string   // of the command that runs; "" = none
	midLine bool     // the library has got part of a line
	partial []byte   // the line that comes in
	lines   []string // ours, complete
	back    []byte   // the library's, not yet read by it
	ended   error    // why nothing comes any more
}

const maxAsideLine = 256 << 10 // with its literals

var (
	errEndlessLine = fmt.Errorf("a line of more than %d bytes", maxAsideLine)
	errAnswerEnds  = errors.New("it ends too early")
)

func newAside(c net.Conn) *asideConn {
	a := &asideConn{Conn: c}
	a.more = sync.NewCond(&a.mu)
	return a
}

// Read is the library's: its reader waits here all the time.
func (c *asideConn) Read(p []byte) (int, error) {
	for {
		if n := c.handOver(p); n > 0 {
			return n, nil
		}
		n, err := c.Conn.Read(p)
		if n, ok := c.share(p, n, err); ok {
			return n, err
		}
	}
}

// handOver gives the library what was kept back for it.
func (c *asideConn) handOver(p []byte) int {
	c.mu.Lock()
	defer c.mu.Unlock()
	n := copy(p, c.back)
	c.back = c.back[n:]
	c.seen(p[:n])
	return n
}

func (c *asideConn) seen(p []byte) {
	if len(p) > 0 {
		c.midLine = p[len(p)-1] != '\n'
	}
}

// share says how much of what was read is for the library at once. What it may
// have later is in back.
func (c *asideConn) share(p []byte, n int, err error) (int, bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	defer c.more.Broadcast()
	if err != nil && c.ended == nil {
		c.ended = err
	}
	now := n
	if c.tag != "" {
		now = 0
		if c.midLine { // the end of what the library has begun
			if now = bytes.IndexByte(p[:n], '\n') + 1; now == 0 {
				now = n
			}
		}
		c.partial = append(c.partial, p[now:n]...)
		c.sort()
	}
	c.seen(p[:now])
	return now, now > 0 || err != nil
}

// sort tells complete lines apart. After the last one of the command everything
// is the library's again.
func (c *asideConn) sort() {
	for c.tag != "" {
		size := lineSize(c.partial)
		if size < 0 {
			if len(c.partial) > maxAsideLine {
				c.ended = errEndlessLine
			}
			return
		}
		line := string(c.partial[:size])
		c.partial = c.partial[size:]
		switch {
		case strings.HasPrefix(line, c.tag+" "):
			c.tag = ""
			c.lines = append(c.lines, line)
		case answersAside(line):
			c.lines = append(c.lines, line)
		default:
			c.back = append(c.back, line...)
		}
	}
	c.back, c.partial = append(c.back, c.partial...), nil
}

// answersAside reports whether an untagged line can belong to a command of ours.
func answersAside(line string) bool {
	words := strings.Fields(line[:min(len(line), 60)])
	if len(words) < 2 || words[0] != "*" {
		return false
	}
	return slices.Contains([]string{"SEARCH", "ID", "XLIST"}, strings.ToUpper(words[1])) || len(words) > 2 && strings.EqualFold(words[2], "FETCH")
}

// lineSize is how long the first line is, with its literals and its end, -1 if it
// is not complete.
func lineSize(b []byte) int {
	for from := 0; from <= len(b); {
		end := bytes.IndexByte(b[from:], '\n') + 1 + from
		if end == from {
			return -1
		}
		lit := literalSize(b[from:end])
		if lit < 0 {
			return end
		}
		from = end + lit
	}
	return -1
}

// literalSize is the size that a line announces at its end, -1 for none.
func literalSize(line []byte) int {
	line = bytes.TrimRight(line, "\r\n")
	open := bytes.LastIndexByte(line, '{')
	if open < 0 || !bytes.HasSuffix(line, []byte("}")) {
		return -1
	}
	n, err := strconv.ParseUint(string(line[open+1:len(line)-1]), 10, 31)
	if err != nil {
		return -1
	}
	return int(n)
}

// Close also ends a command that waits.
func (c *asideConn) Close() error {
	c.mu.Lock()
	if c.ended == nil {
		c.ended = net.ErrClosed
	}
	c.more.Broadcast()
	c.mu.Unlock()
	return c.Conn.Close()
}

// command runs one command without literals and returns the untagged answers.
// A NO or BAD comes back as *goimap.Error, as the library does it, and errBadAnswer
// says that the connection is good but the answer is nonsense. After any other
// error the connection is closed.
func (c *asideConn) command(text string) ([]answer, error) {
	lines, err := c.exchange(text)
	if err != nil {
		c.Close()
		return nil, err
	}
	last := len(lines) - 1
	if err := tagged(lines[last]); err != nil {
		return nil, err
	}
	var out []answer
	for _, line := range lines[:last] {
		a, err := parseAnswer(strings.TrimPrefix(line, "* "))
		if err != nil {
			return nil, err
		}
		out = append(out, a)
	}
	return out, nil
}

// exchange sends a command and waits for its last line.
func (c *asideConn) exchange(text string) ([]string, error) {
	c.mu.Lock()
	c.tags++
	tag := "L" + strconv.Itoa(c.tags)
	c.tag, c.lines = tag, nil
	c.mu.Unlock()
	if _, err := io.WriteString(c.Conn, tag+" "+text+"\r\n"); err != nil {
		return nil, err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	for c.tag != "" {
		if c.ended != nil {
			return nil, c.ended
		}
		c.more.Wait()
	}
	return c.lines, nil
}

// tagged reads the line that completes a command.
func tagged(line string) error {
	_, rest, _ := strings.Cut(strings.TrimRight(line, "\r\n"), " ")
	typ, text, _ := strings.Cut(rest, " ")
	e := &goimap.Error{Type: goimap.StatusResponseType(strings.ToUpper(typ)), Text: text}
	if strings.HasPrefix(text, "[") {
		if code, after, ok := strings.Cut(text[1:], "]"); ok {
			code, _, _ = strings.Cut(code, " ")
			e.Code, e.Text = goimap.ResponseCode(strings.ToUpper(code)), strings.TrimSpace(after)
		}
	}
	switch e.Type {
	case goimap.StatusResponseTypeOK:
		return nil
	case goimap.StatusResponseTypeNo, goimap.StatusResponseTypeBad:
		return e
	}
	return fmt.Errorf("%w: a command ended with %.20q", errBadAnswer, typ)
}
