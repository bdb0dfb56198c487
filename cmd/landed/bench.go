package main

import (
	"context"

	"github.com/landedhq/landed/cmd/landed/bench"
)

type benchCmd struct {
	Journal benchJournalCmd `cmd:"" help:"Measure begin and commit against the same statements hand-written in pgx."`
	List    benchListCmd    `cmd:"" help:"Fill a journal and measure what the list, the header and the searches cost, against a small journal."`
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

type benchListCmd struct {
	Effects     int     `help:"Effects in the full journal." default:"10000000"`
	Open        int     `help:"Effects that need attention; default one in five hundred."`
	Seconds     float64 `help:"Seconds per read, and per turn of writing." default:"5"`
	PostgresBin string  `help:"Folder that holds postgres and initdb." placeholder:"DIR"`
	Dir         string  `help:"Folder for the cluster; a journal kept there is measured without filling it again. Default: a temporary one." placeholder:"DIR"`
	Keep        bool    `help:"Leave the cluster's folder."`
	JSON        bool    `name:"json" help:"Print JSON."`
}

func (c *benchListCmd) Run(ctx context.Context, io stdio) error {
	_, err := bench.List(ctx, bench.ListOptions{Effects: c.Effects, Open: c.Open, Seconds: c.Seconds, BinDir: c.PostgresBin, Dir: c.Dir, Keep: c.Keep}, io.out, c.JSON)
	return err
}
