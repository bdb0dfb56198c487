package imaptest

import (
	"fmt"
	"strings"
)

// identify answers UID FETCH for X-GM-MSGID with X-GM-LABELS, and for EMAILID. As
// at Gmail the label of the folder that is open is left out.
func (s *Server) identify(out, end *strings.Builder, st *state, cmd Command) {
	gmail := strings.Contains(cmd.Args, "X-GM-MSGID")
	if gmail != strings.Contains(s.Caps, "X-GM-EXT-1") {
		end.Reset()
		fmt.Fprintf(end, "%s BAD what?\r\n", cmd.Tag)
		return
	}
	set, _, _ := strings.Cut(cmd.Args, " ")
	for i, m := range s.in(st.folder) {
		switch {
		case !inSet(set, m.UID):
		case m.ID == "":
			end.Reset()
			fmt.Fprintf(end, "%s NO not today\r\n", cmd.Tag)
		case !gmail:
			fmt.Fprintf(out, "* %d FETCH (EMAILID (%s) UID %d)\r\n", i+1, m.ID, m.UID)
		default:
			fmt.Fprintf(out, "* %d FETCH (X-GM-MSGID %s X-GM-LABELS (%s) UID %d)\r\n", i+1, m.ID, s.labels(m, st.folder), m.UID)
		}
	}
}

// labels writes each label in another of the forms that IMAP has.
func (s *Server) labels(m Message, folder string) string {
	var out []string
	for _, l := range m.Labels {
		switch {
		case l == `\Sent` && folder == s.Sent:
		case strings.HasPrefix(l, `\`):
			out = append(out, `"`+strings.ReplaceAll(l, `\`, `\\`)+`"`)
		default:
			out = append(out, fmt.Sprintf("{%d}\r\n%s", len(l), l))
		}
	}
	return strings.Join(out, " ")
}

// xlist answers XLIST: it marks folders though LIST doesn't. Names are as on the
// wire.
func (s *Server) xlist(out *strings.Builder) {
	fmt.Fprintf(out, "* XLIST (\\HasNoChildren \\Inbox) \"/\" \"Inbox\"\r\n* XLIST (\\HasNoChildren \\Sent) \"/\" %q\r\n", s.Sent)
	for _, f := range s.Also {
		fmt.Fprintf(out, "* XLIST (\\HasNoChildren %s) \"/\" %q\r\n", f.Mark, f.Name)
	}
}
