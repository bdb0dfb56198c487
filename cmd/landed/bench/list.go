package bench

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime/debug"
	"slices"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/landedhq/landed/journal/postgres/cluster"
)

// ListOptions shape one run of the reading benchmark.
type ListOptions struct {
	Effects int     // in the full journal
	Open    int     // of them; 0 = one in five hundred
	Seconds float64 // per read, and per turn of writing; 0 = 1
	BinDir  string  // PostgreSQL's programs; "" = found
	// Dir is where the cluster goes; "" is a temporary folder. What an earlier run
	// kept there is measured again without filling.
	Dir  string
	Keep bool // leave the folder, for a look by hand or another run
}

// baseSettled is how many settled effects the journal has that a full one is
// compared with; or as many as are open there, if those are more. It has as many
// open ones as the full one, since what is read is the open ones.
const baseSettled = 10_000

// ListReport is what was measured.
type ListReport struct {
	Postgres    string      `json:"postgres"`
	Effects     int         `json:"effects"`
	Open        int         `json:"open"`
	BaseEffects int         `json:"base_effects"`
	BaseOpen    int         `json:"base_open"`
	FillSeconds float64     `json:"fill_seconds"`
	RowBytes    float64     `json:"row_bytes"`
	Reads       []ListRead  `json:"reads"`
	Writes      []ListWrite `json:"writes"`
	Indexes     []ListIndex `json:"indexes"`
	Missed      []string    `json:"missed"` // targets, in words
}

// ListRead is one read through the store, in milliseconds.
type ListRead struct {
	Name      string  `json:"name"`
	P50       float64 `json:"p50_ms"`
	P99       float64 `json:"p99_ms"`
	BaseP50   float64 `json:"base_p50_ms"`
	Ratio     float64 `json:"ratio"` // of the medians of one turn, the median over the turns
	Times     int     `json:"times"`
	TargetP50 float64 `json:"target_p50_ms,omitempty"` // 0 = none
	TargetP99 float64 `json:"target_p99_ms,omitempty"`
}

// ListWrite compares begin and commit in the full journal with an empty one.
type ListWrite struct {
	Name     string  `json:"name"`
	Full     float64 `json:"full_per_s"`
	Empty    float64 `json:"empty_per_s"`
	Ratio    float64 `json:"ratio"`          // the median over the turns
	FullWAL  float64 `json:"full_wal_bytes"` // per effect
	EmptyWAL float64 `json:"empty_wal_bytes"`
}

// ListIndex is the size of one index of effects.
type ListIndex struct {
	Name  string `json:"name"`
	Bytes int64  `json:"bytes"`
}

// List fills a journal and measures its reads through the store against a small
// one, both warm and in turns, the sizes of its indexes, and what its size costs
// a writer. Targets that are missed are reported, not errors.
func List(ctx context.Context, o ListOptions, out io.Writer, asJSON bool) (ListReport, error) {
	if o.Open == 0 {
		o.Open = max(o.Effects/500, 1)
	}
	if o.Seconds == 0 {
		o.Seconds = 1
	}
	// A desk's heap has tens of megabytes, this one's has four: with the usual
	// setting the collector would run every thirty pages and be what is measured.
	defer debug.SetGCPercent(debug.SetGCPercent(800))
	r := ListReport{Effects: o.Effects, Open: o.Open, BaseEffects: max(baseSettled, o.Open) + o.Open, BaseOpen: o.Open}
	pg, end, err := startList(ctx, o)
	if err != nil {
		return r, err
	}
	defer end()
	r.Postgres = pg.Binaries().Version
	if err := r.measure(ctx, pg, o); err != nil {
		return r, err
	}
	r.judge()
	return r, r.print(out, asJSON)
}

// startList runs a server as one would run it for a journal of that size.
func startList(ctx context.Context, o ListOptions) (*cluster.Cluster, func(), error) {
	dir, err := o.Dir, error(nil)
	if dir == "" {
		if dir, err = os.MkdirTemp("", "landed-bench-"); err != nil {
			return nil, nil, fmt.Errorf("making a folder: %w", err)
		}
	}
	if err := os.Chmod(dir, 0o755); err != nil { //nolint:gosec // Postgres runs under another account when we are root
		return nil, nil, fmt.Errorf("making a folder: %w", err)
	}
	pg, err := cluster.Start(context.WithoutCancel(ctx), cluster.Config{Dir: filepath.Join(dir, "pg"), BinDir: o.BinDir, Download: true, Settings: map[string]string{
		"shared_buffers": "1GB", "max_wal_size": "4GB", "maintenance_work_mem": "256MB", "effective_cache_size": "4GB", "random_page_cost": "1.1"}})
	if err != nil {
		return nil, nil, err
	}
	return pg, func() {
		_ = pg.Stop() // measured already
		if !o.Keep {
			_ = os.RemoveAll(pg.Dir())
			_ = os.RemoveAll(dir)
		}
	}, nil
}

func (r *ListReport) measure(ctx context.Context, pg *cluster.Cluster, o ListOptions) error {
	begun := time.Now()
	full, err := fillJournal(ctx, pg, "full", o.Effects, o.Open)
	if err != nil {
		return err
	}
	defer full.close()
	r.FillSeconds = time.Since(begun).Seconds()
	base, err := fillJournal(ctx, pg, "base", r.BaseEffects, r.BaseOpen)
	if err != nil {
		return err
	}
	defer base.close()
	empty, err := fillJournal(ctx, pg, "empty", 0, 0)
	if err != nil {
		return err
	}
	defer empty.close()
	err = full.pool.QueryRow(ctx, "select avg(pg_column_size(e.*)) from effects e tablesample system (1) repeatable (1)").Scan(&r.RowBytes)
	if err != nil && o.Effects > 100_000 {
		return fmt.Errorf("measuring rows: %w", err)
	}
	each := time.Duration(o.Seconds * float64(time.Second))
	for _, read := range listReads() {
		one, err := read.measure(ctx, full, base, each)
		if err != nil {
			return fmt.Errorf("%s: %w", read.name, err)
		}
		r.Reads = append(r.Reads, one)
	}
	if r.Indexes, err = indexSizes(ctx, full); err != nil {
		return err
	}
	// As the server does: its rounds also drop the writers' dead entries from
	// effects_owned, which every page of the list reads past.
	stop := sweeping(ctx, full, empty)
	r.Writes, err = compareWrites(ctx, full, empty, each)
	if err := errors.Join(err, stop()); err != nil {
		return err
	}
	after := listReads()[0]
	after.name = "first page, after those writes"
	one, err := after.measure(ctx, full, base, each)
	r.Reads = append(r.Reads, one)
	return err
}

// sweeping sweeps the journals every two seconds until it is stopped, and once more.
func sweeping(ctx context.Context, js ...*listJournal) (stop func() error) {
	done, ended := make(chan struct{}), make(chan error, 1)
	go func() {
		var failed []error
		for last := false; !last; {
			select {
			case <-done:
				last = true
			case <-time.After(2 * time.Second):
			}
			for _, j := range js {
				_, err := j.store.Sweep(ctx, 200)
				failed = append(failed, err)
			}
		}
		ended <- errors.Join(failed...)
	}()
	return func() error {
		close(done)
		return <-ended
	}
}

// Limits of the ratios, and of the indexes on open effects at 20,000 open.
const maxReadRatio, minWriteRatio, maxOpenIndex = 1.5, 0.9, 10 << 20

// judge collects the targets that were missed.
func (r *ListReport) judge() {
	r.Missed = []string{}
	miss := func(format string, args ...any) { r.Missed = append(r.Missed, fmt.Sprintf(format, args...)) }
	for _, x := range r.Reads {
		if x.TargetP50 > 0 && x.P50 > x.TargetP50 {
			miss("%s: p50 %.2f ms, target %g ms", x.Name, x.P50, x.TargetP50)
		}
		if x.TargetP99 > 0 && x.P99 > x.TargetP99 {
			miss("%s: p99 %.2f ms, target %g ms", x.Name, x.P99, x.TargetP99)
		}
		if x.TargetP99 > 0 && x.Ratio > maxReadRatio {
			miss("%s: %.2f times its p50 at %d effects, target %g", x.Name, x.Ratio, r.BaseEffects, maxReadRatio)
		}
	}
	for _, x := range r.Writes {
		if x.Ratio < minWriteRatio {
			miss("%s: %.2f of the rate into an empty journal, target %g", x.Name, x.Ratio, minWriteRatio)
		}
	}
	for _, x := range r.Indexes {
		if strings.HasPrefix(x.Name, "effects_open") && x.Bytes > maxOpenIndex {
			miss("%s: %.1f MB", x.Name, float64(x.Bytes)/(1<<20))
		}
	}
}

func (r *ListReport) print(out io.Writer, asJSON bool) error {
	if asJSON {
		e := json.NewEncoder(out)
		e.SetIndent("", "  ")
		return e.Encode(r)
	}
	w := tabwriter.NewWriter(out, 0, 4, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintf(w, "%d effects of %.0f bytes, %d open, filled in %.0f s, PostgreSQL %s; ratio to %d effects with %d open\n\n",
		r.Effects, r.RowBytes, r.Open, r.FillSeconds, r.Postgres, r.BaseEffects, r.BaseOpen)
	fmt.Fprint(w, "p50 ms\tp99 ms\tratio\ttimes\t  read\n")
	for _, x := range r.Reads {
		fmt.Fprintf(w, "%.3f\t%.3f\t%.2f\t%d\t  %s\n", x.P50, x.P99, x.Ratio, x.Times, x.Name)
	}
	fmt.Fprint(w, "\nfull /s\tempty /s\tratio\tWAL\tof empty\t  write\n")
	for _, x := range r.Writes {
		fmt.Fprintf(w, "%.0f\t%.0f\t%.2f\t%.0f\t%.0f\t  %s\n", x.Full, x.Empty, x.Ratio, x.FullWAL, x.EmptyWAL, x.Name)
	}
	fmt.Fprint(w, "\nMB\t  index\n")
	for _, x := range r.Indexes {
		fmt.Fprintf(w, "%.2f\t  %s\n", float64(x.Bytes)/(1<<20), x.Name)
	}
	err := w.Flush()
	if len(r.Missed) == 0 {
		fmt.Fprintln(out, "\nEvery target is met.")
		return err
	}
	fmt.Fprintf(out, "\nMissed:\n  %s\n", strings.Join(r.Missed, "\n  "))
	return err
}

func indexSizes(ctx context.Context, j *listJournal) ([]ListIndex, error) {
	rows, err := j.pool.Query(ctx, `select indexrelid::regclass::text, pg_relation_size(indexrelid) from pg_index where indrelid = 'effects'::regclass order by 2 desc`)
	if err != nil {
		return nil, fmt.Errorf("measuring indexes: %w", err)
	}
	defer rows.Close()
	var out []ListIndex
	for rows.Next() {
		var x ListIndex
		if err := rows.Scan(&x.Name, &x.Bytes); err != nil {
			return nil, fmt.Errorf("measuring indexes: %w", err)
		}
		out = append(out, x)
	}
	return out, rows.Err()
}

// quantile returns the q-th of sorted times, in milliseconds.
func quantile(sorted []time.Duration, q float64) float64 {
	if len(sorted) == 0 {
		return 0
	}
	return float64(sorted[min(int(q*float64(len(sorted))), len(sorted)-1)].Nanoseconds()) / 1e6
}

// listRead is one read, for effect number i of a run.
type listRead struct {
	name     string
	p50, p99 float64 // targets; 0 = none
	do       func(ctx context.Context, j *listJournal, i int) error
}

// measure runs the read on both journals in turns, each warmed up first, and
// compares turn by turn: what else the machine does changes from one turn to the
// next.
func (x listRead) measure(ctx context.Context, full, base *listJournal, d time.Duration) (ListRead, error) {
	var took [2][]time.Duration
	var ratios []float64
	turns := max(rounds, int(d/longestTurn)) | 1
	for turn := range turns + 1 {
		each := d / time.Duration(turns)
		if turn == 0 {
			each = d / 4 // warms up, and is not counted
		}
		var p50 [2]float64
		for k, j := range []*listJournal{full, base} {
			var these []time.Duration
			for begun := time.Now(); len(these) < 5 || time.Since(begun) < each; {
				at := time.Now()
				if err := x.do(ctx, j, turn*1009+len(these)); err != nil {
					return ListRead{}, err
				}
				these = append(these, time.Since(at))
			}
			slices.Sort(these)
			p50[k] = quantile(these, 0.5)
			if turn > 0 {
				took[k] = append(took[k], these...)
			}
		}
		if turn > 0 {
			ratios = append(ratios, p50[0]/p50[1])
		}
	}
	slices.Sort(took[0])
	slices.Sort(took[1])
	slices.Sort(ratios)
	return ListRead{Name: x.name, P50: quantile(took[0], 0.5), P99: quantile(took[0], 0.99), BaseP50: quantile(took[1], 0.5), Times: len(took[0]),
		Ratio: ratios[len(ratios)/2], TargetP50: x.p50, TargetP99: x.p99}, nil
}

var errWrongAnswer = errors.New("the journal gave another answer than it must")
