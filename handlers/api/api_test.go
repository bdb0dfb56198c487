package api_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/labstack/echo/v4"

	"github.com/landedhq/landed/handlers/api"
	"github.com/landedhq/landed/handlers/api/apitest"
	"github.com/landedhq/landed/journal"
	"github.com/landedhq/landed/journal/journaltest"
	"github.com/landedhq/landed/journal/postgres"
)

func TestMain(m *testing.M) { journaltest.Main(m) }

// line is a raw HTTP line to an API on a store of its own.
type line struct {
	*testing.T
	store *postgres.Store
	url   string
	token string
}

func open(t *testing.T, change ...func(*api.Config)) *line {
	t.Helper()
	s, err := postgres.Open(t.Context(), journaltest.Database(t, postgres.Migrate), postgres.Options{MaxConns: 4})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.Close)
	l := &line{T: t, store: s, url: apitest.Serve(t, s, change...), token: apitest.Token(t, s, "w1")}
	l.want(204, l.put("mail.send", `{"class":"at_most_once","client_timeout":"10s"}`))
	return l
}

// as is the same line with another token.
func (l *line) as(token string) *line {
	out := *l
	out.token = token
	return &out
}

// got is one answer, read to its end.
type got struct {
	status int
	header http.Header
	body   string
	form   map[string]any // nil if the body is no object
}

func (l *line) do(method, path, contentType string, body io.Reader) got {
	l.Helper()
	req, err := http.NewRequestWithContext(l.Context(), method, l.url+"/v1"+path, body)
	if err != nil {
		l.Fatal(err)
	}
	if l.token != "" {
		req.Header.Set("Authorization", "Bearer "+l.token)
	}
	if contentType != "" {
		req.Header.Set("Content-Type", contentType)
	}
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		l.Fatal(err)
	}
	defer func() { _ = res.Body.Close() }()
	b, err := io.ReadAll(res.Body)
	if err != nil {
		l.Fatal(err)
	}
	g := got{status: res.StatusCode, header: res.Header, body: string(b)}
	_ = json.Unmarshal(b, &g.form)
	return g
}

func (l *line) get(path string) got { l.Helper(); return l.do("GET", path, "", nil) }

func (l *line) post(path, body string) got {
	l.Helper()
	return l.do("POST", path, "application/json", strings.NewReader(body))
}

func (l *line) put(tool, body string) got {
	l.Helper()
	return l.do("PUT", "/tools/"+tool, "application/json", strings.NewReader(body))
}

func (l *line) want(status int, g got) got {
	l.Helper()
	if g.status != status {
		l.Fatalf("status %d, want %d: %.500s", g.status, status, g.body)
	}
	return g
}

// problem fails unless g is a problem document of that status and code.
func (l *line) problem(status int, code string, g got) got {
	l.Helper()
	if g.status != status || g.form["code"] != code {
		l.Fatalf("status %d, want %d %s: %.500s", g.status, status, code, g.body)
	}
	if g.header.Get("Content-Type") != "application/problem+json" || g.form["status"] != float64(status) || g.form["title"] == "" || g.form["detail"] == nil ||
		g.form["type"] != "/v1/openapi.yaml#/x-errors/"+code || g.header.Get("Cache-Control") != "no-store" {
		l.Errorf("not a whole problem document: %v %s", g.header, g.body)
	}
	if (g.form["retry_after_ms"] != nil) != (g.header.Get("Retry-After") != "") {
		l.Errorf("Retry-After is %q beside %s", g.header.Get("Retry-After"), g.body)
	}
	return g
}

func (l *line) invalid(field, says string, g got) {
	l.Helper()
	l.problem(422, "invalid", g)
	if g.form["field"] != field || !strings.Contains(fmt.Sprint(g.form["detail"]), says) {
		l.Errorf("field %v, detail %v; want %s and %q", g.form["field"], g.form["detail"], field, says)
	}
}

// beginBody is a begin with further members.
func beginBody(key, more string) string {
	return fmt.Sprintf(`{"key":%q,"claim_id":%q,"tool":"mail.send","root_run":"r1","operation":"send"%s}`, key, journal.NewToken(), more)
}

// report repeats the identity of a grant.
func report(g got, key, more string) string {
	return fmt.Sprintf(`{"attempt":%v,"lease_token":%q,"key":%q,"tool":"mail.send"%s}`, g.form["attempt"], g.form["lease_token"], key, more)
}

func (g got) path(call string) string { return fmt.Sprint("/effects/", g.form["effect_id"], call) }

func TestAuth(t *testing.T) {
	t.Parallel()
	l := open(t)
	_, revoked, err := l.store.CreateToken(t.Context(), "gone", nil, "test")
	if err == nil {
		err = l.store.RevokeToken(t.Context(), "gone")
	}
	if err != nil {
		t.Fatal(err)
	}
	for name, header := range map[string][]string{
		"none": nil, "empty": {""}, "no scheme": {l.token}, "basic": {"Basic " + l.token}, "unknown": {"Bearer landed_x"}, "revoked": {"Bearer " + revoked},
		"twice": {"Bearer " + l.token, "Bearer " + l.token}, "huge": {"Bearer " + strings.Repeat("x", 600)},
	} {
		for _, call := range []string{"GET /decisions", "POST /effects", "PUT /tools/x", "GET /no/such"} {
			method, path, _ := strings.Cut(call, " ")
			req, err := http.NewRequestWithContext(t.Context(), method, l.url+"/v1"+path+"?token="+l.token, strings.NewReader("{}"))
			if err != nil {
				t.Fatal(err)
			}
			req.Header["Authorization"] = header
			req.AddCookie(&http.Cookie{Name: "token", Value: l.token})
			res, err := http.DefaultClient.Do(req)
			if err != nil {
				t.Fatal(err)
			}
			_ = res.Body.Close()
			if path != "/no/such" && (res.StatusCode != 401 || res.Header.Get("WWW-Authenticate") == "") || res.StatusCode < 400 {
				t.Errorf("%s, token %s: %d", call, name, res.StatusCode)
			}
		}
	}
	lower := l.as("")
	req, _ := http.NewRequestWithContext(t.Context(), "GET", lower.url+"/v1/decisions", nil)
	req.Header.Set("Authorization", "bearer "+l.token) // the scheme has no case (RFC 9110, 11.1)
	res, err := http.DefaultClient.Do(req)
	if err != nil || res.StatusCode != 200 {
		t.Errorf("bearer in lower case: %v, %v", res, err)
	}
	if g := l.as("").get("/openapi.yaml"); g.status != 200 || g.body != string(api.Document()) || g.header.Get("Content-Type") != "application/yaml" {
		t.Errorf("the document needs a token: %d", g.status)
	}
}

func TestRouter(t *testing.T) {
	t.Parallel()
	l := open(t)
	l.problem(404, "not_found", l.get("/no/such"))
	l.problem(404, "not_found", l.do("DELETE", "/effects", "", nil))
	l.problem(404, "not_found", l.get("/effects/not-an-id"))
	l.problem(404, "not_found", l.get("/effects/"+journal.NewID(time.Now())))
	l.problem(404, "not_found", l.get("/effects?key=none"))
	l.invalid("key", "empty", l.get("/effects"))
}

func TestBody_Strict(t *testing.T) {
	t.Parallel()
	l := open(t)
	for name, c := range map[string]struct{ body, field, says string }{
		"no JSON":            {`{"key":`, "body", "whole JSON object"},
		"broken JSON":        {`{"key":x}`, "body", "not valid JSON"},
		"nothing":            {``, "body", "whole JSON object"},
		"a list":             {`[]`, "body", "whole JSON object"},
		"two values":         {beginBody("k", "") + `{}`, "body", "more than one"},
		"unknown member":     {beginBody("k", `,"argz":{}`), "argz", "known are namespace, key"},
		"wrong case":         {beginBody("k", `,"Args":{}`), "Args", "known are"},
		"the server's":       {beginBody("k", `,"worker":"x"`), "worker", "known are"},
		"repeated member":    {beginBody("k", `,"key":"k2"`), "key", "twice"},
		"repeated, escaped":  {beginBody("k", `,"k\u0065y":"k2"`), "key", "twice"},
		"repeated label":     {beginBody("k", `,"labels":{"a":"1","a":"2"}`), "labels", "twice"},
		"repeated arg":       {beginBody("k", `,"args":{"x":{"a":1,"a":2}}`), "args", "twice"},
		"invalid UTF-8":      {beginBody("k", ",\"subject\":\"\xff\""), "subject", "UTF-8"},
		"invalid UTF-8 args": {beginBody("k", ",\"args\":\"\xff\""), "args", "UTF-8"},
		"lone surrogate":     {beginBody("k", `,"subject":"a\ud800b"`), "subject", "lone surrogate"},
		"low surrogate":      {beginBody("k", `,"labels":{"a":"\udc00"}`), "labels", "lone surrogate"},
		"half a pair":        {beginBody("k", `,"subject":"\ud83d\u0041"`), "subject", "lone surrogate"},
		"number as text":     {beginBody("k", `,"amount":12.5,"currency":"EUR"`), "amount", "must be a string"},
		"bad lease":          {beginBody("k", `,"lease":"soon"`), "lease", "milliseconds"},
		"fraction":           {beginBody("k", `,"lease":1.5`), "lease", "milliseconds"},
		"huge":               {beginBody("k", `,"lease":9223372036854775807`), "lease", "milliseconds"},
		"negative":           {beginBody("k", `,"lease":-1`), "lease", "between"},
		"bad time":           {beginBody("k", `,"root_run_started_at":"yesterday"`), "root_run_started_at", "a time like"},
		"both forms":         {beginBody("k", `,"args":{},"args_base64":"e30="`), "args", "exclude"},
		"bad base64":         {beginBody("k", `,"args_base64":"e30"`), "args_base64", "base64"},
		"blank key":          {beginBody("  ", ""), "key", "blank"},
	} {
		g := l.post("/effects", c.body)
		if g.form["field"] != c.field {
			t.Errorf("%s: %s", name, g.body)
			continue
		}
		l.invalid(c.field, c.says, g)
	}
	l.want(200, l.post("/effects", beginBody("k", `,"subject":"\ud83d\ude00 \\ud800 \\\\","lease":"1m30s","client_timeout":5000,"turn":null`)))
}

func TestBody_TypeAndSize(t *testing.T) {
	t.Parallel()
	l := open(t)
	ok := func() io.Reader { return strings.NewReader(beginBody("k", "")) }
	for _, ct := range []string{"", "text/plain", "application/x-www-form-urlencoded", "application/json; charset=latin1", "application/problem+json"} {
		l.problem(415, "unsupported_media_type", l.do("POST", "/effects", ct, ok()))
	}
	l.want(200, l.do("POST", "/effects", "application/json; charset=UTF-8", ok()))
	for _, c := range []struct {
		path, field string
		size        int
	}{
		{"/effects", "args", api.MaxBeginBytes}, {"/effects/x/commit", "result", api.MaxCommitBytes}, {"/effects/x/fail", "error", api.MaxFailBytes},
		{"/effects/x/heartbeat", "body", api.MaxSmallBytes}, {"/effects/x/handle", "value", api.MaxSmallBytes},
	} {
		big := bytes.Repeat([]byte(" "), c.size+1)
		if g := l.problem(413, "too_large", l.do("POST", c.path, "application/json", bytes.NewReader(big))); g.form["field"] != c.field {
			t.Errorf("%s blames %v", c.path, g.form["field"])
		}
	}
	chunked := io.MultiReader(bytes.NewReader(bytes.Repeat([]byte(" "), api.MaxSmallBytes+1)))
	l.problem(413, "too_large", l.do("POST", "/effects/x/handle", "application/json", chunked))
	// The largest args fit in both forms, one byte more is the journal's to refuse.
	args := `"` + strings.Repeat("a", journal.MaxArgsBytes-2) + `"`
	l.want(200, l.post("/effects", beginBody("big", `,"args":`+args)))
	l.invalid("args", "at most", l.post("/effects", beginBody("bigger", `,"args":`+args[:len(args)-1]+`a"`)))
}

func TestBegin_DirectivesAndBytes(t *testing.T) {
	t.Parallel()
	l := open(t)
	first := l.want(200, l.post("/effects", beginBody("k", `,"args":{"n": 1970670598291982290,"s":"\u0000"},"lease":2000`)))
	if first.form["directive"] != "execute" || first.form["lease_for_ms"] != 2000.0 || first.form["send_by_ms"] != 2000.0 || first.form["deadline_ms"] != 12000.0 || len(first.form["handles"].([]any)) != 0 {
		t.Errorf("execute is %s", first.body)
	}
	g := l.problem(409, "in_progress", l.post("/effects", beginBody("k", `,"args":{"n":1970670598291982290,"s":"\u0000"}`)))
	if g.form["directive"] != "in_progress" || g.form["owner"] != "w1" || g.form["lease_token"] != nil || g.header.Get("Retry-After") != "2" {
		t.Errorf("in_progress is %s, Retry-After %q", g.body, g.header.Get("Retry-After"))
	}
	read := l.want(200, l.get(first.path("")))
	if !strings.Contains(read.body, `"args":{"n": 1970670598291982290,"s":"\u0000"}`) {
		t.Errorf("the args are not the bytes that were sent: %s", read.body)
	}
	if strings.Contains(read.body, fmt.Sprint(first.form["lease_token"])) || strings.Contains(read.body, "claim") {
		t.Errorf("the effect shows its fence: %s", read.body)
	}
	byKey := l.want(200, l.get("/effects?key=k"))
	if byKey.form["id"] != first.form["effect_id"] {
		t.Errorf("by key: %s", byKey.body)
	}
	l.want(200, l.post(first.path("/commit"), report(first, "k", `,"result": {"ok" : true, "h":"<&>"} ,"provider_id":"m1"`)))
	g = l.want(200, l.post("/effects", beginBody("k", `,"args":{"s":"\u0000","n":1970670598291982290}`)))
	if g.form["directive"] != "return" || !strings.Contains(g.body, `"result":{"ok" : true, "h":"<&>"}`) {
		t.Errorf("return is %s", g.body)
	}
	g = l.problem(409, "commit_conflict", l.post(first.path("/commit"), report(first, "k", `,"provider_id":"m2"`)))
	if g.form["state"] != "COMMITTED" || g.form["effect_id"] != first.form["effect_id"] || g.form["late"] != true {
		t.Errorf("commit_conflict is %s", g.body)
	}
	l.problem(422, "key_reused", l.post("/effects", beginBody("k", `,"args":{"n":1}`)))
}

func TestReports(t *testing.T) {
	t.Parallel()
	l := open(t)
	a := l.want(200, l.post("/effects", beginBody("k", "")))
	l.want(204, l.post(a.path("/handle"), fmt.Sprintf(`{"attempt":1,"lease_token":%q,"kind":"draft","value":"d1"}`, a.form["lease_token"])))
	beat := fmt.Sprintf(`{"attempt":1,"lease_token":%q}`, a.form["lease_token"])
	if g := l.want(200, l.post(a.path("/heartbeat"), beat)); g.form["lease_for_ms"].(float64) <= 0 {
		t.Errorf("heartbeat: %s", g.body)
	}
	l.problem(422, "unknown_attempt", l.post(a.path("/fail"), strings.Replace(report(a, "k", `,"phase":"sent"`), `"attempt":1`, `"attempt":2`, 1)))
	l.invalid("phase", "none of", l.post(a.path("/fail"), report(a, "k", `,"phase":"maybe"`)))
	f := l.want(200, l.post(a.path("/fail"), report(a, "k", ",\"phase\":\"sent\",\"error\":\"\xff\\ud800\"")))
	if f.form["directive"] != "parked" || f.form["state"] != "PARKED" {
		t.Errorf("fail: %s", f.body)
	}
	if g := l.problem(409, "lease_lost", l.post(a.path("/heartbeat"), beat)); g.form["state"] != "PARKED" || g.form["effect_id"] != a.form["effect_id"] {
		t.Errorf("lease_lost: %s", g.body)
	}
	g := l.want(200, l.post("/effects/not-an-id/commit", report(a, "never-begun", "")))
	if g.form["orphan"] != true || g.form["state"] != "COMMITTED" {
		t.Errorf("a commit under a malformed id: %s", g.body)
	}
	l.problem(404, "not_found", l.post("/effects/not-an-id/heartbeat", beat))
	l.problem(404, "not_found", l.post("/decisions/not-an-id/ack", ""))
}

func TestTools(t *testing.T) {
	t.Parallel()
	l := open(t)
	for _, name := range []string{"a/b", "a%2Fc", "crm:note.create"} {
		l.want(204, l.put(name, `{"class":"read_only"}`))
	}
	tools, err := l.store.Tools(t.Context())
	if err != nil || len(tools) != 4 || tools[0].Name != "a/b" || tools[1].Name != "a/c" {
		t.Errorf("registered are %+v, %v", tools, err)
	}
	l.invalid("key_window", "is missing", l.put("pay", `{"class":"provider_idempotent","client_timeout":1000}`))
	l.invalid("class", "is missing", l.put("pay", `{}`))
	l.invalid("name", "may hold", l.put("a%20b", `{"class":"read_only"}`))
	l.problem(422, "unknown_tool", l.post("/effects", strings.Replace(beginBody("k", ""), "mail.send", "no.such", 1)))
	l.problem(422, "not_journaled", l.post("/effects", strings.Replace(beginBody("k", ""), "mail.send", "a/b", 1)))
}

func TestUnavailable(t *testing.T) {
	t.Parallel()
	l := open(t)
	l.store.Close()
	g := l.problem(503, "unavailable", l.post("/effects", beginBody("k", "")))
	if g.header.Get("Retry-After") == "" || strings.Contains(g.body, "pool") {
		t.Errorf("the cause shows, or Retry-After is missing: %v %s", g.header, g.body)
	}
}

// ends is a store whose long poll tells when it ended.
type ends struct {
	*postgres.Store
	started, ended chan struct{}
}

func (e *ends) Decision(ctx context.Context, id string, after int64, wait time.Duration) (*journal.Resolution, error) {
	if wait == 0 {
		return e.Store.Decision(ctx, id, after, 0)
	}
	close(e.started)
	defer close(e.ended)
	return e.Store.Decision(ctx, id, after, wait)
}

// poll starts a long poll on a server and returns how it will end.
func (l *line) poll(ctx context.Context, path string) <-chan int {
	l.Helper()
	req, err := http.NewRequestWithContext(ctx, "GET", l.url+"/v1"+path, nil)
	if err != nil {
		l.Fatal(err)
	}
	req.Header.Set("Authorization", "Bearer "+l.token)
	status := make(chan int, 1)
	go func() {
		res, err := http.DefaultClient.Do(req)
		if err != nil {
			status <- 0
			return
		}
		_ = res.Body.Close()
		status <- res.StatusCode
	}()
	return status
}

func TestDecision_EndsWithTheClient(t *testing.T) {
	t.Parallel()
	l := open(t)
	a := l.want(200, l.post("/effects", beginBody("k", "")))
	e := &ends{l.store, make(chan struct{}), make(chan struct{})}
	l.url = apitest.Serve(t, l.store, func(c *api.Config) { c.Store, c.MaxPolls = e, 1 })
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	status := l.poll(ctx, a.path("/decision?wait=50s"))
	<-e.started
	l.problem(429, "too_many_waiting", l.get(a.path("/decision?wait=1s")))
	l.want(204, l.get(a.path("/decision"))) // does not wait
	cancel()
	<-e.ended
	if got := <-status; got != 0 {
		t.Errorf("the poll was answered %d, want it cut", got)
	}
}

func TestDecision_EndsWithTheServer(t *testing.T) {
	t.Parallel()
	l := open(t)
	a := l.want(200, l.post("/effects", beginBody("k", "")))
	e := &ends{l.store, make(chan struct{}), make(chan struct{})}
	served := api.New(api.Config{Store: e, Tokens: l.store})
	router := echo.New()
	served.Register(router.Group("/v1"))
	server := httptest.NewServer(router)
	defer server.Close()
	l.url = server.URL
	status := l.poll(t.Context(), a.path("/decision?wait=50s"))
	<-e.started
	served.Close()
	served.Close()
	select {
	case got := <-status:
		if got != 204 {
			t.Errorf("the poll was answered %d, want 204", got)
		}
	case <-time.After(20 * time.Second):
		t.Error("the poll goes on")
	}
}

func TestDecision_Query(t *testing.T) {
	t.Parallel()
	l := open(t, func(c *api.Config) { c.MaxWait = 10 * time.Millisecond })
	a := l.want(200, l.post("/effects", beginBody("k", "")))
	l.want(204, l.get(a.path("/decision?wait=55s&after=0"))) // cut to MaxWait
	l.want(204, l.get(a.path("/decision?wait=5")))
	l.invalid("wait", "milliseconds", l.get(a.path("/decision?wait=soon")))
	l.invalid("wait", "negative", l.get(a.path("/decision?wait=-1s")))
	l.invalid("after", "whole number", l.get(a.path("/decision?after=x")))
	l.invalid("limit", "between", l.get("/decisions?limit=501"))
	if g := l.want(200, l.get("/decisions?after=7")); g.body != `{"decisions":[],"cursor":7}`+"\n" {
		t.Errorf("an empty feed is %s", g.body)
	}
}
