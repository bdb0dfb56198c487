package imap

import (
	"fmt"
	"time"

	"github.com/landedhq/landed/journal"
	"github.com/landedhq/landed/providers/evidence/mailref"
)

// hit is one message that carries the reference, with what tells whether it is
// the same mail as another.
type hit struct {
	match    journal.Match
	mailbox  string
	all      bool // of a mailbox that holds what was received, too
	who      identity
	received bool   // a mail server has had it
	mail     string // the header fields that a copy shares; "" = not known
}

// oneMail turns hits into matches. Three things look like two mails and are one:
// a message that several mailboxes or labels show; the copy that the sending path
// appended beside the one that the server saved by itself; and a copy that came
// back to the account.
func oneMail(hits []hit) []journal.Match {
	hits = joinCopies(joinShown(hits))
	var sent, delivered []journal.Match
	for _, h := range hits {
		if h.all && h.match.State == journal.MatchEffective && !h.who.label(`\Sent`) {
			delivered = append(delivered, h.match)
			continue
		}
		sent = append(sent, h.match)
	}
	return mailref.OneMail(sent, delivered)
}

// joinShown joins what the server says is one message. Within one mailbox two
// messages are two, whatever their EMAILID: servers may give it by content, and
// two attempts can write the same.
func joinShown(hits []hit) []hit {
	var out []hit
next:
	for _, h := range hits {
		for i := range out {
			if h.who.id != "" && h.who.id == out[i].who.id && h.mailbox != out[i].mailbox && !out[i].shownIn(h.mailbox) {
				out[i].match.Facts = append(out[i].match.Facts, journal.MatchFact{Name: factAlsoIn, Value: h.mailbox})
				out[i].who.labels = append(out[i].who.labels, h.who.labels...)
				continue next
			}
		}
		out = append(out, h)
	}
	return out
}

const factAlsoIn = "Also in"

func (h hit) shownIn(mailbox string) bool {
	for _, f := range h.match.Facts {
		if f.Name == factAlsoIn && f.Value == mailbox {
			return true
		}
	}
	return false
}

// joinCopies joins an appended copy with the server's own. The first has no
// Received field, the second has: no mail that was sent twice has one of each. More
// than one of either is left as it is.
func joinCopies(hits []hit) []hit {
	kinds := map[string][2][]int{} // by what they share: appended, saved
	for i, h := range hits {
		if h.mail == "" || h.all || h.match.State != journal.MatchEffective {
			continue
		}
		pair, kind := kinds[h.mail], 0
		if h.received {
			kind = 1
		}
		pair[kind] = append(pair[kind], i)
		kinds[h.mail] = pair
	}
	var out []hit
	for i, h := range hits {
		pair := kinds[h.mail]
		if h.mail == "" || len(pair[0]) != 1 || len(pair[1]) != 1 {
			out = append(out, h)
			continue
		}
		if i == pair[0][0] { // told with the other one
			continue
		}
		other := hits[pair[0][0]].match
		h.match.Facts = append(h.match.Facts, journal.MatchFact{Name: "Appended copy",
			Value: fmt.Sprintf("%s, the same mail: this one was saved by the server, that one put there by the sending path", other.ID)})
		out = append(out, h)
	}
	return out
}

// shared is what two copies of one mail have in common; "" if too little is known
// to tell. Message-ID alone doesn't do: every attempt writes the same.
func shared(fields []field) string {
	out := ""
	for _, name := range []string{messageIDHeader, "Date", "From", "To", "Subject"} {
		v := first(fields, name)
		if v == "" && (name == messageIDHeader || name == "Date") {
			return ""
		}
		out += v + "\n"
	}
	return out
}

// draftState is of a draft where sending takes it away: a request in flight may
// still send it until the window of the look ends.
func (l *look) draftState() journal.MatchState {
	if l.mb.all && !time.Now().After(l.q.To) {
		return journal.MatchPending
	}
	return journal.MatchNotEffective
}
