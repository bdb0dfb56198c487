package imaptest

import (
	"bufio"
	"encoding/base64"
	"fmt"
	"io"
	"net"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"
)

// The account that a Server knows.
const (
	User     = "ann"
	Password = "pa55-Word-never-shown"
)

// Command is one command as it arrived, literals put in place.
type Command struct {
	Tag  string
	Verb string // upper case, with UID: "UID SEARCH"
	Args string
}

// Action is what a Script did with a command.
type Action int

// The actions.
const (
	Default Action = iota // let the server answer properly
	Done                  // the script has answered
	Hang                  // never answer, keep the connection
	Drop                  // close the connection
)

// Script may answer a command in the server's place, badly.
type Script func(w io.Writer, cmd Command) Action

// Message is one message.
type Message struct {
	UID   uint32
	Date  time.Time
	Flags string // e.g. `\Seen`
	Raw   []byte
	// In are the folders that show it; none = the Sent folder.
	In []string
	// ID is what FETCH says as X-GM-MSGID or EMAILID; "" = a refusal.
	ID     string
	Labels []string // Gmail's, e.g. `\Sent`
}

// Folder is a folder beside the Sent folder.
type Folder struct{ Name, Mark string }

// Server is a small IMAP4rev1 server with one account. It answers correctly
// unless a script steps in, and records every command.
type Server struct {
	Sent string   // name of the Sent folder
	Also []Folder // further folders
	// SpecialUse is whether the folder is marked with \Sent.
	SpecialUse bool
	Caps       string
	Greeting   string // "" = a proper one
	Script     Script // nil = none
	Unindexed  int    // so many of the newest messages no search finds

	ln net.Listener

	mu       sync.Mutex
	messages []Message
	commands []Command
	conns    map[net.Conn]struct{}
	closed   bool
}

// NewServer starts a server on a loopback port; it ends with the test. set may
// change the exported fields before the first connection, never later.
func NewServer(t testing.TB, script Script, set ...func(*Server)) *Server {
	t.Helper()
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatalf("listening: %v", err)
	}
	s := &Server{
		Sent: "Gesendet", SpecialUse: true, Caps: "IMAP4rev1 SPECIAL-USE LIST-EXTENDED", Script: script,
		ln: ln, conns: map[net.Conn]struct{}{},
	}
	for _, f := range set {
		f(s)
	}
	var wg sync.WaitGroup
	wg.Go(func() {
		for {
			c, err := ln.Accept()
			if err != nil {
				return
			}
			wg.Go(func() { s.serve(c) })
		}
	})
	t.Cleanup(func() {
		s.close()
		wg.Wait()
	})
	return s
}

// Addr is the server's address.
func (s *Server) Addr() string { return s.ln.Addr().String() }

// Add puts a message into the folder and returns its UID.
func (s *Server) Add(date time.Time, flags string, raw []byte) uint32 {
	s.mu.Lock()
	defer s.mu.Unlock()
	uid := uint32(100 + len(s.messages))
	s.messages = append(s.messages, Message{UID: uid, Date: date, Flags: flags, Raw: raw})
	return uid
}

// Put is Add with all that a message can have; its UID is the server's.
func (s *Server) Put(m Message) uint32 {
	s.mu.Lock()
	defer s.mu.Unlock()
	m.UID = uint32(100 + len(s.messages))
	s.messages = append(s.messages, m)
	return m.UID
}

// Commands returns every command so far, in the order of arrival.
func (s *Server) Commands() []Command {
	s.mu.Lock()
	defer s.mu.Unlock()
	return append([]Command(nil), s.commands...)
}

func (s *Server) close() {
	s.ln.Close()
	s.mu.Lock()
	defer s.mu.Unlock()
	s.closed = true
	for c := range s.conns {
		c.Close()
	}
}

func (s *Server) serve(c net.Conn) {
	defer c.Close()
	s.mu.Lock()
	s.conns[c] = struct{}{}
	if s.closed {
		c.Close()
	}
	greeting := s.Greeting
	s.mu.Unlock()
	if greeting == "" {
		greeting = "* OK [CAPABILITY " + s.Caps + "] ready\r\n"
	}
	if _, err := io.WriteString(c, greeting); err != nil {
		return
	}
	r, st := bufio.NewReader(c), &state{}
	for {
		cmd, err := readCommand(r, c)
		if err != nil {
			return
		}
		s.mu.Lock()
		s.commands = append(s.commands, cmd)
		s.mu.Unlock()
		if !s.handle(r, c, st, cmd) {
			return
		}
	}
}

// handle answers one command and reports whether the connection goes on.
func (s *Server) handle(r *bufio.Reader, c net.Conn, st *state, cmd Command) bool {
	action := Default
	if s.Script != nil {
		action = s.Script(c, cmd)
	}
	switch action {
	case Default:
		return s.answer(r, c, st, cmd)
	case Hang:
		_, _ = io.Copy(io.Discard, r) // until the client hangs up
		return false
	case Drop:
		return false
	}
	return true
}

// state is one connection's.
type state struct {
	folder string
	utf8   bool // enabled
}

func (s *Server) answer(r *bufio.Reader, c net.Conn, st *state, cmd Command) bool {
	var out, end strings.Builder
	fmt.Fprintf(&end, "%s OK done\r\n", cmd.Tag)
	switch cmd.Verb {
	case "CAPABILITY":
		out.WriteString("* CAPABILITY " + s.Caps + "\r\n")
	case "NOOP":
	case "LOGIN":
		if cmd.Args != fmt.Sprintf("%q %q", User, Password) {
			end.Reset()
			fmt.Fprintf(&end, "%s NO [AUTHENTICATIONFAILED] wrong: %s\r\n", cmd.Tag, cmd.Args) // echoes secrets, as bad servers do
		}
	case "AUTHENTICATE":
		if !s.plain(r, c, cmd) {
			end.Reset()
			fmt.Fprintf(&end, "%s NO [AUTHENTICATIONFAILED] wrong\r\n", cmd.Tag)
		}
	case "LIST":
		s.list(&out, cmd)
	case "EXAMINE", "SELECT":
		s.open(&out, &end, st, cmd)
	case "UID SEARCH":
		s.search(&out, &end, st, cmd)
	case "UID FETCH", "FETCH":
		s.fetch(&out, &end, st, cmd)
	case "ID":
		out.WriteString("* ID (\"name\" \"GImap\" \"vendor\" \"Google, Inc.\" \"support-url\" {3}\r\na)b)\r\n")
	case "XLIST":
		s.xlist(&out)
	case "ENABLE":
		st.utf8 = strings.Contains(cmd.Args, "UTF8=ACCEPT")
		out.WriteString("* ENABLED UTF8=ACCEPT\r\n")
	case "LOGOUT":
		out.WriteString("* BYE bye\r\n")
	default:
		end.Reset()
		fmt.Fprintf(&end, "%s BAD unknown command\r\n", cmd.Tag)
	}
	_, err := io.WriteString(c, out.String()+end.String())
	return err == nil && cmd.Verb != "LOGOUT"
}

func (s *Server) plain(r *bufio.Reader, c net.Conn, cmd Command) bool {
	mech, ir, _ := strings.Cut(cmd.Args, " ")
	if mech != "PLAIN" {
		return false
	}
	if ir == "" {
		fmt.Fprint(c, "+ \r\n")
		line, err := r.ReadString('\n')
		if err != nil {
			return false
		}
		ir = strings.TrimRight(line, "\r\n")
	}
	raw, err := base64.StdEncoding.DecodeString(ir)
	return err == nil && string(raw) == "\x00"+User+"\x00"+Password
}

func (s *Server) list(out *strings.Builder, cmd Command) {
	if !strings.Contains(cmd.Args, "SPECIAL-USE") {
		out.WriteString("* LIST (\\HasNoChildren) \"/\" INBOX\r\n")
		out.WriteString("* LIST (\\HasNoChildren) \"/\" Sent\r\n") // a decoy without the mark
	}
	if s.SpecialUse {
		fmt.Fprintf(out, "* LIST (\\HasNoChildren \\Sent) \"/\" %q\r\n", s.Sent)
		for _, f := range s.Also {
			fmt.Fprintf(out, "* LIST (\\HasNoChildren %s) \"/\" %q\r\n", f.Mark, f.Name)
		}
	}
}

func (s *Server) open(out, end *strings.Builder, st *state, cmd Command) {
	name := strings.Trim(cmd.Args, `"`)
	known := name == s.Sent || slices.ContainsFunc(s.Also, func(f Folder) bool { return f.Name == name })
	switch {
	case strings.Contains(s.Caps, "UTF8=ONLY") && !st.utf8:
		end.Reset()
		fmt.Fprintf(end, "%s NO UTF8=ACCEPT is not enabled\r\n", cmd.Tag)
		return
	case !known:
		end.Reset()
		fmt.Fprintf(end, "%s NO [NONEXISTENT] no such mailbox\r\n", cmd.Tag)
		return
	}
	st.folder = name
	s.mu.Lock()
	defer s.mu.Unlock()
	list := s.in(name)
	fmt.Fprintf(out, "* FLAGS (\\Seen \\Draft \\Deleted)\r\n* %d EXISTS\r\n* 0 RECENT\r\n* OK [UIDVALIDITY 4711] ok\r\n* OK [UIDNEXT %d] ok\r\n",
		len(list), 100+len(s.messages))
}

// in lists the messages of a folder.
func (s *Server) in(folder string) []Message {
	var out []Message
	for _, m := range s.messages {
		if len(m.In) == 0 && folder == s.Sent || slices.Contains(m.In, folder) {
			out = append(out, m)
		}
	}
	return out
}

// readCommand reads one command with its literals.
func readCommand(r *bufio.Reader, w io.Writer) (Command, error) {
	var text strings.Builder
	for {
		line, err := r.ReadString('\n')
		if err != nil {
			return Command{}, err
		}
		line = strings.TrimRight(line, "\r\n")
		text.WriteString(line)
		open := strings.LastIndexByte(line, '{')
		if !strings.HasSuffix(line, "}") || open < 0 {
			break
		}
		n, err := strconv.Atoi(strings.TrimSuffix(line[open+1:len(line)-1], "+"))
		if err != nil || n > 1<<20 {
			break
		}
		if !strings.HasSuffix(line, "+}") {
			fmt.Fprint(w, "+ go on\r\n")
		}
		lit := make([]byte, n)
		if _, err := io.ReadFull(r, lit); err != nil {
			return Command{}, err
		}
		text.Write(lit)
	}
	tag, rest, _ := strings.Cut(text.String(), " ")
	verb, args, _ := strings.Cut(rest, " ")
	if strings.EqualFold(verb, "UID") {
		var sub string
		sub, args, _ = strings.Cut(args, " ")
		verb += " " + sub
	}
	return Command{Tag: tag, Verb: strings.ToUpper(verb), Args: args}, nil
}
