package graph_test

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"time"

	"github.com/landedhq/landed/journal"
	"github.com/landedhq/landed/journal/worker"
	"github.com/landedhq/landed/journal/worker/staged/graph"
)

// The tool of a worker that sends from an Exchange mailbox: the draft's immutable
// id is journaled before the draft is sent.
func ExampleSender_Send() {
	sender := graph.Sender{Client: http.DefaultClient, User: "billing@example.org"} // one that adds a token
	r := worker.NewRegistry()
	err := r.Register(worker.ToolSpec{
		Tool: journal.Tool{Name: "mail.send", Class: journal.ClassAtMostOnce, Provider: "exchange", ClientTimeout: 30 * time.Second},
		Run: func(ctx context.Context, call worker.Call) (worker.Outcome, error) {
			var message map[string]any // a message resource: subject, body, toRecipients
			if err := json.Unmarshal(call.Args, &message); err != nil {
				return worker.Outcome{}, worker.NotSent(err)
			}
			return sender.Send(ctx, message)
		},
	})
	fmt.Println(err)
	// Output: <nil>
}
