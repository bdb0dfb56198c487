package mailref_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/landedhq/landed/journal"
	"github.com/landedhq/landed/providers/evidence/mailref"
)

func TestHeld(t *testing.T) {
	t.Parallel()
	ref := journal.RandomRef()
	c := mailref.Carrier{}.WithDefaults()
	for _, row := range []struct {
		name        string
		values, ids []string
		want        string
	}{
		{"header", []string{ref}, nil, "header X-Landed-Ref"},
		{"second header field, with blanks", []string{"x", " " + ref + "\r\n"}, nil, "header X-Landed-Ref"},
		{"Message-ID", nil, []string{"<" + ref + "@effects.landed>"}, "Message-ID"},
		{"header first", []string{ref}, []string{"<" + ref + "@effects.landed>"}, "header X-Landed-Ref"},
		{"other case", []string{strings.ToUpper(ref)}, []string{"<" + strings.ToUpper(ref) + "@effects.landed>"}, ""},
		{"longer", []string{ref + "0", "re " + ref}, []string{"<x" + ref + "@effects.landed>"}, ""},
		{"another domain", nil, []string{"<" + ref + "@effects.landed.example>"}, ""},
		{"without brackets", nil, []string{ref + "@effects.landed"}, ""},
		{"nothing", nil, nil, ""},
	} {
		t.Run(row.name, func(t *testing.T) {
			t.Parallel()
			if got := c.Held(ref, row.values, row.ids); got != row.want {
				t.Errorf("held by %q, want %q", got, row.want)
			}
		})
	}
}

func TestOneMail(t *testing.T) {
	t.Parallel()
	m := func(id string, s journal.MatchState) journal.Match {
		return journal.Match{ID: id, State: s, Status: "in Inbox"}
	}
	sent, copied := m("s", journal.MatchEffective), m("c", journal.MatchEffective)
	joined := sent
	joined.Facts = []journal.MatchFact{{Name: "delivered copy", Value: "c in Inbox"}}
	for _, row := range []struct {
		name                  string
		sent, delivered, want []journal.Match
	}{
		{"none", nil, nil, nil},
		{"copy of one", []journal.Match{sent}, []journal.Match{copied}, []journal.Match{joined}},
		{"copy alone", nil, []journal.Match{copied}, []journal.Match{copied}},
		{"two and a copy", []journal.Match{sent, sent}, []journal.Match{copied}, []journal.Match{sent, sent, copied}},
		{"draft and a copy", []journal.Match{m("d", journal.MatchNotEffective)}, []journal.Match{copied}, []journal.Match{m("d", journal.MatchNotEffective), copied}},
	} {
		t.Run(row.name, func(t *testing.T) {
			t.Parallel()
			if diff := cmp.Diff(row.want, mailref.OneMail(row.sent, row.delivered)); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestFields(t *testing.T) {
	t.Parallel()
	ref := journal.RandomRef()
	got, err := mailref.Carrier{Header: "X-Ours", Domain: "shop.example"}.Fields(ref)
	if diff := cmp.Diff([]mailref.Field{{Name: "Message-ID", Value: "<" + ref + "@shop.example>"}, {Name: "X-Ours", Value: ref}}, got); diff != "" || err != nil {
		t.Error(diff, err)
	}
	for _, bad := range []mailref.Carrier{{Header: "Subject"}, {Header: "X-A\r\nB"}, {Domain: "a b"}, {Domain: ".x"}, {Domain: "a..b"}, {Domain: strings.Repeat("a", 201)}} {
		if _, err := bad.Fields(ref); err == nil {
			t.Errorf("%+v was taken", bad)
		}
	}
	if _, err := (mailref.Carrier{}).Fields("x"); err == nil {
		t.Error("no reference was taken")
	}
}
