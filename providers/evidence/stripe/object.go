package stripe

import (
	"slices"
	"strings"

	"github.com/landedhq/landed/journal"
)

// Object is a kind of object that an effect makes.
type Object string

// The kinds that can be looked up.
const (
	PaymentIntents   Object = "payment_intents"
	Charges          Object = "charges"
	Refunds          Object = "refunds"
	Transfers        Object = "transfers"
	CheckoutSessions Object = "checkout_sessions"
)

// kind is what the adapter knows about an Object.
type kind struct {
	path       string   // below /v1/
	object     string   // its "object" property
	prefixes   []string // of its ids
	permission string   // as the dashboard calls it, for people
	events     []string // those that the making of one causes
	search     bool     // Stripe can search it
	livemode   bool     // it has the property
}

func kindOf(o Object) (kind, bool) {
	switch o {
	case PaymentIntents:
		return kind{"payment_intents", "payment_intent", []string{"pi_"}, "PaymentIntents",
			[]string{"payment_intent.created", "payment_intent.succeeded", "payment_intent.processing", "payment_intent.requires_action", "payment_intent.payment_failed", "payment_intent.amount_capturable_updated"}, true, true}, true
	case Charges:
		return kind{"charges", "charge", []string{"ch_", "py_"}, "Charges",
			[]string{"charge.succeeded", "charge.pending", "charge.failed"}, true, true}, true
	case Refunds:
		return kind{"refunds", "refund", []string{"re_", "pyr_"}, "Charges and Refunds",
			[]string{"refund.created"}, false, false}, true
	case Transfers:
		return kind{"transfers", "transfer", []string{"tr_"}, "Transfers",
			[]string{"transfer.created"}, false, true}, true
	case CheckoutSessions:
		return kind{"checkout/sessions", "checkout.session", []string{"cs_"}, "Checkout Sessions",
			nil, false, true}, true
	}
	return kind{}, false
}

// owns reports whether id can be an id of this kind: it may stand in a path then.
func (k kind) owns(id string) bool {
	if len(id) > 255 || strings.Trim(id, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_") != "" {
		return false
	}
	return slices.ContainsFunc(k.prefixes, func(p string) bool { return strings.HasPrefix(id, p) && len(id) > len(p) })
}

// state says whether an object took effect. A status that Stripe adds later
// reads as pending: it blocks a re-issue and settles nothing. over says that no
// request of ours can be in flight any more: then an intent that nobody confirmed,
// or whose confirmation was declined, did not take effect. One that waits for the
// customer (requires_action) stays pending: the customer may act at any time.
func (o object) state(over bool) journal.MatchState {
	status := o.Status
	if over && o.unconfirmed() {
		return journal.MatchNotEffective
	}
	if o.Object == "checkout.session" && status == "complete" {
		status = o.PaymentStatus
	}
	switch status {
	case "succeeded", "requires_capture", "paid", "no_payment_required":
		return journal.MatchEffective
	case "failed", "canceled", "expired":
		return journal.MatchNotEffective
	case "":
		if o.Object == "transfer" { // it has no status: it is made or it isn't
			return journal.MatchEffective
		}
	}
	return journal.MatchPending // requires_…, processing, pending, open, unpaid
}

// unconfirmed reports whether a payment intent is as it was made, or as a declined
// confirmation left it.
func (o object) unconfirmed() bool {
	return o.Object == "payment_intent" && (o.Status == "requires_confirmation" || o.Status == "requires_payment_method")
}
