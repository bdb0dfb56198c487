package httpkey

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"sync"
	"time"
	"unicode/utf8"

	"github.com/landedhq/landed/journal"
	"github.com/landedhq/landed/journal/worker"
)

// bodyWithin is how long a client may take to send its body.
const bodyWithin = 30 * time.Second

// drainBytes is how much of a body that is too large is read and dropped.
const drainBytes = 1 << 20

// registerWithin bounds the registration of the tool with the journal.
const registerWithin = 5 * time.Second

// askAgainAfter is how long a failed registration stands for all requests.
const askAgainAfter = 500 * time.Millisecond

// guard is the middleware.
type guard struct {
	tool       journal.Tool
	journal    worker.Journal
	registry   *worker.Registry
	worker     *worker.Worker
	routes     *http.ServeMux
	client     ClientFunc
	identity   func(*http.Request, []byte) []byte
	describe   func(*http.Request, []byte, *worker.Call)
	classifier worker.Classifier
	retryable  []int
	keep       []string
	namespace  string
	refHeader  string
	deskURL    string
	docsURL    string
	tracked    bool
	maxBody    int64
	maxAnswer  int64
	lease      time.Duration
	wait       time.Duration
	stall      time.Duration
	retention  time.Duration
	log        *slog.Logger

	mu       sync.Mutex
	known    bool // the journal knows the tool
	turned   error
	turnedAt time.Time // when it last said that it does not
}

// around puts the guard in front of a handler.
func (g *guard) around(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if _, pattern := g.routes.Handler(r); pattern == "" {
			next.ServeHTTP(w, r)
			return
		}
		g.serve(w, r, next)
	})
}

// serve answers one guarded request. The client may go away at any time: what was
// begun is brought to its end and recorded.
func (g *guard) serve(w http.ResponseWriter, r *http.Request, next http.Handler) {
	call, p, ok := g.read(w, r)
	if !ok {
		g.problem(w, p)
		return
	}
	if err := g.register(r.Context()); err != nil {
		g.unavailable(w, err)
		return
	}
	x := &exchange{w: w, r: r, next: next}
	ctx := context.WithValue(context.WithoutCancel(r.Context()), exchangeKey{}, x)
	a, err := g.do(ctx, r.Context(), call)
	if errors.Is(err, journal.ErrUnknownTool) { // somebody dropped it
		g.forget()
		g.unavailable(w, err)
		return
	}
	g.answer(x, a, err)
}

// do executes the call. As long as the answer is "come back", and the client is
// still there, it comes back by itself within the configured time: the journal
// says until when another attempt may last, which is far more than most take.
func (g *guard) do(ctx, client context.Context, call worker.Call) (worker.Answer, error) {
	end := time.Now().Add(g.wait)
	for pause := 25 * time.Millisecond; ; pause = min(2*pause, time.Second) {
		a, err := g.worker.Do(ctx, call)
		if err != nil || a.RetryAfter <= 0 {
			return a, err
		}
		wait := pause
		if a.Directive != journal.DirectiveInProgress {
			wait = max(wait, a.RetryAfter) // known to the moment
		}
		if time.Now().Add(wait).After(end) {
			return a, nil
		}
		select {
		case <-client.Done():
			return a, nil
		case <-time.After(wait):
		}
	}
}

// read makes a request into a call, or a problem; nothing was journaled then.
func (g *guard) read(w http.ResponseWriter, r *http.Request) (worker.Call, problem, bool) {
	key, err := keyOf(r.Header)
	if errors.Is(err, errNoKey) {
		return worker.Call{}, problem{Status: 400, Code: CodeKeyMissing, Title: "Idempotency-Key is missing",
			Detail: "This operation can't be repeated safely without a key, so it was not executed. Send a header " + HeaderName + ` with a string that is new for each effect and the same for every retry of it, such as a UUID: ` + HeaderName + `: "8e03978e-40d5-43e8-bc93-6894a57f9324".`}, false
	}
	if err != nil {
		return worker.Call{}, problem{Status: 400, Code: CodeKeyInvalid, Title: "Idempotency-Key can't be used",
			Detail: err.Error() + ". A key is a string of 1 to 255 printable ASCII characters without a space at either end. Nothing was executed."}, false
	}
	client, err := g.client(r)
	if err != nil {
		return worker.Call{}, problem{Status: 400, Code: CodeClientUnknown, Title: "It is not clear which client this is", Detail: err.Error() + ". Nothing was executed."}, false
	}
	if !utf8.ValidString(r.URL.RawQuery) || !utf8.ValidString(r.URL.EscapedPath()) || !utf8.ValidString(r.Header.Get("Content-Type")) {
		return worker.Call{}, invalid("its path, query or content type is not valid UTF-8: percent-encode it"), false
	}
	body, p, ok := g.body(w, r)
	if !ok {
		return worker.Call{}, p, false
	}
	call, err := g.call(r, client, key, body)
	if err != nil {
		return worker.Call{}, invalid(err.Error()), false
	}
	return call, problem{}, true
}

func invalid(detail string) problem {
	return problem{Status: 422, Code: CodeInvalid, Title: "The request can't be journaled", Detail: detail + ". Nothing was executed."}
}

// body reads the whole body: what is executed has to be journaled first.
func (g *guard) body(w http.ResponseWriter, r *http.Request) ([]byte, problem, bool) {
	large := problem{Status: 413, Code: CodeTooLarge, Title: "The body is too large",
		Detail: fmt.Sprintf("The body has more than %d bytes, which is what is journaled before an operation. Nothing was executed.", g.maxBody)}
	control := http.NewResponseController(w)
	_ = control.SetReadDeadline(time.Now().Add(bodyWithin)) // not every server can
	defer control.SetReadDeadline(time.Time{})              //nolint:errcheck // as above
	body, err := io.ReadAll(io.LimitReader(r.Body, g.maxBody+1))
	if int64(len(body)) > g.maxBody {
		// Clients that write on while the connection is cut never read the answer.
		_, _ = io.CopyN(io.Discard, r.Body, drainBytes)
		return nil, large, false
	}
	if err != nil {
		return nil, problem{Status: 400, Code: CodeInvalid, Title: "The body was cut short", Detail: "The body did not arrive whole. Nothing was executed: send the same request with the same key again."}, false
	}
	return body, problem{}, true
}

// call is the effect of a request. Its key is made of client, route and the
// client's key, so that keys of two clients, or of two routes, never meet.
func (g *guard) call(r *http.Request, client, key string, body []byte) (worker.Call, error) {
	route := r.Method + " " + r.URL.EscapedPath()
	full, err := journal.DeriveKey(client, "http", route, key)
	if err != nil {
		return worker.Call{}, err
	}
	identity := body
	if g.identity != nil {
		identity = g.identity(r, body)
	}
	args, err := encodeRequest(r, body, identity)
	if err != nil {
		return worker.Call{}, err
	}
	call := worker.Call{Labels: map[string]string{}, Subject: clip(route, 200), Traceparent: traceparent(r)}
	if len(key) <= journal.MaxLabelBytes {
		call.Labels["idempotency_key"] = key
	}
	if g.describe != nil {
		g.describe(r, body, &call)
	}
	if call.Run.RootRun == "" {
		// A run of its own: the retry budget is counted per run, and a client's keys
		// must not spend each other's.
		call.Run = worker.Run{RootRun: full}
	}
	call.Tool, call.Key, call.Args, call.Namespace = g.tool.Name, full, args, g.namespace
	call.Step, call.Operation, call.Item = "http", clip(route, journal.MaxTextBytes), ""
	call.Lease, call.ClientTimeout = g.lease, 0
	return call, nil
}

// clip cuts escaped, so plain ASCII, text.
func clip(s string, n int) string { return s[:min(len(s), n)] }

func traceparent(r *http.Request) string {
	v := r.Header.Get("Traceparent")
	if len(v) > 100 || !utf8.ValidString(v) {
		return ""
	}
	return v
}

// register makes the tool known to the journal before the first effect. A journal
// that can't be reached at start is tried again with the next request.
func (g *guard) register(ctx context.Context) error {
	g.mu.Lock()
	defer g.mu.Unlock()
	switch {
	case g.known:
		return nil
	case time.Since(g.turnedAt) < askAgainAfter: // those who wait for the lock must not each wait again
		return g.turned
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), registerWithin)
	defer cancel()
	err := g.registry.Sync(ctx, g.journal)
	g.known, g.turned, g.turnedAt = err == nil, err, time.Now()
	return err
}

func (g *guard) forget() {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.known, g.turnedAt = false, time.Time{}
}
