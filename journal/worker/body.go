package worker

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"unicode/utf8"
)

// ParseJSON is the default parser of a 2xx: the body is empty, or JSON without
// a sign of failure ("ok": false, "success": false, non-empty "errors" or a
// true-ish "error"). The result is the body. Such a sign leaves the outcome
// unknown, as vendors differ in what was done before the error; write a parser
// that knows the vendor, or use ParseOK.
func ParseJSON(r Response) (Outcome, error) {
	body := bytes.TrimSpace(r.Body)
	if len(body) == 0 {
		return Outcome{}, nil
	}
	if !json.Valid(body) || !utf8.Valid(body) {
		return Outcome{}, errors.New("the body of a 2xx is not JSON")
	}
	var top map[string]json.RawMessage
	if json.Unmarshal(body, &top) != nil {
		return Outcome{Result: r.Body}, nil // an array or a plain value
	}
	for _, name := range []string{"ok", "success"} {
		if string(top[name]) == "false" {
			return Outcome{}, fmt.Errorf("the body of a 2xx says %q: false", name)
		}
	}
	for _, name := range []string{"errors", "error"} {
		switch string(top[name]) {
		case "", "null", "false", "[]", "{}", `""`, "0":
		default:
			return Outcome{}, fmt.Errorf("the body of a 2xx has %q", name)
		}
	}
	return Outcome{Result: r.Body, ProviderID: idOf(top)}, nil
}

// idOf reads a top-level "id" that is a string or a number.
func idOf(top map[string]json.RawMessage) string {
	raw := top["id"]
	var s string
	if json.Unmarshal(raw, &s) == nil {
		return s
	}
	var n json.Number
	if json.Unmarshal(raw, &n) == nil {
		return n.String()
	}
	return ""
}

// ParseOK parses APIs that answer 200 with {"ok": …, "error": code}, as Slack's
// do (https://docs.slack.dev/apis/web-api/#responses). ok: false is a refusal,
// except for codes after which something may have been done: those given here
// are. Slack says so of fatal_error and internal_error
// (https://docs.slack.dev/reference/methods/chat.postMessage#errors).
func ParseOK(unknownAfter ...string) func(Response) (Outcome, error) {
	return func(r Response) (Outcome, error) {
		var body struct {
			OK    *bool  `json:"ok"`
			Error string `json:"error"`
			TS    string `json:"ts"`
		}
		if err := json.Unmarshal(r.Body, &body); err != nil || body.OK == nil {
			return Outcome{}, errors.New(`the body of a 2xx has no "ok"`)
		}
		switch {
		case *body.OK:
			return Outcome{Result: r.Body, ProviderID: body.TS}, nil
		case body.Error == "" || slices.Contains(unknownAfter, body.Error):
			return Outcome{}, fmt.Errorf("the provider says %q", body.Error)
		case body.Error == "ratelimited":
			return Outcome{}, Refused(errors.New("the provider says ratelimited"), false)
		}
		return Outcome{}, Refused(fmt.Errorf("the provider says %q", body.Error), true)
	}
}

// codeMeaning lists the body codes whose meaning is documented.
func codeMeaning(code string) Meaning {
	switch code {
	// Stripe, HTTP 409 (https://docs.stripe.com/error-codes).
	case "idempotency_key_in_use",
		// Resend, HTTP 409 (its own client, resend-node, lists the codes).
		"concurrent_idempotent_requests":
		return MeaningKeyInProgress
	// The key is known with other content, or without its answer: an earlier
	// request under it was seen. Stripe's error type on HTTP 400
	// (https://docs.stripe.com/api/errors), Resend 409, Square
	// (https://developer.squareup.com/docs/working-with-apis/idempotency), Zendesk
	// 400 (https://developer.zendesk.com/api-reference/ticketing/introduction/#idempotency),
	// Whop 400 (https://docs.whop.com/developer/api/idempotency), Plunk 409
	// (https://github.com/useplunk/plunk/issues/484).
	case "idempotency_error", "invalid_idempotent_request", "IDEMPOTENCY_KEY_REUSED", "idempotency_key_reused",
		"IdempotentRequestError", "idempotency_key_mismatch", "KEY_REUSED":
		return MeaningSeenBefore
	// google.rpc.Code, HTTP 409 (https://cloud.google.com/apis/design/errors).
	case "ALREADY_EXISTS", "already_exists", "resource_already_exists":
		return MeaningExists
	}
	return ""
}

// meaning finds the first known code among the usual places of an error body.
func (c Classifier) meaning(body []byte) Meaning {
	for _, code := range errorCodes(body) {
		if m, ok := c.Codes[code]; ok {
			return m
		}
		if m := codeMeaning(code); m != "" {
			return m
		}
	}
	return ""
}

// errorCodes collects code-like strings of a JSON error body: at the top, in
// "error", and in the first of "errors".
func errorCodes(body []byte) []string {
	var top map[string]json.RawMessage
	if json.Unmarshal(body, &top) != nil {
		return nil
	}
	out := codesOf(top)
	var inner map[string]json.RawMessage
	if json.Unmarshal(top["error"], &inner) == nil {
		out = append(out, codesOf(inner)...)
	}
	var list []map[string]json.RawMessage
	if json.Unmarshal(top["errors"], &list) == nil && len(list) > 0 {
		out = append(out, codesOf(list[0])...)
	}
	return out
}

func codesOf(m map[string]json.RawMessage) []string {
	var out []string
	for _, name := range []string{"code", "error_code", "errorCode", "type", "name", "status", "reason", "error"} {
		var s string
		if json.Unmarshal(m[name], &s) == nil && s != "" {
			out = append(out, s)
		}
	}
	return out
}

// Replayed reports whether the provider repeated a stored answer. Stripe sends
// Idempotent-Replayed: true (read by its own libraries, e.g. stripe-ruby's
// lib/stripe/errors.rb), also with stored 400s and 500s
// (https://docs.stripe.com/api/idempotent_requests), as does Whop
// (https://docs.whop.com/developer/api/idempotency); Zendesk
// x-idempotency-lookup: hit
// (https://developer.zendesk.com/api-reference/ticketing/introduction/#idempotency);
// fiskaly X-Idempotency-Replayed: true
// (https://developer.fiskaly.com/blog/unified-api-idempotency-transparency);
// Worldline repeats with X-GCS-Idempotence-Request-Timestamp
// (https://apireference.connect.worldline-solutions.com/s2sapi/v1/en_US/go/idempotent-requests.html).
func Replayed(h http.Header) bool {
	return strings.EqualFold(h.Get("Idempotent-Replayed"), "true") ||
		strings.EqualFold(h.Get("X-Idempotency-Replayed"), "true") ||
		strings.EqualFold(h.Get("X-Idempotency-Lookup"), "hit") ||
		h.Get("X-Gcs-Idempotence-Request-Timestamp") != ""
}

// excerpt is the start of a body for people, as valid text on one line.
func excerpt(body []byte) string {
	const most = 500
	text := strings.ToValidUTF8(string(body[:min(len(body), most)]), "")
	return strings.Join(strings.Fields(strings.ReplaceAll(text, "\x00", "")), " ")
}
