package webhook

import (
	"crypto/ed25519"
	"crypto/hmac"
	"encoding/base64"
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"time"
)

// Tolerance is how far a request's timestamp may be from the receiver's clock,
// in both directions. The specification leaves it open; its libraries use this.
const Tolerance = 5 * time.Minute

// maxSignatures keeps a hostile header from costing time.
const maxSignatures = 16

// Errors of Verify.
var (
	// ErrHeaders: one of the three headers is missing or malformed.
	ErrHeaders = errors.New("webhook: headers are missing or malformed")
	// ErrTimestamp: the request is older or newer than Tolerance.
	ErrTimestamp = errors.New("webhook: timestamp is outside the tolerance")
	// ErrSignature: no signature fits any of the keys.
	ErrSignature = errors.New("webhook: no signature fits")
)

// Verifier checks requests at the receiver. The zero value trusts nobody.
type Verifier struct {
	secrets [][]byte
	publics []ed25519.PublicKey
}

// NewVerifier takes the keys to trust: whsec_… secrets and whpk_… public keys.
func NewVerifier(keys ...string) (*Verifier, error) {
	v := &Verifier{}
	if len(keys) == 0 {
		return nil, errors.New("webhook: no key to verify with")
	}
	for i, k := range keys {
		var err error
		if strings.HasPrefix(k, prefixPublic) {
			var p ed25519.PublicKey
			p, err = parsePublic(k)
			v.publics = append(v.publics, p)
		} else {
			var s []byte
			s, err = parseSecret(k)
			v.secrets = append(v.secrets, s)
		}
		if err != nil {
			return nil, fmt.Errorf("webhook: key %d %w", i+1, err)
		}
	}
	return v, nil
}

// Verify checks the request and returns its webhook-id. body is the raw body as
// it came. Receivers must ignore an id that they have seen: a message may come
// more than once, over four days.
func (v *Verifier) Verify(now time.Time, h http.Header, body []byte) (id string, err error) {
	id, stamp, list := h.Get("webhook-id"), h.Get("webhook-timestamp"), h.Get("webhook-signature")
	unix, err := strconv.ParseInt(stamp, 10, 64)
	if err != nil || id == "" || list == "" || unix < 0 || strconv.FormatInt(unix, 10) != stamp || strings.Contains(id, ".") {
		return "", ErrHeaders
	}
	if age := now.Sub(time.Unix(unix, 0)); age > Tolerance || age < -Tolerance {
		return "", fmt.Errorf("%w: %s", ErrTimestamp, stamp)
	}
	content := signed(id, unix, body)
	fits := false
	for i, s := range strings.Fields(list) {
		if i == maxSignatures {
			break
		}
		if v.fits(s, content) {
			fits = true
		}
	}
	if !fits {
		return "", ErrSignature
	}
	return id, nil
}

// fits compares one signature with every key of its kind, in constant time.
func (v *Verifier) fits(s string, content []byte) bool {
	kind, text, _ := strings.Cut(s, ",")
	sig, err := base64.StdEncoding.DecodeString(text)
	if err != nil || len(sig) == 0 {
		return false
	}
	ok := false
	switch kind {
	case "v1":
		for _, secret := range v.secrets {
			ok = hmac.Equal(sig, mac(secret, content)) || ok
		}
	case "v1a":
		for _, key := range v.publics {
			ok = ed25519.Verify(key, content, sig) || ok
		}
	}
	return ok
}
