// Package sesv2 stands for the real one.
package sesv2

import "context"

type Client struct{}
type SendEmailInput struct{}

func (c *Client) SendEmail(ctx context.Context, in *SendEmailInput) (any, error) { return nil, nil }
