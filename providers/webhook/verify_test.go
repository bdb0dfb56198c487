package webhook_test

import (
	"errors"
	"net/http"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/landedhq/landed/providers/webhook"
)

// The vector that the libraries published with Standard Webhooks 1.0.0 share
// (libraries/go/webhook_test.go and its siblings), and for ed25519, of which the
// project publishes none, one computed with another implementation (OpenSSL, over
// the seed 00 01 … 1f).
const (
	vectorID   = "msg_p5jXN8AQM9LWM0D4loKWxJek"
	vectorUnix = 1614265330
	vectorBody = `{"test": 2432232314}`
	vectorV1   = "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE="
	vectorV1a  = "v1a,yoUrgEkc12aGqm0n4Sydmdz55xJfTz4AsAgieHFjmkR7LJtqVCZOQYzvvHjI5kAey+r4iaBGxTFRrl2iBQxtDQ=="
)

func vector(sig string) http.Header {
	h := http.Header{}
	h.Set("webhook-id", vectorID)
	h.Set("webhook-timestamp", strconv.Itoa(vectorUnix))
	h.Set("webhook-signature", sig)
	return h
}

func TestVerify(t *testing.T) {
	t.Parallel()
	v, err := webhook.NewVerifier(secret, public)
	if err != nil {
		t.Fatal(err)
	}
	const wrong = "v1,Ceo5qEr07ixe2NLpvHk3FH9bwy/WavXrAFQ/9tdO6mc="
	set := func(k, val string) func(http.Header) { return func(h http.Header) { h.Set(k, val) } }
	for _, c := range []struct {
		name   string
		sig    string
		change func(http.Header)
		shift  time.Duration // of the receiver's clock
		body   string
		want   error
	}{
		{"published vector", vectorV1, nil, 0, vectorBody, nil},
		{"ed25519 vector", vectorV1a, nil, 0, vectorBody, nil},
		{"one of many", wrong + " v2,AAAA " + vectorV1 + " " + wrong, nil, 0, vectorBody, nil},
		{"both kinds", vectorV1 + " " + vectorV1a, nil, 0, vectorBody, nil},
		{"wrong signature", wrong, nil, 0, vectorBody, webhook.ErrSignature},
		{"partial signature", "v1,", nil, 0, vectorBody, webhook.ErrSignature},
		{"no comma", "v1", nil, 0, vectorBody, webhook.ErrSignature},
		{"not base64", "v1,!!", nil, 0, vectorBody, webhook.ErrSignature},
		{"HMAC called v1a", "v1a" + strings.TrimPrefix(vectorV1, "v1"), nil, 0, vectorBody, webhook.ErrSignature},
		{"ed25519 called v1", "v1" + strings.TrimPrefix(vectorV1a, "v1a"), nil, 0, vectorBody, webhook.ErrSignature},
		{"unknown version", "v2" + strings.TrimPrefix(vectorV1, "v1"), nil, 0, vectorBody, webhook.ErrSignature},
		{"too many signatures", strings.Repeat(wrong+" ", 16) + vectorV1, nil, 0, vectorBody, webhook.ErrSignature},
		{"one space less in the body", vectorV1, nil, 0, `{"test":2432232314}`, webhook.ErrSignature},
		{"another id", vectorV1, set("webhook-id", "msg_x"), 0, vectorBody, webhook.ErrSignature},
		{"another timestamp", vectorV1, set("webhook-timestamp", strconv.Itoa(vectorUnix+1)), 0, vectorBody, webhook.ErrSignature},
		{"no id", vectorV1, set("webhook-id", ""), 0, vectorBody, webhook.ErrHeaders},
		{"no timestamp", vectorV1, set("webhook-timestamp", ""), 0, vectorBody, webhook.ErrHeaders},
		{"no signature", "", nil, 0, vectorBody, webhook.ErrHeaders},
		{"timestamp with a sign", vectorV1, set("webhook-timestamp", "+1614265330"), 0, vectorBody, webhook.ErrHeaders},
		{"timestamp with a zero", vectorV1, set("webhook-timestamp", "01614265330"), 0, vectorBody, webhook.ErrHeaders},
		{"timestamp with a fraction", vectorV1, set("webhook-timestamp", "1614265330.5"), 0, vectorBody, webhook.ErrHeaders},
		{"negative timestamp", vectorV1, set("webhook-timestamp", "-1"), 0, vectorBody, webhook.ErrHeaders},
		{"dot in the id", vectorV1, set("webhook-id", "msg.1"), 0, vectorBody, webhook.ErrHeaders},
		{"five minutes old", vectorV1, nil, 5 * time.Minute, vectorBody, nil},
		{"older", vectorV1, nil, 5*time.Minute + time.Second, vectorBody, webhook.ErrTimestamp},
		{"five minutes ahead", vectorV1, nil, -5 * time.Minute, vectorBody, nil},
		{"further ahead", vectorV1, nil, -5*time.Minute - time.Second, vectorBody, webhook.ErrTimestamp},
		{"far future", vectorV1, set("webhook-timestamp", "9223372036854775807"), 0, vectorBody, webhook.ErrTimestamp},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			h := vector(c.sig)
			if c.change != nil {
				c.change(h)
			}
			id, err := v.Verify(time.Unix(vectorUnix, 0).Add(c.shift), h, []byte(c.body))
			if !errors.Is(err, c.want) || c.want == nil && id != vectorID || c.want != nil && id != "" {
				t.Errorf("got %q, %v; want %v", id, err, c.want)
			}
		})
	}
}

func TestVerifierTrustsNobodyByDefault(t *testing.T) {
	t.Parallel()
	var zero webhook.Verifier
	if _, err := zero.Verify(time.Unix(vectorUnix, 0), vector(vectorV1), []byte(vectorBody)); !errors.Is(err, webhook.ErrSignature) {
		t.Errorf("got %v", err)
	}
	for _, keys := range [][]string{nil, {""}, {"whsec_"}, {private}, {"whpk_AAEC"}, {secret, "x"}} {
		if _, err := webhook.NewVerifier(keys...); err == nil {
			t.Errorf("keys %q were taken", keys)
		} else if strings.Contains(err.Error(), "MfKQ") {
			t.Errorf("the error shows a key: %v", err)
		}
	}
}

func FuzzVerify(f *testing.F) {
	f.Add(vectorID, "1614265330", vectorV1, vectorBody)
	f.Add("", "-1", "v1a, v1", "")
	v, err := webhook.NewVerifier(secret, public)
	if err != nil {
		f.Fatal(err)
	}
	f.Fuzz(func(t *testing.T, id, stamp, sig, body string) {
		h := http.Header{"Webhook-Id": {id}, "Webhook-Timestamp": {stamp}, "Webhook-Signature": {sig}}
		_, err := v.Verify(time.Unix(vectorUnix, 0), h, []byte(body))
		if err == nil && (id != vectorID || body != vectorBody || stamp != "1614265330") {
			t.Errorf("a forgery passed: %q %q %q %q", id, stamp, sig, body)
		}
	})
}

// Keys in text form; the ed25519 seed is 00 01 … 1f.
const (
	secret  = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"
	private = "whsk_AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8="
	public  = "whpk_A6EHv/POEL4dcN0Y50vAmWfk1jCbpQ1fHdyGZBJVMbg="
)
