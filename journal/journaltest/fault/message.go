package fault

import (
	"bufio"
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
)

// maxMessage is more than any statement of the journal needs.
const maxMessage = 64 << 20

// Codes of first packets that start no session
// (https://www.postgresql.org/docs/current/protocol-message-formats.html).
const (
	cancelCode = 80877102
	sslCode    = 80877103
	gssCode    = 80877104
)

var errTooLong = errors.New("a message is longer than the proxy takes")

// readStartup reads a first packet: length, then a code.
func readStartup(r *bufio.Reader) (raw []byte, code uint32, err error) {
	raw, err = readBody(r, nil)
	if err != nil {
		return nil, 0, err
	}
	if len(raw) < 8 {
		return nil, 0, fmt.Errorf("a first packet of %d bytes", len(raw))
	}
	return raw, binary.BigEndian.Uint32(raw[4:8]), nil
}

// readMessage reads one typed message into buf, which it may replace.
func readMessage(r *bufio.Reader, buf []byte) ([]byte, error) {
	typ, err := r.ReadByte()
	if err != nil {
		return buf, err
	}
	return readBody(r, append(buf[:0], typ))
}

// readBody appends a length and what it counts to head.
func readBody(r *bufio.Reader, head []byte) ([]byte, error) {
	var length [4]byte
	if _, err := io.ReadFull(r, length[:]); err != nil {
		return head, err
	}
	n := int(binary.BigEndian.Uint32(length[:]))
	if n < 4 || n > maxMessage {
		return head, errTooLong
	}
	head = append(head, length[:]...)
	at := len(head)
	head = append(head, make([]byte, n-4)...)
	_, err := io.ReadFull(r, head[at:])
	return head, err
}

// statements follows which statement a session is at.
type statements struct {
	named   map[string]string // prepared ones
	current string
}

// note reads a client's message for the statement that it starts.
func (s *statements) note(msg []byte) {
	body := msg[5:]
	switch Kind(msg[0]) {
	case Query:
		s.current, _ = cstring(body)
	case Parse:
		name, rest := cstring(body)
		s.current, _ = cstring(rest)
		s.named[name] = s.current
	case Bind:
		_, rest := cstring(body) // the portal
		name, _ := cstring(rest)
		s.current = s.named[name]
	}
}

func cstring(b []byte) (string, []byte) {
	if i := bytes.IndexByte(b, 0); i >= 0 {
		return string(b[:i]), b[i+1:]
	}
	return string(b), nil
}
