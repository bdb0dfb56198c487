package stripe

import (
	"errors"
	"fmt"
	"net/http"
	"net/url"

	"github.com/landedhq/landed/journal"
)

// Form adds the reference to the parameters of a create request, and is, with
// Header, all that a worker must get right. Empty metadataKey =
// DefaultMetadataKey. It changes nothing else: Stripe compares the parameters of
// a repeated request with the first one's, so they must be the same every time.
//
// The metadata belong to the object that the adapter is configured for: those of a
// checkout session are not those of its payment intent.
func Form(params url.Values, metadataKey, ref string) (url.Values, error) {
	if !journal.ValidRef(ref) {
		return nil, errors.New("stripe: the reference is not 32 lower-case hex digits")
	}
	if metadataKey == "" {
		metadataKey = DefaultMetadataKey
	}
	if err := checkMetadataKey(metadataKey); err != nil {
		return nil, fmt.Errorf("stripe: %w", err)
	}
	out := url.Values{}
	for k, v := range params {
		out[k] = append([]string(nil), v...)
	}
	out.Set("metadata["+metadataKey+"]", ref)
	return out, nil
}

// Header returns the headers of a create request: the provider key that begin
// answered. Stripe honours it for 24 hours at least and then makes a second
// object, so a tool's key window is 24 hours at most.
func Header(providerKey string) (http.Header, error) {
	if !journal.ValidRef(providerKey) {
		return nil, errors.New("stripe: the provider key is not 32 lower-case hex digits")
	}
	h := http.Header{}
	h.Set("Idempotency-Key", providerKey)
	return h, nil
}

// HandleOf returns the handle's kind and value that a worker journals before it
// confirms a payment intent which it created first: evidence is then a read by id.
// It is an error if id is no id of the kind of object.
func HandleOf(o Object, id string) (kind, value string, err error) {
	k, ok := kindOf(o)
	if !ok || !k.owns(id) {
		return "", "", fmt.Errorf("stripe: %.60q is no id of %s", id, o)
	}
	return k.object, id, nil
}
