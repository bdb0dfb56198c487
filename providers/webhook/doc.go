// Package webhook is the signed HTTP request of Standard Webhooks 1.0.0
// (github.com/standard-webhooks/standard-webhooks, spec/standard-webhooks.md),
// for whatever Landed sends: alerts (providers/alert/webhook) and resolutions
// (providers/resume/webhook).
//
// It owns the signature scheme on both sides (Endpoint signs, Verifier checks), the
// keys' text forms, and what an answer means. It never follows a redirect, ignores
// proxy settings of the environment, and reads at most 4 kB of an answer. When to
// try again is its caller's business.
//
//	webhook-id         the message's id, the same in every attempt
//	webhook-timestamp  unix seconds of this attempt
//	webhook-signature  v1,<HMAC-SHA256> v1a,<ed25519>, space separated
//
// Signed is id.timestamp.body, byte for byte.
//
// # Rotation
//
// Keys are read for every attempt. While the receiver changes over, the old secret
// signs as well: the header then holds a signature by each, and the receiver takes
// whichever it knows. A message that is being retried changes its keys with the
// rest; its id stays.
package webhook
