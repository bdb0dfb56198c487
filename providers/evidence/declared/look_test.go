package declared_test

import (
	"context"
	"encoding/base64"
	"io"
	"net/http"
	"net/url"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/landedhq/landed/journal"
	"github.com/landedhq/landed/providers/evidence"
	"github.com/landedhq/landed/providers/evidence/declared"
)

func things(rows ...m) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) { answer(w, m{"things": rows}) }
}

// The check of the reference is the engine's: byte for byte, in the declared form.
func TestT03_OnlyTheReferenceItselfMatches(t *testing.T) {
	t.Parallel()
	ref := journal.RandomRef()
	for _, row := range []struct {
		name    string
		edit    []string
		carrier any
		matches int
	}{
		{"equal", nil, ref, 1},
		{"longer", nil, ref + "0", 0},
		{"in other case", nil, strings.ToUpper(ref), 0},
		{"inside a text", nil, "x " + ref, 0},
		{"a number", nil, 7, 0},
		{"null", nil, nil, 0},
		{"one of several", nil, []any{"x", 7, ref}, 1},
		{"dashed, and hex is declared", nil, journal.Dashed(ref), 0},
		{"dashed as declared", []string{"value: item.ref}", "value: item.ref, form: dashed}"}, journal.Dashed(ref), 1},
		{"hex, and dashed is declared", []string{"value: item.ref}", "value: item.ref, form: dashed}"}, ref, 0},
		{"a mark", []string{"value: item.ref}", `value: 'marks(item.ref, "[", "]")'}`}, "see [x] and [" + ref + "].", 1},
		{"a mark around more", []string{"value: item.ref}", `value: 'marks(item.ref, "[", "]")'}`}, "[x" + ref + "]", 0},
		{"JSON in a text", []string{"value: item.ref}", `value: 'parse(item.ref).k'}`}, `{"k":"` + ref + `"}`, 1},
	} {
		t.Run(row.name, func(t *testing.T) {
			t.Parallel()
			a, err := find(t, serve(t, edited(t, row.edit...), things(m{"id": 1, "ref": row.carrier})), ref)
			if _, number := row.carrier.(int); number { // a reference is never a number: the definition reads the wrong field
				if fault(t, err).Kind != evidence.FaultBadAnswer {
					t.Error(err)
				}
				return
			}
			if err != nil || len(a.Matches) != row.matches {
				t.Errorf("%d matches, %v", len(a.Matches), err)
			}
		})
	}
}

// What an expression can't read makes the look fail. It never empties an answer.
func TestAnswerOfAnotherForm(t *testing.T) {
	t.Parallel()
	ref := journal.RandomRef()
	for name, body := range map[string]any{
		"without items":           m{"items": []m{}},
		"items are no list":       m{"things": "x"},
		"items are null":          m{"things": nil},
		"without the field":       m{"things": []m{{"id": 1}}},
		"a list":                  []m{},
		"null":                    nil,
		"a number":                7,
		"a match without an id":   m{"things": []m{{"ref": ref}}},
		"a match with id of \"\"": m{"things": []m{{"ref": ref, "id": ""}}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, err := find(t, serve(t, base, func(w http.ResponseWriter, _ *http.Request) { answer(w, body) }), ref)
			if pe := fault(t, err); pe.Kind != evidence.FaultBadAnswer || pe.Detail == "" {
				t.Errorf("%s: %s", pe.Kind, pe.Detail)
			}
		})
	}
}

func TestFactsOfAMatch(t *testing.T) {
	t.Parallel()
	ref := journal.RandomRef()
	text := edited(t, `{id: item.id, state: '"effective"'}`, `
      id: item.id
      url: item.url
      title: item.title
      time: at(item.at)
      status: item.status
      state: '{"done": "effective", "open": "pending", "dead": "not_effective"}[item.status]'
      more: {amount: 'item.amount'}`)
	row := func(status, link string) m {
		return m{"id": int64(9007199254740993), "ref": ref, "url": link, "title": strings.Repeat("ä", 400), "at": "2026-01-02T15:04:05+01:00", "status": status, "amount": 12.5}
	}
	for _, c := range []struct {
		status, link string
		state        journal.MatchState
		url          string
	}{
		{"done", "https://desk.example.com/1", journal.MatchEffective, "https://desk.example.com/1"},
		{"open", "javascript:alert(1)", journal.MatchPending, ""},
		{"dead", "http://desk.example.com/1", journal.MatchNotEffective, ""},
		{"unheard of", "https://u:p@desk.example.com/1", journal.MatchPending, ""},
	} {
		a := mustFind(t, serve(t, text, things(row(c.status, c.link))), ref)
		got := a.Matches[0]
		if got.ID != "9007199254740993" || got.State != c.state || got.URL != c.url || got.Status != c.status || got.Carrier != "field" || got.Where != "things in main" {
			t.Errorf("%s: %+v", c.status, got)
		}
		if !got.At.Equal(time.Date(2026, 1, 2, 14, 4, 5, 0, time.UTC)) || len(got.Title) > 310 || !strings.HasSuffix(got.Title, "ä…") {
			t.Errorf("%s: at %v, title of %d bytes", c.status, got.At, len(got.Title))
		}
		want := []journal.MatchFact{{Name: "amount", Value: "12.5"}}
		if c.status == "unheard of" {
			want = append([]journal.MatchFact{{Name: "state", Value: "the provider's state is not one that the definition knows"}}, want...)
		}
		if diff := cmp.Diff(want, got.Facts); diff != "" {
			t.Error(diff)
		}
	}
}

// A first step finds where to look, a later one looks there once per place.
func TestChainedSteps(t *testing.T) {
	t.Parallel()
	ref := journal.RandomRef()
	text := edited(t, "steps:\n", `steps:
  - id: places
    request: {method: GET, path: [places]}
    save: {places: "body.map(p, p.id)"}
    scopes: [{name: every place, seen: "body.all(p, p.open)", detail: a place is closed to the account}]
`, "  - id: list\n", "  - id: list\n    each: saved.places\n", "path: [things]", `path: [places, "${each}", things]`)
	var asked []string
	serve := func(open bool) *declared.Adapter {
		return serve(t, text, func(w http.ResponseWriter, r *http.Request) {
			asked = append(asked, r.URL.EscapedPath())
			switch {
			case r.URL.Path == "/places":
				answer(w, []m{{"id": "a b/..", "open": true}, {"id": "c", "open": open}})
			case strings.HasPrefix(r.URL.Path, "/places/c"):
				answer(w, m{"things": []m{{"id": 1, "ref": ref}}})
			default:
				answer(w, m{"things": []m{}})
			}
		})
	}
	a := mustFind(t, serve(true), ref)
	if diff := cmp.Diff([]string{"/places", "/places/a%20b%2F../things", "/places/c/things"}, asked); diff != "" {
		t.Error(diff)
	}
	if len(a.Matches) != 1 || !a.AllPagesRead || len(a.Scopes) != 2 || !a.Scopes[0].Seen {
		t.Errorf("%+v", a)
	}
	a = mustFind(t, serve(false), ref)
	if a.Scopes[0].Seen || a.Scopes[0].Detail != "a place is closed to the account" {
		t.Errorf("%+v", a.Scopes)
	}
}

// Nothing to look in is no empty answer.
func TestNoPlaceToLook(t *testing.T) {
	t.Parallel()
	text := edited(t, "  - id: list\n", "  - id: list\n    when: params.place == \"elsewhere\"\n")
	_, err := find(t, serve(t, text, things()), journal.RandomRef())
	if pe := fault(t, err); pe.Kind != evidence.FaultRefused {
		t.Errorf("kind %s", pe.Kind)
	}
}

func TestHandlesAreReadByID(t *testing.T) {
	t.Parallel()
	ref := journal.RandomRef()
	text := edited(t, "writer:\n", `  - id: draft
    each: handles.filter(h, h.kind == "draft").map(h, h.value)
    request: {method: GET, path: [drafts, "${each}"]}
    absent: status == 404 && body.code == "no_draft"
    items: "[body]"
    pages: {kind: whole}
    scopes: [{name: the journaled draft}]
    match: {carrier: field, value: item.ref}
    facts: {id: item.id, state: '"pending"'}
writer:
`)
	a := serve(t, text, func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/things":
			answer(w, m{"things": []m{}})
		case "/drafts/d1":
			answer(w, m{"id": "d1", "ref": ref})
		default:
			w.WriteHeader(http.StatusNotFound)
			_, _ = io.WriteString(w, `{"code":"no_draft"}`)
		}
	})
	got := mustFind(t, a, ref, journal.Handle{Kind: "draft", Value: "d1"}, journal.Handle{Kind: "draft", Value: "d2"}, journal.Handle{Kind: "other", Value: "x"})
	if len(got.Matches) != 1 || got.Matches[0].State != journal.MatchPending || !got.AllPagesRead {
		t.Errorf("%+v", got)
	}
	_, err := find(t, serve(t, text, func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/things" {
			answer(w, m{"things": []m{}})
			return
		}
		http.NotFound(w, r)
	}), ref, journal.Handle{Kind: "draft", Value: "d1"})
	if pe := fault(t, err); pe.Kind != evidence.FaultRefused { // T-10
		t.Errorf("a 404 without the vendor's code: %s", pe.Kind)
	}
}

// A hit of the search is read again; what changed in between counts.
func TestRefetch(t *testing.T) {
	t.Parallel()
	ref := journal.RandomRef()
	text := edited(t, "    match:", `    refetch: {when: row.ref == ref, request: {method: GET, path: [things, "${row.id}"]}, absent: "status == 404 && body.gone", item: body.thing}
    match:`)
	for name, c := range map[string]struct {
		again     m
		status    int
		matches   int
		unrelated int
	}{
		"still there":             {m{"thing": m{"id": 1, "ref": ref}}, 200, 1, 1},
		"the field was emptied":   {m{"thing": m{"id": 1, "ref": ""}}, 200, 0, 2},
		"gone since":              {m{"gone": true}, 404, 0, 1},
		"the search was mistaken": {m{"thing": m{"id": 1, "ref": journal.RandomRef()}}, 200, 0, 2},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			a := mustFind(t, serve(t, text, func(w http.ResponseWriter, r *http.Request) {
				if r.URL.Path == "/things" {
					answer(w, m{"things": []m{{"id": 1, "ref": ref}, {"id": 2, "ref": "other"}}})
					return
				}
				w.WriteHeader(c.status)
				answer(w, c.again)
			}), ref)
			if len(a.Matches) != c.matches || a.Unrelated != c.unrelated {
				t.Errorf("%d matches, %d unrelated", len(a.Matches), a.Unrelated)
			}
		})
	}
}

func TestErrorRules(t *testing.T) {
	t.Parallel()
	text := edited(t, "steps:\n", `errors:
  - {when: body.ok == false && body.error == "ratelimited", kind: rate_limited, detail: slow down, retry_after: body.wait}
  - {when: body.ok == false, kind: forbidden, detail: a scope is missing}
steps:
`)
	for _, c := range []struct {
		body  m
		kind  evidence.FaultKind
		after time.Duration
	}{
		{m{"ok": false, "error": "ratelimited", "wait": 30, "things": []m{}}, evidence.FaultRateLimited, 30 * time.Second},
		{m{"ok": false, "error": "ratelimited", "wait": 1e12, "things": []m{}}, evidence.FaultRateLimited, 24 * time.Hour},
		{m{"ok": false, "error": "ratelimited", "things": []m{}}, evidence.FaultRateLimited, 11 * time.Second},
		{m{"ok": false, "error": "missing_scope", "things": []m{}}, evidence.FaultForbidden, 11 * time.Second},
	} {
		_, err := find(t, serve(t, text, func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Retry-After", "11")
			answer(w, c.body)
		}), journal.RandomRef())
		if pe := fault(t, err); pe.Kind != c.kind || pe.RetryAfter != c.after {
			t.Errorf("%v: %s after %v, want %s after %v", c.body, pe.Kind, pe.RetryAfter, c.kind, c.after)
		}
	}
}

// An expression that would never end is cut off, and the look fails.
func TestCostLimit(t *testing.T) {
	t.Parallel()
	text := edited(t, "items: body.things", "items: body.things.filter(a, body.things.all(b, body.things.all(c, body.things.all(d, a != b || c != d || true))))")
	rows := make([]m, 200)
	for i := range rows {
		rows[i] = m{"id": i, "ref": "x"}
	}
	_, err := find(t, serve(t, text, things(rows...)), journal.RandomRef())
	if pe := fault(t, err); pe.Kind != evidence.FaultBadAnswer || !strings.Contains(pe.Err.Error(), "cost") {
		t.Errorf("%v", err)
	}
}

func TestEveryKindOfAuth(t *testing.T) {
	t.Parallel()
	for _, row := range []struct {
		name, auth string
		edit       []string
		ok         func(r *http.Request) bool
	}{
		{"bearer", `{kind: bearer, value: "${secrets.token}"}`, nil, func(r *http.Request) bool { return r.Header.Get("Authorization") == "Bearer "+secret }},
		{"basic", `{kind: basic, user: "${params.place}/token", password: "${secrets.token}"}`, nil, func(r *http.Request) bool {
			u, p, _ := r.BasicAuth()
			return u == "main/token" && p == secret
		}},
		{"header", `{kind: header, name: X-Key, value: "${secrets.token}"}`, nil, func(r *http.Request) bool { return r.Header.Get("X-Key") == secret }},
		{"header with a prefix", `{kind: header, name: Authorization, value: "Token token=${secrets.token}"}`, nil, func(r *http.Request) bool { return r.Header.Get("Authorization") == "Token token="+secret }},
		{"query", `{kind: query, name: key, value: "${secrets.token}"}`, nil, func(r *http.Request) bool { return r.URL.Query().Get("key") == secret }},
		{"body", `{kind: body, name: key, value: "${secrets.token}"}`, []string{"method: GET\n      path: [things]\n      query: {ref: \"${ref}\"}", "method: POST\n      reads: true\n      path: [things]\n      json: {ref: \"${ref}\"}"}, func(r *http.Request) bool {
			b, _ := io.ReadAll(r.Body)
			return strings.Contains(string(b), `"key":"`+secret+`"`) && strings.Contains(string(b), `"ref":"`)
		}},
	} {
		t.Run(row.name, func(t *testing.T) {
			t.Parallel()
			text := edited(t, append([]string{`{kind: bearer, value: "${secrets.token}"}`, row.auth}, row.edit...)...)
			a := mustFind(t, serve(t, text, func(w http.ResponseWriter, r *http.Request) {
				if !row.ok(r) {
					t.Errorf("credentials did not arrive: %s %v", r.URL, r.Header)
				}
				answer(w, m{"things": []m{}, "echo": secret + " " + strings.TrimPrefix(r.Header.Get("Authorization"), "Basic ")})
			}), journal.RandomRef())
			for _, x := range a.Exchanges {
				if strings.Contains(x.Request+x.Response, secret) || strings.Contains(x.Response, base64.StdEncoding.EncodeToString([]byte("main/token:"+secret))) {
					t.Errorf("a secret is kept: %+v", x)
				}
			}
		})
	}
}

func TestOAuth2ClientCredentials(t *testing.T) {
	t.Parallel()
	text := edited(t, `{kind: bearer, value: "${secrets.token}"}`, `{kind: oauth2, token_path: v1/oauth2/token, client_id: "${params.place}", client_secret: "${secrets.token}", scope: read}`)
	var asked atomic.Int64
	refuse := atomic.Bool{}
	a := serve(t, text, func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/v1/oauth2/token" {
			asked.Add(1)
			u, p, _ := r.BasicAuth()
			b, _ := io.ReadAll(r.Body)
			if f, _ := url.ParseQuery(string(b)); u != "main" || p != secret || f.Get("grant_type") != "client_credentials" || f.Get("scope") != "read" {
				t.Errorf("token request %q by %q", b, u)
			}
			if refuse.Load() {
				w.WriteHeader(http.StatusUnauthorized)
				return
			}
			answer(w, m{"access_token": "acc-3ss", "expires_in": 3600, "token_type": "bearer"})
			return
		}
		if refuse.Load() || r.Header.Get("Authorization") != "Bearer acc-3ss" {
			w.WriteHeader(http.StatusUnauthorized)
			return
		}
		answer(w, m{"things": []m{}, "echo": "acc-3ss"})
	})
	for range 2 {
		ans := mustFind(t, a, journal.RandomRef())
		for _, x := range ans.Exchanges {
			if strings.Contains(x.Request+x.Response, "acc-3ss") || strings.Contains(x.Request+x.Response, secret) {
				t.Errorf("a secret is kept: %+v", x)
			}
		}
	}
	if asked.Load() != 1 {
		t.Errorf("%d token requests, want 1", asked.Load())
	}
	refuse.Store(true)
	for range 2 { // first the old token is refused, then no new one is given
		_, err := find(t, a, journal.RandomRef())
		if pe := fault(t, err); pe.Kind != evidence.FaultAuth {
			t.Errorf("kind %s", pe.Kind)
		}
	}
	if asked.Load() != 2 {
		t.Errorf("%d token requests, want 2: a refused token is not used again", asked.Load())
	}
}

// A key in the address must not show in the error of a connection either.
func TestKeyInTheAddressStaysHidden(t *testing.T) {
	t.Parallel()
	text := edited(t, `{kind: bearer, value: "${secrets.token}"}`, `{kind: query, name: key, value: "${secrets.token}"}`)
	c := config(t, text, nil)
	c.Params["url"] = "https://127.0.0.1:1"
	a, err := c.OpenDeclared()
	if err != nil {
		t.Fatal(err)
	}
	_, err = find(t, a, journal.RandomRef())
	for e := err; e != nil; {
		if strings.Contains(e.Error(), secret) {
			t.Errorf("the key shows: %v", e)
		}
		u, ok := e.(interface{ Unwrap() error })
		if !ok {
			break
		}
		e = u.Unwrap()
	}
}

func TestCancelledLook(t *testing.T) {
	t.Parallel()
	a := serve(t, base, things())
	s, err := a.Session(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := s.Find(ctx, evidence.Query{Ref: journal.RandomRef()}); err == nil {
		t.Error("a cancelled look gave an answer")
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	if _, err := s.Find(t.Context(), evidence.Query{Ref: journal.RandomRef()}); err == nil {
		t.Error("a closed session gave an answer")
	}
}

func TestInstruction(t *testing.T) {
	t.Parallel()
	text := edited(t, `{place: json, name: ref, value: "${ref}", why: "it is looked for"}`,
		`{place: json, name: "${params.place}.id", value: "${dashed(ref)}", why: a}, {place: header, name: Idempotency-Key, value: "${provider_key}", why: b}`)
	ref := journal.RandomRef()
	in, err := serve(t, text, nil).Instruction(ref, 2)
	want := declared.Instruction{About: "It sets the field.", Fields: []declared.Field{
		{Place: "json", Name: "main.id", Value: journal.Dashed(ref), Why: "a"},
		{Place: "header", Name: "Idempotency-Key", Value: journal.ProviderKey(ref, 2), Why: "b"},
	}}
	if diff := cmp.Diff(want, in); diff != "" || err != nil {
		t.Errorf("%v\n%s", err, diff)
	}
	if _, err := serve(t, text, nil).Instruction("x", 1); err == nil {
		t.Error("a reference that is none was taken")
	}
}
