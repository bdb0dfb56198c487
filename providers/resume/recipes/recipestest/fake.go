// Package recipestest holds the runtimes that the recipes are tested against:
// small stateful servers that answer as the vendors' published sources say. It is
// for tests only.
//
// Each knows runs by the effect that parked them, when a run waits, what resumes
// it, and what becomes of a delivery that comes early, late or twice. What they
// can't show is whether the vendor's service keeps to its own sources.
package recipestest

import (
	"crypto/x509"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/landedhq/landed/journal"
	"github.com/landedhq/landed/providers/evidence"
	"github.com/landedhq/landed/providers/resume/recipe"
	"github.com/landedhq/landed/providers/resume/recipes"
)

// Early is what a runtime does with a delivery that comes before the wait.
type Early string

// What becomes of it.
const (
	Kept    Early = "kept"    // taken, and resumes the run once it waits
	Refused Early = "refused" // the answer says that nobody waits
	Lost    Early = "lost"    // taken, and forgotten
)

// Dialect is one runtime's way.
type Dialect struct {
	Recipe  string
	Params  func(url string) map[string]string
	Secrets map[string]string
	// Address is begin's resume without "to", for the run of an effect.
	Address func(effect string) map[string]any
	// Path are the paths that may be called, with * for the address's own segments.
	Paths []string
	New   func(*Fake) http.Handler

	Early Early
	// Ended is what the runtime answers for a run that has ended, Unknown for one
	// that never was.
	Ended, Unknown journal.HandoverOutcome
}

// Dialects are the runtimes of all recipes.
func Dialects() []Dialect {
	return []Dialect{inngestSignal(), inngestEvent(), restateAwakeable(), restateHandler(), camundaMessage(), camundaCorrelation(), langgraph(), hatchet()}
}

// Fault is what goes wrong before the runtime sees a request.
type Fault string

// The faults.
const (
	FaultLimit    Fault = "limit"    // 429 with Retry-After: 7
	FaultRedirect Fault = "redirect" // 307 to another path
	FaultHuge     Fault = "huge"     // an answer of 9 MiB
	FaultLogin    Fault = "login"    // 200 with a login page
	FaultEcho     Fault = "echo"     // 400 that repeats the secrets
	FaultDown     Fault = "down"     // 503
	FaultHang     Fault = "hang"     // no answer
	FaultRevoked  Fault = "revoked"  // 401
)

// Request is one that arrived.
type Request struct {
	Method, Path, ContentType, Body string
	Header                          http.Header
}

// Fake is one runtime with its runs.
type Fake struct {
	Dialect
	Server *httptest.Server

	mu       sync.Mutex
	fault    Fault
	requests []Request
	runs     map[string]*run
	done     chan struct{}
}

// run is one run, by the effect that parked it.
type run struct {
	begun, waits, ended bool
	busy                bool     // what holds it ends with the next Begin or Wait
	kept                []string // resolution ids that came before it waited
	seen                []string // those that resumed it, one each time
}

// New starts a runtime.
func New(t testing.TB, d Dialect) *Fake {
	t.Helper()
	f := &Fake{Dialect: d, runs: map[string]*run{}, done: make(chan struct{})}
	inner := d.New(f)
	f.Server = httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { f.serve(w, r, inner) }))
	t.Cleanup(f.Server.Close)
	t.Cleanup(func() { close(f.done) })
	return f
}

// Config is the recipe's configuration for this fake.
func (f *Fake) Config(t testing.TB) recipe.Config {
	t.Helper()
	d, err := recipes.Load(f.Recipe)
	if err != nil {
		t.Fatalf("loading the recipe: %v", err)
	}
	pool := x509.NewCertPool()
	pool.AddCert(f.Server.Certificate())
	c := recipe.Config{Name: "runtime", Definition: d, Params: f.Params(f.Server.URL), Secrets: map[string]evidence.Secret{},
		AllowPrivate: true, RootCAs: pool, Timeout: 10 * time.Second}
	for k, v := range f.Secrets {
		c.Secrets[k] = evidence.Fixed(v)
	}
	return c
}

// Target opens the recipe against this fake.
func (f *Fake) Target(t testing.TB) *recipe.Target {
	t.Helper()
	target, err := f.Config(t).Open()
	if err != nil {
		t.Fatalf("opening the recipe: %v", err)
	}
	return target
}

// Resume is begin's resume for the run of an effect.
func (f *Fake) Resume(t testing.TB, effect string, edits ...func(map[string]any)) []byte {
	t.Helper()
	a := f.Address(effect)
	a["to"] = "runtime"
	for _, e := range edits {
		e(a)
	}
	b, err := json.Marshal(a)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// Begin has the run of an effect start. It does not wait yet.
func (f *Fake) Begin(effect string) {
	f.with(effect, func(r *run) { r.begun, r.busy = true, false })
}

// Busy has the run take nothing at the moment, in the way that its runtime has.
func (f *Fake) Busy(effect string) { f.with(effect, func(r *run) { r.busy = true }) }

// Wait has the run wait, and again after it was resumed.
func (f *Fake) Wait(effect string) {
	f.with(effect, func(r *run) {
		if r.begun, r.waits, r.busy = true, true, false; len(r.kept) > 0 {
			id := r.kept[0]
			r.kept = r.kept[1:]
			r.resume(id)
		}
	})
}

// End ends the run.
func (f *Fake) End(effect string) {
	f.with(effect, func(r *run) { r.begun, r.waits, r.ended = true, false, true })
}

// Seen are the resolution ids that resumed the run, one each time.
func (f *Fake) Seen(effect string) (out []string) {
	f.with(effect, func(r *run) { out = slices.Clone(r.seen) })
	return out
}

func (f *Fake) with(effect string, do func(*run)) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.runs[effect] == nil {
		f.runs[effect] = &run{}
	}
	do(f.runs[effect])
}

// resume resumes a waiting run; false = it doesn't wait. Called with the lock held.
func (r *run) resume(id string) bool {
	if r == nil || !r.waits {
		return false
	}
	r.waits, r.seen = false, append(r.seen, id)
	return true
}

// keep resumes a waiting run, or one that will wait. Called with the lock held.
func (r *run) keep(id string) {
	if !r.ended && !r.resume(id) {
		r.kept = append(r.kept, id)
	}
}

// SetFault has every request from now on go wrong; "" ends that.
func (f *Fake) SetFault(x Fault) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.fault = x
}

// Requests lists what arrived.
func (f *Fake) Requests() []Request {
	f.mu.Lock()
	defer f.mu.Unlock()
	return slices.Clone(f.requests)
}

func (f *Fake) serve(w http.ResponseWriter, r *http.Request, inner http.Handler) {
	body, err := io.ReadAll(io.LimitReader(r.Body, 1<<20))
	if err != nil {
		return
	}
	f.mu.Lock()
	f.requests = append(f.requests, Request{r.Method, r.URL.EscapedPath(), r.Header.Get("Content-Type"), string(body), r.Header.Clone()})
	fault := f.fault
	f.mu.Unlock()
	r.Body = io.NopCloser(strings.NewReader(string(body)))
	switch fault {
	case FaultLimit:
		w.Header().Set("Retry-After", "7")
		http.Error(w, "slow down", http.StatusTooManyRequests)
	case FaultRedirect:
		http.Redirect(w, r, "/elsewhere", http.StatusTemporaryRedirect)
	case FaultHuge:
		chunk := strings.Repeat("x", 1<<16)
		for range 9 << 4 {
			if _, err := io.WriteString(w, chunk); err != nil {
				return
			}
		}
	case FaultLogin:
		w.Header().Set("Content-Type", "text/html")
		fmt.Fprint(w, "<html>Please log in</html>")
	case FaultEcho:
		f.echo(w)
	case FaultDown:
		http.Error(w, "down", http.StatusServiceUnavailable)
	case FaultRevoked:
		http.Error(w, "revoked", http.StatusUnauthorized)
	case FaultHang:
		select {
		case <-r.Context().Done():
		case <-f.done:
		}
	default:
		inner.ServeHTTP(w, r)
	}
}

// echo repeats the secrets wherever a runtime puts its words.
func (f *Fake) echo(w http.ResponseWriter) {
	var all []string
	for _, s := range f.Secrets {
		all = append(all, s)
	}
	words := "wrong: " + strings.Join(all, " ")
	answer(w, http.StatusBadRequest, "application/json", object{"error": words, "message": words, "detail": words, "title": words,
		"errors": []object{{"description": words}}})
}

type object = map[string]any

// answer writes one.
func answer(w http.ResponseWriter, status int, kind string, body any) {
	w.Header().Set("Content-Type", kind)
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(body) // the client has gone
}

// read takes a JSON object off a request; false = it is none.
func read(r *http.Request, into any) bool { return json.NewDecoder(r.Body).Decode(into) == nil }

// message is what runs find in a payload.
type message struct {
	Type string `json:"type"`
	Data struct {
		ResolutionID string `json:"resolution_id"`
		EffectID     string `json:"effect_id"`
	} `json:"data"`
}

// isJSON reports whether a request says that it is JSON.
func isJSON(r *http.Request) bool {
	kind, _, _ := strings.Cut(r.Header.Get("Content-Type"), ";")
	return strings.TrimSpace(kind) == "application/json"
}
