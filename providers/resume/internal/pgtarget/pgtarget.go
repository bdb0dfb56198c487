// Package pgtarget is what targets share that hand over by a row in tables of
// their runtime in PostgreSQL: which database that is, a transaction there, and
// what its errors mean for the delivery. It knows no runtime's tables.
package pgtarget

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/landedhq/landed/journal"
	"github.com/landedhq/landed/providers/resume"
)

// maxConns bounds a target's own pool: deliveries come at the pace of people.
const maxConns = 4

// Config says where a runtime's tables are.
type Config struct {
	Name string // the target's
	// DSN returns the connection string of the runtime's database. It is asked again
	// for every connection, so that a new password needs no restart. nil if Pool is set.
	DSN func() (string, error)
	// Pool is the journal's own pool, where the runtime's tables are in the journal's
	// database. The caller closes it. nil if DSN is set.
	Pool   *pgxpool.Pool
	Schema string
}

// Check lists what is wrong, without any I/O.
func (c Config) Check() error {
	var errs []error
	if c.Name == "" {
		errs = append(errs, errors.New("name is not set: begin's resume names the target in \"to\""))
	}
	if (c.DSN == nil) == (c.Pool == nil) {
		errs = append(errs, errors.New("give either the connection string of the runtime's database, or say that it is the journal's"))
	}
	switch {
	case c.Schema == "":
		errs = append(errs, errors.New("schema is not set"))
	case len(c.Schema) > 63 || strings.ContainsRune(c.Schema, 0):
		errs = append(errs, fmt.Errorf("schema %q is no name that PostgreSQL takes", c.Schema))
	}
	return errors.Join(errs...)
}

// DB is a runtime's database. Safe for concurrent use.
type DB struct {
	cfg Config

	mu   sync.Mutex
	pool *pgxpool.Pool // made at first use, or the caller's
}

// Open checks c. It connects to nothing yet.
func Open(c Config) (*DB, error) {
	if err := c.Check(); err != nil {
		return nil, err
	}
	return &DB{cfg: c, pool: c.Pool}, nil
}

// Shared reports whether it is the journal's own database, so that a delivery can
// be part of the transaction that records the resolution.
func (d *DB) Shared() bool { return d.cfg.Pool != nil }

// Within runs f in a transaction of its own and commits it.
func (d *DB) Within(ctx context.Context, f func(pgx.Tx) error) error {
	pool, err := d.open(ctx)
	if err != nil {
		return err
	}
	return Failure(pgx.BeginFunc(ctx, pool, f))
}

// Deliver sends within a transaction of its own.
func (d *DB) Deliver(ctx context.Context, send func(pgx.Tx) (resume.Receipt, error)) (rec resume.Receipt, err error) {
	err = d.Within(ctx, func(tx pgx.Tx) error {
		rec, err = send(tx)
		return err
	})
	if err != nil {
		return resume.Receipt{}, err
	}
	return rec, nil
}

// DeliverTx sends within tx, a transaction of the journal's database. After an error
// tx is of no use until its owner has rolled back to a savepoint.
func (d *DB) DeliverTx(tx pgx.Tx, send func(pgx.Tx) (resume.Receipt, error)) (resume.Receipt, error) {
	if !d.Shared() {
		return resume.Receipt{}, fmt.Errorf("target %s is in another database than the journal", d.cfg.Name)
	}
	rec, err := send(tx)
	if err != nil {
		return resume.Receipt{}, Failure(err)
	}
	return rec, nil
}

// Close ends what Within opened; the caller's pool stays.
func (d *DB) Close() {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.pool != nil && !d.Shared() {
		d.pool.Close()
		d.pool = nil
	}
}

func (d *DB) open(ctx context.Context) (*pgxpool.Pool, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.pool != nil {
		return d.pool, nil
	}
	cfg, err := d.config()
	if err != nil {
		return nil, err
	}
	pool, err := pgxpool.NewWithConfig(context.WithoutCancel(ctx), cfg) // connects when it is used
	if err != nil {
		return nil, resume.Fail(journal.HandoverTransient, "opening the runtime's database: %w", err)
	}
	d.pool = pool
	return pool, nil
}

func (d *DB) config() (*pgxpool.Config, error) {
	cfg, err := d.parse()
	if err != nil {
		return nil, err
	}
	cfg.MaxConns = maxConns
	if cfg.ConnConfig.DefaultQueryExecMode == pgx.QueryExecModeCacheStatement {
		// pgx's default needs the server's session between two statements, which a pooler
		// in transaction mode may give to somebody else; nothing here is worth preparing.
		cfg.ConnConfig.DefaultQueryExecMode = pgx.QueryExecModeCacheDescribe
	}
	if cfg.ConnConfig.RuntimeParams["application_name"] == "" {
		cfg.ConnConfig.RuntimeParams["application_name"] = "landed"
	}
	cfg.BeforeConnect = func(_ context.Context, cc *pgx.ConnConfig) error {
		now, err := d.parse()
		if err != nil {
			return err
		}
		cc.User, cc.Password = now.ConnConfig.User, now.ConnConfig.Password
		return nil
	}
	return cfg, nil
}

// parse reads the connection string. No error repeats it: it holds a password.
func (d *DB) parse() (*pgxpool.Config, error) {
	dsn, err := d.cfg.DSN()
	if err != nil {
		return nil, resume.Fail(journal.HandoverAuth, "reading the connection string of the runtime's database: %w", err)
	}
	if dsn == "" { // the environment must not say which database it is
		return nil, resume.Fail(journal.HandoverAuth, "the connection string of the runtime's database is empty")
	}
	cfg, err := pgxpool.ParseConfig(dsn)
	if err != nil {
		return nil, resume.Fail(journal.HandoverAuth, "the connection string of the runtime's database can't be read, or names a file that can't")
	}
	return cfg, nil
}

// Failure types an error of PostgreSQL by its SQLSTATE (PostgreSQL's documentation,
// appendix A, "PostgreSQL Error Codes"). An error that has a type keeps it.
func Failure(err error) error {
	var typed *resume.Failure
	var state interface{ SQLState() string }
	switch {
	case err == nil:
		return nil
	case errors.As(err, &typed):
		return err
	case !errors.As(err, &state) || len(state.SQLState()) != 5:
		return resume.Fail(journal.HandoverTransient, "%w", err)
	}
	code := state.SQLState()
	switch code {
	case "3D000", "3F000", "42P01", "42703", "42883", "42704":
		// A matter of the set-up and not of one effect's address: an administrator can
		// mend it while it is tried again.
		return resume.Fail(journal.HandoverAuth, "the runtime's tables are not there, or are older than what is written to them: %w", err)
	case "42501":
		return resume.Fail(journal.HandoverAuth, "the role may not hand over: %w", err)
	case "23514":
		return resume.Fail(journal.HandoverBadAddress, "the runtime's table refuses the address: %w", err)
	}
	switch code[:2] {
	case "28":
		return resume.Fail(journal.HandoverAuth, "%w", err)
	case "22":
		return resume.Fail(journal.HandoverBadAddress, "the address can't be written: %w", err)
	}
	return resume.Fail(journal.HandoverTransient, "%w", err)
}
