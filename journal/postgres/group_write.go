package postgres

import (
	"cmp"
	"context"
	"slices"
	"sync/atomic"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/landedhq/landed/journal/postgres/internal/sqlc"
)

// minBatch is the length to which the columns of a batch are filled up with rows
// that match nothing. The server takes an unknown array for ten rows: a batch
// that is known to be shorter looks cheaper than its kept plan, and would be
// planned anew each time.
const minBatch = 16

// grownRows is from how many effects on a kept plan looks them up by their index.
const grownRows = 10_000

// statistics remembers whether the server knows that the journal has grown.
type statistics struct {
	grown   atomic.Bool
	checked atomic.Int64 // when it was last asked, Unix seconds
}

// planned is the connection for a batch that looks effects up. A plan that is
// kept from the first minute of a journal, before the server has statistics,
// would read the whole table for every batch of the following minute: until it
// has them, each batch is planned for the table as it is.
func (s *Store) planned(ctx context.Context) sqlc.DBTX {
	if s.stats.grown.Load() {
		return s.pool
	}
	now, was := time.Now().Unix(), s.stats.checked.Load()
	if now != was && s.stats.checked.CompareAndSwap(was, now) {
		var rows float64 // -1: none were counted yet
		err := s.pool.QueryRow(ctx, "select reltuples from pg_class where oid = to_regclass('effects')").Scan(&rows)
		if err == nil && rows >= grownRows {
			s.stats.grown.Store(true)
		}
	}
	return replanned{s.pool}
}

// replanned runs statements through the unnamed prepared statement, which is
// planned each time.
type replanned struct{ sqlc.DBTX }

func (r replanned) Query(ctx context.Context, sql string, args ...any) (pgx.Rows, error) {
	return r.DBTX.Query(ctx, sql, append([]any{pgx.QueryExecModeCacheDescribe}, args...)...)
}

// beginMany inserts effects, several in one statement. A row that is not
// inserted reads as pgx.ErrNoRows; an error undoes the statement.
func (s *Store) beginMany(ctx context.Context, ps []sqlc.BeginEffectParams) ([]outcome[sqlc.BeginEffectRow], error) {
	if len(ps) == 1 {
		v, err := s.q.BeginEffect(ctx, s.pool, ps[0])
		return []outcome[sqlc.BeginEffectRow]{{v, err}}, nil
	}
	rows, err := s.q.BeginEffects(ctx, s.pool, beginColumns(ps))
	if err != nil {
		return nil, err
	}
	written := make(map[string]sqlc.BeginEffectRow, len(rows))
	for _, r := range rows {
		written[r.ID] = sqlc.BeginEffectRow{KeyWindowMs: r.KeyWindowMs, AttemptTimeoutMs: r.AttemptTimeoutMs}
	}
	return outcomes(ps, written, func(p *sqlc.BeginEffectParams) string { return p.ID }), nil
}

// commitMany is beginMany for commits in time.
func (s *Store) commitMany(ctx context.Context, ps []sqlc.CommitEffectParams) ([]outcome[int64], error) {
	if len(ps) == 1 {
		v, err := s.q.CommitEffect(ctx, s.pool, ps[0])
		return []outcome[int64]{{v, err}}, nil
	}
	rows, err := s.q.CommitEffects(ctx, s.planned(ctx), commitColumns(ps))
	if err != nil {
		return nil, err
	}
	written := make(map[string]int64, len(rows))
	for _, r := range rows {
		written[r.ID] = r.Version
	}
	return outcomes(ps, written, func(p *sqlc.CommitEffectParams) string { return p.ID }), nil
}

// outcomes hands each parameter its row, the first one of an id only.
func outcomes[P, R any](ps []P, written map[string]R, id func(*P) string) []outcome[R] {
	out := make([]outcome[R], len(ps))
	for i := range ps {
		k := id(&ps[i])
		v, ok := written[k]
		if !ok {
			out[i].err = pgx.ErrNoRows
			continue
		}
		out[i].value = v
		delete(written, k)
	}
	return out
}

// noID is no effect's id.
const noID = "00000000-0000-0000-0000-000000000000"

// beginColumns turns rows into columns, in the order of their keys: batches of
// two processes then meet in the same order and never wait for each other in a
// circle.
func beginColumns(ps []sqlc.BeginEffectParams) sqlc.BeginEffectsParams {
	byKey := make([]*sqlc.BeginEffectParams, len(ps))
	for i := range ps {
		byKey[i] = &ps[i]
	}
	slices.SortFunc(byKey, func(a, b *sqlc.BeginEffectParams) int {
		return cmp.Or(cmp.Compare(a.Key, b.Key), cmp.Compare(a.Namespace, b.Namespace))
	})
	c := sqlc.BeginEffectsParams{FingerprintRule: ps[0].FingerprintRule}
	text := textColumns(max(len(ps), minBatch), &c.Ids, &c.Namespaces, &c.Keys, &c.Refs, &c.RootRuns, &c.RootRunsStarted, &c.Turns, &c.Runs, &c.Steps, &c.Operations, &c.Subjects,
		&c.Amounts, &c.Currencies, &c.LabelSets, &c.Fingerprints, &c.Traceparents, &c.ClaimIds, &c.LeaseTokens, &c.Workers, &c.Tools)
	for i, p := range byKey {
		text(i, p.ID, p.Namespace, p.Key, p.Ref, p.RootRun, stamp(p.RootRunStartedAt), p.Turn, p.Run, p.Step, p.Operation, p.Subject,
			p.Amount, p.Currency, string(p.Labels), p.Fingerprint, p.Traceparent, p.ClaimID, p.LeaseToken, p.Worker, p.Tool)
		c.ClientTimeouts, c.Leases = append(c.ClientTimeouts, p.ClientTimeoutMs), append(c.Leases, p.LeaseMs)
		c.Payloads, c.Resumes, c.KeyHashes = append(c.Payloads, p.Args), append(c.Resumes, p.Resume), append(c.KeyHashes, p.KeyHash)
		c.ToolVersions = append(c.ToolVersions, p.ToolVersion)
	}
	for i := len(ps); i < minBatch; i++ {
		c.Ids[i] = noID // and of no tool
	}
	return c
}

// textColumns makes columns of n texts out of one allocation and returns what
// fills a row of them.
func textColumns(n int, columns ...*[]string) func(row int, values ...string) {
	all := make([]string, n*len(columns))
	for i, c := range columns {
		*c = all[i*n : (i+1)*n : (i+1)*n]
	}
	return func(row int, values ...string) {
		for i, v := range values {
			(*columns[i])[row] = v
		}
	}
}

// stamp is t as text that loses nothing; "" stands for null.
func stamp(t *time.Time) string {
	if t == nil {
		return ""
	}
	return t.UTC().Format(time.RFC3339Nano)
}

func commitColumns(ps []sqlc.CommitEffectParams) sqlc.CommitEffectsParams {
	byID := make([]*sqlc.CommitEffectParams, len(ps))
	for i := range ps {
		byID[i] = &ps[i]
	}
	slices.SortFunc(byID, func(a, b *sqlc.CommitEffectParams) int { return cmp.Compare(a.ID, b.ID) })
	var c sqlc.CommitEffectsParams
	for _, p := range byID {
		c.Ids, c.Attempts, c.LeaseTokens = append(c.Ids, p.ID), append(c.Attempts, p.Attempt), append(c.LeaseTokens, p.LeaseToken)
		c.Results, c.ProviderIds = append(c.Results, p.Result), append(c.ProviderIds, p.ProviderID)
	}
	for range minBatch - len(ps) {
		c.Ids = append(c.Ids, noID)
	}
	return c
}
