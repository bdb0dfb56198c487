// Package mcp stands for the real one.
package mcp

type CallToolRequest struct{}
type CallToolResult struct{}
