package guide

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/landedhq/landed/journal"
	"github.com/landedhq/landed/providers/evidence"
)

// adapter is one with any sheet and instruction.
type adapter struct {
	sheet evidence.Sheet
	in    evidence.Instruction
}

func (a adapter) Sheet() evidence.Sheet                           { return a.sheet }
func (adapter) Session(context.Context) (evidence.Session, error) { return nil, context.Canceled }
func (a adapter) Instruction(ref string, _ int) (evidence.Instruction, error) {
	in := a.in
	in.Fields = nil
	for _, f := range a.in.Fields {
		f.Value = strings.ReplaceAll(f.Value, "REF", ref)
		in.Fields = append(in.Fields, f)
	}
	return in, nil
}

func TestWhatFollowsFromTheSheet(t *testing.T) {
	t.Parallel()
	in := evidence.Instruction{About: "a", Request: "POST /x", Fields: []evidence.Field{{Place: "json", Name: "ref", Value: "REF", Why: "w"}}}
	sheet := func(change func(*evidence.Sheet)) evidence.Sheet {
		s := evidence.Sheet{Kind: "own", Class: evidence.L2, ProcessingHorizon: 5 * time.Minute, IndexLag: 10 * time.Second, Conclusive: true}
		change(&s)
		return s
	}
	native := func(header string, window time.Duration) func(*evidence.Sheet) {
		return func(s *evidence.Sheet) {
			s.Native = evidence.NativeIdempotency{Header: header, Window: window, ErrorsKept: true, BodyCompared: true}
		}
	}
	for _, row := range []struct {
		name   string
		sheet  evidence.Sheet
		class  journal.Class
		window time.Duration
		after  time.Duration
		says   string
	}{
		{"a key with a window", sheet(native("Idempotency-Key", time.Hour)), journal.ClassProviderIdempotent, time.Hour, 5*time.Minute + 40*time.Second, "The first answer is repeated, an error too. The body must be the same."},
		{"a key whose window nobody knows", sheet(native("Idempotency-Key", 0)), journal.ClassJournalDeduped, 0, 5*time.Minute + 40*time.Second, "What a person deletes"},
		{"a window without a key", sheet(native("", time.Hour)), journal.ClassJournalDeduped, 0, 5*time.Minute + 40*time.Second, "What a person deletes"},
		{"conclusive", sheet(func(s *evidence.Sheet) { s.Retention = 30 * 24 * time.Hour }), journal.ClassJournalDeduped, 0, 5*time.Minute + 40*time.Second, "older than 30 days"},
		{"not conclusive", sheet(func(s *evidence.Sheet) { s.Conclusive, s.InconclusiveWhy = false, "Nobody fills it." }), journal.ClassAtMostOnce, 0, 0, "No match proves nothing. Nobody fills it."},
		{"can't be asked", sheet(func(s *evidence.Sheet) { s.Class = evidence.L6 }), journal.ClassAtMostOnce, 0, 0, "can't be asked for our reference"},
		{"a key, but no conclusive look", sheet(func(s *evidence.Sheet) { native("K", time.Hour)(s); s.Conclusive = false }), journal.ClassProviderIdempotent, time.Hour, 0, "No match proves nothing."},
	} {
		t.Run(row.name, func(t *testing.T) {
			t.Parallel()
			g, ok, err := For(adapter{row.sheet, in})
			if !ok || err != nil {
				t.Fatal(ok, err)
			}
			if g.Tool.Class != row.class || g.Tool.KeyWindow != row.window || g.BelievedAfter != row.after || !strings.Contains(strings.Join(g.Says, " "), row.says) {
				t.Errorf("%+v, believed after %v, says %q", g.Tool, g.BelievedAfter, g.Says)
			}
			if tool := (journal.Tool{Name: "x", Class: g.Tool.Class, KeyWindow: g.Tool.KeyWindow, ClientTimeout: time.Second}); tool.Validate() != nil {
				t.Errorf("no journal takes such a tool: %v", tool.Validate())
			}
		})
	}
}

func TestNoFieldCarriesTheReference(t *testing.T) {
	t.Parallel()
	a := adapter{in: evidence.Instruction{Fields: []evidence.Field{{Place: "json", Name: "ref", Value: "none"}}}}
	if _, ok, err := For(a); !ok || err == nil {
		t.Errorf("taken: %v, %v", ok, err)
	}
}

func TestValues(t *testing.T) {
	t.Parallel()
	s := newStand()
	for text, want := range map[string]string{
		s.ref:                               "{ref}",
		"<" + s.ref + "@x>":                 "<{ref}@x>",
		journal.Dashed(s.ref) + "/" + s.key: "{dashed ref}/{provider key}",
		`"` + journal.Dashed(s.key) + `"`:   `"{dashed provider key}"`,
		s.ref + s.ref:                       "{ref}{ref}",
		"nothing":                           "nothing", "": "",
	} {
		if got := s.parse(text).String(); got != want {
			t.Errorf("%q reads %q, want %q", text, got, want)
		}
	}
}

func TestSpans(t *testing.T) {
	t.Parallel()
	for d, want := range map[time.Duration]string{
		30 * time.Second: "30 s", time.Minute: "1 min", 90 * time.Second: "1 min 30 s", 24 * time.Hour: "24 h", 48 * time.Hour: "2 days",
		10*time.Hour + 150*time.Second: "10 h 2 min 30 s", 25 * time.Hour: "25 h",
	} {
		if got := span(d); got != want {
			t.Errorf("%v is %q, want %q", d, got, want)
		}
	}
}

// Names of fields, and where they lead in a body.
func TestPlaces(t *testing.T) {
	t.Parallel()
	body := func() *object {
		return obj(field("text", str("hi")), field("units", arr(obj(), obj())), field("one", obj()), field("full", str("x")))
	}
	for _, row := range []struct{ place, name, want, err string }{
		{"json", "a.b", `{"text":"hi","units":[{},{}],"one":{},"full":"x","a":{"b":"V"}}`, ""},
		{"json", "tags[] (the only one)", `{"text":"hi","units":[{},{}],"one":{},"full":"x","tags":["V"]}`, ""},
		{"json", "units[1].x", `{"text":"hi","units":[{},{"x":"V"}],"one":{},"full":"x"}`, ""},
		{"json", "units[].x", `{"text":"hi","units":[{"x":"V"},{"x":"V"}],"one":{},"full":"x"}`, ""},
		{"json", "one.f[] (an object with id 9)", `{"text":"hi","units":[{},{}],"one":{"f":[{"id":9,"value":"V"}]},"full":"x"}`, ""},
		{"json", "p[].value.ref (in an object with key my landed)", `{"text":"hi","units":[{},{}],"one":{},"full":"x","p":[{"key":"my landed","value":{"ref":"V"}}]}`, ""},
		{"text", "text, on a line of its own at the end", `{"text":"hi\n\nV","units":[{},{}],"one":{},"full":"x"}`, ""},
		{"text", "text, at the end after a space", `{"text":"hi V","units":[{},{}],"one":{},"full":"x"}`, ""},
		{"text", "text", "", "does not say where in a text"},
		{"json", "full", "", "set twice"},
		{"json", "full.x", "", "no object"},
		{"json", "full[]", "", "no list"},
		{"json", "a[x]", "", "no path"},
		{"json", "a..b", "", "no path"},
		{"json", "a (by hand)", "", "not known"},
		{"json", "a (an object with id 9)", "", "no element of a list"},
	} {
		t.Run(row.name, func(t *testing.T) {
			t.Parallel()
			o := body()
			s, err := readName(row.place, row.name)
			if err == nil {
				err = o.put(s, str("V"), "why")
			}
			if row.err != "" {
				if err == nil || !strings.Contains(err.Error(), row.err) {
					t.Errorf("error %v, want %q", err, row.err)
				}
				return
			}
			js := syntax{object: "{", objectEnd: "}", list: "[", listEnd: "]", colon: ":"}
			if diff := cmp.Diff(row.want, strings.ReplaceAll(whole(js, o), `" + "`, "")); err != nil || diff != "" {
				t.Errorf("%v\n%s", err, diff)
			}
		})
	}
}

// whole writes a body on one line, remarks or not.
func whole(s syntax, n node) string {
	open, end, list, ok := s.entries(n)
	if !ok {
		return s.leaf(n)
	}
	var parts []string
	for _, e := range list {
		parts = append(parts, e.head+whole(s, e.value))
	}
	return open + strings.Join(parts, ",") + end
}

func TestUnknown(t *testing.T) {
	t.Parallel()
	if _, err := Of("fax"); err == nil || !strings.Contains(err.Error(), `there is no guide "fax", there are adyen.transfer, `) {
		t.Error(err)
	}
	if _, err := Example("stripe", "cobol"); err == nil {
		t.Error("there is COBOL")
	}
}
