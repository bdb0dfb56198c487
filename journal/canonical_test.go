package journal

import (
	"encoding/json"
	"strings"
	"testing"
)

func TestCanonicalize(t *testing.T) {
	t.Parallel()
	tests := []struct{ name, in, want, err string }{
		{"members sorted, white space gone", "{ \"b\" : 1 , \"a\" : [ 2 , true , null ] }", `{"a":[2,true,null],"b":1}`, ""},
		{"sorted by UTF-16 units (RFC 8785, 3.2.3)", `{"\ufb33":1,"\ud83d\ude00":2,"\r":3}`, "{\"\\r\":3,\"😀\":2,\"\ufb33\":1}", ""},
		{"escapes made minimal", `"\u0041\/\u00e9\u0007\b"`, `"A/é\u0007\b"`, ""},
		{"numbers as ECMAScript writes them", `[1.0,1e3,0.000001,1e-7,1e21,-0,10.10]`, `[1,1000,0.000001,1e-7,1e+21,0,10.1]`, ""},
		{"an integer that no double holds keeps its digits (J-24, V-02)", `1970670598291982290`, `197067059829198229e1`, ""},
		{"its neighbour differs", `1970670598291982291`, `1970670598291982291e0`, ""},
		{"a number beyond every double", `1e400`, `1e400`, ""},
		{"NUL as an escape", `"a\u0000b"`, `"a\u0000b"`, ""},
		{"a lone surrogate keeps its escape", `"\ud800"`, `"\ud800"`, ""},
		{"a pair becomes a character", `"\ud83d\ude00"`, `"😀"`, ""},
		{"the six literal characters", `"\\u0000"`, `"\\u0000"`, ""},
		{"duplicate members", `{"a":2,"a":3}`, "", `holds member "a" twice`},
		{"duplicates by another spelling", `{"a":2,"\u0061":3}`, "", "twice"},
		{"invalid UTF-8", "\"\xff\"", "", "not valid UTF-8"},
		{"a raw NUL", "\"\x00\"", "", "control character"},
		{"two values", `1 2`, "", "more than one"},
		{"a trailing comma", `[1,]`, "", "not valid JSON"},
		{"a trailing comma in an object", `{"a":1,}`, "", "not valid JSON"},
		{"a leading zero", `01`, "", "broken number"},
		{"an open string", `"a`, "", "ends inside"},
		{"an open array", `[1`, "", "not valid JSON"},
		{"nothing", ``, "", "not valid JSON"},
		{"too deep (V-04)", strings.Repeat("[", 201) + strings.Repeat("]", 201), "", "nested deeper"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			got, err := canonicalize([]byte(tt.in))
			if tt.err == "" && (err != nil || got != tt.want) {
				t.Errorf("got %s, %v; want %s", got, err, tt.want)
			}
			if tt.err != "" && (err == nil || !strings.Contains(err.Error(), tt.err)) {
				t.Errorf("got %v, want an error with %q", err, tt.err)
			}
		})
	}
}

// FuzzCanonicalize: what is accepted is valid JSON, and its canonical form is
// its own canonical form unless it holds a number that no double does.
func FuzzCanonicalize(f *testing.F) {
	for _, s := range []string{`{"a":[1,2.50,"x\u0000"],"b":{}}`, `"\ud800"`, `1e400`, `[[[]]]`, `{"a":1,"a":2}`} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, in []byte) {
		got, err := canonicalize(in)
		if err != nil {
			return
		}
		if !json.Valid(in) {
			t.Fatalf("accepted %q, which is no JSON", in)
		}
		again, err := canonicalize([]byte(got))
		if err != nil || again != got {
			t.Fatalf("%q became %q and then %q (%v)", in, got, again, err)
		}
	})
}

func TestDeriveKey(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("x", 300)
	keys := map[string][4]string{}
	for _, parts := range [][4]string{
		{"r1", "a/b", "c", ""}, {"r1", "a", "b/c", ""}, {"r1", "a", "b", "c"}, {"r1", "a", "b", ""}, {"r1/a", "b", "c", ""},
		{long, "a", "b", ""}, {long + "y", "a", "b", ""}, {"r1", long, "b", ""}, {"r1", long + "y", "b", ""}, {"Ünï", "名前", "x y", "%"},
	} {
		k, err := DeriveKey(parts[0], parts[1], parts[2], parts[3])
		if err != nil {
			t.Fatal(err)
		}
		if err := ValidateKey(k); err != nil {
			t.Errorf("%v gives %q: %v", parts, k, err)
		}
		if was, ok := keys[k]; ok {
			t.Errorf("%v and %v give the same key %q", was, parts, k)
		}
		keys[k] = parts
	}
	if k, _ := DeriveKey("r1", "a", "b", ""); !strings.HasPrefix(k, "r1/") {
		t.Errorf("%q does not begin with the root run", k)
	}
	if _, err := DeriveKey("r1", " ", "b", ""); err == nil {
		t.Error("a blank step must be refused")
	}
}

func TestValidateKey(t *testing.T) {
	t.Parallel()
	for key, ok := range map[string]bool{
		"k": true, strings.Repeat("k", 255): true, "a b": true, "": false, "   ": false, " k": false, "k ": false,
		strings.Repeat("k", 256): false, "Rückzahlung": false, "a\nb": false, "a\x00b": false, strings.Repeat("z", 3000): false,
	} {
		if err := ValidateKey(key); (err == nil) != ok {
			t.Errorf("%.20q: %v", key, err)
		}
	}
}

// TestRef pins the reference: written into providers' records, it may never
// change between releases.
func TestRef(t *testing.T) {
	t.Parallel()
	ref := Ref("", "run-1/step/do")
	if !ValidRef(ref) || ref[12] != '4' || !strings.ContainsRune("89ab", rune(ref[16])) {
		t.Errorf("%s is not in UUID v4 shape", ref)
	}
	if ref != "45e6f748f3684121a6c10b2ef96fe70a" || ProviderKey(ref, 1) != "83c5d85ebc5643338d811310de755e1c" {
		t.Errorf("the reference or provider key changed: %s, %s", ref, ProviderKey(ref, 1))
	}
	if ref == Ref("n", "run-1/step/do") {
		t.Error("the namespace is not part of the reference")
	}
	if Ref("a", "b") == Ref("", "ab") || ProviderKey(ref, 1) == ProviderKey(ref, 2) || ProviderKey(ref, 1) == ref {
		t.Error("references or provider keys collide")
	}
	if got := Dashed(ref); !ValidID(got) {
		t.Errorf("dashed: %s", got)
	}
}
