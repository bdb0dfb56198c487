// Package httpkey makes HTTP operations that have no idempotency of their own
// safe to retry: a middleware that speaks the Idempotency-Key convention on top
// of the effect journal, and the reverse proxy's part that goes behind it.
//
//	guard, err := httpkey.New(httpkey.Config{
//		Journal: store, // or a journal/client.Client
//		Tool:    journal.Tool{Name: "refund", Class: journal.ClassAtMostOnce, ClientTimeout: 30 * time.Second},
//		Routes:  []string{"POST /refunds"},
//	})
//	mux.Handle("/", guard(handler))
//
// Without changing the service, in front of it:
//
//	landed proxy --upstream http://127.0.0.1:9000 --journal https://landed.example.com --token env:LANDED_TOKEN
//
// It owns the header, what makes two requests the same, how an exchange is
// journaled and replayed, and what clients are told. The protocol is package
// worker's: one guarded request is one call of Do, and the handler is its tool.
//
// # The convention
//
// A guarded request carries Idempotency-Key: a Structured Field string as
// draft-ietf-httpapi-idempotency-key-header-07 (October 2025) asks, "8e03978e-…",
// or the bare value that most clients send, 1 to 255 printable ASCII characters.
// A key belongs to one client and one route (method and path): equal keys of two
// clients, or on two routes, never meet. Two requests under one key are the same
// if method, path, query, content type and encoding, and every byte of the body
// are.
//
//	400  key_missing, key_invalid     no key, or none that can be used
//	400  client_unknown               clients can't be told apart (ClientFunc)
//	409  in_progress, retry_later     with Retry-After: the first request runs, or the next try is not due
//	409  verifying                    with Retry-After: the provider is being asked what happened
//	409  outcome_unknown              it may have happened, and a person decides: nothing repeats it
//	409  closed_not_landed            a person closed it as not done
//	410  expired                      the key was used and purged; it is never executed again
//	413  too_large                    more than MaxBody; nothing was journaled
//	422  key_reused                   another request under the same key
//	422  invalid                      the request can't be journaled
//	503  not_sent                     with Retry-After: nothing reached the upstream
//	503  outcome_unknown_repeating    with Retry-After: provider_idempotent, the same key repeats it safely
//	503  gave_up                      nothing was done, and the retry budget of this key is spent
//	503  journal_unavailable          without the journal nothing is executed
//	503  journal_restored             the journal is quarantined
//	200  answer_not_kept              a replay of what happened, without its answer
//	     refused                      a replay of a refusal, without its text
//
// These are problem documents (RFC 9457) with a stable code, effect_id, and desk,
// the page where people see the effect. Every other answer is the handler's own:
// the first time as it came, later with Idempotency-Replayed: true (and Stripe's
// Idempotent-Replayed), the same status, the headers that are kept, and the body
// byte for byte. Landed-Effect names the effect; Idempotency-Expires says until
// when an answer is kept at least, where the journal's retention is known. A key
// has no other expiry: what is purged is refused, not executed again.
//
// # What an answer means
//
//	2xx, 303               confirmed, recorded, replayed; JSON that says "ok": false or has errors: unknown
//	408, 5xx               unknown: the class decides. The client is not shown them, as clients retry them
//	no or half an answer   unknown, also a panic of the handler
//	not connected          not sent (Forward only): may be tried again
//	401, 407, 429          refused, may be tried again (Config.Retryable); 421, 425 as well
//	any other 4xx          refused for good, recorded, replayed (up to 2,000 bytes of it)
//	any other 3xx          307 and 308 refused, the rest unknown
//
// Stripe keeps every answer once execution has begun, 500s included, compares
// parameters, and keeps none of requests that failed before that or met another
// under the same key (https://docs.stripe.com/api/idempotent_requests). The
// difference is the 5xx: here it is not an answer but an open question.
//
// # Orders
//
// When an operator orders a re-issue, the next request with that key executes it,
// with the method, path, query, content type and body that were stored, or as the
// operator corrected them. Other headers, credentials above all, are those of the
// request that picks the order up: no credential is ever stored.
//
// # Streams
//
// The request's body is read whole before the intent. The answer is held until it
// is complete and recorded, for at most 64 KiB and, once the handler flushes,
// 100 ms; after that it streams through with its flushes. Up to MaxAnswer of it is
// recorded; a longer one is passed on, and a replay says that it happened and that
// its answer was too large to keep. If an answer breaks off, so does the client's.
// A client that goes away or stalls ends its own answer, not the outcome's record.
//
// # Limits
//
// A replay is answered without the handler's own check of credentials: put the
// guard behind what checks them, or see ClientFunc for what it asks of a client's
// identity. The host is not part of a route: a handler that serves several hosts
// has to name them in its clients. The whole body is journaled, with what is
// personal in it. Headers for browsers of other origins are not replayed unless
// KeepHeaders names them. Trailers of requests,
// informational answers and protocol upgrades do not pass a guarded route.
// A journal that can't record an outcome any more does not keep it from the
// client: after two seconds the answer goes out, and the log has the rest.
package httpkey
