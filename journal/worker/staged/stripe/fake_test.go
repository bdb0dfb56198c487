package stripe_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"sync"
)

// account is a Stripe account as the documents describe it: each idempotency key
// keeps its first answer, and its parameters are compared.
type account struct {
	mu      sync.Mutex
	intents []*intent
	keys    map[string]*kept
	charged int
	// decline: confirmations are declined; action: they wait for the customer.
	decline, action bool
	// lands: the status after a confirmation; "" = succeeded.
	lands string
	seen  []string // paths with their keys
}

type intent struct {
	ID       string            `json:"id"`
	Object   string            `json:"object"`
	Status   string            `json:"status"`
	Metadata map[string]string `json:"metadata"`
}

type kept struct {
	request string
	status  int
	body    []byte
}

func newAccount() *account { return &account{keys: map[string]*kept{}} }

func (a *account) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	a.mu.Lock()
	defer a.mu.Unlock()
	body, _ := io.ReadAll(r.Body)
	key := r.Header.Get("Idempotency-Key")
	if r.Method != http.MethodPost || key == "" {
		a.route(w, r, nil)
		return
	}
	a.seen = append(a.seen, r.URL.Path+" "+key)
	request := r.URL.Path + "?" + string(body)
	if k := a.keys[key]; k != nil {
		if k.request != request {
			answer(w, http.StatusBadRequest, fault("idempotency_error", ""))
			return
		}
		w.Header().Set("Idempotent-Replayed", "true")
		w.WriteHeader(k.status)
		_, _ = w.Write(k.body)
		return
	}
	form, _ := url.ParseQuery(string(body))
	rec := httptest.NewRecorder()
	a.route(rec, r, form)
	a.keys[key] = &kept{request, rec.Code, bytes.Clone(rec.Body.Bytes())}
	w.WriteHeader(rec.Code)
	_, _ = w.Write(rec.Body.Bytes())
}

func fault(kind, code string) any {
	return map[string]any{"error": map[string]string{"type": kind, "code": code}}
}

func answer(w http.ResponseWriter, status int, v any) {
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(v)
}

func (a *account) route(w http.ResponseWriter, r *http.Request, form url.Values) {
	rest := strings.TrimPrefix(r.URL.Path, "/v1/payment_intents")
	id, confirms := strings.CutSuffix(strings.TrimPrefix(rest, "/"), "/confirm")
	if id == "" {
		in := &intent{ID: fmt.Sprintf("pi_%d", len(a.intents)+1), Object: "payment_intent", Status: "requires_confirmation", Metadata: map[string]string{}}
		for name := range form {
			if field, ok := strings.CutPrefix(name, "metadata["); ok {
				in.Metadata[strings.TrimSuffix(field, "]")] = form.Get(name)
			}
		}
		a.intents = append(a.intents, in)
		answer(w, http.StatusOK, in)
		return
	}
	for _, in := range a.intents {
		if in.ID != id {
			continue
		}
		if confirms {
			a.confirm(w, in)
			return
		}
		answer(w, http.StatusOK, in)
		return
	}
	answer(w, http.StatusNotFound, fault("invalid_request_error", "resource_missing"))
}

func (a *account) confirm(w http.ResponseWriter, in *intent) {
	switch {
	case in.Status != "requires_confirmation" && in.Status != "requires_payment_method":
		answer(w, http.StatusBadRequest, fault("invalid_request_error", "payment_intent_unexpected_state"))
	case a.decline:
		in.Status = "requires_payment_method"
		answer(w, http.StatusPaymentRequired, fault("card_error", "card_declined"))
	case a.action:
		in.Status = "requires_action"
		answer(w, http.StatusOK, in)
	default:
		a.charge(in)
		answer(w, http.StatusOK, in)
	}
}

func (a *account) charge(in *intent) {
	a.charged++
	in.Status = a.lands
	if a.lands == "" {
		in.Status = "succeeded"
	}
}

// eachOpen does something with the intents that wait.
func (a *account) eachOpen(do func(*intent)) {
	a.mu.Lock()
	defer a.mu.Unlock()
	for _, in := range a.intents {
		if in.Status == "requires_confirmation" {
			do(in)
		}
	}
}

func (a *account) count() (made, charged int) {
	a.mu.Lock()
	defer a.mu.Unlock()
	return len(a.intents), a.charged
}
