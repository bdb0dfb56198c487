package imap

import (
	"net"
	"strings"
	"testing"
	"time"
)

func FuzzParseAnswer(f *testing.F) {
	for _, s := range []string{
		`12 FETCH (UID 5 X-GM-MSGID 1278455344230334865 X-GM-LABELS (\Inbox "a \"b\"" ` + "{3}\r\na)b))", `ID NIL`, `SEARCH 1 2 (MODSEQ 7)`,
		`1 FETCH (EMAILID (M6d99ac) UID 100)`, `XLIST (\Sent) "/" "x"`, "{9}\r\nshort", `"open`, `((`, `))`, strings.Repeat("(", 100),
	} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		a, err := parseAnswer(s)
		if err != nil || len(a) == 0 {
			return
		}
		_ = readIdentity(a.fetched())
		if nums, err := a.numbers(); err == nil && len(nums) >= len(a) {
			t.Errorf("%d numbers from %d words", len(nums), len(a))
		}
	})
}

func FuzzDecodeName(f *testing.F) {
	for _, s := range []string{"Sent", "a &- b", "&BB4EQgQ,BEAEMAQyBDsENQQ9BD0ESwQ1-", "&2D3cSw-", "&2D0-", "&AA-", "&", "ä"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		if name, ok := decodeName(s); ok && strings.ContainsRune(name, '\uFFFD') {
			t.Errorf("%q reads as %q", s, name)
		}
	})
}

// However a server's bytes fall apart, the library gets its own and no others.
func FuzzAside(f *testing.F) {
	f.Add("* 1 EXISTS\r\n* ID (\"name\" {3}\r\na\r\n)\r\nL1 OK done\r\n* BYE\r\n", uint8(3))
	f.Add("T1 OK\r\nL1 NO [LIMIT] x\r\n", uint8(1))
	f.Add("* SEARCH {5}\r\nL1 OK\r\nL1 OK\r\n", uint8(7))
	f.Fuzz(func(t *testing.T, wire string, chunk uint8) {
		client, server := net.Pipe()
		c := newAside(client)
		_ = client.SetDeadline(time.Now().Add(time.Second))
		_ = server.SetDeadline(time.Now().Add(time.Second))
		go func() {
			defer server.Close()
			buf := make([]byte, 64)
			if _, err := server.Read(buf); err != nil {
				return
			}
			for rest := wire; rest != ""; {
				n := min(int(chunk)+1, len(rest))
				if _, err := server.Write([]byte(rest[:n])); err != nil {
					return
				}
				rest = rest[n:]
			}
		}()
		got := make(chan string, 1)
		go func() {
			var all []byte
			p := make([]byte, 16)
			for {
				n, err := c.Read(p)
				all = append(all, p[:n]...)
				if err != nil {
					got <- string(all)
					return
				}
			}
		}()
		_, err := c.command("ID NIL")
		_ = c.Close()
		if lib := <-got; len(lib) > len(wire) || err == nil && len(lib) >= len(wire) {
			t.Errorf("the library got %q of %q", lib, wire)
		}
	})
}
