package gmail_test

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"time"

	"github.com/landedhq/landed/journal"
	"github.com/landedhq/landed/journal/worker"
	"github.com/landedhq/landed/journal/worker/staged/gmail"
)

// The tool of a worker that sends through Gmail: the draft's id is journaled before
// the draft is sent.
func ExampleSender_Send() {
	sender := gmail.Sender{Client: http.DefaultClient} // one that adds an OAuth 2 token
	r := worker.NewRegistry()
	err := r.Register(worker.ToolSpec{
		Tool: journal.Tool{Name: "mail.send", Class: journal.ClassAtMostOnce, Provider: "gmail", ClientTimeout: 30 * time.Second},
		Run: func(ctx context.Context, call worker.Call) (worker.Outcome, error) {
			var args struct{ To, Subject, Text string }
			if err := json.Unmarshal(call.Args, &args); err != nil {
				return worker.Outcome{}, worker.NotSent(err)
			}
			ref, err := worker.RefFrom(ctx)
			if err != nil {
				return worker.Outcome{}, err
			}
			mime := fmt.Sprintf("To: %s\r\nSubject: %s\r\n\r\n%s\r\n\r\n%s\r\n", args.To, args.Subject, args.Text, gmail.BodyLine(ref))
			return sender.Send(ctx, gmail.Message{MIME: []byte(mime)})
		},
	})
	fmt.Println(err)
	// Output: <nil>
}
