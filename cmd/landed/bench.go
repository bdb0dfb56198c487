package main

import (
	"context"

	"github.com/landedhq/landed/cmd/landed/bench"
)

type benchCmd struct {
	Journal benchJournalCmd `cmd:"" help:"Measure begin and commit against the same statements hand-written in pgx."`
}

type benchJournalCmd struct {
	Seconds     float64 `help:"Seconds per variant and width." default:"10"`
	Workers     []int   `help:"Widths; default 1, 8, 32, 64."`
	PostgresBin string  `help:"Folder that holds postgres and initdb." placeholder:"DIR"`
	JSON        bool    `name:"json" help:"Print JSON."`
}

func (c *benchJournalCmd) Run(ctx context.Context, io stdio) error {
	_, err := bench.Journal(ctx, bench.JournalOptions{Seconds: c.Seconds, Workers: c.Workers, BinDir: c.PostgresBin, JSON: c.JSON}, io.out)
	return err
}
