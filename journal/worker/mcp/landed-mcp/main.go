// Command landed-mcp stands before an MCP server that nobody can recompile, and
// journals its side-effecting tools. It starts the server as a child process and
// speaks MCP over standard input and output, on both sides:
//
//	landed-mcp --config landed-mcp.json -- mailer --some-flag
//
// The configuration says where the journal is and what the tools are:
//
//	{
//	  "journal": {"url": "https://landed.example", "token": "env:LANDED_TOKEN"},
//	  "desk": "https://landed.example",
//	  "tools": [
//	    {"name": "send_mail", "class": "at_most_once", "provider": "mail", "client_timeout": "1m"},
//	    {"name": "open_ticket", "class": "journal_deduped", "provider": "tickets", "client_timeout": "30s", "ref_into": "external_id"}
//	  ]
//	}
//
// What clients have to send, what they are told, and what the child may say in
// its results is in the documentation of package landedmcp. Log lines go to
// standard error. Exit status: 0, 1 (failed, or the child ended), 2 (usage).
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"log/slog"
	"os"
	"os/exec"
	"os/signal"
	"syscall"
	"time"

	"github.com/landedhq/landed/journal/client"
	"github.com/landedhq/landed/journal/worker"
	landedmcp "github.com/landedhq/landed/journal/worker/mcp"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

var errUsage = errors.New("usage: landed-mcp --config FILE -- COMMAND [ARGUMENT…]")

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	err := run(ctx, os.Args[1:], os.Stderr, &mcp.StdioTransport{}, open)
	stop()
	switch {
	case err == nil || errors.Is(err, context.Canceled):
	case errors.Is(err, errUsage):
		fmt.Fprintln(os.Stderr, err)
		os.Exit(2)
	default:
		fmt.Fprintln(os.Stderr, "landed-mcp:", err)
		os.Exit(1)
	}
}

// open is the journal that the configuration names.
func open(c config) (worker.Journal, error) {
	return client.New(client.Config{BaseURL: c.Journal.URL, Token: c.Journal.Token, UserAgent: "landed-mcp"})
}

// grace is how long the child may take to end once it is asked to.
const grace = 10 * time.Second

// linger is for answers on their way once the child has ended: a connection that
// closes drops what it has not written, and the SDK does not say when it has.
const linger = 500 * time.Millisecond

func run(ctx context.Context, args []string, stderr io.Writer, to mcp.Transport, open func(config) (worker.Journal, error)) error {
	flags := flag.NewFlagSet("landed-mcp", flag.ContinueOnError)
	flags.SetOutput(io.Discard)
	path := flags.String("config", "", "the configuration")
	if err := flags.Parse(args); err != nil || *path == "" || flags.NArg() == 0 {
		return errUsage
	}
	c, err := readConfig(*path)
	if err != nil {
		return err
	}
	j, err := open(c)
	if err != nil {
		return err
	}
	log := slog.New(slog.NewTextHandler(stderr, nil))
	cmd := exec.Command(flags.Arg(0), flags.Args()[1:]...)
	cmd.Stderr = stderr
	proxy, err := landedmcp.NewProxy(ctx, &mcp.CommandTransport{Command: cmd, TerminateDuration: grace}, log)
	if err != nil {
		return err
	}
	defer func() { _ = proxy.Close() }()
	front, err := landedmcp.Attach(ctx, proxy.Server(), landedmcp.Config{
		Journal: j, Tools: c.declared(), PassUndeclared: c.PassUndeclared, KeyBySession: c.KeyBySession,
		Namespace: func(*mcp.CallToolRequest) string { return c.Namespace }, Desk: c.Desk,
		AnswerWithin: time.Duration(c.AnswerWithin), Worker: worker.Options{Logger: log},
	})
	if err != nil {
		return err
	}
	return serve(ctx, proxy, front, to)
}

// serve ends with the client, the child or the context; running tools are
// waited for while the child can answer.
func serve(ctx context.Context, proxy *landedmcp.Proxy, front *landedmcp.Front, to mcp.Transport) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	go func() {
		select {
		case <-proxy.Done():
			_ = front.Drain(ctx) // what was asked meanwhile is of unknown outcome, and is told so
			timer := time.NewTimer(linger)
			defer timer.Stop()
			select {
			case <-timer.C:
				cancel(errors.New("the child has ended"))
			case <-ctx.Done():
			}
		case <-ctx.Done():
		}
	}()
	err := proxy.Server().Run(ctx, to)
	if ctx.Err() != nil {
		err = context.Cause(ctx)
	}
	return errors.Join(err, front.Drain(context.WithoutCancel(ctx)))
}
