package main

import (
	"context"
	"time"

	"github.com/landedhq/landed/cmd/landed/bench"
)

type benchCmd struct {
	Journal benchJournalCmd `cmd:"" help:"Measure begin and commit against the same statements hand-written in pgx."`
	List    benchListCmd    `cmd:"" help:"Fill a journal and measure what the list, the header and the searches cost, against a small journal."`
	Soak    benchSoakCmd    `cmd:"" help:"Run effects under injected faults, and compare what happened with what the journal holds."`
	Proxy   benchProxyCmd   `cmd:"" help:"Measure a service bare and behind the guarding proxy, and send it a storm of retries."`
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

type benchSoakCmd struct {
	Effects     int           `help:"Effects to run." default:"10000"`
	Faults      int           `help:"Faults to inject on the way; default one for a hundred effects."`
	Workers     int           `help:"Workers side by side." default:"64"`
	Kills       int           `help:"Kills of the database server among the faults; default one for a thousand faults, -1 for none."`
	Limit       time.Duration `help:"Begin no effect after this time." placeholder:"10m"`
	Settle      time.Duration `help:"How long what is still open may take to settle in the end." default:"5m"`
	Seed        uint64        `help:"Of what fails when; 0 takes a random one. The order of threads stays random."`
	Ungrouped   bool          `help:"Give each begin and commit a transaction of its own."`
	PostgresBin string        `help:"Folder that holds postgres and initdb." placeholder:"DIR"`
	JSON        bool          `name:"json" help:"Print JSON."`
}

// Run fails if anything was lost, or done twice without an order.
func (c *benchSoakCmd) Run(ctx context.Context, io stdio) error {
	_, err := bench.Soak(ctx, bench.SoakOptions{Effects: c.Effects, Faults: c.Faults, Workers: c.Workers, Kills: c.Kills, Limit: c.Limit, Settle: c.Settle,
		Seed: c.Seed, Ungrouped: c.Ungrouped, BinDir: c.PostgresBin}, io.out, c.JSON)
	return err
}

type benchProxyCmd struct {
	Seconds     float64 `help:"Seconds per width, all ways together." default:"15"`
	Clients     []int   `help:"Widths; default 1, 8, 32."`
	Retries     int     `help:"Requests of the storm, all at once." default:"1000"`
	Keys        int     `help:"Keys that they share." default:"50"`
	PostgresBin string  `help:"Folder that holds postgres and initdb." placeholder:"DIR"`
	JSON        bool    `name:"json" help:"Print JSON."`
}

// Run fails if the storm did not make exactly one effect per key.
func (c *benchProxyCmd) Run(ctx context.Context, io stdio) error {
	_, err := bench.Proxy(ctx, bench.ProxyOptions{Seconds: c.Seconds, Clients: c.Clients, Retries: c.Retries, Keys: c.Keys, BinDir: c.PostgresBin}, io.out, c.JSON)
	return err
}
