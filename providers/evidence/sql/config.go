package sql

import (
	"errors"
	"fmt"
	"net/url"
	"slices"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/landedhq/landed/providers/evidence"
)

// The values that hold where Config leaves them zero.
const (
	DefaultRefColumn         = "landed_ref"
	DefaultIDColumn          = "id"
	DefaultTimeout           = 5 * time.Second
	DefaultWriterWait        = 3 * time.Second
	DefaultProcessingHorizon = 5 * time.Minute
)

// maxRows caps the rows read for one reference.
const maxRows = 100

// Config describes one look-up in one database.
type Config struct {
	// DSN is the connection string of a role that may only read, as a URL or as
	// key=value pairs. Host, user and database must be in it: nothing of that is
	// taken from the environment.
	DSN evidence.Secret
	// Statement is the one SELECT; $1 is the reference. See the package comment.
	Statement string
	// Columns says which columns of the statement mean what.
	Columns Columns
	// Dashed says that the reference is stored as text in the dashed form of a
	// UUID. A column of type uuid is recognised by itself.
	Dashed bool
	// Pending and NotEffective list the values of the status column of rows that
	// did not take effect yet, or will not. Compared byte for byte.
	Pending, NotEffective []string
	// Link is the page of a row for people: an https address with {id} in it, which
	// is replaced by the escaped id. Empty = none.
	Link string
	// Timeout caps connecting and, as statement_timeout, each statement; 0 =
	// DefaultTimeout. Waiting for a lock is capped by a third of it.
	Timeout time.Duration
	// WriterWait is how long a look waits for transactions that were writing to the
	// tables when it began; 0 = DefaultWriterWait.
	WriterWait time.Duration
	// ProcessingHorizon is how long a request may go on in the database, or in the
	// service in front of it, after its client gave up; 0 =
	// DefaultProcessingHorizon.
	ProcessingHorizon time.Duration
	// Retention is after what time rows are deleted or archived; 0 = they are not.
	Retention time.Duration
	// AllowUnverified permits connections over the network without TLS or without a
	// verified certificate. Whoever can answer in the database's place can then
	// make an effect look as if it never landed.
	AllowUnverified bool
	// TestMode says so on the capability sheet.
	TestMode bool
}

// Columns maps columns of the statement to facts of a match. Names are compared
// byte for byte with what the server reports: unquoted ones are in lower case.
type Columns struct {
	Ref    string   // the reference; empty = DefaultRefColumn
	ID     string   // identifies the row; empty = DefaultIDColumn
	At     string   // when it was made: timestamptz, or timestamp in UTC; may be empty
	Status string   // in the application's words; may be empty
	Title  string   // one line for people; may be empty
	Facts  []string // further ones for people
}

// Open checks c and returns its adapter. It does no I/O: what only the server
// can check, each session checks. The error lists everything that is wrong.
func (c Config) Open() (evidence.Adapter, error) {
	c = c.withDefaults()
	if err := c.check(); err != nil {
		return nil, fmt.Errorf("sql: %w", err)
	}
	return &Adapter{cfg: c}, nil
}

func (c Config) withDefaults() Config {
	c.Statement = strings.TrimSpace(strings.TrimSuffix(strings.TrimSpace(c.Statement), ";"))
	if c.Columns.Ref == "" {
		c.Columns.Ref = DefaultRefColumn
	}
	if c.Columns.ID == "" {
		c.Columns.ID = DefaultIDColumn
	}
	if c.Timeout == 0 {
		c.Timeout = DefaultTimeout
	}
	if c.WriterWait == 0 {
		c.WriterWait = DefaultWriterWait
	}
	if c.ProcessingHorizon == 0 {
		c.ProcessingHorizon = DefaultProcessingHorizon
	}
	return c
}

func (c Config) check() error {
	errs := []error{checkStatement(c.Statement), c.checkLink()}
	if c.DSN == nil {
		errs = append(errs, errors.New("dsn is not set: give the connection string of a role that may only read"))
	}
	for _, name := range c.Columns.all() {
		if err := checkColumn(name); err != nil {
			errs = append(errs, err)
		}
	}
	if (len(c.Pending) > 0 || len(c.NotEffective) > 0) && c.Columns.Status == "" {
		errs = append(errs, errors.New("pending and not_effective need columns.status: without it no row's status is known"))
	}
	for _, s := range c.Pending {
		if slices.Contains(c.NotEffective, s) {
			errs = append(errs, fmt.Errorf("status %q is both in pending and in not_effective", s))
		}
	}
	for _, d := range []struct {
		name     string
		v, least time.Duration
	}{
		{"timeout", c.Timeout, 100 * time.Millisecond}, {"writer_wait", c.WriterWait, time.Millisecond},
		{"processing_horizon", c.ProcessingHorizon, 0}, {"retention", c.Retention, 0},
	} {
		if d.v < d.least {
			errs = append(errs, fmt.Errorf("%s is %v, at least %v is needed", d.name, d.v, d.least))
		}
	}
	return errors.Join(errs...)
}

// all lists the mapped columns, the reference first and the id second.
func (c Columns) all() []string {
	out := []string{c.Ref, c.ID}
	for _, name := range append([]string{c.At, c.Status, c.Title}, c.Facts...) {
		if name != "" && !slices.Contains(out, name) {
			out = append(out, name)
		}
	}
	return out
}

func checkColumn(name string) error {
	if len(name) > 63 || !utf8.ValidString(name) || strings.ContainsFunc(name, func(r rune) bool { return !unicode.IsPrint(r) }) {
		return fmt.Errorf("column %q is no name of a column: at most 63 printable bytes", name)
	}
	return nil
}

func (c Config) checkLink() error {
	if c.Link == "" {
		return nil
	}
	const mark = "landed-row-id"
	u, err := url.Parse(strings.ReplaceAll(c.Link, "{id}", mark))
	switch {
	case err != nil || u.Scheme != "https" || u.Host == "" || u.User != nil:
		return fmt.Errorf("link %.100q is no https address", c.Link)
	case !strings.Contains(c.Link, "{id}"):
		return fmt.Errorf("link %.100q lacks {id}", c.Link)
	case strings.Contains(u.Host, mark):
		return fmt.Errorf("link %.100q has {id} in its host", c.Link)
	}
	return nil
}
