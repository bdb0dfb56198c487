package httpkey_test

import (
	"bytes"
	"context"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/landedhq/landed/journal"
	"github.com/landedhq/landed/journal/worker/httpkey"
)

// open sends a request and returns its answer as soon as it begins.
func open(t *testing.T, address, key string, body io.Reader) *http.Response {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, address, body)
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("Idempotency-Key", key)
	r.Header.Set("Authorization", "Bearer sk_1")
	res, err := (&http.Transport{DisableKeepAlives: true}).RoundTrip(r)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = res.Body.Close() })
	return res
}

// TestStream_FlushesGoThrough: the client reads what was flushed while the
// upstream still writes; the whole of it is recorded.
func TestStream_FlushesGoThrough(t *testing.T) {
	t.Parallel()
	next := make(chan struct{})
	u := newUpstream(t, func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/event-stream")
		w.Header().Set("Trailer", "X-Sum")
		for _, part := range []string{"data: 1\n\n", "data: 2\n\n"} {
			_, _ = io.WriteString(w, part)
			_ = http.NewResponseController(w).Flush()
			<-next
		}
		_, _ = io.WriteString(w, "data: end\n\n")
		w.Header().Set("X-Sum", "3")
	})
	s := openStore(t)
	front := proxy(t, config(s), u.URL)
	res := open(t, front.URL+"/events", "k", nil)
	for _, want := range []string{"data: 1\n\n", "data: 2\n\n", "data: end\n\n"} {
		part := make([]byte, len(want))
		if _, err := io.ReadFull(res.Body, part); err != nil || string(part) != want {
			t.Fatalf("%q, %v", part, err)
		}
		if got := state(t, s, res.Header.Get("Landed-Effect")); want != "data: end\n\n" && got != journal.StateIntent {
			t.Errorf("state %s while it streams", got)
		}
		if want != "data: end\n\n" {
			next <- struct{}{}
		}
	}
	if rest, err := io.ReadAll(res.Body); err != nil || len(rest) > 0 || res.Trailer.Get("X-Sum") != "3" {
		t.Errorf("rest %q, %v, trailer %v", rest, err, res.Trailer)
	}
	again := open(t, front.URL+"/events", "k", nil)
	body, err := io.ReadAll(again.Body)
	if string(body) != "data: 1\n\ndata: 2\n\ndata: end\n\n" || err != nil || again.Header.Get("Idempotency-Replayed") != "true" || u.count() != 1 {
		t.Errorf("again %q, %v, %v", body, err, again.Header)
	}
}

// TestStream_BreaksOff: an answer that breaks off after the client saw its start
// breaks off for the client too, and is not recorded as done.
func TestStream_BreaksOff(t *testing.T) {
	t.Parallel()
	broken := make(chan struct{})
	u := newUpstream(t, func(w http.ResponseWriter, _ *http.Request) {
		_, _ = io.WriteString(w, "some")
		_ = http.NewResponseController(w).Flush()
		<-broken
		panic(http.ErrAbortHandler)
	})
	s := openStore(t)
	front := proxy(t, config(s), u.URL)
	res := open(t, front.URL+"/events", "k", nil)
	part := make([]byte, 4)
	if _, err := io.ReadFull(res.Body, part); err != nil {
		t.Fatal(err)
	}
	close(broken)
	if _, err := io.ReadAll(res.Body); err == nil {
		t.Error("the client took half an answer for a whole one")
	}
	post(t, front.URL+"/events", "k", "", func(r *http.Request) { r.Header.Del("Content-Type") }).is(t, 409, "outcome_unknown", false)
	if u.count() != 1 {
		t.Errorf("%d requests", u.count())
	}
}

// TestStream_LargeAnswer: an answer over the cap reaches the client whole; a
// replay says that it happened and that its answer was too large to keep.
func TestStream_LargeAnswer(t *testing.T) {
	t.Parallel()
	large := strings.Repeat("0123456789", 30_000)
	u := newUpstream(t, func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, large) })
	s := openStore(t)
	for name, most := range map[string]int64{"over": 200_000, "far over": 100, "under": 400_000} {
		c := config(s)
		c.MaxAnswer = most
		front := proxy(t, c, u.URL)
		if g := post(t, front.URL+"/report", name, `{}`); g.status != 200 || g.body != large {
			t.Fatalf("%s: answered %d, %d bytes", name, g.status, len(g.body))
		}
		g := post(t, front.URL+"/report", name, `{}`)
		if name == "under" {
			if g.body != large {
				t.Errorf("%s: replayed %d bytes", name, len(g.body))
			}
			continue
		}
		g.is(t, 200, "answer_not_kept", false)
		if p := g.problem(t); p.Executed == nil || !*p.Executed || !strings.Contains(g.body, `"answer_bytes":300000`) || g.header.Get("Idempotency-Replayed") != "true" {
			t.Errorf("%s: %s", name, g.body)
		}
	}
	if u.count() != 3 {
		t.Errorf("%d requests", u.count())
	}
}

// TestStream_LargeBody: a body over the cap is refused before any intent, whether
// or not its length was stated; one at the cap goes through byte for byte.
func TestStream_LargeBody(t *testing.T) {
	t.Parallel()
	u := newUpstream(t, func(w http.ResponseWriter, r *http.Request) { _, _ = io.Copy(w, r.Body) })
	s := openStore(t)
	c := config(s)
	c.MaxBody, c.MaxAnswer = httpkey.LargestBody, httpkey.LargestAnswer
	front := proxy(t, c, u.URL)
	for name, fill := range map[string]string{"text": "x", "quotes": `"`, "binary": "\xff\x00", "controls": "\x01", "html": "<"} {
		at := []byte(strings.Repeat(fill, httpkey.LargestBody/len(fill)))
		for range 2 {
			res := open(t, front.URL+"/echo", name, bytes.NewReader(at))
			if back, err := io.ReadAll(res.Body); err != nil || res.StatusCode != 200 || !bytes.Equal(back, at) {
				t.Errorf("%s: %d, %d bytes back, %v", name, res.StatusCode, len(back), err)
			}
		}
		for how, body := range map[string]io.Reader{"stated": bytes.NewReader(append(at, 'x', 'y')), "chunked": io.MultiReader(bytes.NewReader(at), strings.NewReader("xy"))} {
			if res := open(t, front.URL+"/echo", "over-"+name, body); res.StatusCode != 413 {
				t.Errorf("%s, %s: answered %d", name, how, res.StatusCode)
			}
		}
	}
	if n := u.count(); n != 5 {
		t.Errorf("%d requests", n)
	}
	var rows int
	if err := s.Pool().QueryRow(t.Context(), "select count(*) from effects").Scan(&rows); err != nil || rows != 5 {
		t.Errorf("%d effects were journaled, %v", rows, err)
	}
}

// TestStream_CutBody: a body that does not arrive whole is not journaled.
func TestStream_CutBody(t *testing.T) {
	t.Parallel()
	u := newUpstream(t, created)
	s := openStore(t)
	front := proxy(t, config(s), u.URL)
	r, w := io.Pipe()
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
	defer cancel()
	go func() {
		_, _ = io.WriteString(w, "half")
		_ = w.CloseWithError(io.ErrClosedPipe)
	}()
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, front.URL+"/x", r)
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Idempotency-Key", "k")
	if res, err := (&http.Transport{}).RoundTrip(req); err == nil {
		_ = res.Body.Close()
	}
	post(t, front.URL+"/x", "other", "{}")
	var rows int
	if err := s.Pool().QueryRow(t.Context(), "select count(*) from effects").Scan(&rows); err != nil || rows != 1 || u.count() != 1 {
		t.Errorf("%d effects, %d requests, %v", rows, u.count(), err)
	}
}

// TestJ19_ClientStalls: a client that reads nothing of an answer that is larger
// than what networks hold keeps neither the upstream nor the record waiting.
func TestJ19_ClientStalls(t *testing.T) {
	t.Parallel()
	const size = 40 << 20
	sent := make(chan error, 1)
	u := newUpstream(t, func(w http.ResponseWriter, _ *http.Request) {
		part := make([]byte, 1<<20)
		for range size / len(part) {
			if _, err := w.Write(part); err != nil {
				sent <- err
				return
			}
		}
		sent <- nil
	})
	s := openStore(t)
	c := config(s)
	c.Stall, c.Tool.ClientTimeout = 300*time.Millisecond, 60*time.Second
	front := proxy(t, c, u.URL)
	conn, err := net.Dial("tcp", strings.TrimPrefix(front.URL, "http://"))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = conn.Close() }()
	_, _ = io.WriteString(conn, "POST /report HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer sk_1\r\nContent-Type: application/json\r\nIdempotency-Key: k\r\nContent-Length: 2\r\n\r\n{}")
	if err := <-sent; err != nil {
		t.Errorf("the upstream was kept from writing: %v", err)
	}
	var g got
	eventually(t, "a record", func() bool {
		g = post(t, front.URL+"/report", "k", "{}")
		return g.status != 409
	})
	g.is(t, 200, "answer_not_kept", false)
	if u.count() != 1 {
		t.Errorf("%d requests", u.count())
	}
}

// TestStream_KeptConnection: a connection that carried a stream serves the next
// request after the time in which a client may stall.
func TestStream_KeptConnection(t *testing.T) {
	t.Parallel()
	large := strings.Repeat("x", 200_000)
	u := newUpstream(t, func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, large) })
	c := config(openStore(t))
	c.Stall = 2 * time.Second
	front := proxy(t, c, u.URL)
	transport := &http.Transport{}
	defer transport.CloseIdleConnections()
	for i := range 2 {
		r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, front.URL+"/x", http.NoBody)
		if err != nil {
			t.Fatal(err)
		}
		r.Header.Set("Idempotency-Key", strings.Repeat("k", i+1))
		res, err := transport.RoundTrip(r)
		if err != nil {
			t.Fatal(err)
		}
		if body, err := io.ReadAll(res.Body); err != nil || string(body) != large {
			t.Errorf("request %d: %d bytes, %v", i, len(body), err)
		}
		_ = res.Body.Close()
		if i == 0 {
			<-time.After(c.Stall + 100*time.Millisecond)
		}
	}
}

// TestStream_SlowJournal: an answer that is complete and can't be recorded does
// not wait for ever: the client gets it.
func TestStream_SlowJournal(t *testing.T) {
	t.Parallel()
	u := newUpstream(t, created)
	l := &lossy{Store: openStore(t)}
	front := proxy(t, config(l), u.URL)
	l.set(true, "commit")
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
	defer cancel()
	g, err := postTo(ctx, front.URL+"/refunds", "k", `{}`)
	l.set(false, "commit")
	if err != nil || g.status != 201 || g.body != "{\"id\":\"re_1\", \"amount\": 500}\n" {
		t.Fatalf("answered %+v, %v", g, err)
	}
	eventually(t, "a record", func() bool { return state(t, l.Store, g.header.Get("Landed-Effect")) == journal.StateCommitted })
}
