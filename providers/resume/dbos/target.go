package dbos

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/landedhq/landed/journal"
	"github.com/landedhq/landed/providers/resume"
	"github.com/landedhq/landed/providers/resume/internal/pgtarget"
)

// The values that hold where nothing is said.
const (
	DefaultSchema = "dbos"
	DefaultTopic  = "landed"
)

// maxNotify is what PostgreSQL takes as the payload of a NOTIFY: shorter than 8000
// bytes (PostgreSQL's documentation, "NOTIFY"). DBOS's trigger sends id and topic.
const maxNotify = 7999

// Config describes one DBOS system database.
type Config struct {
	Name string // what begin's resume says in "to"
	// DSN returns the connection string of the system database; asked again for every
	// connection. nil if it is the journal's own: then Pool.
	DSN func() (string, error)
	// Pool is the journal's pool: DBOS keeps its tables in the same database.
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
		return nil, fmt.Errorf("dbos: %w", err)
	}
	schema := pgx.Identifier{c.Schema}.Sanitize()
	return &Target{name: c.Name, db: db,
		status: "select coalesce(status, '') from " + schema + ".workflow_status where workflow_uuid = $1",
		// Without a conflict target: naming the column would ask for the right to read it.
		insert: "insert into " + schema + ".notifications (destination_uuid, topic, message, serialization, message_uuid)" +
			" values ($1, $2, $3, 'portable_json', $4) on conflict do nothing",
		schema: schema,
	}, nil
}

// Target sends DBOS messages. Safe for concurrent use.
type Target struct {
	name           string
	schema         string // quoted
	db             *pgtarget.DB
	status, insert string
}

var (
	_ resume.Target = (*Target)(nil)
	_ resume.Prober = (*Target)(nil)
)

// Name is how begin's resume calls it.
func (t *Target) Name() string { return t.name }

// Sheet says what DBOS promises: a message is a row, read once, whenever the
// workflow asks for it.
func (t *Target) Sheet() resume.Sheet {
	return resume.Sheet{Kind: "dbos", Dedupes: true, Buffers: true}
}

// InTx reports whether DeliverTx may be used: the tables are in the journal's
// database.
func (t *Target) InTx() bool { return t.db.Shared() }

// Close ends the target's own connections.
func (t *Target) Close() { t.db.Close() }

// address is begin's resume.
type address struct {
	To         string `json:"to"`
	WorkflowID string `json:"workflow_id"`
	Topic      string `json:"topic"`
}

func parse(raw []byte) (address, error) {
	var a address
	if err := resume.Address(raw, &a); err != nil {
		return a, err
	}
	if a.Topic == "" {
		a.Topic = DefaultTopic
	}
	switch {
	case a.WorkflowID == "":
		return a, errors.New("the effect's resume names no workflow: give its id in \"workflow_id\"")
	case strings.ContainsRune(a.WorkflowID+a.Topic, 0):
		return a, errors.New("the effect's resume has a NUL in its workflow_id or topic: PostgreSQL takes none")
	case len(a.WorkflowID)+len("::")+len(a.Topic) > maxNotify:
		return a, fmt.Errorf("workflow_id and topic are too long together: PostgreSQL notifies of at most %d bytes", maxNotify)
	}
	return a, nil
}

// Check says what is wrong with an address.
func (t *Target) Check(raw []byte) error {
	_, err := parse(raw)
	return err
}

// Deliver sends the message in a transaction of its own.
func (t *Target) Deliver(ctx context.Context, m resume.Message) (resume.Receipt, error) {
	return t.deliver(m, func(a address) (resume.Receipt, error) {
		return t.db.Deliver(ctx, func(tx pgx.Tx) (resume.Receipt, error) { return t.send(ctx, tx, a, m) })
	})
}

// DeliverTx sends the message in tx, a transaction of the journal's database: with
// its commit the workflow has the message, otherwise there is none. After an error
// tx holds nothing of it only once the caller has rolled back to a savepoint.
func (t *Target) DeliverTx(ctx context.Context, tx pgx.Tx, m resume.Message) (resume.Receipt, error) {
	return t.deliver(m, func(a address) (resume.Receipt, error) {
		return t.db.DeliverTx(tx, func(tx pgx.Tx) (resume.Receipt, error) { return t.send(ctx, tx, a, m) })
	})
}

func (t *Target) deliver(m resume.Message, to func(address) (resume.Receipt, error)) (resume.Receipt, error) {
	a, err := parse(m.Resume)
	if err != nil {
		return resume.Receipt{}, resume.Fail(journal.HandoverBadAddress, "dbos: %w", err)
	}
	rec, err := to(a)
	if err != nil {
		return resume.Receipt{}, fmt.Errorf("dbos: %w", err)
	}
	return rec, nil
}

// send asks before it writes: a workflow that does not exist would make the insert
// fail, and with it the transaction of a decision.
func (t *Target) send(ctx context.Context, tx pgx.Tx, a address, m resume.Message) (resume.Receipt, error) {
	body, err := json.Marshal(m.Payload())
	if err != nil {
		return resume.Receipt{}, fmt.Errorf("shaping the message: %w", err)
	}
	var status string
	if err := tx.QueryRow(ctx, t.status, a.WorkflowID).Scan(&status); errors.Is(err, pgx.ErrNoRows) {
		return resume.Receipt{}, unknown(a)
	} else if err != nil {
		return resume.Receipt{}, fmt.Errorf("reading the workflow's status: %w", err)
	}
	done, err := tx.Exec(ctx, t.insert, a.WorkflowID, a.Topic, string(body), messageID(m.ID, a.WorkflowID))
	switch {
	case foreignKey(err): // it was deleted in between
		return resume.Receipt{}, unknown(a)
	case err != nil:
		return resume.Receipt{}, fmt.Errorf("sending the message: %w", err)
	case done.RowsAffected() == 0:
		return resume.Receipt{Detail: fmt.Sprintf("workflow %s was sent this before; it is %s", a.WorkflowID, status)}, nil
	case over(status):
		return resume.Receipt{}, gone(a, status)
	}
	return resume.Receipt{Detail: fmt.Sprintf("sent to workflow %s, which is %s", a.WorkflowID, status)}, nil
}

// messageID is the primary key that DBOS's own Send gives to a message with an
// idempotency key (dbos-transact-golang v1.8.0, system_database.go,
// notificationKey): sending the same by its client is then no second message.
func messageID(resolution, workflow string) string { return resolution + "::" + workflow }

func unknown(a address) error {
	return resume.Fail(journal.HandoverUnknown, "there is no workflow %s", a.WorkflowID)
}

// over lists the states in which a workflow reads no messages (dbos-transact-golang
// v1.8.0, models/workflow_status.go). One that is not known here is not over.
func over(status string) bool {
	switch status {
	case "SUCCESS", "ERROR", "CANCELLED", "MAX_RECOVERY_ATTEMPTS_EXCEEDED":
		return true
	}
	return false
}

func gone(a address, status string) error {
	switch status {
	case "CANCELLED", "MAX_RECOVERY_ATTEMPTS_EXCEEDED":
		return resume.Fail(journal.HandoverGone, "workflow %s is %s: resume it in DBOS, then hand this over again", a.WorkflowID, status)
	}
	return resume.Fail(journal.HandoverGone, "workflow %s has ended (%s): nobody reads the message", a.WorkflowID, status)
}

func foreignKey(err error) bool {
	var state interface{ SQLState() string }
	return errors.As(err, &state) && state.SQLState() == "23503"
}

// Probe asks whether the tables are there and the role may use them.
func (t *Target) Probe(ctx context.Context) error {
	err := t.db.Within(ctx, func(tx pgx.Tx) error {
		var read, write bool
		err := tx.QueryRow(ctx, `select has_column_privilege($1::text, 'workflow_uuid', 'select') and has_column_privilege($1::text, 'status', 'select'),
			has_table_privilege($2::text, 'insert')`, t.schema+".workflow_status", t.schema+".notifications").Scan(&read, &write)
		if err != nil {
			return fmt.Errorf("asking for the role's rights: %w", err)
		}
		if !read || !write {
			return resume.Fail(journal.HandoverAuth, "the role needs SELECT on workflow_uuid and status of workflow_status (has it: %t) and INSERT on notifications (has it: %t)", read, write)
		}
		return nil
	})
	if err != nil {
		return fmt.Errorf("dbos: %w", err)
	}
	return nil
}
