// Command example is a Temporal worker whose one activity opens a ticket, under
// the journal. It starts the workflow, says each step as a line of JSON, and ends
// with the workflow:
//
//	temporal server start-dev --http-port 7243
//	LANDED_TOKEN=… go run ./example --landed http://127.0.0.1:8080 --temporal 127.0.0.1:7233 --ticket-url http://127.0.0.1:9000/tickets --order order-17
//
// Landed's configuration knows this Temporal as "flows" (--resume-to).
package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"os"
	"os/signal"
	"time"

	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/interceptor"
	"go.temporal.io/sdk/log"
	sdkworker "go.temporal.io/sdk/worker"
	"go.temporal.io/sdk/workflow"

	"github.com/landedhq/landed/journal"
	journalclient "github.com/landedhq/landed/journal/client"
	"github.com/landedhq/landed/journal/worker"
	"github.com/landedhq/landed/journal/worker/temporal"
)

const queue = "landed-example"

// Ticket is what the activity is asked for and gives back.
type Ticket struct {
	Title string `json:"title"`
	ID    string `json:"id,omitempty"`
}

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := run(ctx, os.Args[1:], os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "example:", err)
		os.Exit(1)
	}
}

type options struct{ landed, temporal, ticketURL, order, resumeTo string }

func run(ctx context.Context, args []string, out io.Writer) error {
	var o options
	f := flag.NewFlagSet("example", flag.ContinueOnError)
	f.StringVar(&o.landed, "landed", "", "address of the journal; its token is in LANDED_TOKEN")
	f.StringVar(&o.temporal, "temporal", "127.0.0.1:7233", "host:port of Temporal's frontend")
	f.StringVar(&o.ticketURL, "ticket-url", "", "open a ticket by POST to this address")
	f.StringVar(&o.order, "order", "", "the workflow's id")
	f.StringVar(&o.resumeTo, "resume-to", "flows", "what Landed's configuration calls this Temporal; empty = ask for decisions")
	if err := f.Parse(args); err != nil {
		return err
	}
	if o.landed == "" || o.ticketURL == "" || o.order == "" {
		return errors.New("--landed, --ticket-url and --order are needed")
	}
	j, err := journalclient.New(journalclient.Config{BaseURL: o.landed, Token: os.Getenv("LANDED_TOKEN")})
	if err != nil {
		return err
	}
	c, err := client.DialContext(ctx, client.Options{HostPort: o.temporal, Logger: log.NewStructuredLogger(slog.New(slog.DiscardHandler))})
	if err != nil {
		return fmt.Errorf("reaching Temporal: %w", err)
	}
	defer c.Close()
	return work(ctx, o, j, c, json.NewEncoder(out))
}

// work runs the worker until its workflow ended.
func work(ctx context.Context, o options, j worker.Journal, c client.Client, say *json.Encoder) error {
	i, err := temporal.NewInterceptor(temporal.Config{Journal: j, ResumeTo: o.resumeTo, PollMin: time.Hour, Activities: map[string]temporal.Activity{
		"OpenTicket": {
			Tool: journal.Tool{Name: "ticket.open", Class: journal.ClassAtMostOnce, Provider: "tickets", ClientTimeout: 10 * time.Second},
			Settled: func(s temporal.Settlement) (any, error) {
				return Ticket{Title: "opened, as a person found", ID: s.ProviderID}, nil
			},
		},
	}})
	if err != nil {
		return err
	}
	if err := i.Sync(ctx); err != nil {
		return err
	}
	w := sdkworker.New(c, queue, sdkworker.Options{Interceptors: []interceptor.WorkerInterceptor{i}})
	i.Register(w)
	w.RegisterWorkflow(Serve)
	w.RegisterActivity(&desk{url: o.ticketURL, say: say})
	if err := w.Start(); err != nil {
		return fmt.Errorf("starting the worker: %w", err)
	}
	defer w.Stop()
	h, err := c.ExecuteWorkflow(ctx, client.StartWorkflowOptions{ID: o.order, TaskQueue: queue}, Serve, "Refund for "+o.order)
	if err != nil {
		return fmt.Errorf("starting the workflow: %w", err)
	}
	var got Ticket
	err = h.Get(ctx, &got)
	if d, ok := temporal.DetailsOf(err); ok {
		return say.Encode(map[string]any{"event": "finished", "status": d.Type})
	}
	if err != nil {
		return err
	}
	return say.Encode(map[string]any{"event": "finished", "status": "done", "ticket": got})
}

// Serve is the workflow: one ticket.
func Serve(ctx workflow.Context, title string) (Ticket, error) {
	ctx = workflow.WithActivityOptions(ctx, workflow.ActivityOptions{StartToCloseTimeout: 30 * time.Second})
	var d *desk
	var got Ticket
	err := temporal.Execute(ctx, &got, d.OpenTicket, Ticket{Title: title})
	return got, err
}

// desk holds the activity.
type desk struct {
	url string
	say *json.Encoder
}

// OpenTicket opens a ticket. The reference goes where evidence will look for it.
func (d *desk) OpenTicket(ctx context.Context, t Ticket) (Ticket, error) {
	at, err := worker.Effect(ctx)
	if err != nil {
		return t, err
	}
	hc, err := worker.Client(ctx)
	if err != nil {
		return t, err
	}
	if err := d.say.Encode(map[string]any{"event": "executing", "effect_id": at.EffectID(), "attempt": at.Attempt()}); err != nil {
		return t, err
	}
	b, err := json.Marshal(map[string]string{"title": t.Title, "external_ref": at.Ref()})
	if err != nil {
		return t, err
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, d.url, bytes.NewReader(b))
	if err != nil {
		return t, err
	}
	res, err := hc.Do(req)
	if err != nil {
		return t, err
	}
	defer res.Body.Close() //nolint:errcheck // nothing was written
	if res.StatusCode != http.StatusCreated {
		return t, fmt.Errorf("the desk answered %s", res.Status)
	}
	return t, json.NewDecoder(res.Body).Decode(&t)
}
