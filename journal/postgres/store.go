// Package postgres keeps the journal in PostgreSQL.
//
// It owns the schema and its migrations, and applies what the transitions of
// package journal decide: it reads a Snapshot, asks the transition, and writes
// the Change in one transaction whose first statement repeats state, attempt,
// lease token and version. Zero rows is a conflict: the snapshot is read again.
// Only the happy path goes without a snapshot: begin is one INSERT, commit one
// UPDATE, and those that come at once share one of several rows. pgx's errors
// never leave this package.
//
// Static SQL lives in queries/, compiled by sqlc into internal/sqlc; the
// dynamic list is the one statement built by hand, in list.go. No statement
// needs session state, so that a pooler in transaction mode may stand between.
//
// What it promises, by command (from the repository's root):
//
//	go test ./journal/postgres -run TestJ01    # workers killed at every boundary: nothing acknowledged is lost
//	go test ./journal/postgres -run 'Fault|Batch_|HalfOpen|DiskFull|LostAtEvery|CutNow'    # every statement failed, and failed but applied
//	go test ./journal/postgres -run 'ServerKilled|Failover'    # the server killed, and its standby promoted
//	go test ./journal/postgres ./cmd/landed/jobs -run TestO02  # behind PgBouncer in transaction mode
//	go run ./cmd/landed bench soak --effects 1000000 --faults 10500    # all of it at once
//	go test ./journal/journaltest/model        # made-up stories of everybody, beside a model
//	go test ./journal/model                    # every interleaving of one effect
//	go run ./cmd/landed bench journal          # begin and commit beside the same statements by hand
//	go run ./cmd/landed bench list             # every read, in a journal of ten million effects
//
// SCALE.md says how far one journal goes.
package postgres

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/landedhq/landed/journal"
	"github.com/landedhq/landed/journal/postgres/internal/sqlc"
)

// Options shape a Store. The zero value works.
type Options struct {
	Policy journal.Policy // zero = journal.DefaultPolicy
	// CanLook says whether evidence can be pulled from a provider; nil = from none.
	CanLook func(provider string) bool
	Logger  *slog.Logger
	// InTx hands resolutions over within the transaction that records them; nil = the
	// dispatcher does.
	InTx InTx
	// MaxConns bounds the pool; 0 = pgx's default.
	MaxConns int32
	// Ungrouped gives each begin and commit a statement of its own. Without it,
	// those that come at once share one; each caller still returns only when its
	// own row is durable, and a lone caller writes as if it were ungrouped.
	Ungrouped bool
	// Forgetful makes every page of the list read its effects anew, also those that
	// another page has just shown. Meant for measuring.
	Forgetful bool
}

// Store is the journal in one database. Safe for concurrent use.
type Store struct {
	pool   *pgxpool.Pool
	q      *sqlc.Queries
	policy journal.Policy
	look   func(string) bool
	inTx   InTx
	log    *slog.Logger
	tools  sync.Map // name → toolRow: saves the look-up on the happy path
	counts rollupCache
	seen   *seenEffects // nil if forgetful
	// waiting are the long polls for a decision.
	waiting waiters
	// begins and commits are nil if ungrouped.
	begins  *group[sqlc.BeginEffectParams, sqlc.BeginEffectRow]
	commits *group[sqlc.CommitEffectParams, int64]
	clock   clockWatch
	stats   statistics
}

// Open connects and checks that acknowledged means durable: a server with
// fsync or synchronous_commit off is refused.
func Open(ctx context.Context, dsn string, o Options) (*Store, error) {
	cfg, err := pgxpool.ParseConfig(dsn)
	if err != nil {
		return nil, fmt.Errorf("reading the database address: %w", err)
	}
	if o.MaxConns > 0 {
		cfg.MaxConns = o.MaxConns
	}
	pool, err := pgxpool.NewWithConfig(ctx, cfg)
	if err != nil {
		return nil, fmt.Errorf("connecting to the database: %w", err)
	}
	s := New(pool, o)
	if err := s.checkDurable(ctx); err != nil {
		pool.Close()
		return nil, err
	}
	return s, nil
}

// New makes a Store on a pool that the caller owns.
func New(pool *pgxpool.Pool, o Options) *Store {
	s := &Store{pool: pool, q: sqlc.New(), policy: o.Policy, look: o.CanLook, inTx: o.InTx, log: o.Logger}
	if s.policy.Version == "" {
		s.policy = journal.DefaultPolicy()
	}
	if s.look == nil {
		s.look = func(string) bool { return false }
	}
	if s.log == nil {
		s.log = slog.New(slog.DiscardHandler)
	}
	s.waiting.last = func(ctx context.Context) (int64, error) { return s.q.LastResolution(ctx, s.pool) }
	s.waiting.tail = func(ctx context.Context, after int64) ([]sqlc.ResolutionTailRow, error) {
		return s.q.ResolutionTail(ctx, s.pool, sqlc.ResolutionTailParams{After: after, MaxRows: maxTail})
	}
	if !o.Forgetful {
		s.seen = &seenEffects{}
	}
	if !o.Ungrouped {
		s.begins = &group[sqlc.BeginEffectParams, sqlc.BeginEffectRow]{run: s.beginMany,
			size: func(p sqlc.BeginEffectParams) int { return len(p.Args) + len(p.Resume) + 1000 }}
		s.commits = &group[sqlc.CommitEffectParams, int64]{run: s.commitMany,
			size: func(p sqlc.CommitEffectParams) int { return len(p.Result) + 200 }}
	}
	return s
}

// Close ends the pool.
func (s *Store) Close() { s.pool.Close() }

// Pool hands the pool to cmd, for background jobs that share the database.
func (s *Store) Pool() *pgxpool.Pool { return s.pool }

// Policy returns the policy in force.
func (s *Store) Policy() journal.Policy { return s.policy }

// Ping reports whether the database answers.
func (s *Store) Ping(ctx context.Context) error {
	return mapError("asking the database", s.pool.Ping(ctx))
}

func (s *Store) checkDurable(ctx context.Context) error {
	var fsync, sync string
	err := s.pool.QueryRow(ctx, "select current_setting('fsync'), current_setting('synchronous_commit')").Scan(&fsync, &sync)
	if err != nil {
		return mapError("reading the database's settings", err)
	}
	if fsync == "off" || sync == "off" {
		return fmt.Errorf("the database runs with fsync=%s and synchronous_commit=%s: an acknowledged effect could be lost; set both to on", fsync, sync)
	}
	return nil
}

// mapError wraps err once, turning what pgx says into the journal's words.
func mapError(doing string, err error) error {
	if err == nil {
		return nil
	}
	if errors.Is(err, pgx.ErrNoRows) {
		return fmt.Errorf("%s: %w", doing, journal.ErrNotFound)
	}
	if errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded) {
		return fmt.Errorf("%s: %w", doing, err)
	}
	var pg *pgconn.PgError
	if errors.As(err, &pg) && (pg.Code == "42P01" || pg.Code == "42703") {
		return fmt.Errorf("%s: the database's schema is older than this program (%s): run landed migrate", doing, pg.Message)
	}
	if errors.As(err, &pg) && !unavailable(pg.Code) {
		return fmt.Errorf("%s: the database refused: %s (%s)", doing, pg.Message, pg.Code)
	}
	return fmt.Errorf("%s: %w: %s", doing, journal.ErrUnavailable, oneLine(err.Error()))
}

// unavailable: class 08 (connection), 53 (resources), 57 (operator
// intervention) and 25006 (a standby) say that the server can't serve now.
func unavailable(code string) bool {
	return strings.HasPrefix(code, "08") || strings.HasPrefix(code, "53") || strings.HasPrefix(code, "57") || code == "25006"
}

func isCode(err error, code string) bool {
	var pg *pgconn.PgError
	return errors.As(err, &pg) && pg.Code == code
}

func constraint(err error) string {
	var pg *pgconn.PgError
	if errors.As(err, &pg) {
		return pg.ConstraintName
	}
	return ""
}

func oneLine(s string) string { return strings.Join(strings.Fields(s), " ") }

func ms(d time.Duration) int64 { return d.Milliseconds() }

func fromMS(n int64) time.Duration { return time.Duration(n) * time.Millisecond }

func timePtr(t time.Time) *time.Time {
	if t.IsZero() {
		return nil
	}
	return &t
}

func timeOf(t *time.Time) time.Time {
	if t == nil {
		return time.Time{}
	}
	return *t
}

func strPtr(s string) *string {
	if s == "" {
		return nil
	}
	return &s
}

func strOf(s *string) string {
	if s == nil {
		return ""
	}
	return *s
}
