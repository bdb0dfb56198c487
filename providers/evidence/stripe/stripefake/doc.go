// Package stripefake is the part of Stripe's API v1 that workers and the adapter
// use, in memory: creating objects with an Idempotency-Key, reading, listing and
// searching them, and listing events. It is for tests only.
//
// It owns its objects, their events and the faults that it plays. It follows the
// facts that package stripe cites; its requests and answers are held against
// Stripe's own OpenAPI document there. What it leaves out: everything that
// happens to an object after it was made, expansion, and API v2.
package stripefake
