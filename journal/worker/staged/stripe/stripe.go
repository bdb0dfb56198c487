package stripe

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strings"

	"github.com/landedhq/landed/journal/worker"
	"github.com/landedhq/landed/journal/worker/staged"
)

// HandleIntent is the kind of the handle: the payment intent's id.
const HandleIntent = "payment_intent"

// The default metadata field, and Stripe's address.
const (
	DefaultMetadataKey = "landed_ref"
	DefaultBaseURL     = "https://api.stripe.com"
)

// Payments takes payments for one account. It is safe for concurrent use.
type Payments struct {
	// Client adds the credentials, and Stripe-Version or Stripe-Account if wanted.
	// Not worker.Client: see package staged.
	Client *http.Client
	// MetadataKey must be the evidence adapter's; "" = DefaultMetadataKey.
	MetadataKey string
	BaseURL     string // "" = DefaultBaseURL
}

// Pay creates a payment intent with the parameters create and confirms it with
// the parameters confirm, as the effect that ctx belongs to: it is what a tool's
// function calls. Both must follow from the call's arguments alone, as Stripe
// compares them when they are repeated. The outcome's id is the intent's.
func (p Payments) Pay(ctx context.Context, create, confirm url.Values) (worker.Outcome, error) {
	g, err := worker.Effect(ctx)
	if err != nil {
		return worker.Outcome{}, err
	}
	form, err := p.mark(create, g.Ref())
	if err != nil {
		return worker.Outcome{}, worker.NotSent(fmt.Errorf("stripe: %w", err))
	}
	out, err := staged.Run(ctx, staged.Steps{
		Kind: HandleIntent,
		Create: func(ctx context.Context) (staged.Handle, error) {
			out, err := p.post(ctx, "/v1/payment_intents", g.ProviderKey(), form, parse)
			return staged.Handle{Value: out.ProviderID}, err
		},
		Read: p.read,
		Finish: func(ctx context.Context, h staged.Handle) (worker.Outcome, error) {
			return p.post(ctx, "/v1/payment_intents/"+url.PathEscape(h.Value)+"/confirm", ConfirmKey(g.ProviderKey()), confirm, confirmed)
		},
	})
	if err != nil {
		return worker.Outcome{}, fmt.Errorf("stripe: %w", err)
	}
	return out, nil
}

// ConfirmKey is the idempotency key of the confirmation.
func ConfirmKey(providerKey string) string { return providerKey + "-confirm" }

// mark adds the reference to a copy of the parameters.
func (p Payments) mark(params url.Values, ref string) (url.Values, error) {
	field := "metadata[" + or(p.MetadataKey, DefaultMetadataKey) + "]"
	switch {
	case params.Has("confirm"):
		return nil, errors.New("the parameters set confirm: the creation would be the payment")
	case params.Has(field):
		return nil, fmt.Errorf("the parameters set %s themselves, so no look could find the payment", field)
	}
	form := url.Values{field: {ref}}
	for name, values := range params {
		form[name] = append([]string(nil), values...)
	}
	return form, nil
}

func (p Payments) url(path string) string {
	return strings.TrimSuffix(or(p.BaseURL, DefaultBaseURL), "/") + path
}

func or(s, def string) string {
	if s == "" {
		return def
	}
	return s
}

func (p Payments) post(ctx context.Context, path, key string, form url.Values, parse func(worker.Response) (worker.Outcome, error)) (worker.Outcome, error) {
	header := http.Header{"Content-Type": {"application/x-www-form-urlencoded"}, "Idempotency-Key": {key}}
	req, err := staged.Request(ctx, http.MethodPost, p.url(path), header, []byte(form.Encode()))
	if err != nil {
		return worker.Outcome{}, err
	}
	return worker.Classifier{Parse: parse}.Send(staged.Once(p.Client), req)
}

// intent is the part of a payment intent that is read here.
type intent struct {
	ID     string `json:"id"`
	Object string `json:"object"`
	Status string `json:"status"`
}

func parse(r worker.Response) (worker.Outcome, error) {
	out, _, err := decode(r.Body)
	return out, err
}

// confirmed reads the answer to a confirmation: under 200 it may still say that
// the customer has to act, or that it was declined.
func confirmed(r worker.Response) (worker.Outcome, error) {
	out, in, err := decode(r.Body)
	if err != nil {
		return worker.Outcome{}, err
	}
	switch stateOf(in.Status) {
	case staged.Done:
		return out, nil
	case staged.Pending:
		return worker.Outcome{}, &staged.PendingError{Kind: HandleIntent, Value: in.ID, Detail: "its status is " + in.Status}
	}
	return worker.Outcome{}, worker.Refused(fmt.Errorf("the payment intent is %s after its confirmation", in.Status), true)
}

func decode(body []byte) (worker.Outcome, intent, error) {
	var in intent
	if err := json.Unmarshal(body, &in); err != nil {
		return worker.Outcome{}, in, fmt.Errorf("the answer can't be understood: %w", err)
	}
	if in.Object != "payment_intent" || in.ID == "" {
		return worker.Outcome{}, in, errors.New("the answer is no payment intent")
	}
	return worker.Outcome{Result: body, ProviderID: in.ID}, in, nil
}

// stateOf reads a status. One that Stripe adds later is of unknown outcome.
func stateOf(status string) staged.State {
	switch status {
	case "requires_payment_method", "requires_confirmation":
		return staged.Open
	case "succeeded", "requires_capture", "processing":
		return staged.Done
	case "canceled":
		return staged.Gone
	}
	return staged.Pending
}

func (p Payments) read(ctx context.Context, h staged.Handle) (staged.Reading, error) {
	var raw json.RawMessage
	there, err := staged.Get(ctx, p.Client, p.url("/v1/payment_intents/"+url.PathEscape(h.Value)), nil, &raw)
	switch {
	case err != nil:
		return staged.Reading{}, err
	case !there:
		return staged.Reading{}, fmt.Errorf("stripe has no %s in this account and mode", h.Value)
	}
	out, in, err := decode(raw)
	if err == nil && in.ID != h.Value {
		err = fmt.Errorf("stripe answered payment intent %.60q", in.ID)
	}
	return staged.Reading{State: stateOf(in.Status), Outcome: out, Detail: "its status is " + in.Status}, err
}
