// Package stripe takes a payment in two steps: a payment intent is created, then
// confirmed. The intent's id is journaled in between.
//
// It owns the requests, what their answers mean, and what the evidence adapter of
// the same name looks for: the reference in the metadata field landed_ref, and the
// provider key as Idempotency-Key of the creation. Authentication is the caller's:
// the client adds a secret or restricted key that may write payment intents.
//
// # The two keys
//
// Stripe compares the parameters of a repeated key with the first request's and
// answers the stored result, so the two steps need two keys: the creation carries
// the provider key, which the adapter finds in Stripe's events, and the
// confirmation the same with "-confirm" behind it. A repeated creation brings the
// same intent back, and a repeated confirmation can't charge twice, for 24 hours at
// least (docs.stripe.com/api/idempotent_requests): the tool's class is
// provider_idempotent with a key window of at most that.
//
// # What an intent's status means
//
// requires_payment_method and requires_confirmation can be confirmed; succeeded,
// requires_capture and processing are confirmed (processing may take days, and may
// still fail: the recorded result says so); requires_action waits for the customer
// and is of unknown outcome; canceled is gone
// (docs.stripe.com/payments/paymentintents/lifecycle). A declined confirmation is
// a final refusal and brings the intent back to requires_payment_method.
//
// Not for requests with confirm=true, which have one step: use worker.Client.
package stripe
