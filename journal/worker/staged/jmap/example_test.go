package jmap_test

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"time"

	"github.com/landedhq/landed/journal"
	"github.com/landedhq/landed/journal/worker"
	"github.com/landedhq/landed/journal/worker/staged/jmap"
)

// The tool of a worker that sends over JMAP: the message's id is journaled before
// it is submitted.
func ExampleSender_Send() {
	sender := jmap.Sender{
		Client:     http.DefaultClient, // one that adds a bearer token
		SessionURL: "https://api.fastmail.com/jmap/session",
		IdentityID: "64588216",
	}
	r := worker.NewRegistry()
	err := r.Register(worker.ToolSpec{
		Tool: journal.Tool{Name: "mail.send", Class: journal.ClassAtMostOnce, Provider: "mail", ClientTimeout: 30 * time.Second},
		Run: func(ctx context.Context, call worker.Call) (worker.Outcome, error) {
			var email map[string]any // properties of Email/set "create"
			if err := json.Unmarshal(call.Args, &email); err != nil {
				return worker.Outcome{}, worker.NotSent(err)
			}
			return sender.Send(ctx, email)
		},
	})
	fmt.Println(err)
	// Output: <nil>
}
