package river

import (
	"context"
	"errors"
	"fmt"
	"log/slog"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/riverqueue/river"
	"github.com/riverqueue/river/riverdriver/riverpgxv5"
	"github.com/riverqueue/river/rivertype"

	"github.com/landedhq/landed/journal"
	"github.com/landedhq/landed/providers/resume"
	"github.com/landedhq/landed/providers/resume/internal/pgtarget"
)

// DefaultSchema holds where nothing is said.
const DefaultSchema = "public"

// Config describes one River.
type Config struct {
	Name string // what begin's resume says in "to"
	// DSN returns the connection string of River's database; asked again for every
	// connection. nil if it is the journal's own: then Pool.
	DSN func() (string, error)
	// Pool is the journal's pool: this River keeps its tables in the same database.
	Pool   *pgxpool.Pool
	Schema string // "" = DefaultSchema
}

// Open checks c. It connects to nothing yet.
func (c Config) Open() (*Target, error) {
	if c.Schema == "" {
		c.Schema = DefaultSchema
	}
	db, err := pgtarget.Open(pgtarget.Config{Name: c.Name, DSN: c.DSN, Pool: c.Pool, Schema: c.Schema})
	if err != nil {
		return nil, fmt.Errorf("river: %w", err)
	}
	// Without a pool and queues a client can only insert, in transactions of others.
	client, err := river.NewClient(riverpgxv5.New(nil), &river.Config{Schema: c.Schema, Logger: slog.New(slog.DiscardHandler)})
	if err != nil {
		return nil, fmt.Errorf("river: schema %q: %w", c.Schema, err)
	}
	return &Target{name: c.Name, schema: c.Schema, db: db, client: client}, nil
}

// Target inserts jobs. Safe for concurrent use.
type Target struct {
	name, schema string
	db           *pgtarget.DB
	client       *river.Client[pgx.Tx]
}

var (
	_ resume.Target = (*Target)(nil)
	_ resume.Prober = (*Target)(nil)
)

// Name is how begin's resume calls it.
func (t *Target) Name() string { return t.name }

// Sheet says what River promises: a job is a row, worked once a worker comes.
func (t *Target) Sheet() resume.Sheet {
	return resume.Sheet{Kind: "river", Dedupes: true, Buffers: true,
		Residual: "River forgets a job some time after its end, a day if completed: handed over again after that, it is inserted again."}
}

// InTx reports whether DeliverTx may be used: the tables are in the journal's
// database.
func (t *Target) InTx() bool { return t.db.Shared() }

// Close ends the target's own connections.
func (t *Target) Close() { t.db.Close() }

// Check says what is wrong with an address.
func (t *Target) Check(raw []byte) error {
	_, err := parse(raw)
	return err
}

// Deliver inserts the job in a transaction of its own.
func (t *Target) Deliver(ctx context.Context, m resume.Message) (resume.Receipt, error) {
	return t.deliver(m, func(a address) (resume.Receipt, error) {
		return t.db.Deliver(ctx, func(tx pgx.Tx) (resume.Receipt, error) { return t.insert(ctx, tx, a, m) })
	})
}

// DeliverTx inserts the job in tx, a transaction of the journal's database: with
// its commit the job is there, otherwise there is none. After an error tx is of no
// use until the caller has rolled back to a savepoint.
func (t *Target) DeliverTx(ctx context.Context, tx pgx.Tx, m resume.Message) (resume.Receipt, error) {
	return t.deliver(m, func(a address) (resume.Receipt, error) {
		return t.db.DeliverTx(tx, func(tx pgx.Tx) (resume.Receipt, error) { return t.insert(ctx, tx, a, m) })
	})
}

func (t *Target) deliver(m resume.Message, to func(address) (resume.Receipt, error)) (resume.Receipt, error) {
	a, err := parse(m.Resume)
	if err != nil {
		return resume.Receipt{}, resume.Fail(journal.HandoverBadAddress, "river: %w", err)
	}
	rec, err := to(a)
	if err != nil {
		return resume.Receipt{}, fmt.Errorf("river: %w", err)
	}
	return rec, nil
}

func (t *Target) insert(ctx context.Context, tx pgx.Tx, a address, m resume.Message) (resume.Receipt, error) {
	j, err := newArgs(a, m)
	if err != nil {
		return resume.Receipt{}, fmt.Errorf("shaping the job: %w", err)
	}
	res, err := t.client.InsertTx(ctx, tx, j, &river.InsertOpts{Queue: a.Queue,
		// Every state counts: a job that was given up is still this resolution's.
		UniqueOpts: river.UniqueOpts{ByArgs: true, ByState: rivertype.JobStates()}})
	if err != nil {
		return resume.Receipt{}, fmt.Errorf("inserting a job of kind %s: %w", a.Kind, err)
	}
	job := res.Job
	if !res.UniqueSkippedAsDuplicate {
		return resume.Receipt{Detail: fmt.Sprintf("inserted job %d of kind %s into queue %s", job.ID, job.Kind, job.Queue)}, nil
	}
	if job.State == rivertype.JobStateDiscarded || job.State == rivertype.JobStateCancelled {
		return resume.Receipt{}, resume.Fail(journal.HandoverGone, "job %d, which was inserted for this, is %s: retry it in River", job.ID, job.State)
	}
	return resume.Receipt{Detail: fmt.Sprintf("job %d was inserted for this before; it is %s", job.ID, job.State)}, nil
}

// Probe asks whether the table is there and the role may use it.
func (t *Target) Probe(ctx context.Context) error {
	err := t.db.Within(ctx, func(tx pgx.Tx) error {
		table := pgx.Identifier{t.schema, "river_job"}.Sanitize()
		var may bool
		err := tx.QueryRow(ctx, "select has_table_privilege($1::text, 'insert') and has_table_privilege($1::text, 'select')"+
			" and has_any_column_privilege($1::text, 'update')", table).Scan(&may)
		if err != nil {
			return fmt.Errorf("asking for the role's rights: %w", err)
		}
		if !may {
			return resume.Fail(journal.HandoverAuth, "the role needs INSERT and SELECT on %s, and UPDATE of its column kind", table)
		}
		return nil
	})
	if err != nil {
		return fmt.Errorf("river: %w", err)
	}
	return nil
}

var errNoKind = errors.New("the effect's resume names no kind of job: give it in \"kind\"")
