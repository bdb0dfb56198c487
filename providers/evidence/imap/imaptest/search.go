package imaptest

import (
	"bytes"
	"fmt"
	"strconv"
	"strings"
	"time"
)

// search answers UID SEARCH with the keys SINCE, UID, HEADER, ALL and, if Gmail's
// extensions are among the capabilities, X-GM-RAW.
func (s *Server) search(out, end *strings.Builder, st *state, cmd Command) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if strings.Contains(cmd.Args, "X-GM-RAW") && !strings.Contains(s.Caps, "X-GM-EXT-1") {
		end.Reset()
		fmt.Fprintf(end, "%s BAD what?\r\n", cmd.Tag)
		return
	}
	out.WriteString("* SEARCH")
	list := s.in(st.folder)
	for _, m := range list[:max(len(list)-s.Unindexed, 0)] {
		if m.matches(words(cmd.Args)) {
			fmt.Fprintf(out, " %d", m.UID)
		}
	}
	out.WriteString("\r\n")
}

func (m Message) matches(keys []string) bool {
	for len(keys) > 0 {
		switch {
		case keys[0] == "SINCE" && len(keys) > 1:
			day, err := time.Parse("_2-Jan-2006", keys[1])
			if err != nil || m.Date.Before(day) {
				return false
			}
			keys = keys[2:]
		case keys[0] == "UID" && len(keys) > 1:
			if !inSet(keys[1], m.UID) {
				return false
			}
			keys = keys[2:]
		case keys[0] == "HEADER" && len(keys) > 2:
			if !m.headerContains(keys[1], keys[2]) {
				return false
			}
			keys = keys[3:]
		case keys[0] == "X-GM-RAW" && len(keys) > 1:
			if !m.raw(keys[1]) {
				return false
			}
			keys = keys[2:]
		default:
			keys = keys[1:]
		}
	}
	return true
}

// raw is Gmail's search: the operator rfc822msgid only, which is exact.
func (m Message) raw(query string) bool {
	id, ok := strings.CutPrefix(query, "rfc822msgid:")
	for _, line := range m.headerLines() {
		n, v, _ := strings.Cut(line, ":")
		if ok && strings.EqualFold(n, "Message-ID") && strings.TrimSpace(v) == "<"+id+">" {
			return true
		}
	}
	return false
}

func (m Message) headerContains(name, value string) bool {
	for _, line := range m.headerLines() {
		n, v, _ := strings.Cut(line, ":")
		if strings.EqualFold(n, name) && strings.Contains(strings.ToLower(v), strings.ToLower(value)) {
			return true
		}
	}
	return false
}

// headerLines returns the header fields, each with its line breaks.
func (m Message) headerLines() []string {
	head, _, _ := bytes.Cut(m.Raw, []byte("\r\n\r\n"))
	var lines []string
	for line := range strings.SplitSeq(string(head), "\r\n") {
		if len(lines) > 0 && line != "" && (line[0] == ' ' || line[0] == '\t') {
			lines[len(lines)-1] += "\r\n" + line
			continue
		}
		lines = append(lines, line)
	}
	return lines
}

// fetch answers FETCH and UID FETCH for flags, date and header fields.
func (s *Server) fetch(out, end *strings.Builder, st *state, cmd Command) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if strings.Contains(cmd.Args, "X-GM-MSGID") || strings.Contains(cmd.Args, "EMAILID") {
		s.identify(out, end, st, cmd)
		return
	}
	set, items, _ := strings.Cut(cmd.Args, " ")
	fields := ""
	if _, rest, ok := strings.Cut(items, "HEADER.FIELDS ("); ok {
		fields, _, _ = strings.Cut(rest, ")")
	}
	for i, m := range s.in(st.folder) {
		num := uint32(i + 1)
		if cmd.Verb == "UID FETCH" {
			num = m.UID
		}
		if !inSet(set, num) {
			continue
		}
		body := m.headerFields(words(fields))
		fmt.Fprintf(out, "* %d FETCH (UID %d FLAGS (%s) INTERNALDATE %q BODY[HEADER.FIELDS (%s)] {%d}\r\n%s)\r\n",
			i+1, m.UID, m.Flags, m.Date.Format("_2-Jan-2006 15:04:05 -0700"), fields, len(body), body)
	}
}

func (m Message) headerFields(names []string) string {
	var b strings.Builder
	for _, line := range m.headerLines() {
		n, _, _ := strings.Cut(line, ":")
		for _, want := range names {
			if strings.EqualFold(n, want) {
				b.WriteString(line + "\r\n")
				break
			}
		}
	}
	return b.String() + "\r\n"
}

// words splits arguments at spaces; quoted strings are one word.
func words(s string) []string {
	var out []string
	for s = strings.TrimLeft(s, " "); s != ""; s = strings.TrimLeft(s, " ") {
		if s[0] != '"' {
			w, rest, _ := strings.Cut(s, " ")
			out, s = append(out, w), rest
			continue
		}
		w, rest, _ := strings.Cut(s[1:], `"`)
		out, s = append(out, w), rest
	}
	return out
}

func inSet(set string, num uint32) bool {
	for r := range strings.SplitSeq(set, ",") {
		lo, hi, ranged := strings.Cut(r, ":")
		if !ranged {
			hi = lo
		}
		a, err1 := strconv.ParseUint(lo, 10, 32)
		b, err2 := strconv.ParseUint(hi, 10, 32)
		if err1 == nil && err2 == nil && uint64(num) >= a && uint64(num) <= b {
			return true
		}
	}
	return false
}
