// Package webhook hands resolutions over as signed HTTP requests: for any runtime
// that has an address of its own, or a few lines of code in front of it.
//
// It owns the body (resume.Payload, or a CloudEvent that holds the same data), the
// challenge by which an endpoint proves itself, and how answers become
// resume.Failure. The signature is package providers/webhook: Standard Webhooks
// 1.0.0, with webhook-id the resolution's id.
//
// # What a receiver does
//
//  1. It checks the signature over the raw body (webhook.Verifier), and refuses what
//     it can't verify with 401.
//     Public keys are listed at /.well-known/landed/webhook-keys.json.
//  2. It answers a message of type landed.challenge.v1 with 200 and the body
//     {"challenge": "…"}, the value of data.challenge. An endpoint that has not done
//     so since its address was configured is sent nothing else.
//  3. It ignores a webhook-id that it has seen in the last four days, with a 2xx.
//  4. It wakes the work that waits for data.effect_id, and answers 2xx within 20
//     seconds. 404 says that nobody by that name is known (yet), 409 that it does not
//     wait for this yet: both are tried again. 410 ends all messages to this address.
//  5. The woken work begins again with the same key, which closes the delivery; or
//     the receiver acknowledges (POST /v1/decisions/{id}/ack).
//
// # CloudEvents
//
// With CloudEvents the body is a CloudEvent 1.0 in structured mode
// (github.com/cloudevents/spec, cloudevents/formats/json-format.md): id the
// resolution's, source the desk's address, subject the effect's id. The headers of
// Standard Webhooks stay. The optional OPTIONS handshake of CloudEvents' webhook
// specification is not made: the challenge is stronger.
package webhook
