package webhook

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"time"

	"github.com/landedhq/landed/providers/resume"
	"github.com/landedhq/landed/providers/webhook"
)

// Errors with which a wake function answers for the sender to understand.
var (
	// ErrUnknown: nobody by that name is known, or not yet. It is sent again.
	ErrUnknown = errors.New("webhook: nobody by that name is known")
	// ErrNotWaiting: it is known, and does not wait for this yet. It is sent again.
	ErrNotWaiting = errors.New("webhook: it does not wait yet")
)

// maxBody bounds what a receiver reads: a message has 20 kB at most.
const maxBody = 64 << 10

// Woken is a resolution as it came.
type Woken struct {
	resume.Data
	// Work is what begin's resume said in "work", byte for byte; nil = nothing.
	Work json.RawMessage
	// ID is the webhook-id: the same however often it comes.
	ID string
}

// Receiver is the consumer's side: an http.Handler for the one address that is
// configured. It verifies, answers the challenge, and calls wake, which must be
// quick, and must take what it has seen already for done.
type Receiver struct {
	verify *webhook.Verifier
	wake   func(context.Context, Woken) error
	now    func() time.Time
}

// NewReceiver takes the keys to trust (whsec_… or whpk_…; two while they change
// over), and what to do.
func NewReceiver(wake func(context.Context, Woken) error, keys ...string) (*Receiver, error) {
	v, err := webhook.NewVerifier(keys...)
	if err != nil {
		return nil, err
	}
	return &Receiver{verify: v, wake: wake, now: time.Now}, nil
}

// ServeHTTP answers 204 once wake has taken the resolution, 404 and 409 as wake
// says, 401 for what can't be verified, and 500 for any other error: it is sent
// again.
func (r *Receiver) ServeHTTP(w http.ResponseWriter, req *http.Request) {
	if req.Method != http.MethodPost {
		http.Error(w, "only POST is answered here", http.StatusMethodNotAllowed)
		return
	}
	b, err := io.ReadAll(http.MaxBytesReader(w, req.Body, maxBody))
	if err != nil {
		http.Error(w, "the body is too large, or broke off", http.StatusRequestEntityTooLarge)
		return
	}
	id, err := r.verify.Verify(r.now(), req.Header, b)
	if err != nil {
		http.Error(w, err.Error(), http.StatusUnauthorized)
		return
	}
	var m struct {
		Type string `json:"type"`
		Data struct {
			data
			Challenge string `json:"challenge"`
		} `json:"data"`
	}
	if err := json.Unmarshal(b, &m); err != nil {
		http.Error(w, "the body is no JSON", http.StatusBadRequest)
		return
	}
	switch m.Type {
	case TypeChallenge:
		w.Header().Set("Content-Type", "application/json")
		_ = json.NewEncoder(w).Encode(map[string]string{"challenge": m.Data.Challenge}) // the other side asks again
	case resume.TypeResolution, typeCloudEvent:
		r.answer(w, r.wake(req.Context(), Woken{Data: m.Data.Data, Work: m.Data.Work, ID: id}))
	default:
		http.Error(w, fmt.Sprintf("a message of type %.60q is not known here", m.Type), http.StatusBadRequest)
	}
}

func (r *Receiver) answer(w http.ResponseWriter, err error) {
	switch {
	case err == nil:
		w.WriteHeader(http.StatusNoContent)
	case errors.Is(err, ErrUnknown):
		http.Error(w, err.Error(), http.StatusNotFound)
	case errors.Is(err, ErrNotWaiting):
		http.Error(w, err.Error(), http.StatusConflict)
	default:
		http.Error(w, "it could not be taken", http.StatusInternalServerError)
	}
}
