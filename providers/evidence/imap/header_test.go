package imap

import (
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"

	goimap "github.com/emersion/go-imap/v2"
	"github.com/google/go-cmp/cmp"
)

const testRef = "0123456789ab4def8123456789abcdef"

func TestParseFields(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name, raw string
		want      []field
	}{
		{"nothing", "\r\n", nil},
		{"two", "A: 1\r\nb : 2 \r\n\r\n", []field{{"a", "1"}, {"b", "2"}}},
		{"folded", "A:\r\n 1\r\n\t2\r\n", []field{{"a", "1\t2"}}},
		{"no end", "A: 1", []field{{"a", "1"}}},
		{"bare line feeds", "A: 1\nB: 2\n\nC: 3", []field{{"a", "1"}, {"b", "2"}}},
		{"no colon", "junk\r\n folded junk\r\nA: 1\r\n", []field{{"a", "1"}}},
		{"empty name", ": x\r\nA: 1\r\n", []field{{"a", "1"}}},
		{"body is not read", "A: 1\r\n\r\nX-Landed-Ref: " + testRef, []field{{"a", "1"}}},
		{"continuation first", " x\r\nA: 1\r\n", []field{{"a", "1"}}},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			if diff := cmp.Diff(c.want, parseFields([]byte(c.raw)), cmp.AllowUnexported(field{})); diff != "" {
				t.Errorf("fields (-want +got):\n%s", diff)
			}
		})
	}
}

func TestCarriersCompareByteForByte(t *testing.T) {
	t.Parallel()
	c := Carrier{}.withDefaults()
	for _, tc := range []struct {
		raw  string
		want string
	}{
		{"X-Landed-Ref: " + testRef, "X-Landed-Ref"},
		{"Message-ID: <" + testRef + "@a.test>", "Message-ID"},
		{"Message-ID: " + testRef + "@a.test", ""}, // no brackets: not a message id
		{"Message-ID: <" + testRef + ">", ""},
		{"Message-ID: <" + testRef + "@>", ""},
		{"Message-ID: <a" + testRef + "@a.test>", ""},
		{"Message-ID: <" + testRef + "@a.test> <b@c.test>", ""},
		{"Message-ID: <" + strings.ToUpper(testRef) + "@a.test>", ""},
		{"X-Landed-Ref: " + strings.ToUpper(testRef), ""},
		{"X-Landed-Ref: " + testRef + "0", ""},
		{"X-Landed-Ref: " + testRef[:16] + "\r\n " + testRef[16:], ""}, // folded apart: another text
		{"X-Landed-Ref: other\r\nX-Landed-Ref: " + testRef, "X-Landed-Ref"},
		{"X-Landed-Ref-2: " + testRef, ""},
		{"In-Reply-To: <" + testRef + "@a.test>", ""},
		{"Resent-Message-ID: <" + testRef + "@a.test>", ""},
	} {
		if got := strings.Join(c.carriers(parseFields([]byte(tc.raw)), testRef), ","); got != tc.want {
			t.Errorf("%q: carriers %q, want %q", tc.raw, got, tc.want)
		}
	}
}

func TestToken(t *testing.T) {
	t.Parallel()
	for s, want := range map[string]string{
		"": "", "<a@b.cd>": "", "<x-abcdef@b>": "abcdef", "<" + testRef + "@e>": testRef,
		"\"\r\nX EXPUNGE": "EXPUNGE", strings.Repeat("a", 100): strings.Repeat("a", 64), "überlange": "berlange",
	} {
		if got := token(s); got != want {
			t.Errorf("token(%q) = %q, want %q", s, got, want)
		}
	}
}

func TestReadable(t *testing.T) {
	t.Parallel()
	for s, want := range map[string]string{
		"plain": "plain", "=?utf-8?q?Gr=C3=BC=C3=9Fe?=": "Grüße", "=?koi8-r?b?8NLJ18XU?=": "=?koi8-r?b?8NLJ18XU?=",
		"a\x00b\x1b[31m\u0085c": "a b [31m c", "\xff\xfe": "\uFFFD", "=?utf-8?q?a=0D=0ABcc:_x?=": "a Bcc: x", strings.Repeat("ü", 50): strings.Repeat("ü", 40) + "…",
	} {
		if got := readable(s, 40); got != want {
			t.Errorf("readable(%q) = %q, want %q", s, got, want)
		}
	}
}

func TestNewestNeverExpandsARange(t *testing.T) {
	t.Parallel()
	set := goimap.UIDSet{{Start: 1, Stop: 1}, {Start: 3, Stop: 5}, {Start: 9, Stop: 4294967295}}
	got, all := newest(set, 2)
	if diff := cmp.Diff([]goimap.UID{4294967294, 4294967295}, got); diff != "" || all {
		t.Errorf("all %v, newest (-want +got):\n%s", all, diff)
	}
	got, all = newest(set[:2], 4)
	if diff := cmp.Diff([]goimap.UID{1, 3, 4, 5}, got); diff != "" || !all {
		t.Errorf("all %v, newest (-want +got):\n%s", all, diff)
	}
	if n := count(set[:2]); n != 4 {
		t.Errorf("count %d, want 4", n)
	}
}

// FuzzHeader feeds header bytes as any stranger could have written them.
func FuzzHeader(f *testing.F) {
	for _, s := range []string{
		"", "\r\n", "A: 1\r\n b\r\n", "Message-ID: <" + testRef + "@e.test>\r\n", "X-Landed-Ref: " + testRef,
		"Subject: =?utf-8?b?4pyT?=\r\n", ":\n:\n", "\x00: \xff\r\n", "A:\r\n\r\nB: 2",
	} {
		f.Add([]byte(s))
	}
	c := Carrier{}.withDefaults()
	f.Fuzz(func(t *testing.T, raw []byte) {
		fields := parseFields(raw)
		if len(fields) > maxFields {
			t.Fatalf("%d fields", len(fields))
		}
		for _, fl := range fields {
			if fl.name == "" || strings.ContainsAny(fl.name+fl.value, "\n") {
				t.Errorf("field %q", fl)
			}
			text := readable(fl.value, 50)
			if !utf8.ValidString(text) || strings.ContainsFunc(text, unicode.IsControl) || utf8.RuneCountInString(text) > 51 {
				t.Errorf("readable text %q", text)
			}
			if tok := token(fl.value); strings.ContainsFunc(tok, notTokenRune) {
				t.Errorf("token %q", tok)
			}
		}
		if len(c.carriers(fields, testRef)) > 0 && !strings.Contains(string(raw), testRef) {
			t.Errorf("a carrier in %q", raw)
		}
		// What comes behind can't hide a carrier, unless it continues its line.
		if len(raw) > 0 && raw[0] != ' ' && raw[0] != '\t' && len(raw) < maxHeaderBytes/2 {
			with := append([]byte("X-Landed-Ref: "+testRef+"\r\n"), raw...)
			if len(c.carriers(parseFields(with), testRef)) == 0 {
				t.Errorf("the carrier is hidden in %q", with)
			}
		}
	})
}
