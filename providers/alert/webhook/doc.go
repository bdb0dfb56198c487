// Package webhook sends alerts as signed HTTP requests, after Standard Webhooks
// 1.0.0 (github.com/standard-webhooks/standard-webhooks, spec/standard-webhooks.md).
//
// It owns the signature scheme on both sides (Sink signs, Verifier checks), the
// keys' text forms, and the translation of HTTP answers into alert.SendError. It
// never follows a redirect, ignores proxy settings of the environment, and reads
// at most 4 kB of an answer. When to try again is the notifier's business.
//
//	webhook-id         the message's id, the same in every attempt
//	webhook-timestamp  unix seconds of this attempt
//	webhook-signature  v1,<HMAC-SHA256> v1a,<ed25519>, space separated
//
// Signed is id.timestamp.body, byte for byte.
package webhook
