package demo

import (
	"crypto/rand"
	"encoding/base64"
	"net/http"
	"net/http/httptest"
)

// inProcess answers requests by a handler, so that the desk reaches the
// sandbox identity provider whatever address browsers use for it.
type inProcess struct{ h http.Handler }

func (t inProcess) RoundTrip(r *http.Request) (*http.Response, error) {
	in := r.Clone(r.Context())
	in.RequestURI, in.Host = r.URL.RequestURI(), r.URL.Host
	if in.Body == nil {
		in.Body = http.NoBody
	}
	w := httptest.NewRecorder()
	t.h.ServeHTTP(w, in)
	resp := w.Result()
	resp.Request = r
	return resp, nil
}

// newWebhookSecret is a key as Standard Webhooks 1.0 writes it.
func newWebhookSecret() string {
	var b [32]byte
	_, _ = rand.Read(b[:])
	return "whsec_" + base64.StdEncoding.EncodeToString(b[:])
}
