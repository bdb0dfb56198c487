package httpkey

import (
	"context"
	"errors"
	"net/http"
	"sync"

	"github.com/landedhq/landed/journal/worker"
)

type exchangeKey struct{}

// exchange is one request that is being answered.
type exchange struct {
	w    http.ResponseWriter
	r    *http.Request
	next http.Handler

	rec     *recorder      // of the newest attempt; nil = none ran
	verdict worker.Verdict // of the newest attempt
	broken  bool           // its answer is not whole

	mu     sync.Mutex
	failed error
}

var errAborted = errors.New("the handler aborted its answer")

// Fail tells the middleware that the handler behind it has no outcome: a proxy
// whose upstream can't be reached, or whose answer broke off. What the handler
// wrote is then not the answer. What err proves is up to package worker: its
// NotSent, Refused and Unknown, or the record of its Transport. Outside of a
// guarded request it reports false and does nothing.
func Fail(ctx context.Context, err error) bool {
	x, ok := ctx.Value(exchangeKey{}).(*exchange)
	if !ok {
		return false
	}
	x.mu.Lock()
	defer x.mu.Unlock()
	if x.failed == nil {
		x.failed = err
	}
	return true
}

func (x *exchange) failure() error {
	x.mu.Lock()
	defer x.mu.Unlock()
	return x.failed
}

// begin forgets an earlier attempt.
func (x *exchange) begin(rec *recorder) {
	x.mu.Lock()
	defer x.mu.Unlock()
	x.failed, x.broken, x.rec, x.verdict = nil, false, rec, worker.Verdict{}
}

// serve lets the handler answer. The error is what it said by Fail, or that it
// aborted; any other panic is the worker's to report.
func (x *exchange) serve(r *http.Request) (err error) {
	x.broken = true
	defer func() {
		switch v := recover(); v {
		case nil:
		case http.ErrAbortHandler:
			if err = x.failure(); err == nil {
				err = errAborted
			}
		default:
			panic(v)
		}
	}()
	x.next.ServeHTTP(x.rec, r)
	if err := x.failure(); err != nil {
		return err
	}
	x.broken = false
	return nil
}
