// Package client is the effect journal over HTTP: what a worker uses when it
// must not reach the database. It implements worker.Journal on the worker API
// and passes the same conformance suite as the store.
//
//	j, err := client.New(client.Config{BaseURL: "https://landed.example.com", Token: os.Getenv("LANDED_TOKEN")})
//	w := worker.New(j, registry, worker.Options{})
//
// It owns the calls, their time-outs, and the way back from a problem code to
// the errors and directives of package journal. It holds no state and repeats
// nothing by itself: whoever calls decides what may be sent again. Begin may,
// with the same claim id, while no answer was read; commit, fail, heartbeat,
// handle, ack and tool registration may at any time.
//
// # Errors
//
// What the journal said comes back as the journal's error (errors.Is and
// errors.As work as on the store). A connection that fails, a proxy's 502, 503
// or 504, a time-out of this client and an answer that is cut short are
// journal.ErrUnavailable: whether the call was carried out is then unknown. The
// end of the caller's own context is that context's error. Everything else (no
// valid token, another namespace, a fault of the server) is a *StatusError.
//
// # Time
//
// The remaining durations in answers are as the server stated them; nothing is
// subtracted. Count them from before the request was sent, as package worker
// does: no clock of another machine is then compared.
//
// # Safety
//
// Redirects are not followed: they would carry the token elsewhere, or turn a
// POST into a GET. The token is sent to BaseURL only. Use https beyond a
// machine of your own.
package client
