package guide

// moneySamples are requests that move money.
func moneySamples() map[string]sample {
	bearer := pair{name: "Authorization", value: str("Bearer ")}
	return map[string]sample{
		"stripe": {
			base: "https://api.stripe.com", path: str("/v1/payment_intents"), auth: bearer, form: asForm,
			body: obj(field("amount", arg("amount")), field("currency", arg("currency")), field("customer", arg("customer")),
				field("payment_method", arg("method")), field("confirm", str("true")), field("off_session", str("true"))),
			id: []any{"id"}, answer: `{"id":"pi_17","object":"payment_intent","status":"succeeded"}`,
			args:   `{"amount":"1250","currency":"eur","customer":"cus_17","method":"pm_17"}`,
			source: "docs.stripe.com/api/payment_intents/create; off_session is from the vendor's libraries",
		},
		"adyen.transfer": {
			base: "https://balanceplatform-api-test.adyen.com", path: str("/btl/v4/transfers"), auth: pair{name: "X-API-Key"}, form: asJSON,
			body: obj(field("amount", obj(field("value", number("amount")), field("currency", arg("currency")))), field("balanceAccountId", arg("from")),
				field("category", str("internal")), field("counterparty", obj(field("balanceAccountId", arg("to"))))),
			id: []any{"id"}, answer: `{"id":"1W1UG35U8A9J5ZLG","status":"authorised"}`,
			args:   `{"amount":1250,"currency":"EUR","from":"BA00000000000000000000001","to":"BA00000000000000000000002"}`,
			source: "docs.adyen.com/api-explorer/transfers/4/post/transfers",
		},
		"braintree.transaction": {
			base: "https://payments.braintree-api.com", path: str("/graphql"), auth: pair{name: "Authorization", value: str("Basic ")},
			header: []pair{{name: "Braintree-Version", value: str("2019-01-01")}}, form: asGraphQL,
			query: "mutation Charge($input: ChargePaymentMethodInput!) { chargePaymentMethod(input: $input) { transaction { id status } } }",
			body:  obj(field("input", obj(field("paymentMethodId", arg("method")), field("transaction", obj(field("amount", arg("amount"))))))),
			id:    []any{"data", "chargePaymentMethod", "transaction", "id"}, answer: `{"data":{"chargePaymentMethod":{"transaction":{"id":"dHJhbnNhY3Rpb25fMTc","status":"SUBMITTED_FOR_SETTLEMENT"}}}}`,
			args: `{"method":"cGF5bWVudG1ldGhvZF9jY18xNw","amount":"12.50"}`, source: "developer.paypal.com/braintree/graphql/reference/mutations/charge-payment-method",
		},
		"paypal.transaction": {
			base: "https://api-m.paypal.com", path: str("/v2/checkout/orders"), auth: bearer, form: asJSON,
			body: obj(field("intent", str("CAPTURE")), field("purchase_units", arr(obj(field("amount", obj(field("currency_code", arg("currency")), field("value", arg("amount")))))))),
			id:   []any{"id"}, answer: `{"id":"5O190127TN364715T","status":"CREATED"}`, args: `{"currency":"EUR","amount":"12.50"}`,
			source: "developer.paypal.com/api/orders/v2/definitions/order_request",
		},
		"square.payment": {
			base: "https://connect.squareup.com", path: str("/v2/payments"), auth: bearer,
			header: []pair{{name: "Square-Version", value: str("2025-01-23")}}, form: asJSON,
			body: obj(field("source_id", arg("source")), field("amount_money", obj(field("amount", number("amount")), field("currency", arg("currency"))))),
			id:   []any{"payment", "id"}, answer: `{"payment":{"id":"R2B3Z8WMVt3EAmzYWLZvz7Y69EbZY","status":"COMPLETED"}}`,
			args: `{"source":"ccof:17","amount":1250,"currency":"EUR"}`, source: "square/connect-api-specification, api.json, CreatePaymentRequest",
		},
	}
}

// ownSamples are requests to one's own service and database.
func ownSamples() map[string]sample {
	return map[string]sample{
		"status.endpoint": {
			base: "https://billing.example.com", path: str("/refunds"), auth: pair{name: "Authorization", value: str("Bearer ")}, form: asJSON,
			body: obj(field("order", arg("order")), field("amount", arg("amount"))),
			id:   []any{"id"}, answer: `{"id":"re-17"}`, args: `{"order":"A-17","amount":"12.50"}`, source: "the service is one's own",
		},
		"sql": {
			form: asSQL, body: obj(field("order_no", arg("order")), field("amount", arg("amount"))),
			args: `{"order":"A-17","amount":"12.50"}`, source: "the table is one's own",
		},
	}
}
