package httpkey

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strings"
)

// ClientFunc says who sends a request: text that is the same for every retry of
// one client, and never the same for two. It is part of the journal's key. An
// error refuses the request (400) with its text; nothing is executed.
//
// A replay is answered without asking the handler, so without the handler's own
// check of credentials: what this returns must be proved by the request, or by a
// gateway in front that lets nobody else set it.
type ClientFunc func(*http.Request) (string, error)

// anonymous is the client of requests without any credential.
const anonymous = "anonymous"

// credentialHeaders are what most APIs take credentials from.
func credentialHeaders() []string {
	return []string{"Authorization", "X-Api-Key", "Api-Key"}
}

// Credential tells clients apart by a hash of the credential that they send
// (Authorization, X-Api-Key, Api-Key): who replays an answer has shown the same
// credential as who caused it. Requests without one share one client.
//
// A credential that changes between a request and its retry would make the retry
// another client's, and the effect would happen twice. So what is known to change
// is refused: bearer tokens that state when they expire, and cookies. Where
// clients log in like that, let something that has checked the login say who they
// are, and use Header.
//
// The hash stands in the journal, where operators can read it. secret, if not
// nil, is mixed in, so that a weak password can't be guessed from it; it has to
// stay the same for as long as keys are retried.
func Credential(secret []byte) ClientFunc {
	return func(r *http.Request) (string, error) {
		mac := hmac.New(sha256.New, append([]byte("landed/http-client/1\x00"), secret...))
		found := false
		for _, name := range credentialHeaders() {
			for _, v := range r.Header.Values(name) {
				if expires(v) {
					return "", fmt.Errorf("%s holds a token that expires: a retry with the next one would be taken for another client's. Clients have to be told apart by something that stays (option client)", name)
				}
				fmt.Fprintf(mac, "%s\x00%d\x00%s", name, len(v), v)
				found = true
			}
		}
		switch {
		case found:
			return "c-" + hex.EncodeToString(mac.Sum(nil)[:16]), nil
		case r.Header.Get("Cookie") != "":
			return "", errors.New("the request's only credential may be a cookie, and cookies change: clients have to be told apart by something that stays (option client)")
		}
		return anonymous, nil
	}
}

// expires reports whether a credential is a JSON Web Token (RFC 7519) with an
// expiry.
func expires(credential string) bool {
	_, token, ok := strings.Cut(credential, " ")
	if !ok {
		token = credential
	}
	parts := strings.Split(strings.TrimSpace(token), ".")
	if len(parts) != 3 {
		return false
	}
	payload, err := base64.RawURLEncoding.DecodeString(strings.TrimRight(parts[1], "="))
	if err != nil {
		return false
	}
	var claims struct {
		Exp json.RawMessage `json:"exp"`
	}
	return json.Unmarshal(payload, &claims) == nil && len(claims.Exp) > 0
}

// Header takes the client from a request header that a gateway in front sets
// after it has checked who calls, and lets nobody else set. A request without it
// is refused.
func Header(name string) ClientFunc {
	return func(r *http.Request) (string, error) {
		v := r.Header.Values(name)
		if len(v) != 1 || strings.TrimSpace(v[0]) == "" {
			return "", fmt.Errorf("the header %s must be there once: it tells clients apart", http.CanonicalHeaderKey(name))
		}
		return "h-" + strings.TrimSpace(v[0]), nil
	}
}

// OneClient is for a handler with one client only: an agent and its sidecar.
// Whoever reaches it and knows a key and the request gets its recorded answer.
func OneClient() ClientFunc {
	return func(*http.Request) (string, error) { return "one", nil }
}
