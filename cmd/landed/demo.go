package main

import (
	"context"
	"fmt"
	"log/slog"
	"os"

	"github.com/landedhq/landed/cmd/landed/demo"
)

// agentArg starts this binary as the demo's agent process.
const agentArg = demo.AgentArg

type demoCmd struct {
	Listen      string `help:"Address to listen on, host:port. Default 127.0.0.1:8080, or the next free port." placeholder:"ADDR"`
	URL         string `name:"url" help:"How browsers reach it, if not at that address." placeholder:"URL"`
	Data        string `help:"Keep everything in this folder; without it everything goes at the end." placeholder:"DIR"`
	PostgresBin string `help:"Folder that holds postgres and initdb; default: found, or downloaded once." placeholder:"DIR"`
}

// Run runs the demo until it is interrupted.
func (c *demoCmd) Run(ctx context.Context, io stdio, log *slog.Logger) error {
	exe, err := os.Executable()
	if err != nil {
		return fmt.Errorf("finding this binary: %w", err)
	}
	return demo.Run(ctx, demo.Options{Listen: c.Listen, URL: c.URL, Data: c.Data, PostgresBin: c.PostgresBin, Out: io.out, Log: log,
		Executable: exe, Migrate: migrate, Serve: serve})
}

// runAgent is the agent process.
func runAgent(ctx context.Context, _ []string, io stdio) error { return demo.Agent(ctx, io.in, io.out) }
