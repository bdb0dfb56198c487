// Package sendgrid stands for the real one.
package sendgrid

type Client struct{}

func (c *Client) Send(mail any) (any, error) { return nil, nil }
