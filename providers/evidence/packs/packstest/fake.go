// Package packstest is a fake provider that data describes: a dialect says how a
// vendor's interface reads and answers, the fake keeps the objects and misbehaves
// on demand. It is for tests only.
package packstest

import (
	"crypto/x509"
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
)

// Fault is a way in which the fake misbehaves.
type Fault string

// The faults.
const (
	FaultNone         Fault = ""
	FaultLag          Fault = "lags: shows nothing that was put"
	FaultIgnoreFilter Fault = "ignores filters: everything comes back"
	FaultEndless      Fault = "truncates: there is always another page"
	FaultFlap         Fault = "flaps: every second request fails"
	FaultRateLimit    Fault = "rate-limits"
	FaultOKError      Fault = "answers 200 with an error"
	FaultRedirect     Fault = "redirects off-host"
	FaultHuge         Fault = "sends a huge body"
	FaultGzip         Fault = "sends a packed body"
	FaultHang         Fault = "hangs"
	FaultDown         Fault = "answers 500"
	FaultGarbage      Fault = "answers with a login page"
	FaultAuth         Fault = "refuses the credentials"
	FaultForbidden    Fault = "forbids"
	FaultEndpointGone Fault = "has no such endpoint"
)

// Object is one thing at the provider.
type Object struct {
	N       int
	Carrier string // what the field that carries the reference holds
	At      time.Time
	State   string // in the provider's words; "" = the dialect's usual one
}

// Dialect is one vendor's interface, as a pack uses it.
type Dialect struct {
	Pack    string
	Params  map[string]string
	Secrets map[string]string
	// Authorized checks the credentials.
	Authorized func(*http.Request) bool
	// Serve answers a request that is authorised. It must refuse what the vendor
	// would, with f.Wrong for a request that the vendor does not know.
	Serve func(f *Fake, w http.ResponseWriter, r *http.Request)
	// Reads are the POST requests that only read, as "POST /path".
	Reads []string
	// OKError is the body of a 200 that is an error; "" = an object without the
	// expected fields.
	OKError string
	// AuthBody and AuthStatus are how credentials are refused; 0 = 401.
	AuthStatus int
	AuthBody   string
	// Whole says that answers are never paged.
	Whole bool
	// NoFilter says that a filter can't be ignored: the object is read by its id.
	NoFilter bool
	// TokenPath is where tokens are given; faults other than refused credentials
	// spare it, so that they meet the look itself.
	TokenPath string
	// Form writes a reference as the provider holds it; nil = as it is.
	Form func(ref string) string
}

// Fake is one running fake.
type Fake struct {
	Dialect
	Server *httptest.Server
	Other  *httptest.Server // where redirects lead; nobody may arrive there

	mu       sync.Mutex
	fault    Fault
	objects  []Object
	requests int64
	writes   []string
	wrong    []string
	log      []string
	release  chan struct{}
}

// New starts a fake on loopback with TLS; it ends with the test.
func New(t testing.TB, d Dialect) *Fake {
	t.Helper()
	f := &Fake{Dialect: d, release: make(chan struct{})}
	f.Server = httptest.NewTLSServer(f)
	f.Other = httptest.NewTLSServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { t.Error("a redirect off-host was followed") }))
	t.Cleanup(func() {
		close(f.release)
		f.Server.Close()
		f.Other.Close()
		for _, w := range f.wrong {
			t.Errorf("the pack asked what the vendor does not know: %s", w)
		}
	})
	return f
}

// Roots are the certificates of the fake.
func (f *Fake) Roots() *x509.CertPool {
	pool := x509.NewCertPool()
	pool.AddCert(f.Server.Certificate())
	return pool
}

// Put plants an object; carrier is given in the form of a reference.
func (f *Fake) Put(carrier, state string, at time.Time) int {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.Form != nil && journal.ValidRef(carrier) {
		carrier = f.Form(carrier)
	}
	n := len(f.objects) + 1
	f.objects = append(f.objects, Object{N: n, Carrier: carrier, State: state, At: at.UTC()})
	return n
}

// SetFault makes the fake misbehave from now on.
func (f *Fake) SetFault(x Fault) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.fault = x
}

// Fault is how it misbehaves now.
func (f *Fake) Fault() Fault {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.fault
}

// Requests counts what it was asked.
func (f *Fake) Requests() int64 {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.requests
}

// Writes are the requests that could have altered something.
func (f *Fake) Writes() []string {
	f.mu.Lock()
	defer f.mu.Unlock()
	return slices.Clone(f.writes)
}

// Log lists the requests as "METHOD path?query".
func (f *Fake) Log() []string {
	f.mu.Lock()
	defer f.mu.Unlock()
	return slices.Clone(f.log)
}

// Wrong notes a request that the vendor would not understand and answers 400.
func (f *Fake) Wrong(w http.ResponseWriter, format string, args ...any) {
	f.mu.Lock()
	f.wrong = append(f.wrong, fmt.Sprintf(format, args...))
	f.mu.Unlock()
	JSON(w, http.StatusBadRequest, map[string]any{"error": "bad request"})
}

// Rows gives the objects that keep wants, in the order of their making. It plays
// lag, and filters that are ignored.
func (f *Fake) Rows(keep func(Object) bool) []Object {
	f.mu.Lock()
	defer f.mu.Unlock()
	var out []Object
	for _, o := range f.objects {
		if f.fault == FaultIgnoreFilter || f.fault != FaultLag && keep(o) {
			out = append(out, o)
		}
	}
	return out
}

// Slice cuts one page out of rows; more says that another follows. An endless
// fake fills every page with strangers.
func (f *Fake) Slice(rows []Object, offset, size int) (page []Object, more bool) {
	if f.Fault() == FaultEndless {
		for i := range size {
			page = append(page, Object{N: 100_000 + offset + i, Carrier: journal.RandomRef(), At: time.Now().UTC()})
		}
		return page, true
	}
	if offset > len(rows) {
		offset = len(rows)
	}
	end := min(offset+size, len(rows))
	return rows[offset:end], end < len(rows)
}

// Total is how many rows the fake claims to have.
func (f *Fake) Total(rows []Object) int {
	if f.Fault() == FaultEndless {
		return 1_000_000
	}
	return len(rows)
}

// URL is an address below the fake.
func (f *Fake) URL(pathAndQuery string) string { return f.Server.URL + pathAndQuery }

// ServeHTTP plays the fault, checks the credentials and lets the dialect answer.
func (f *Fake) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	f.mu.Lock()
	f.requests++
	n, fault := f.requests, f.fault
	f.log = append(f.log, r.Method+" "+r.URL.RequestURI())
	if r.Method != http.MethodGet && !slices.Contains(f.Reads, r.Method+" "+r.URL.Path) {
		f.writes = append(f.writes, r.Method+" "+r.URL.Path)
	}
	f.mu.Unlock()
	if f.play(w, r, fault, n) {
		return
	}
	if !f.Authorized(r) {
		f.refuse(w)
		return
	}
	f.Serve(f, w, r)
}

func (f *Fake) refuse(w http.ResponseWriter) {
	status := f.AuthStatus
	if status == 0 {
		status = http.StatusUnauthorized
	}
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_, _ = io.WriteString(w, orElse(f.AuthBody, `{"message":"unauthorized"}`))
}

// play misbehaves; done says that the request is answered.
func (f *Fake) play(w http.ResponseWriter, r *http.Request, fault Fault, n int64) (done bool) {
	if f.TokenPath != "" && r.URL.Path == f.TokenPath && fault != FaultAuth && fault != FaultHang {
		return false
	}
	switch fault {
	case FaultFlap:
		if n%2 == 0 {
			JSON(w, http.StatusBadGateway, map[string]any{"message": "bad gateway"})
			return true
		}
		return false
	case FaultRateLimit:
		w.Header().Set("Retry-After", "7")
		JSON(w, http.StatusTooManyRequests, map[string]any{"message": "too many"})
	case FaultOKError:
		w.Header().Set("Content-Type", "application/json")
		_, _ = io.WriteString(w, orElse(f.OKError, `{"unexpected":true}`))
	case FaultRedirect:
		http.Redirect(w, r, f.Other.URL+r.URL.RequestURI(), http.StatusFound)
	case FaultHuge:
		huge(w)
	case FaultGzip:
		w.Header().Set("Content-Encoding", "gzip")
		_, _ = io.WriteString(w, "\x1f\x8b")
	case FaultHang:
		select {
		case <-r.Context().Done():
		case <-f.release:
		}
	case FaultDown:
		JSON(w, http.StatusInternalServerError, map[string]any{"message": "internal error"})
	case FaultGarbage:
		w.Header().Set("Content-Type", "text/html")
		_, _ = io.WriteString(w, "<!doctype html><title>Sign in</title>")
	case FaultAuth:
		f.refuse(w)
	case FaultForbidden:
		JSON(w, http.StatusForbidden, map[string]any{"message": "forbidden"})
	case FaultEndpointGone:
		JSON(w, http.StatusNotFound, map[string]any{"message": "Not Found"})
	default:
		return false
	}
	return true
}

// huge sends 100 MB, or less if the client hangs up.
func huge(w http.ResponseWriter) {
	w.Header().Set("Content-Type", "application/json")
	chunk := strings.Repeat(" ", 64<<10)
	for range 1600 {
		if _, err := io.WriteString(w, chunk); err != nil {
			return
		}
	}
}

func orElse(s, other string) string {
	if s != "" {
		return s
	}
	return other
}
