// Package stripe stands for the real one.
package stripe

import "context"

type Params struct{ IdempotencyKey *string }

func (p *Params) SetIdempotencyKey(val string) { p.IdempotencyKey = &val }

type RefundParams struct {
	Params
	Charge *string
}
type RefundCreateParams struct{ Params }
type Refund struct{ ID string }

type v1RefundService struct{}

func (c v1RefundService) Create(ctx context.Context, p *RefundCreateParams) (*Refund, error) {
	return nil, nil
}

type Client struct{ V1Refunds v1RefundService }

func String(s string) *string { return &s }
