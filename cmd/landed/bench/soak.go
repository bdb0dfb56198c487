package bench

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"sync/atomic"
	"text/tabwriter"
	"time"

	"github.com/landedhq/landed/journal"
	"github.com/landedhq/landed/journal/journaltest/fault"
	"github.com/landedhq/landed/journal/postgres"
	"github.com/landedhq/landed/journal/postgres/cluster"
)

// SoakOptions shape a soak. The zero value is a short one.
type SoakOptions struct {
	Effects   int           // to be begun; 0 = 1,000
	Faults    int           // to be injected on the way; 0 = one for 100 effects
	Workers   int           // side by side; 0 = 32
	Kills     int           // of the database server, among the faults; 0 = one for 1,000 faults, at least 1; negative = none
	Limit     time.Duration // no effect is begun after it; 0 = none
	Settle    time.Duration // for what is open then; 0 = 5 min
	Seed      uint64        // of what happens when; 0 = random. Threads still race.
	Ungrouped bool          // every begin and commit in a transaction of its own
	BinDir    string        // PostgreSQL's programs; "" = found
}

// SoakReport is what a soak came to.
type SoakReport struct {
	Seed    uint64  `json:"seed"`
	Effects int     `json:"effects"` // begun
	Seconds float64 `json:"seconds"` // until the last of them was settled
	// PerSecond counts whole effects, faults and recoveries included.
	PerSecond float64 `json:"effects_per_s"`
	// Faults that struck, by kind.
	Faults   map[string]int `json:"faults"`
	Injected int            `json:"faults_injected"`

	// What must be zero. Lost is the sum of the next two.
	Lost                int    `json:"lost"`
	LostIntents         int    `json:"acknowledged_intents_lost"`
	LostCommits         int    `json:"acknowledged_commits_lost"`
	UnorderedDuplicates int    `json:"unordered_duplicates"`
	Untrue              int    `json:"closed_against_the_truth"`
	Unsettled           int    `json:"unsettled"`
	Undelivered         int    `json:"undelivered"`
	BrokenAudit         string `json:"audit_trail_broken,omitempty"`

	// What happened on the way.
	Duplicates int            `json:"duplicates"` // landed twice, ordered or not
	States     map[string]int `json:"states"`
	Attempts   int            `json:"attempts"` // granted
	Decisions  int            `json:"decisions"`
	Orders     int            `json:"orders"`
	Evidence   int            `json:"evidence"`
	Flagged    int            `json:"flagged"` // contradicted or probably double
	AuditRows  int64          `json:"audit_rows"`
	// Where something is unsettled: how some of it stands, and what the background
	// rounds said last.
	Open   []string       `json:"open,omitempty"`
	Rounds []string       `json:"rounds,omitempty"`
	Errors map[string]int `json:"errors,omitempty"` // that callers of Do got, by kind
}

// OK reports whether everything that must be zero is. Duplicates that an
// operator ordered are not among it.
func (r SoakReport) OK() bool {
	return r.LostIntents+r.LostCommits+r.UnorderedDuplicates+r.Untrue+r.Unsettled+r.Undelivered == 0 && r.BrokenAudit == ""
}

// ErrSoakFailed: the soak found what must not be.
var ErrSoakFailed = errors.New("the soak found lost, doubled or unsettled effects")

// Soak lets workers run effects against a provider in memory while connections,
// answers, workers and the database server fail; a sweeper, a collector and an
// operator settle what gets stuck. In the end what the workers were told and
// what the provider did is compared with what the journal holds. The error is
// ErrSoakFailed if they differ; the report is printed all the same.
func Soak(ctx context.Context, o SoakOptions, out io.Writer, asJSON bool) (SoakReport, error) {
	o = o.withDefaults()
	s, err := newSoak(ctx, o)
	if err != nil {
		return SoakReport{}, err
	}
	defer s.close()
	began := time.Now()
	begun := s.run(ctx)
	report := SoakReport{Seed: o.Seed, Effects: begun, Seconds: time.Since(began).Seconds(), Faults: s.faults.counts(), Errors: s.errors.counts()}
	report.PerSecond = float64(begun) / report.Seconds
	for _, n := range report.Faults {
		report.Injected += n
	}
	if ctx.Err() != nil {
		return report, ctx.Err()
	}
	if err := s.check(ctx, &report); err != nil {
		return report, err
	}
	if err := report.print(out, asJSON); err != nil {
		return report, err
	}
	if !report.OK() {
		return report, ErrSoakFailed
	}
	return report, nil
}

func (o SoakOptions) withDefaults() SoakOptions {
	if o.Effects <= 0 {
		o.Effects = 1000
	}
	if o.Faults <= 0 {
		o.Faults = max(o.Effects/100, 1)
	}
	if o.Workers <= 0 {
		o.Workers = 32
	}
	if o.Kills == 0 {
		o.Kills = max(o.Faults/1000, 1)
	}
	if o.Settle <= 0 {
		o.Settle = 5 * time.Minute
	}
	if o.Seed == 0 {
		o.Seed = rand.Uint64()
	}
	return o
}

// Times of the soak: short, so that what gets stuck comes loose again.
const (
	soakLease    = time.Second
	soakTimeout  = time.Second            // of one request to the provider
	soakLateness = 250 * time.Millisecond // a request lands at most so late
	soakHorizon  = 400 * time.Millisecond // after which the provider swears that it won't
	soakRound    = 100 * time.Millisecond // of the background work
	soakPause    = soakLease + soakTimeout + time.Second
)

func soakPolicy() journal.Policy {
	p := journal.DefaultPolicy()
	p.Version = "soak/1"
	p.MinLease, p.DefaultLease = 100*time.Millisecond, soakLease
	p.BackoffBase, p.BackoffCap = 20*time.Millisecond, 500*time.Millisecond
	p.RetryGrace, p.AlertInterval = time.Second, time.Second
	p.VerifyLimit = 50
	return p
}

// soak is one run.
type soak struct {
	o        SoakOptions
	dir      string
	pg       *cluster.Cluster
	pgMu     sync.Mutex // guards pg: the injector kills it
	proxy    *fault.Proxy
	store    *postgres.Store // behind the proxy, as everything that runs
	provider *soakProvider
	facts    []atomic.Uint32 // by effect: what its workers were told
	queue    *soakQueue
	faults   counter
	errors   counter
	deaths   atomic.Int64 // of workers, that are due
	pauses   atomic.Int64
	dice     *dice
	log      *slog.Logger
	said     []atomic.Pointer[string] // by background round: its last words
}

func newSoak(ctx context.Context, o SoakOptions) (*soak, error) {
	s := &soak{o: o, facts: make([]atomic.Uint32, o.Effects), queue: newSoakQueue(o.Effects), dice: newDice(o.Seed), log: slog.New(slog.DiscardHandler)}
	s.provider = newSoakProvider(&s.faults)
	var err error
	if s.dir, err = os.MkdirTemp("", "landed-soak-"); err != nil {
		return nil, fmt.Errorf("making a folder: %w", err)
	}
	if err := s.open(ctx); err != nil {
		s.close()
		return nil, err
	}
	return s, nil
}

func (s *soak) open(ctx context.Context) error {
	if err := os.Chmod(s.dir, 0o755); err != nil { //nolint:gosec // Postgres runs under another account when we are root
		return fmt.Errorf("making a folder: %w", err)
	}
	if err := s.startServer(ctx); err != nil {
		return err
	}
	if err := postgres.Migrate(ctx, s.pg.DSN("postgres")); err != nil {
		return err
	}
	var err error
	if s.proxy, err = fault.Listen(s.pg.DSN("postgres")); err != nil {
		return err
	}
	s.store, err = postgres.Open(ctx, s.proxy.DSN(), postgres.Options{Policy: soakPolicy(), MaxConns: 24, Ungrouped: s.o.Ungrouped,
		CanLook: func(string) bool { return true }})
	if err != nil {
		return err
	}
	return s.provider.tools(ctx, s.store)
}

// startServer starts the private server, again on the same files after a kill.
func (s *soak) startServer(ctx context.Context) error {
	pg, err := cluster.Start(context.WithoutCancel(ctx), cluster.Config{Dir: filepath.Join(s.dir, "pg"), BinDir: s.o.BinDir, Download: true})
	if err != nil {
		return err
	}
	s.pgMu.Lock()
	defer s.pgMu.Unlock()
	s.pg = pg
	return nil
}

func (s *soak) close() {
	if s.proxy != nil {
		s.proxy.Close() // first: closing a pool waits for connections that are silent
	}
	if s.store != nil {
		s.store.Close()
	}
	if s.pg != nil {
		_ = s.pg.Stop()
	}
	_ = os.RemoveAll(s.dir)
}

// run works until all is settled, or the time for it is over, and returns how
// many effects were begun.
func (s *soak) run(ctx context.Context) (begun int) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	var background, workers sync.WaitGroup
	beside := s.rounds()
	s.said = make([]atomic.Pointer[string], len(beside))
	for i, round := range beside {
		background.Go(func() { s.repeat(ctx, round, &s.said[i]) })
	}
	injected := make(chan struct{})
	background.Go(func() { defer close(injected); s.inject(ctx) })
	for range s.o.Workers {
		workers.Go(func() { s.work(ctx) })
	}
	begun = s.queue.wait(ctx, s.o.Limit, s.o.Settle)
	s.queue.stop()
	workers.Wait()
	s.settled(ctx, injected)
	cancel()
	background.Wait()
	return begun
}

// settled waits until the last faults struck and every resolution was picked up.
func (s *soak) settled(ctx context.Context, injected <-chan struct{}) {
	select {
	case <-injected:
	case <-ctx.Done():
	}
	for end := time.Now().Add(s.o.Settle); ctx.Err() == nil && time.Now().Before(end); wait(ctx, soakRound) {
		var open int
		c, err := s.direct(ctx)
		if err != nil {
			continue
		}
		err = c.QueryRow(ctx, "select count(*) from deliveries where acked_at is null").Scan(&open)
		_ = c.Close(ctx)
		if err == nil && open == 0 {
			return
		}
	}
}

// repeat runs a round of background work again and again. Its errors are the
// faults': the next round tries again. What the last whole one said is kept.
func (s *soak) repeat(ctx context.Context, round func(context.Context) error, said *atomic.Pointer[string]) {
	t := time.NewTicker(soakRound)
	defer t.Stop()
	for {
		once, cancel := context.WithTimeout(ctx, 5*time.Second)
		begun := time.Now()
		err := round(once)
		cancel()
		if text := fmt.Sprintf("%v: %.400v", time.Since(begun).Round(time.Millisecond), err); ctx.Err() == nil {
			said.Store(&text)
		}
		select {
		case <-ctx.Done():
			return
		case <-t.C:
		}
	}
}

func (r SoakReport) print(out io.Writer, asJSON bool) error {
	if asJSON {
		e := json.NewEncoder(out)
		e.SetIndent("", "  ")
		return e.Encode(r)
	}
	w := tabwriter.NewWriter(out, 0, 4, 2, ' ', 0)
	line := func(name string, v any) { fmt.Fprintf(w, "%s\t%v\n", name, v) }
	line("effects", r.Effects)
	line("seconds", fmt.Sprintf("%.1f", r.Seconds))
	line("effects per second", fmt.Sprintf("%.0f", r.PerSecond))
	line("faults injected", r.Injected)
	for _, k := range slices.Sorted(maps.Keys(r.Faults)) {
		line("  "+k, r.Faults[k])
	}
	line("lost", r.Lost)
	line("acknowledged intents lost", r.LostIntents)
	line("acknowledged commits lost", r.LostCommits)
	line("unordered duplicates", r.UnorderedDuplicates)
	line("closed against the truth", r.Untrue)
	line("unsettled", r.Unsettled)
	line("undelivered", r.Undelivered)
	if r.BrokenAudit != "" {
		line("audit trail", r.BrokenAudit)
	}
	for _, k := range slices.Sorted(maps.Keys(r.States)) {
		line(k, r.States[k])
	}
	line("attempts", r.Attempts)
	line("decisions", r.Decisions)
	line("orders", r.Orders)
	line("looks", r.Evidence)
	line("flagged", r.Flagged)
	line("duplicates, ordered ones too", r.Duplicates)
	line("seed", r.Seed)
	for _, text := range append(r.Rounds, r.Open...) {
		line("", text)
	}
	return w.Flush()
}

// counter counts by kind.
type counter struct {
	mu sync.Mutex
	n  map[string]int
}

func (c *counter) add(kind string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.n == nil {
		c.n = map[string]int{}
	}
	c.n[kind]++
}

func (c *counter) counts() map[string]int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return maps.Clone(c.n)
}

// dice are random numbers that several goroutines share.
type dice struct {
	mu sync.Mutex
	r  *rand.Rand
}

func newDice(seed uint64) *dice { return &dice{r: rand.New(rand.NewPCG(seed, 1))} } //nolint:gosec // no secret

func (d *dice) below(n int) int {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.r.IntN(n)
}
