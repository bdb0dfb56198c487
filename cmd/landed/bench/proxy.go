package bench

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"text/tabwriter"
	"time"

	"github.com/landedhq/landed/journal"
	"github.com/landedhq/landed/journal/postgres"
	"github.com/landedhq/landed/journal/postgres/cluster"
	"github.com/landedhq/landed/journal/worker"
	"github.com/landedhq/landed/journal/worker/httpkey"
)

// ProxyOptions shape one run of the proxy's benchmark.
type ProxyOptions struct {
	Seconds float64 // per width, all ways together
	Clients []int   // nil = 1, 8, 32
	Retries int     // of the storm; 0 = 1,000
	Keys    int     // of the storm; 0 = 50
	BinDir  string  // PostgreSQL's programs; "" = found
}

// ProxyReport is the whole measurement.
type ProxyReport struct {
	Rows  []ProxyRow `json:"rows"`
	Storm ProxyStorm `json:"storm"`
}

// ProxyRow is what was measured with so many clients: a service bare, the journal's
// two writes alone, and the same service behind the proxy, each request under a key
// of its own.
type ProxyRow struct {
	Clients int     `json:"clients"`
	Bare    float64 `json:"bare_per_s"`
	Journal float64 `json:"journal_per_s"` // begin and commit, without any HTTP
	Proxied float64 `json:"proxied_per_s"`
	// Ratio is Proxied/Bare, JournalRatio Proxied/Journal: medians of the rounds'
	// ratios.
	Ratio        float64 `json:"ratio"`
	JournalRatio float64 `json:"journal_ratio"`
	BareP50      float64 `json:"bare_p50_us"`
	BareP99      float64 `json:"bare_p99_us"`
	JournalP50   float64 `json:"journal_p50_us"`
	JournalP99   float64 `json:"journal_p99_us"`
	ProxiedP50   float64 `json:"proxied_p50_us"`
	ProxiedP99   float64 `json:"proxied_p99_us"`
	AddedP50     float64 `json:"added_p50_us"` // Proxied less Bare
	AddedP99     float64 `json:"added_p99_us"`
}

// ProxyStorm is what came of retries that arrive all at once.
type ProxyStorm struct {
	Retries    int     `json:"retries"`
	Keys       int     `json:"keys"`
	Effects    int     `json:"effects"`     // what the service did: must equal Keys
	Agreed     int     `json:"agreed"`      // clients that ended with their key's one answer: must equal Retries
	TurnedAway int     `json:"turned_away"` // answers that told a client to come back
	Requests   int     `json:"requests"`    // with the retries of those
	Seconds    float64 `json:"seconds"`
}

// proxyRounds is how often the ways take turns within a width.
const proxyRounds = 6

// Proxy measures a service bare beside the same service behind the guarding
// proxy, and the journal's part of that, interleaved in one run, and then lets a storm of retries loose on it. It
// fails if the storm made more or fewer effects than it has keys, or if a client
// ended with anything but its key's answer.
func Proxy(ctx context.Context, o ProxyOptions, out io.Writer, asJSON bool) (ProxyReport, error) {
	o = o.withDefaults()
	b, err := newProxyBench(ctx, o)
	if err != nil {
		return ProxyReport{}, err
	}
	defer b.close()
	var r ProxyReport
	for _, n := range o.Clients {
		row, err := b.cell(ctx, n)
		if err != nil {
			return r, err
		}
		r.Rows = append(r.Rows, row)
	}
	if r.Storm, err = b.storm(ctx); err != nil {
		return r, err
	}
	if err := r.print(out, asJSON); err != nil {
		return r, err
	}
	return r, r.Storm.check()
}

func (o ProxyOptions) withDefaults() ProxyOptions {
	if o.Clients == nil {
		o.Clients = []int{1, 8, 32}
	}
	if o.Seconds <= 0 {
		o.Seconds = 10
	}
	if o.Retries <= 0 {
		o.Retries = 1000
	}
	if o.Keys <= 0 {
		o.Keys = 50
	}
	return o
}

func (s ProxyStorm) check() error {
	if s.Effects != s.Keys || s.Agreed != s.Retries {
		return fmt.Errorf("the storm of %d requests under %d keys made %d effects, and %d clients ended with their key's answer", s.Retries, s.Keys, s.Effects, s.Agreed)
	}
	return nil
}

type proxyBench struct {
	opts          ProxyOptions
	dir           string
	pg            *cluster.Cluster
	store         *postgres.Store
	service       *countingService
	bare, proxied string // addresses
	servers       []*http.Server
	client        *http.Client
	key           atomic.Int64
}

// countingService counts what it does by the number in the body, and answers
// with how often it has done that.
type countingService struct {
	mu   sync.Mutex
	done map[string]int
}

func (s *countingService) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		panic(http.ErrAbortHandler)
	}
	s.mu.Lock()
	s.done[string(body)]++
	n := s.done[string(body)]
	s.mu.Unlock()
	w.Header().Set("Content-Type", "application/json")
	_, _ = fmt.Fprintf(w, `{"id":"%d","of":%s}`, n, body)
}

func (s *countingService) count() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	n := 0
	for _, times := range s.done {
		n += times
	}
	return n
}

func newProxyBench(ctx context.Context, o ProxyOptions) (b *proxyBench, err error) {
	b = &proxyBench{opts: o, service: &countingService{done: map[string]int{}}, client: &http.Client{Timeout: time.Minute,
		Transport: &http.Transport{MaxIdleConnsPerHost: 2048, DisableCompression: true}}}
	defer func() {
		if err != nil {
			b.close()
		}
	}()
	if b.dir, err = os.MkdirTemp("", "landed-bench-"); err != nil {
		return b, fmt.Errorf("making a folder: %w", err)
	}
	if err = os.Chmod(b.dir, 0o755); err != nil { //nolint:gosec // Postgres runs under another account when we are root
		return b, fmt.Errorf("making a folder: %w", err)
	}
	if b.pg, err = cluster.Start(context.WithoutCancel(ctx), cluster.Config{Dir: filepath.Join(b.dir, "pg"), BinDir: o.BinDir, Download: true}); err != nil {
		return b, err
	}
	dsn := b.pg.DSN("postgres")
	if err = postgres.Migrate(ctx, dsn); err != nil {
		return b, err
	}
	log := slog.New(slog.DiscardHandler)
	if b.store, err = postgres.Open(ctx, dsn, postgres.Options{MaxConns: 16, Logger: log}); err != nil {
		return b, err
	}
	if err = b.store.RegisterTool(ctx, journal.Tool{Name: "bracket", Class: journal.ClassAtMostOnce, ClientTimeout: 30 * time.Second}); err != nil {
		return b, err
	}
	if b.bare, err = b.listen(ctx, b.service); err != nil {
		return b, err
	}
	front, err := b.front(log)
	if err != nil {
		return b, err
	}
	b.proxied, err = b.listen(ctx, front)
	return b, err
}

// front is the proxy as `landed proxy` runs it, on the database.
func (b *proxyBench) front(log *slog.Logger) (http.Handler, error) {
	upstream, err := url.Parse(b.bare)
	if err != nil {
		return nil, fmt.Errorf("reading the service's address: %w", err)
	}
	forward, err := httpkey.Forward(upstream, nil, log)
	if err != nil {
		return nil, err
	}
	guard, err := httpkey.New(httpkey.Config{Journal: b.store, Tool: journal.Tool{Name: "bench"}, Client: httpkey.OneClient(), Tracked: true,
		Worker: worker.Options{Logger: log}})
	if err != nil {
		return nil, err
	}
	return guard(forward), nil
}

func (b *proxyBench) listen(ctx context.Context, h http.Handler) (string, error) {
	l, err := (&net.ListenConfig{}).Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return "", fmt.Errorf("listening: %w", err)
	}
	s := &http.Server{Handler: h, ReadHeaderTimeout: 5 * time.Second}
	b.servers = append(b.servers, s)
	go func() { _ = s.Serve(l) }()
	return "http://" + l.Addr().String(), nil
}

func (b *proxyBench) close() {
	for _, s := range b.servers {
		_ = s.Close()
	}
	if b.store != nil {
		b.store.Close()
	}
	if b.pg != nil {
		_ = b.pg.Stop() // measured already
	}
	_ = os.RemoveAll(b.dir)
}

// proxyTurn is one way's turn.
type proxyTurn struct {
	rate float64
	took []time.Duration
}

// cell lets the three ways take turns with so many clients.
func (b *proxyBench) cell(ctx context.Context, clients int) (ProxyRow, error) {
	ways := []func(context.Context, string) error{b.through(b.bare), b.bracket, b.through(b.proxied)}
	turns := make([][]proxyTurn, len(ways))
	each := time.Duration(b.opts.Seconds / proxyRounds / float64(len(ways)) * float64(time.Second))
	for round := range proxyRounds {
		for k := range ways {
			w := (k + round) % len(ways) // nobody is always first
			t, err := b.turn(ctx, ways[w], clients, each)
			if err != nil {
				return ProxyRow{}, err
			}
			turns[w] = append(turns[w], t)
		}
	}
	r := ProxyRow{Clients: clients, Ratio: ratioOf(turns[2], turns[0]), JournalRatio: ratioOf(turns[2], turns[1])}
	r.Bare, r.BareP50, r.BareP99 = summed(turns[0])
	r.Journal, r.JournalP50, r.JournalP99 = summed(turns[1])
	r.Proxied, r.ProxiedP50, r.ProxiedP99 = summed(turns[2])
	r.AddedP50, r.AddedP99 = r.ProxiedP50-r.BareP50, r.ProxiedP99-r.BareP99
	return r, nil
}

// ratioOf compares round by round: see medianRatio.
func ratioOf(a, b []proxyTurn) float64 {
	var rs []float64
	for i := range a {
		rs = append(rs, a[i].rate/b[i].rate)
	}
	slices.Sort(rs)
	return rs[len(rs)/2]
}

// summed is the median rate of the turns and the percentiles of all their
// requests, in microseconds.
func summed(turns []proxyTurn) (rate, p50, p99 float64) {
	var rates []float64
	var all []time.Duration
	for _, t := range turns {
		rates, all = append(rates, t.rate), append(all, t.took...)
	}
	slices.Sort(rates)
	slices.Sort(all)
	return rates[len(rates)/2], float64(all[len(all)/2].Microseconds()), float64(all[min(len(all)-1, len(all)*99/100)].Microseconds())
}

// turn repeats one way, each time with a number of its own.
func (b *proxyBench) turn(ctx context.Context, way func(context.Context, string) error, clients int, d time.Duration) (proxyTurn, error) {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	took := make([][]time.Duration, clients)
	begun := time.Now()
	var wg sync.WaitGroup
	for c := range clients {
		wg.Go(func() {
			for first := true; (first || time.Since(begun) < d) && ctx.Err() == nil; first = false {
				at := time.Now()
				if err := way(ctx, strconv.FormatInt(b.key.Add(1), 10)); err != nil {
					cancel(err)
					return
				}
				took[c] = append(took[c], time.Since(at))
			}
		})
	}
	wg.Wait()
	elapsed := time.Since(begun).Seconds()
	if err := context.Cause(ctx); err != nil {
		return proxyTurn{}, fmt.Errorf("measuring: %w", err)
	}
	all := slices.Concat(took...)
	return proxyTurn{rate: float64(len(all)) / elapsed, took: all}, nil
}

// through sends one request to an address.
func (b *proxyBench) through(address string) func(context.Context, string) error {
	return func(ctx context.Context, n string) error {
		code, body, err := b.send(ctx, address, "key-"+n, n)
		if err == nil && (code != http.StatusOK || body != `{"id":"1","of":`+n+`}`) {
			err = fmt.Errorf("answered %d %s", code, body)
		}
		return err
	}
}

// bracket does what the journal does for one request.
func (b *proxyBench) bracket(ctx context.Context, n string) error {
	key := "bracket/" + n
	a, err := b.store.Begin(ctx, journal.BeginRequest{Key: key, ClaimID: journal.NewToken(), Tool: "bracket", RootRun: key, Step: "http", Operation: "POST /effects",
		Args: []byte(`{"method":"POST","path":"/effects","body_text":"` + n + `"}`)})
	if err != nil {
		return err
	}
	_, err = b.store.Commit(ctx, journal.CommitRequest{Report: journal.Report{EffectID: a.EffectID, Attempt: 1, LeaseToken: a.LeaseToken, Key: key, Tool: "bracket"},
		ProviderID: "1", Result: []byte(`{"status":200,"body":{"id":"1","of":` + n + `}}`)})
	return err
}

func (b *proxyBench) send(ctx context.Context, address, key, body string) (int, string, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, address+"/effects", strings.NewReader(body))
	if err != nil {
		return 0, "", err
	}
	req.GetBody = nil // or Go's transport would repeat it by itself, and not be counted
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set(httpkey.HeaderName, key)
	//landed:unjournaled a client of the guard, which journals for it; beside it the bare service is measured
	res, err := b.client.Do(req)
	if err != nil {
		return 0, "", err
	}
	defer func() { _ = res.Body.Close() }()
	got, err := io.ReadAll(res.Body)
	return res.StatusCode, string(got), err
}

// storm sends all retries at once, each client again until it has an answer that
// is not "come back".
func (b *proxyBench) storm(ctx context.Context) (ProxyStorm, error) {
	s := ProxyStorm{Retries: b.opts.Retries, Keys: b.opts.Keys}
	before, run := b.service.count(), journal.NewToken()
	start := make(chan struct{})
	var agreed, away, requests atomic.Int64
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	var wg sync.WaitGroup
	for i := range s.Retries {
		wg.Go(func() {
			<-start
			k := strconv.Itoa(i % s.Keys)
			body := `"` + run + "-" + k + `"`
			for ctx.Err() == nil {
				requests.Add(1)
				code, got, err := b.send(ctx, b.proxied, run+"-"+k, body)
				switch {
				case err != nil:
					cancel(err)
				case code == http.StatusConflict, code == http.StatusServiceUnavailable: // nothing was executed
					away.Add(1)
					time.Sleep(10 * time.Millisecond) // clients obey Retry-After; these are in a hurry
					continue
				case code == http.StatusOK && got == `{"id":"1","of":`+body+`}`:
					agreed.Add(1)
				default:
					cancel(fmt.Errorf("a client of the storm was answered %d %s", code, got))
				}
				return
			}
		})
	}
	begun := time.Now()
	close(start)
	wg.Wait()
	if err := context.Cause(ctx); err != nil {
		return s, fmt.Errorf("storming: %w", err)
	}
	s.Seconds, s.Effects = time.Since(begun).Seconds(), b.service.count()-before
	s.Agreed, s.TurnedAway, s.Requests = int(agreed.Load()), int(away.Load()), int(requests.Load())
	return s, nil
}

func (r ProxyReport) print(out io.Writer, asJSON bool) error {
	if asJSON {
		return json.NewEncoder(out).Encode(r)
	}
	w := tabwriter.NewWriter(out, 0, 4, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintln(w, "clients\tbare/s\tjournal/s\tproxied/s\tto bare\tto journal\tbare p50\tp99\tjournal p50\tp99\tproxied p50\tp99\tadded p50\tp99\t")
	for _, x := range r.Rows {
		fmt.Fprintf(w, "%d\t%.0f\t%.0f\t%.0f\t%.3f\t%.2f\t%.0f µs\t%.0f µs\t%.0f µs\t%.0f µs\t%.0f µs\t%.0f µs\t%.0f µs\t%.0f µs\t\n", x.Clients, x.Bare, x.Journal, x.Proxied,
			x.Ratio, x.JournalRatio, x.BareP50, x.BareP99, x.JournalP50, x.JournalP99, x.ProxiedP50, x.ProxiedP99, x.AddedP50, x.AddedP99)
	}
	if err := w.Flush(); err != nil {
		return err
	}
	_, err := fmt.Fprintf(out, "storm: %d requests at once under %d keys made %d effects in %.1f s; %d clients ended with their key's answer, %d answers said to come back\n",
		r.Storm.Retries, r.Storm.Keys, r.Storm.Effects, r.Storm.Seconds, r.Storm.Agreed, r.Storm.TurnedAway)
	return err
}
