// Package staged runs effects that take two steps at the provider: the first
// makes something that does nothing yet (a draft, a payment intent), the second
// makes it count (send, confirm).
//
// It owns the protocol between the two. The id of what the first step made is a
// handle: it is journaled before the second step, and from then on nobody has to
// search. Landed's evidence is a read by that id, and a later attempt takes up
// what an earlier one left instead of making a second one.
//
//	create ──► journal the handle ──► finish ──► (the worker commits)
//	   │                │                └─ refused: read the handle once, then say so
//	   └── failed ──────┴── not_sent: no request that has an effect was made
//
//	a handle of an earlier attempt: read it first
//	   open ──► finish it          done ──► commit with its id, send nothing
//	   pending ──► unknown, left to evidence
//	   gone ──► refused, unless a person has ordered another issue: then create
//
// The providers are in packages of their own below this one: gmail, graph, jmap
// and stripe. Each also sets what its evidence adapter looks for. Another
// provider is a Steps of your own:
//
//	Run: func(ctx context.Context, call worker.Call) (worker.Outcome, error) {
//		return staged.Run(ctx, staged.Steps{Kind: "order", Create: create, Read: read, Finish: capture})
//	},
//
// # Which client
//
// The caller hands in an authenticated *http.Client of its own, not worker.Client:
// the worker's transport counts every request that may change something as sent,
// and a draft is no effect. Run announces the second step itself, once its
// connection stands. The client must not repeat requests on its own.
//
// # Limits
//
// A worker that dies between making a draft and journaling it leaves a draft that
// nobody sends; the next attempt makes another (Stripe's key gives the same payment
// intent back). A client whose transport is not net/http's, and does not report
// connections to net/http/httptrace, makes every error of the second step unknown,
// also one before the first byte. A process that is paused between the announcement
// and the write can still send late, but only what the handle names: where the
// provider finishes a thing once, the late request finds it finished.
package staged
