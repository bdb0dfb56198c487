// Package stripe is the evidence adapter for one kind of object (payment
// intents, charges, refunds, transfers or checkout sessions) in one mode of one
// Stripe account, over Stripe's API v1.
//
// It owns the way of looking, in this order: objects whose ids the worker
// journaled are read; the objects created in the window are listed, page by
// page, and their metadata compared byte for byte; if none carries the reference,
// the events of the window are searched for the effect's own Idempotency-Key; and
// at last Stripe's search, which lags, may bring a hit but never a miss. Every hit
// is read again by its id and judged on that copy. It sends GET requests only,
// through package egress, and leaves the verdict to package evidence. Package
// stripefake below it is the server of its tests.
//
// # What a worker must do
//
// Set the metadata field and the header that Form and Header give. Of one payment,
// only one kind of object is looked at: Stripe copies a payment intent's metadata
// to its charge, so both kinds together would show one payment twice. A payment
// intent that is made first and confirmed later is journaled as a handle before
// it is confirmed (HandleOf): it may be older than the window.
//
// # What is not confirmed
//
// Stripe charges nobody before a confirmation: an intent is
// requires_payment_method when it is made, requires_confirmation once it has a
// payment method, and requires_payment_method again after a declined confirmation
// (docs.stripe.com/payments/paymentintents/lifecycle). So while a request of ours
// may be in flight such an intent is pending, and once the window of the look is
// over it took no effect. requires_action was confirmed and waits for the customer,
// who may act days later: it is pending until it succeeds or is canceled, and so is
// an open checkout session until it expires.
//
// An unconfirmed intent can be canceled, and until then be confirmed by a browser
// that has its client secret (API reference, "Confirm a PaymentIntent"): the match
// says so. Whoever re-issues cancels it first.
//
// # The key
//
// Only restricted keys (rk_…) with the permission Read and no other are taken;
// one of live mode and one of test mode never see each other's objects, so the
// mode is configured, the key must be of that mode, and so must the livemode of
// every object that has one (refunds have none). Needed are Read on the kind of
// object and on Events. Without a permission Stripe answers 403, never an empty
// list.
//
// # Facts, and where they are from
//
//   - Lists take created[gte], created[lte], limit (1 to 100) and starting_after,
//     give the newest first and say has_more (docs.stripe.com/api/pagination,
//     docs.stripe.com/api-pagination). They have no filter on metadata.
//   - Lists are not subject to the delay of search (docs.stripe.com/search, "Data
//     freshness"). Search is normally up to a minute behind, up to an hour in an
//     outage, and not available in India (API reference, "Search payment intents").
//   - Metadata: 50 keys of 40 characters without square brackets, values of 500
//     (docs.stripe.com/api/metadata).
//   - Idempotency keys: up to 255 characters, kept for at least 24 hours, results
//     kept once execution began, also a 500, and parameters compared
//     (docs.stripe.com/api/idempotent_requests).
//   - Events go back 30 days and name the Idempotency-Key of the request behind
//     them (API reference, "List all events" and the event object's request).
//     There is no event for the making of a checkout session.
//   - 100 requests a second in live mode and 25 in test mode, 25 for each endpoint;
//     429 also stands for an object that another request holds, with the code
//     lock_timeout (docs.stripe.com/rate-limits, docs.stripe.com/error-codes).
//   - Restricted keys, and 403 for a missing permission:
//     docs.stripe.com/keys/restricted-api-keys, docs.stripe.com/error-low-level.
//   - The shape of requests and answers is held against Stripe's own OpenAPI
//     document of the pinned version, as shipped in module
//     github.com/stripe/stripe-mock: see contract_test.go.
//
// What no look can see: objects of another account, mode or connected account,
// and objects that were created outside the window without a handle, unless
// search brings them.
package stripe
