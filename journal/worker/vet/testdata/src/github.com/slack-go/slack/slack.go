// Package slack stands for the real one.
package slack

import "context"

type Client struct{}
type MsgOption func()

func (c *Client) PostMessageContext(ctx context.Context, channel string, o ...MsgOption) (string, string, error) {
	return "", "", nil
}
func (c *Client) GetUserInfo(id string) error { return nil }
