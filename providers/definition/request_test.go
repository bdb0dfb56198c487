package definition

import (
	"net/url"
	"slices"
	"strings"
	"testing"

	"github.com/google/cel-go/cel"
	"github.com/google/go-cmp/cmp"

	"github.com/landedhq/landed/providers/evidence"
)

// compiled parses one request over the variables x (text) and y (anything), and
// one way of proving who asks over the secret key.
func compiled(t *testing.T, text string) (*Request, *Auth, error) {
	t.Helper()
	var f struct {
		Request RequestBlock `yaml:"request"`
		Auth    AuthBlock    `yaml:"auth"`
	}
	src, err := Decode("t.yaml", []byte(text), &f)
	if err != nil {
		return nil, nil, err
	}
	c, err := NewCompiler(src, Params{"key": {Type: "string", About: "x", Secret: true}})
	if err != nil {
		t.Fatal(err)
	}
	s := c.Extend(c.Plain, map[string]*cel.Type{"x": cel.StringType, "y": cel.DynType})
	r, a := c.Request("request", s, &f.Request), c.Auth("auth", &f.Auth)
	return r, a, src.Err()
}

func TestBodiesTakeWholeValues(t *testing.T) {
	t.Parallel()
	r, _, err := compiled(t, `
request:
  method: POST
  path: [a]
  json: {one: "${y}", key: "${{x: y.n}}", none: {text: "${x}", omit_empty: true}, list: ["${y.l}"], gone: "${y.?no}", text: "n ${y.n}"}
auth: {kind: none}`)
	if err != nil {
		t.Fatal(err)
	}
	base, _ := url.Parse("https://a.example")
	y := map[string]any{"n": int64(9007199254740993), "l": []any{true, nil, 1.5, "x"}}
	b, err := r.Build(t.Context(), base, Vars{"x": "", "y": y})
	if err != nil {
		t.Fatal(err)
	}
	want := `{"gone":null,"key":{"":9007199254740993},"list":[[true,null,1.5,"x"]],"one":{"l":[true,null,1.5,"x"],"n":9007199254740993},"text":"n 9007199254740993"}`
	if diff := cmp.Diff(want, string(b.Body)); diff != "" {
		t.Error(diff)
	}
}

func TestSegmentsKeepTheirPlace(t *testing.T) {
	t.Parallel()
	r, _, err := compiled(t, "request: {method: GET, path: [a, \"${x}\", b]}\nauth: {kind: none}")
	if err != nil {
		t.Fatal(err)
	}
	base, _ := url.Parse("https://a.example/base/")
	for x, want := range map[string]string{"c": "/base/a/c/b", "c/d": "/base/a/c%2Fd/b", "c?d#e": "/base/a/c%3Fd%23e/b", "..c": "/base/a/..c/b", "": "", ".": "", "..": ""} {
		b, err := r.Build(t.Context(), base, Vars{"x": x, "y": nil})
		if want == "" {
			if err == nil {
				t.Errorf("%q became %s", x, b.URL)
			}
			continue
		}
		if err != nil || b.URL.EscapedPath() != want || b.URL.Host != "a.example" {
			t.Errorf("%q: %v, %v", x, b, err)
		}
	}
}

func TestExpressions(t *testing.T) {
	t.Parallel()
	for src, want := range map[string][]string{
		"": nil, "x": nil, "${a}": {"a"}, "x${a}y${b}": {"a", "b"}, `${{"}": a}}z`: {`{"}": a}`}, "${a": nil, "${a}${b": {"a"},
	} {
		if got := Expressions(src); !slices.Equal(got, want) {
			t.Errorf("%q: %q, want %q", src, got, want)
		}
	}
}

// A credential in the path stands in its own segment, and is kept out of the
// request that is told of.
func TestCredentialInThePath(t *testing.T) {
	t.Parallel()
	r, a, err := compiled(t, "request: {method: GET, path: [e, the-key, \"${x}\"]}\nauth: {kind: path, name: the-key, value: \"${secrets.key}\"}")
	if err != nil {
		t.Fatal(err)
	}
	base, _ := url.Parse("https://a.example")
	b, err := r.Build(t.Context(), base, Vars{"x": "z", "y": nil})
	if err != nil {
		t.Fatal(err)
	}
	for secret, want := range map[string]string{"k": "/e/k/z", "a/b?c": "/e/a%2Fb%3Fc/z", "..": ""} {
		c, err := a.open(t.Context(), Vars{"secrets.key": secret}, nil)
		if err != nil {
			t.Fatal(err)
		}
		req, err := c.apply(t.Context(), b)
		if (err != nil) != (want == "") || err == nil && req.URL.EscapedPath() != want {
			t.Errorf("%q: %v, %v", secret, req, err)
		}
	}
	if b.URL.Path != "/e/the-key/z" {
		t.Errorf("the kept request has %s", b.URL)
	}
	r, _, err = compiled(t, "request: {method: GET, path: [e]}\nauth: {kind: none}")
	if err != nil {
		t.Fatal(err)
	}
	if b, err = r.Build(t.Context(), base, Vars{"x": "", "y": nil}); err != nil {
		t.Fatal(err)
	}
	c, err := a.open(t.Context(), Vars{"secrets.key": "k"}, nil)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := c.apply(t.Context(), b); err == nil {
		t.Error("a path without a place for it was taken")
	}
}

func TestCleanKnowsEveryForm(t *testing.T) {
	t.Parallel()
	_, a, err := compiled(t, "request: {method: GET, path: [e]}\nauth: {kind: bearer, value: \"${secrets.key}\"}")
	if err != nil {
		t.Fatal(err)
	}
	const secret = "a/b+c d"
	s, err := (&Account{auth: a, params: Vars{}}).Session(t.Context(), "x", map[string]evidence.Secret{"key": evidence.Fixed(secret), "none": nil})
	if err != nil {
		t.Fatal(err)
	}
	for _, form := range []string{secret, url.QueryEscape(secret), url.PathEscape(secret)} {
		if got := s.Clean("it is " + form + "!"); got != "it is [secret]!" {
			t.Errorf("%q: %q", form, got)
		}
	}
	s.Close()
	if !s.Closed() || strings.Contains(s.Clean("x"), "secret") {
		t.Error("it is not closed")
	}
}

func TestAuthRefuses(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"{kind: path, value: x}":                                  "auth.name: is missing",
		"{kind: oauth2, client_id: a, client_secret: b}":          "token_path: is missing",
		"{kind: header, name: \"a b\", value: x}":                 "no header's name",
		"{kind: basic}":                                           "auth.user: is missing",
		"{kind: bearer, value: \"${params.key}\"}":                "there is no params.key",
		"{kind: oauth2, client_id: a, client_secret: b, x: y}":    "unknown field",
		"{kind: oauth2, client_id: a, token_base: \"${x}/t\"}":    "only parameters",
		"{kind: bearer, value: \"${secrets.key} ${secrets.no}\"}": "secrets.no",
	} {
		_, _, err := compiled(t, "request: {method: GET, path: [e]}\nauth: "+text)
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", text, err, want)
		}
	}
	_, a, err := compiled(t, "request: {method: GET, path: [e]}\nauth: {kind: oauth2, client_id: \"${secrets.key}\", client_secret: \"${secrets.key}x\", token_path: /t, audience: all}")
	if err != nil || !slices.Equal(a.Uses(), []string{"key"}) || a.Kind() != "oauth2" {
		t.Fatalf("%v %v", a, err)
	}
	u, _ := url.Parse("https://login.example/base")
	g, err := a.grant(t.Context(), u, Vars{"secrets.key": "k"})
	if err != nil || g.URL.String() != "https://login.example/base/t" || g.Form.Get("audience") != "all" || g.Form.Has("scope") || g.User != "k" || g.Password != "kx" {
		t.Errorf("%+v %v", g, err)
	}
}
