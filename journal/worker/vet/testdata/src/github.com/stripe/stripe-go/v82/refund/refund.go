// Package refund stands for the real one.
package refund

import stripe "github.com/stripe/stripe-go/v82"

func New(params *stripe.RefundParams) (*stripe.Refund, error)            { return nil, nil }
func Get(id string, params *stripe.RefundParams) (*stripe.Refund, error) { return nil, nil }
