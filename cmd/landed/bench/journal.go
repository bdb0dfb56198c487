package bench

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strconv"
	"sync"
	"sync/atomic"
	"text/tabwriter"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/landedhq/landed/journal"
	"github.com/landedhq/landed/journal/postgres"
	"github.com/landedhq/landed/journal/postgres/cluster"
)

// JournalOptions shape one run of the writing benchmark.
type JournalOptions struct {
	Seconds float64 // per variant and width
	Workers []int   // nil = 1, 8, 32, 64
	BinDir  string  // PostgreSQL's programs; "" = found
	JSON    bool
}

// JournalRow is what was measured at one width.
type JournalRow struct {
	Workers int `json:"workers"`
	// Effects per second, begin and commit each durable.
	Hand    float64 `json:"pgx_per_s"`     // the same two statements in pgx
	Library float64 `json:"library_per_s"` // the store a transaction each
	Group   float64 `json:"group_per_s"`   // the store with group commit
	Pgbench float64 `json:"pgbench_per_s,omitempty"`
	// Ratio is Library/Hand, GroupRatio Group/Hand: medians of the rounds' ratios.
	Ratio      float64 `json:"ratio"`
	GroupRatio float64 `json:"group_ratio"`
	// Per effect, of the store with group commit.
	P50Micros  float64 `json:"group_p50_us"`
	HandP50    float64 `json:"pgx_p50_us"`
	WALBytes   float64 `json:"wal_bytes"`
	Allocs     float64 `json:"allocs"`
	HandAllocs float64 `json:"pgx_allocs"`
	Statements float64 `json:"statements"`
}

// rounds is how often the variants take turns within a cell at least, and a turn
// is not longer than longestTurn: on a noisy machine only what runs in one breath
// can be compared, and of many such comparisons the median.
const (
	rounds      = 9
	longestTurn = 200 * time.Millisecond
)

// Journal measures begin and commit through the library against the same two
// statements hand-written in pgx, interleaved on one private cluster.
func Journal(ctx context.Context, o JournalOptions, out io.Writer) ([]JournalRow, error) {
	if o.Workers == nil {
		o.Workers = []int{1, 8, 32, 64}
	}
	dir, err := os.MkdirTemp("", "landed-bench-")
	if err != nil {
		return nil, fmt.Errorf("making a folder: %w", err)
	}
	defer os.RemoveAll(dir)                      //nolint:errcheck // a leftover in the temporary folder
	if err := os.Chmod(dir, 0o755); err != nil { //nolint:gosec // Postgres runs under another account when we are root
		return nil, fmt.Errorf("making a folder: %w", err)
	}
	pg, err := cluster.Start(context.WithoutCancel(ctx), cluster.Config{Dir: filepath.Join(dir, "pg"), BinDir: o.BinDir, Download: true})
	if err != nil {
		return nil, err
	}
	defer pg.Stop() //nolint:errcheck // measured already
	dsn := pg.DSN("postgres")
	if err := postgres.Migrate(ctx, dsn); err != nil {
		return nil, err
	}
	b := &journalBench{dsn: dsn, opts: o, bin: pg.Binaries().Dir, dir: dir}
	if err := b.open(ctx); err != nil {
		return nil, err
	}
	defer b.close()
	var rows []JournalRow
	for _, w := range o.Workers {
		r, err := b.cell(ctx, w)
		if err != nil {
			return rows, err
		}
		rows = append(rows, r)
	}
	return rows, printJournal(rows, o, out)
}

type journalBench struct {
	dsn, bin, dir string
	opts          JournalOptions
	pool          *pgxpool.Pool
	plain, group  *postgres.Store
	run           atomic.Int64
}

func (b *journalBench) open(ctx context.Context) error {
	cfg, err := pgxpool.ParseConfig(b.dsn)
	if err != nil {
		return fmt.Errorf("reading the database address: %w", err)
	}
	cfg.MaxConns = 16
	if b.pool, err = pgxpool.NewWithConfig(ctx, cfg); err != nil {
		return fmt.Errorf("connecting: %w", err)
	}
	b.plain = postgres.New(b.pool, postgres.Options{Ungrouped: true})
	b.group = postgres.New(b.pool, postgres.Options{})
	return b.group.RegisterTool(ctx, journal.Tool{Name: "bench", Class: journal.ClassAtMostOnce, Provider: "p", ClientTimeout: 30 * time.Second})
}

func (b *journalBench) close() { b.pool.Close() }

// variant does one effect; i numbers it within its root run.
type variant func(ctx context.Context, run string, i int) error

var benchArgs = []byte(`{"to":"somebody@example.com","subject":"A subject of ordinary length","body":"` + padding + `"}`)

const padding = "Lorem ipsum dolor sit amet, consetetur sadipscing elitr, sed diam nonumy eirmod tempor invidunt ut labore et dolore magna aliquyam erat, sed diam voluptua. At vero eos et accusam et justo duo dolores."

func (b *journalBench) library(s *postgres.Store) variant {
	return func(ctx context.Context, run string, i int) error {
		key := run + "/step/" + strconv.Itoa(i)
		a, err := s.Begin(ctx, journal.BeginRequest{Key: key, ClaimID: journal.NewToken(), Tool: "bench", RootRun: run, Step: "step", Operation: "op",
			Subject: "A subject of ordinary length", Args: benchArgs})
		if err != nil {
			return err
		}
		_, err = s.Commit(ctx, journal.CommitRequest{Report: journal.Report{EffectID: a.EffectID, Attempt: 1, LeaseToken: a.LeaseToken, Key: key, Tool: "bench"},
			ProviderID: "provider-id-1", Result: []byte(`{"ok":true}`)})
		return err
	}
}

// The two statements of the happy path, as somebody would write them who keeps
// the same row by hand.
const (
	handInsert = `insert into effects (id, namespace, key, ref, tool, class, provider, key_window_ms, client_timeout_ms, root_run, step, operation, subject,
	args, fingerprint, fingerprint_rule, state, created_at, state_at, claim_id, lease_token, worker, granted_at, lease_until, send_by, attempt_deadline, attempt_timeout_ms)
	select $1, '', $2, $3, t.name, t.class, t.provider, t.key_window_ms, t.client_timeout_ms, $4, $5, $6, $7, $8, $9, 1, 'INTENT', c.now, c.now, $10, $11, '',
	c.now, c.now + interval '1 minute', c.now + interval '1 minute', c.now + interval '90 seconds', t.client_timeout_ms
	from tools t, (select clock_timestamp() as now) c where t.name = $12 on conflict (namespace, key) do nothing returning key_window_ms`
	handUpdate = `update effects set state = 'COMMITTED', version = version + 1, result = $2, provider_id = $3, settled_by = 'worker',
	fenced_at = clock_timestamp(), state_at = clock_timestamp() where id = $1 and lease_token = $4 and state = 'INTENT' and attempt = 1 and fenced_at is null returning version`
)

func (b *journalBench) hand(ctx context.Context, run string, i int) error {
	key := run + "/step/" + strconv.Itoa(i)
	id, token := journal.NewID(time.Now()), journal.NewToken()
	var n int64
	if err := b.pool.QueryRow(ctx, handInsert, id, key, journal.Ref("", key), run, "step", "op", "A subject of ordinary length", benchArgs,
		"0123456789012345678901234567890123456789012345678901234567890123", journal.NewToken(), token, "bench").Scan(&n); err != nil {
		return err
	}
	return b.pool.QueryRow(ctx, handUpdate, id, []byte(`{"ok":true}`), "provider-id-1", token).Scan(&n)
}

// measured is one turn of one variant.
type measured struct {
	rate, p50, allocs, wal float64
}

// cell lets the variants take turns at one width.
func (b *journalBench) cell(ctx context.Context, workers int) (JournalRow, error) {
	variants := []variant{b.hand, b.library(b.plain), b.library(b.group)}
	turns := make([][]measured, len(variants))
	whole := time.Duration(b.opts.Seconds * float64(time.Second))
	n := max(rounds, int(whole/longestTurn)) | 1 // odd, so that there is one in the middle
	each := whole / time.Duration(n)
	for round := range n {
		for k := range variants {
			v := (k + round) % len(variants) // nobody is always first
			m, err := b.turn(ctx, variants[v], workers, each)
			if err != nil {
				return JournalRow{}, err
			}
			turns[v] = append(turns[v], m)
		}
	}
	r := JournalRow{Workers: workers, Hand: median(turns[0], rateOf), Library: median(turns[1], rateOf), Group: median(turns[2], rateOf),
		P50Micros: median(turns[2], func(m measured) float64 { return m.p50 }), HandP50: median(turns[0], func(m measured) float64 { return m.p50 }),
		WALBytes: median(turns[2], func(m measured) float64 { return m.wal }), Allocs: median(turns[2], func(m measured) float64 { return m.allocs }),
		HandAllocs: median(turns[0], func(m measured) float64 { return m.allocs }), Statements: 2}
	r.Ratio, r.GroupRatio = medianRatio(turns[1], turns[0]), medianRatio(turns[2], turns[0])
	var err error
	r.Pgbench, err = b.pgbench(ctx, workers)
	return r, err
}

// medianRatio compares round by round: what else the machine does changes from
// one round to the next more than within one.
func medianRatio(a, b []measured) float64 {
	var rs []float64
	for i := range a {
		rs = append(rs, a[i].rate/b[i].rate)
	}
	slices.Sort(rs)
	return rs[len(rs)/2]
}

func rateOf(m measured) float64 { return m.rate }

func median(ms []measured, f func(measured) float64) float64 {
	var vs []float64
	for _, m := range ms {
		vs = append(vs, f(m))
	}
	slices.Sort(vs)
	return vs[len(vs)/2]
}

func (b *journalBench) turn(ctx context.Context, v variant, workers int, d time.Duration) (measured, error) {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	wal := func() (n int64) {
		if err := b.pool.QueryRow(ctx, "select pg_wal_lsn_diff(pg_current_wal_insert_lsn(), '0/0')::bigint").Scan(&n); err != nil {
			cancel(err)
		}
		return n
	}
	var before, after runtime.MemStats
	walBefore := wal()
	runtime.ReadMemStats(&before)
	begun := time.Now()
	var wg sync.WaitGroup
	took := make([][]time.Duration, workers)
	for w := range workers {
		wg.Go(func() {
			run := journal.NewID(time.Now()) + "-" + strconv.FormatInt(b.run.Add(1), 10)
			for i := 0; time.Since(begun) < d && ctx.Err() == nil; i++ {
				at := time.Now()
				if err := v(ctx, run, i); err != nil {
					cancel(err)
					return
				}
				took[w] = append(took[w], time.Since(at))
			}
		})
	}
	wg.Wait()
	elapsed := time.Since(begun).Seconds()
	runtime.ReadMemStats(&after)
	walAfter := wal()
	if err := context.Cause(ctx); err != nil {
		return measured{}, fmt.Errorf("measuring: %w", err)
	}
	all := slices.Concat(took...)
	slices.Sort(all)
	n := float64(len(all))
	return measured{rate: n / elapsed, p50: float64(all[len(all)/2].Microseconds()), allocs: float64(after.Mallocs-before.Mallocs) / n,
		wal: float64(walAfter-walBefore) / n}, nil
}

var tps = regexp.MustCompile(`tps = ([0-9.]+)`)

// pgbench runs the same bracket by PostgreSQL's own load generator, where it is
// installed; 0 where it is not.
func (b *journalBench) pgbench(ctx context.Context, workers int) (float64, error) {
	exe := filepath.Join(b.bin, "pgbench")
	if _, err := os.Stat(exe); err != nil {
		return 0, nil
	}
	script := filepath.Join(b.dir, "bracket.sql")
	sql := `insert into effects (id, namespace, key, ref, tool, class, provider, client_timeout_ms, root_run, operation, args, fingerprint, fingerprint_rule, state,
 created_at, state_at, claim_id, lease_token, granted_at, lease_until, send_by, attempt_deadline)
 values (gen_random_uuid(), '', 'pgbench/' || clock_timestamp() || random(), md5(random()::text), 'bench', 'at_most_once', 'p', 30000, 'r', 'op', '\x` +
		fmt.Sprintf("%x", benchArgs) + `', md5('x'), 1, 'INTENT', clock_timestamp(), clock_timestamp(), 'c', md5(random()::text), now(), now(), now(), now())
 returning id as effect \gset
update effects set state = 'COMMITTED', version = version + 1, result = '\x7b7d', provider_id = 'p', settled_by = 'worker', fenced_at = clock_timestamp(), state_at = clock_timestamp()
 where id = ':effect' and state = 'INTENT' and fenced_at is null;
`
	if err := os.WriteFile(script, []byte(sql), 0o644); err != nil { //nolint:gosec // nothing secret
		return 0, fmt.Errorf("writing pgbench's script: %w", err)
	}
	out, err := exec.CommandContext(ctx, exe, "-n", "-c", strconv.Itoa(workers), "-j", "2", "-T", strconv.Itoa(max(1, int(b.opts.Seconds))), "-f", script, b.dsn).CombinedOutput()
	if err != nil {
		return 0, fmt.Errorf("pgbench: %w: %.500s", err, out)
	}
	m := tps.FindSubmatch(out)
	if m == nil {
		return 0, fmt.Errorf("pgbench printed no rate: %.500s", out)
	}
	return strconv.ParseFloat(string(m[1]), 64)
}

func printJournal(rows []JournalRow, o JournalOptions, out io.Writer) error {
	if o.JSON {
		return json.NewEncoder(out).Encode(map[string]any{"rows": rows})
	}
	w := tabwriter.NewWriter(out, 0, 4, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintln(w, "workers\tpgx/s\tlibrary/s\tratio\tgroup/s\tgroup ratio\tp50 pgx\tp50 group\tpgbench/s\tallocs pgx\tallocs group\tWAL B\t")
	for _, r := range rows {
		fmt.Fprintf(w, "%d\t%.0f\t%.0f\t%.2f\t%.0f\t%.2f\t%.0f µs\t%.0f µs\t%.0f\t%.0f\t%.0f\t%.0f\t\n", r.Workers, r.Hand, r.Library, r.Ratio,
			r.Group, r.GroupRatio, r.HandP50, r.P50Micros, r.Pgbench, r.HandAllocs, r.Allocs, r.WALBytes)
	}
	return w.Flush()
}
