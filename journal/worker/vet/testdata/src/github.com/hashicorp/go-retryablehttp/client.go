// Package retryablehttp stands for the real one.
package retryablehttp

import (
	"io"
	"net/http"
)

type Client struct{ RetryMax int }

func NewClient() *Client { return nil }

func (c *Client) Post(url, bodyType string, body any) (*http.Response, error) { return nil, nil }
func (c *Client) Get(url string) (*http.Response, error)                      { return nil, nil }

var _ io.Reader
