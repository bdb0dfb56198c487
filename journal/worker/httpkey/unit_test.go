package httpkey

import (
	"bytes"
	"encoding/base64"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/landedhq/landed/journal"
)

func TestKeyOf(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct{ name, in, want, says string }{
		{"string", `"8e03978e-40d5-43e8-bc93-6894a57f9324"`, "8e03978e-40d5-43e8-bc93-6894a57f9324", ""},
		{"bare", "8e03978e-40d5-43e8-bc93-6894a57f9324", "8e03978e-40d5-43e8-bc93-6894a57f9324", ""},
		{"white space around", " \t\"k\" ", "k", ""},
		{"escapes", `"a\"b\\c"`, `a"b\c`, ""},
		{"parameters", `"k" ;a=1`, "k", ""},
		{"bare with a comma", "a, b", "a, b", ""},
		{"quote inside of bare", `a"b`, `a"b`, ""},
		{"255", strings.Repeat("k", 255), strings.Repeat("k", 255), ""},
		{"256", strings.Repeat("k", 256), "", "at most 255"},
		{"empty", "", "", "empty"},
		{"empty string", `""`, "", "empty"},
		{"blank string", `"  "`, "", "blank"},
		{"space at the end", `"k "`, "", "space"},
		{"no end", `"k`, "", "no closing quote"},
		{"bad escape", `"a\n"`, "", "backslash"},
		{"escape at the end", `"a\`, "", "backslash"},
		{"two strings", `"a" "b"`, "", "goes on"},
		{"list", `"a", "b"`, "", "goes on"},
		{"not ASCII", `"ä"`, "", "printable"},
		{"not ASCII, bare", "ä", "", "printable"},
		{"control", "\"a\x01\"", "", "printable"},
	} {
		got, err := keyOf(http.Header{HeaderName: {tt.in}})
		if got != tt.want || (err != nil) != (tt.says != "") || err != nil && !strings.Contains(err.Error(), tt.says) {
			t.Errorf("%s: %q, %v", tt.name, got, err)
		}
	}
}

func FuzzKeyOf(f *testing.F) {
	for _, s := range []string{`"a\"b"`, "a", `"`, `"a";x`, "\x00"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		key, err := keyOf(http.Header{HeaderName: {s}})
		if err == nil && journal.ValidateKey(key) != nil {
			t.Errorf("%q gave the key %q", s, key)
		}
	})
}

func FuzzRequest(f *testing.F) {
	for _, s := range []string{"", `{"a":1}`, "{\"a\":1}\n", "[1,\n2]", `{"a":1,"a":2}`, "\xff\x00", `"x"`, "null", `{"a":"\ud800"}`, "a\u2028b", " {}", strings.Repeat("[", 300)} {
		f.Add([]byte(s), "/p?q=1")
	}
	f.Fuzz(func(t *testing.T, body []byte, target string) {
		if len(body) > 10_000 || len(target) > 1000 || !strings.HasPrefix(target, "/") {
			return
		}
		r, err := http.NewRequest(http.MethodPost, "http://x"+target, http.NoBody)
		if err != nil || !printableLine(r.URL.RawQuery) || !printableLine(r.URL.EscapedPath()) {
			return
		}
		args, err := encodeRequest(r, body, body)
		if err != nil {
			t.Fatalf("%q %q: %v", target, body, err)
		}
		if err := journal.CheckArgs(args); err != nil {
			t.Fatalf("%s: %v", args, err)
		}
		q, back, err := decodeRequest(args)
		if err != nil || !bytes.Equal(back, body) {
			t.Fatalf("%s: %q back, %v", args, back, err)
		}
		out, err := q.build(t.Context(), r, back)
		if err != nil || out.URL.RequestURI() != r.URL.RequestURI() {
			t.Fatalf("%s: %v, %v", args, out, err)
		}
	})
}

// TestEncodeRequest_Readable: people see JSON as JSON and text as text.
func TestEncodeRequest_Readable(t *testing.T) {
	t.Parallel()
	r := httptest.NewRequest(http.MethodPost, "/a?b=<c>", nil)
	r.Header.Set("Content-Type", "application/json")
	for body, want := range map[string]string{
		"{\"a\": 1}\n": `,"body":{"a": 1},"body_end":"\n"}`, "a<b>": `,"body_text":"a<b>"}`, "\xff": `,"body_base64":"/w=="}`, "": `"content_type":"application/json"}`,
		`{"a":1,"a":2}`: `,"body_text":"{\"a\":1,\"a\":2}"}`,
	} {
		args, err := encodeRequest(r, []byte(body), nil)
		if err != nil || !strings.HasSuffix(string(args), want) || !strings.HasPrefix(string(args), `{"method":"POST","path":"/a","query":"b=<c>"`) {
			t.Errorf("%q: %s, %v", body, args, err)
		}
	}
}

func TestDecodeRequest_Refuses(t *testing.T) {
	t.Parallel()
	for in, says := range map[string]string{
		`[]`:                           "can't be read",
		`{}`:                           "no method",
		`{"method":"POST","path":"x"}`: "no method or path",
		`{"method":"POST","path":"/","body":{},"body_text":"x"}`: "more than one",
		`{"method":"POST","path":"/","body_end":" "}`:            "more than one",
		`{"method":"POST","path":"/","body":{},"body_end":"x"}`:  "white space",
		`{"method":"POST","path":"/","body_base64":"*"}`:         "base64",
	} {
		if _, _, err := decodeRequest([]byte(in)); err == nil || !strings.Contains(err.Error(), says) {
			t.Errorf("%s: %v", in, err)
		}
	}
	q, body, err := decodeRequest([]byte(`{"method":"POST","path":"/%zz"}`))
	if _, berr := q.build(t.Context(), httptest.NewRequest("POST", "/", nil), body); err != nil || berr == nil {
		t.Errorf("a path that can't be read: %v, %v", err, berr)
	}
}

func FuzzRefusal(f *testing.F) {
	f.Add("HTTP 404\nA: b\n\nbody", []byte("a\n\nb"))
	f.Fuzz(func(t *testing.T, text string, body []byte) {
		_, _ = refusalOf(text)
		g := &guard{keep: keptHeaders()}
		now := time.Unix(1e9, 0).UTC()
		out := g.refusalText(404, http.Header{"Content-Type": {text}}, body, true, now)
		if len(out) > maxRefusal {
			t.Fatalf("%d bytes", len(out))
		}
		r, err := refusalOf(out)
		if err != nil || r.status != 404 {
			t.Fatalf("%q: %+v, %v", out, r, err)
		}
		if r.kept && !bytes.Equal(r.body, body) {
			t.Fatalf("%q: the body %q", out, r.body)
		}
	})
}

func FuzzAnswer(f *testing.F) {
	f.Add([]byte(`{"status":200}`), []byte("x"))
	f.Fuzz(func(t *testing.T, result, body []byte) {
		_, _, _ = decodeAnswer(result)
		if len(body) > 10_000 {
			return
		}
		g := &guard{keep: keptHeaders()}
		out, err := g.encodeAnswer(201, http.Header{"Etag": {"x"}, "Set-Cookie": {"y"}}, body, int64(len(body)), time.Now())
		if err != nil {
			t.Fatal(err)
		}
		a, back, ok := decodeAnswer(out)
		if !ok || a.Status != 201 || !bytes.Equal(back, body) || a.Headers.Get("Etag") != "x" || len(a.Headers) != 1 {
			t.Fatalf("%s: %+v %q %v", out, a, back, ok)
		}
	})
}

func TestClients(t *testing.T) {
	t.Parallel()
	jwt := func(claims string) string {
		return "e30." + base64.RawURLEncoding.EncodeToString([]byte(claims)) + ".sig"
	}
	with := func(h ...string) *http.Request {
		r := httptest.NewRequest(http.MethodPost, "/", nil)
		for i := 0; i < len(h); i += 2 {
			r.Header.Add(h[i], h[i+1])
		}
		return r
	}
	seen := map[string]string{}
	for name, r := range map[string]*http.Request{
		"nothing": with(), "bearer": with("Authorization", "Bearer a"), "other": with("Authorization", "Bearer b"), "api key": with("X-Api-Key", "Bearer a"),
		"both": with("Authorization", "Bearer a", "X-Api-Key", "k"), "lasting JWT": with("Authorization", "Bearer "+jwt(`{"sub":"a"}`)),
		"cookie beside": with("Authorization", "Bearer c", "Cookie", "a=b"), "two lines": with("X-Api-Key", "a", "X-Api-Key", "b"), "one line": with("X-Api-Key", "ab"),
	} {
		id, err := Credential(nil)(r)
		if err != nil || strings.Contains(id, "Bearer") {
			t.Errorf("%s: %q, %v", name, id, err)
		}
		if was, ok := seen[id]; ok {
			t.Errorf("%s and %s are one client", name, was)
		}
		seen[id] = name
		if salted, _ := Credential([]byte("s"))(r); name != "nothing" && salted == id {
			t.Errorf("%s: the secret changes nothing", name)
		}
	}
	for name, r := range map[string]*http.Request{
		"expiring bearer": with("Authorization", "Bearer "+jwt(`{"exp":1}`)), "expiring, bare": with("X-Api-Key", jwt(`{"exp":null}`)), "cookie": with("Cookie", "a=b"),
	} {
		if id, err := Credential(nil)(r); err == nil {
			t.Errorf("%s is client %q", name, id)
		}
	}
	if id, err := Header("x-client")(with("X-Client", " a ")); id != "h-a" || err != nil {
		t.Errorf("%q, %v", id, err)
	}
	for _, r := range []*http.Request{with(), with("X-Client", " "), with("X-Client", "a", "X-Client", "b")} {
		if id, err := Header("x-client")(r); err == nil {
			t.Errorf("client %q", id)
		}
	}
	a, _ := OneClient()(with())
	if b, _ := OneClient()(with("Authorization", "x")); a == "" || a != b {
		t.Errorf("%q and %q", a, b)
	}
}
