package landedmcp_test

import (
	"context"
	"fmt"
	"time"

	"github.com/landedhq/landed/journal"
	landedmcp "github.com/landedhq/landed/journal/worker/mcp"
	"github.com/landedhq/landed/journal/worker/workertest"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

func Example() {
	ctx := context.Background()
	type mail struct {
		To string `json:"to"`
	}
	type receipt struct {
		ID string `json:"id"`
	}
	server := mcp.NewServer(&mcp.Implementation{Name: "mailer", Version: "v1"}, nil)
	mcp.AddTool(server, &mcp.Tool{Name: "send_mail"}, func(_ context.Context, _ *mcp.CallToolRequest, in mail) (*mcp.CallToolResult, receipt, error) {
		fmt.Println("sending to", in.To)
		return nil, receipt{ID: "m-1"}, nil
	})

	front, err := landedmcp.Attach(ctx, server, landedmcp.Config{
		Journal: workertest.NewMemory(), // a client.Client, or a postgres.Store
		Tools: []landedmcp.Tool{{
			Tool:       journal.Tool{Name: "send_mail", Class: journal.ClassAtMostOnce, ClientTimeout: time.Minute},
			ProviderID: func(*mcp.CallToolResult) string { return "m-1" },
		}},
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer func() { _ = front.Drain(ctx) }()

	// A client: it names the run and the step, the same on every retry.
	near, far := mcp.NewInMemoryTransports()
	if _, err := server.Connect(ctx, near, nil); err != nil {
		fmt.Println(err)
		return
	}
	agent, err := mcp.NewClient(&mcp.Implementation{Name: "agent", Version: "v1"}, nil).Connect(ctx, far, nil)
	if err != nil {
		fmt.Println(err)
		return
	}
	defer func() { _ = agent.Close() }()
	for _, to := range []string{"anna", "anna", "bert"} {
		res, err := agent.CallTool(ctx, &mcp.CallToolParams{
			Name: "send_mail", Arguments: mail{To: to},
			Meta: mcp.Meta{landedmcp.MetaRootRun: "run-7", landedmcp.MetaStep: "confirm"},
		})
		if err != nil {
			fmt.Println(err)
			return
		}
		answer, _ := res.Meta[landedmcp.MetaAnswer].(map[string]any)
		fmt.Println(answer["status"], answer["reason"], answer["provider_id"])
	}
	// Output:
	// sending to anna
	// done <nil> m-1
	// done <nil> m-1
	// replan key_reused <nil>
}
