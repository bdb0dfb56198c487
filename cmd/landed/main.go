// Command landed is the whole product in one binary: the desk and worker API
// (serve), a sandbox story that needs nothing but itself (demo), and the
// operator's tools. It only wires: every rule lives in the packages below.
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"os/signal"
	"syscall"

	"github.com/alecthomas/kong"
)

// Exit statuses.
const (
	exitOK     = 0
	exitFailed = 1
	exitUsage  = 2
)

// stdio is what a command reads and writes.
type stdio struct {
	in       io.Reader
	out, err io.Writer
}

// usageError is a command line that can't be understood.
type usageError struct{ err error }

func (e *usageError) Error() string { return e.err.Error() }

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	err := run(ctx, os.Args[1:], stdio{os.Stdin, os.Stdout, os.Stderr})
	stop()
	os.Exit(exitStatus(err))
}

func exitStatus(err error) int {
	var usage *usageError
	switch {
	case err == nil:
		return exitOK
	case errors.As(err, &usage):
		return exitUsage
	}
	return exitFailed
}

// commands is the command line.
type commands struct {
	LogLevel slog.Level `help:"Least level to log: debug, info, warn or error." default:"info"`

	Demo    demoCmd    `cmd:"" help:"Run everything on loopback, with sandbox providers and an agent that really is killed."`
	Serve   serveCmd   `cmd:"" help:"Serve the desk and the worker API."`
	Migrate migrateCmd `cmd:"" help:"Bring the database's schema up to date."`
	Check   checkCmd   `cmd:"" help:"Check the configuration and try every provider, sink and the identity provider."`
	Token   tokenCmd   `cmd:"" help:"Manage the workers' bearer tokens."`
	Effects effectsCmd `cmd:"" help:"List, show and decide effects, and hand outcomes over again."`
	Audit   auditCmd   `cmd:"" help:"Export, verify and checkpoint the audit trail."`
	Guide   guideCmd   `cmd:"" help:"Print what a worker must set at a provider so that its effects can be found, with code that runs."`
	Recover recoverCmd `cmd:"" help:"End the quarantine after a restore or failover."`
	Proxy   proxyCmd   `cmd:"" help:"Guard an HTTP service that has no idempotency: Idempotency-Key in front of it, journaled."`
	Bench   benchCmd   `cmd:"" help:"Measure, on a private Postgres of its own."`
	Version versionCmd `cmd:"" help:"Print the version."`
}

// run parses and runs one command line; everything it needs is handed in.
func run(ctx context.Context, args []string, io stdio) error {
	if len(args) > 0 && args[0] == agentArg {
		return runAgent(ctx, args[1:], io)
	}
	var c commands
	exited := false
	parser, err := kong.New(&c, kong.Name("landed"), kong.Description("Did it land? Journal side effects, see what is stuck, decide on evidence."),
		kong.Writers(io.out, io.err), kong.Exit(func(int) { exited = true }), kong.UsageOnError(),
		kong.BindTo(ctx, (*context.Context)(nil)), kong.Bind(io))
	if err != nil {
		return fmt.Errorf("building the command line: %w", err)
	}
	parsed, err := parser.Parse(args)
	if exited {
		return nil // --help was answered
	}
	if err != nil {
		fmt.Fprintln(io.err, "landed:", err)
		return &usageError{err}
	}
	log := slog.New(slog.NewTextHandler(io.err, &slog.HandlerOptions{Level: c.LogLevel}))
	if err := parsed.Run(log); err != nil && !errors.Is(err, context.Canceled) {
		fmt.Fprintln(io.err, "landed:", err)
		return err
	}
	return nil
}
