// Package agent serves tools to a model and does not use the journal yet.
package agent

import (
	"context"
	"net/http"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

func refund(ctx context.Context, req *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
	return nil, post("https://api.example.com/refunds")
}

func post(url string) error {
	_, err := http.Post(url, "application/json", nil) // want `http.Post causes an effect without the journal in the tool agent.refund, which a model calls and repeats. Move it into the function of a tool`
	return err
}

func elsewhere(url string) error {
	_, err := http.Post(url, "application/json", nil)
	return err
}
