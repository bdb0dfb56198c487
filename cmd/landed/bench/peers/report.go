package main

import (
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strings"
	"text/tabwriter"
)

// names are the columns, in order; the first is what the others are compared with.
func names() []string {
	return []string{"landed", "ungrouped", "dbos", "river_width", "river_drain", "river_bulk", "river_one"}
}

// counted says in one line each what a figure counts; the package's
// documentation says more.
func counted() map[string]string {
	return map[string]string{
		"landed":      "begin and commit through the store, group commit; each caller returns when its row is durable",
		"ungrouped":   "the same, a transaction each",
		"dbos":        "a workflow with one step that does nothing, started directly and awaited",
		"river_width": "jobs inserted one at a time by the callers, then worked by as many slots until completed; both times count",
		"river_drain": "the same, worked by 2,000 slots whatever the width",
		"river_bulk":  "jobs inserted 5,000 at a time by one caller, then worked by 2,000 slots; independent of the width",
		"river_one":   "each caller inserts one job and waits until it is completed (JobCompleteTx)",
	}
}

// report is what --json prints.
type report struct {
	Server  string            `json:"server"`
	Durable string            `json:"durable"`
	Counted map[string]string `json:"counted"`
	Rows    []row             `json:"rows"`
}

// row holds one width.
type row struct {
	Workers int               `json:"workers"`
	Systems map[string]figure `json:"systems"`
	// Ratio is Landed's rate (with group commit) by the other's; UngroupedRatio
	// the same without group commit. Medians of the rounds' ratios.
	Ratio          map[string]float64 `json:"ratio"`
	UngroupedRatio map[string]float64 `json:"ungrouped_ratio"`
}

// figure is one system at one width.
type figure struct {
	PerSecond  float64 `json:"per_s"`
	Statements float64 `json:"statements,omitempty"` // by effect; absent = the server could not count
	WALBytes   float64 `json:"wal_bytes"`            // by effect
}

func newRow(workers int, turns map[string][]turned, statements map[string]float64) row {
	r := row{Workers: workers, Systems: map[string]figure{}, Ratio: map[string]float64{}, UngroupedRatio: map[string]float64{}}
	for _, name := range names() {
		var rates, wal, ratios, plain []float64
		for i, t := range turns[name] {
			rates, wal = append(rates, t.rate), append(wal, t.wal)
			ratios = append(ratios, turns["landed"][i].rate/t.rate)
			plain = append(plain, turns["ungrouped"][i].rate/t.rate)
		}
		r.Systems[name] = figure{PerSecond: median(rates), Statements: statements[name], WALBytes: median(wal)}
		if name != "landed" {
			r.Ratio[name] = median(ratios)
		}
		if name != "landed" && name != "ungrouped" {
			r.UngroupedRatio[name] = median(plain)
		}
	}
	return r
}

func median(vs []float64) float64 {
	vs = slices.Sorted(slices.Values(vs))
	return vs[len(vs)/2]
}

func (r *report) print(o options, out io.Writer) error {
	r.Durable, r.Counted = "fsync, full_page_writes and synchronous_commit on, checked through each system's connections", counted()
	if o.json {
		return json.NewEncoder(out).Encode(r)
	}
	fmt.Fprintf(out, "%s; %s.\n", r.Server, r.Durable)
	for _, name := range names() {
		fmt.Fprintf(out, "  %s: %s\n", name, r.Counted[name])
	}
	r.table(out, "effects per second", "%.0f", func(w row, name string) (float64, bool) { return w.Systems[name].PerSecond, true })
	r.table(out, "times as fast as: landed", "%.2f", func(w row, name string) (float64, bool) { v, ok := w.Ratio[name]; return v, ok })
	r.table(out, "times as fast as: ungrouped", "%.2f", func(w row, name string) (float64, bool) { v, ok := w.UngroupedRatio[name]; return v, ok })
	r.table(out, "statements per effect", "%.2f", func(w row, name string) (float64, bool) {
		v := w.Systems[name].Statements
		return v, v > 0
	})
	r.table(out, "write-ahead bytes per effect", "%.0f", func(w row, name string) (float64, bool) { return w.Systems[name].WALBytes, true })
	return nil
}

// table prints one kind of figure, widths down and systems across.
func (r *report) table(out io.Writer, title, format string, of func(row, string) (float64, bool)) {
	fmt.Fprintf(out, "\n%s\n", title)
	w := tabwriter.NewWriter(out, 0, 4, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintf(w, "workers\t%s\t\n", strings.Join(names(), "\t"))
	for _, row := range r.Rows {
		fmt.Fprintf(w, "%d\t", row.Workers)
		for _, name := range names() {
			cell := "-"
			if v, ok := of(row, name); ok {
				cell = fmt.Sprintf(format, v)
			}
			fmt.Fprintf(w, "%s\t", cell)
		}
		fmt.Fprintln(w)
	}
	w.Flush() //nolint:errcheck // out's errors show in the exit of the shell's pipe
}
