package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"strconv"
	"strings"
	"syscall"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	err := run(ctx, os.Args[1:], os.Stdout, os.Stderr)
	switch {
	case err == nil, errors.Is(err, flag.ErrHelp):
	case errors.Is(err, errUsage):
		os.Exit(2)
	default:
		fmt.Fprintln(os.Stderr, "peers:", err)
		os.Exit(1)
	}
}

// errUsage means that the arguments were wrong; what is wrong has been printed.
var errUsage = errors.New("usage")

// options shape one run.
type options struct {
	seconds float64 // per system and width
	rounds  int
	workers []int
	binDir  string // PostgreSQL's programs; "" = found
	json    bool
}

func run(ctx context.Context, args []string, out, errs io.Writer) error {
	o := options{workers: []int{1, 8, 32, 64}}
	flags := flag.NewFlagSet("peers", flag.ContinueOnError)
	flags.SetOutput(errs)
	flags.Float64Var(&o.seconds, "seconds", 10, "seconds per system and width")
	flags.IntVar(&o.rounds, "rounds", 5, "how often the systems take turns within those seconds")
	flags.Func("workers", "widths (default 1,8,32,64)", func(s string) (err error) {
		o.workers, err = widths(s)
		return err
	})
	flags.StringVar(&o.binDir, "postgres-bin", "", "folder that holds postgres and initdb")
	flags.BoolVar(&o.json, "json", false, "print JSON")
	if err := flags.Parse(args); err != nil {
		if errors.Is(err, flag.ErrHelp) {
			return err
		}
		return errUsage
	}
	if flags.NArg() > 0 || o.seconds <= 0 || o.rounds < 1 {
		fmt.Fprintln(errs, "peers: takes no arguments, and --seconds and --rounds above zero")
		return errUsage
	}
	r, err := measure(ctx, o)
	if err != nil {
		return err
	}
	return r.print(o, out)
}

func widths(s string) ([]int, error) {
	var ws []int
	for field := range strings.SplitSeq(s, ",") {
		w, err := strconv.Atoi(strings.TrimSpace(field))
		if err != nil || w < 1 {
			return nil, fmt.Errorf("%q is not a number of workers", field)
		}
		ws = append(ws, w)
	}
	return ws, nil
}
