package stripefake

import "time"

type obj = map[string]any

// json writes an object with every property that Stripe's schema requires, and
// what the adapter must not keep: a client secret and a person's address.
func (t *Thing) json() obj {
	out := obj{"id": t.ID, "object": t.Kind, "created": t.Created.Unix(), "metadata": metadata(t.Metadata), "currency": "eur"}
	if t.Kind != "refund" {
		out["livemode"] = t.Live
	}
	if t.Kind != "transfer" {
		out["status"] = t.Status
	}
	switch t.Kind {
	case "payment_intent":
		set(out, obj{"amount": 1250, "client_secret": t.ID + "_secret_" + Private, "receipt_email": Private + "@customer.example", "latest_charge": nil})
	case "charge":
		set(out, obj{"amount": 1250, "amount_captured": 1250, "amount_refunded": 0, "captured": true, "disputed": false, "paid": t.Status == "succeeded", "refunded": false,
			"payment_intent": "pi_3parent", "receipt_email": nil,
			"billing_details": obj{"address": nil, "email": Private + "@customer.example", "name": nil, "phone": nil}})
	case "refund":
		set(out, obj{"amount": 1250, "charge": "ch_3parent", "payment_intent": "pi_3parent"})
	case "transfer":
		set(out, obj{"amount": 1250, "amount_reversed": 0, "reversed": false, "destination": "acct_1other",
			"reversals": obj{"object": "list", "data": []any{}, "has_more": false, "url": "/v1/transfers/" + t.ID + "/reversals"}})
	case "checkout.session":
		set(out, obj{"amount_total": 1250, "payment_status": t.Paid, "mode": "payment", "expires_at": t.Created.Add(24 * time.Hour).Unix(),
			"automatic_tax": obj{"enabled": false, "liability": nil, "provider": nil, "status": nil}, "custom_fields": []any{},
			"custom_text":          obj{"after_submit": nil, "shipping_address": nil, "submit": nil, "terms_of_service_acceptance": nil},
			"payment_method_types": []any{"card"}, "shipping_options": []any{}})
	}
	return out
}

// Private is part of what no evidence may hold.
const Private = "pr1vate"

func (t *Thing) event() obj {
	var key any
	if t.Key != "" {
		key = t.Key
	}
	return obj{"id": t.eventID(), "object": "event", "type": t.eventType(), "created": t.Created.Unix(), "livemode": t.Live, "pending_webhooks": 0,
		"api_version": "2026-08-26.dahlia", "data": obj{"object": t.json()}, "request": obj{"id": "req_3x", "idempotency_key": key}}
}

func metadata(m map[string]string) obj {
	out := obj{}
	for k, v := range m {
		out[k] = v
	}
	return out
}

func set(out, more obj) {
	for k, v := range more {
		out[k] = v
	}
}
