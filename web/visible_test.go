package web

import (
	"context"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
)

func TestVisible(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name, in string
		limit    int
		want     string // marks in ‹›, gaps in []
	}{
		{"plain", "Invoice 4711", 100, "Invoice 4711"},
		{"empty", "", 100, ""},
		{"bidi override", "report\u202efdp.exe", 100, "report‹U+202E›fdp.exe"},
		{"isolates and zero width join into one mark", "a\u2066\u200bb", 100, "a‹U+2066 U+200B›b"},
		{"control characters", "a\x00b\x1b[31m", 100, "a‹U+0000›b‹U+001B›[31m"},
		{"more marks than fit one element", "a" + strings.Repeat("\u200b", 70) + "b", 900, "a‹" + strings.TrimSpace(strings.Repeat("U+200B ", 64)) + "›[… 6 more invisible characters …]b"},
		{"broken UTF-8", "a\xff\xfeb", 100, `a‹\xFF \xFE›b`},
		{"tab, carriage return, no-break space", "a\tb\rc\u00a0d", 100, "a‹⇥›b‹␍›c‹⍽›d"},
		{"a new line stays", "a\nb", 100, "a\nb"},
		{"seven spaces stay", "a       b", 100, "a       b"},
		{"eight spaces are counted", "a        b", 100, "a[… 8 spaces …]b"},
		{"mixed white space is counted", "a \t \u2003 \t \u3000 b", 100, "a[… 9 spaces …]b"},
		{"empty lines are counted", "a" + strings.Repeat("\n", 300) + "b", 100, "a[… 300 empty lines …]b"},
		{"heaps of combining characters", "a" + strings.Repeat("\u0301", 40) + "b", 100, "a[… 40 combining characters …]b"},
		{"an accent stays", "cafe\u0301", 100, "cafe\u0301"},
		{"tag characters", "hi\U000e0041", 100, "hi‹U+E0041›"},
		{"the middle is cut, the end is not", strings.Repeat("x", 500) + "THE END", 50, strings.Repeat("x", 30) + "[… 457 characters not shown …]" + strings.Repeat("x", 13) + "THE END"},
		{"a little over the limit is not cut", strings.Repeat("x", 60), 50, strings.Repeat("x", 60)},
		{"padding does not use the room up", "a" + strings.Repeat(" ", 5000) + "b", 50, "a[… 5\u202f000 spaces …]b"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			if diff := cmp.Diff(tt.want, plainly(Visible(tt.in, tt.limit))); diff != "" {
				t.Errorf("Visible (-want +got):\n%s", diff)
			}
		})
	}
}

func plainly(t Text) string {
	var b strings.Builder
	for _, s := range t.Spans {
		switch s.Kind {
		case SpanMark:
			b.WriteString("‹" + s.Text + "›")
		case SpanGap:
			b.WriteString("[" + s.Text + "]")
		default:
			b.WriteString(s.Text)
		}
	}
	return b.String()
}

func TestTextRendersEscapedAndIsolated(t *testing.T) {
	t.Parallel()
	var b strings.Builder
	if err := Visible(`<img src=x onerror=alert(1)>`+"\u202e", 100).Render(context.Background(), &b); err != nil {
		t.Fatal(err)
	}
	want := `<bdi>&lt;img src=x onerror=alert(1)&gt;<span class="mark" title="changes the direction of writing">U+202E</span></bdi>`
	if diff := cmp.Diff(want, b.String()); diff != "" {
		t.Errorf("rendered (-want +got):\n%s", diff)
	}
}

func FuzzVisible(f *testing.F) {
	for _, s := range []string{"", "a\u202eb", "\xff\xfe", strings.Repeat(" ", 300), strings.Repeat("\u200b", 300), "e\u0301\u0301\u0301\u0301\u0301\u0301", "\U000e0041"} {
		f.Add(s, 10)
		f.Add(s, 2000)
	}
	f.Fuzz(func(t *testing.T, s string, limit int) {
		if limit < 5 || limit > 1<<20 {
			limit = 50
		}
		v := Visible(s, limit)
		total, room := 0, 0
		for _, sp := range v.Spans {
			total += sp.runes
			room += sp.cost()
			if !utf8.ValidString(sp.Text) {
				t.Fatalf("span %q is not UTF-8", sp.Text)
			}
			for _, r := range sp.Text {
				if sp.Kind == SpanPlain && invisibleName(r) != "" {
					t.Fatalf("plain span holds U+%04X", r)
				}
			}
		}
		if want := utf8.RuneCountInString(s); total != want {
			t.Fatalf("spans stand for %d characters, the text has %d", total, want)
		}
		if room > limit+minCut+64 {
			t.Fatalf("takes %d characters of room, limit %d", room, limit)
		}
	})
}

func TestV02_BigNumbersKeepTheirDigits(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct{ name, in, want string }{
		{"object", `{"id":1970670598291982290,"amt":10.10}`, "{\n  \"id\": 1970670598291982290,\n  \"amt\": 10.10\n}"},
		{"exponents and zeros", `[1e400,-0,1.000000000000000000001]`, "[\n  1e400,\n  -0,\n  1.000000000000000000001\n]"},
		{"escapes stay escapes", `"\u202e\ud800 \"x\" {,}"`, `"\u202e\ud800 \"x\" {,}"`},
		{"empty containers", `{"a":{},"b":[]}`, "{\n  \"a\": {},\n  \"b\": []\n}"},
		{"invisible characters inside strings", "{\"a\":\"x\u202ey\"}", "{\n  \"a\": \"x‹U+202E›y\"\n}"},
		{"padding inside strings", `["a` + strings.Repeat(" ", 5000) + `b"]`, "[\n  \"a[… 5\u202f000 spaces …]b\"\n]"},
		{"not JSON", `{"a":`, `{"a":`},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			if diff := cmp.Diff(tt.want, plainly(PrettyJSON([]byte(tt.in), NoLimit))); diff != "" {
				t.Errorf("PrettyJSON (-want +got):\n%s", diff)
			}
		})
	}
}

func TestV04_DeepNestingStaysInView(t *testing.T) {
	t.Parallel()
	raw := strings.Repeat(`{"a":`, 200) + `"TAIL"` + strings.Repeat("}", 200)
	for _, line := range strings.Split(PrettyJSON([]byte(raw), NoLimit).String(), "\n") {
		if indent := len(line) - len(strings.TrimLeft(line, " ")); indent > 2*maxIndent {
			t.Fatalf("a line is indented by %d", indent)
		}
	}
}

func TestMembers(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name, in string
		want     []RawMember
		ok       bool
	}{
		{"order and raw values", `{"b": 1.10, "a":{"x":[1]}, "b":"again"}`, []RawMember{{"b", []byte("1.10")}, {"a", []byte(`{"x":[1]}`)}, {"b", []byte(`"again"`)}}, true},
		{"empty", `{}`, nil, true},
		{"array", `[1]`, nil, false},
		{"something after it", `{"a":1} x`, []RawMember{{"a", []byte("1")}}, false},
		{"cut short", `{"a":1`, nil, false},
		{"nothing", ``, nil, false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			got, ok := Members([]byte(tt.in))
			if ok != tt.ok {
				t.Fatalf("ok = %t, want %t", ok, tt.ok)
			}
			if diff := cmp.Diff(tt.want, got); ok && diff != "" {
				t.Errorf("Members (-want +got):\n%s", diff)
			}
		})
	}
}

func TestListURL(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name string
		q    ListQuery
		want string
	}{
		{"bare", ListQuery{}, "/"},
		{"hostile", ListQuery{Tool: `a&b="><script>`, Newest: true}, "/?sort=newest&tool=a%26b%3D%22%3E%3Cscript%3E"},
		{"next page", ListQuery{Query: "x y", After: "c"}, "/?after=c&q=x+y"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			if got := ListURL(tt.q); got != tt.want {
				t.Errorf("got %s, want %s", got, tt.want)
			}
		})
	}
}

// TestV04_HugePayloadsTakeTimeInProportion: a mebibyte of the worst kinds is
// laid out within a moment, however slow the machine.
func TestV04_HugePayloadsTakeTimeInProportion(t *testing.T) {
	t.Parallel()
	const size = 1 << 20
	for name, raw := range map[string]string{
		"tokens":       "[" + strings.Repeat("1,", size/2) + "1]",
		"marks":        `"` + strings.Repeat("a\u202e", size/4) + `"`,
		"only marks":   `"` + strings.Repeat("\u202e", size/3) + `"`,
		"combining":    `"` + strings.Repeat("a\u0301\u0301\u0301\u0301", size/9) + `"`,
		"spaces":       `"` + strings.Repeat("a        ", size/9) + `"`,
		"broken bytes": strings.Repeat("\xff", size),
		"nesting":      strings.Repeat("[", 9000) + strings.Repeat("]", 9000),
	} {
		t.Run(name, func(t *testing.T) {
			start := time.Now()
			PrettyJSON([]byte(raw), ValueLimit)
			PrettyJSON([]byte(raw), NoLimit)
			if took := time.Since(start); took > time.Minute {
				t.Errorf("took %v", took)
			}
		})
	}
}
