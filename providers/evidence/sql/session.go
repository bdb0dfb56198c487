package sql

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/jackc/pgx/v5/pgconn"

	"github.com/landedhq/landed/journal"
	"github.com/landedhq/landed/providers/evidence"
)

// session is one connection. Nothing of an answer is remembered.
type session struct {
	a     *Adapter
	conn  *pgconn.PgConn
	ask   string
	param uint32 // type of $1
	isRef func(text, ref string) bool
}

var _ evidence.Session = (*session)(nil)

// Find looks one reference up.
func (s *session) Find(ctx context.Context, q evidence.Query) (evidence.Answer, error) {
	if !journal.ValidRef(q.Ref) {
		return evidence.Answer{}, errors.New("sql: the reference is not 32 lower-case hex digits")
	}
	if s.conn == nil || s.conn.IsClosed() {
		return evidence.Answer{}, errors.New("sql: the session is closed")
	}
	l := &look{s: s, ref: q.Ref}
	if err := s.readOnly(ctx, l.run); err != nil {
		err = asProviderError(err)
		var pe *evidence.ProviderError
		if errors.As(err, &pe) {
			pe.Exchanges = l.ans.Exchanges
		}
		return evidence.Answer{}, err
	}
	return l.ans, nil
}

// Close ends the connection.
func (s *session) Close() error {
	if s.conn == nil {
		return nil
	}
	ctx, cancel := context.WithTimeout(context.Background(), time.Second)
	defer cancel()
	err := s.conn.Close(ctx)
	s.conn = nil
	if err != nil {
		return fmt.Errorf("sql: closing the connection: %w", err)
	}
	return nil
}

// readOnly runs f in a read-only transaction that is rolled back. Each statement
// of it sees what is committed by then. Settings are the transaction's own, so
// that nothing stays behind in a pooled connection.
func (s *session) readOnly(ctx context.Context, f func(context.Context) error) error {
	begin := fmt.Sprintf("BEGIN ISOLATION LEVEL READ COMMITTED READ ONLY;"+
		" SET LOCAL statement_timeout = %d; SET LOCAL lock_timeout = %d; SET LOCAL row_security = off;"+
		" SET LOCAL datestyle = 'ISO'; SET LOCAL timezone = 'UTC'",
		s.a.cfg.Timeout.Milliseconds(), max(s.a.cfg.Timeout.Milliseconds()/3, 1))
	if _, err := s.conn.Exec(ctx, begin).ReadAll(); err != nil {
		return err
	}
	err := f(ctx)
	if _, undo := s.conn.Exec(ctx, "ROLLBACK").ReadAll(); undo != nil && err == nil {
		return undo
	}
	return err
}

// rows runs one statement and returns its rows as text; NULL is nil.
func (s *session) rows(ctx context.Context, sql string, params ...string) ([][][]byte, error) {
	values := make([][]byte, len(params))
	for i, p := range params {
		values[i] = []byte(p)
	}
	var types []uint32
	if sql == s.ask || strings.HasSuffix(sql, s.ask) {
		types = []uint32{s.param} // so that $1 means the same with and without parentheses
	}
	res := s.conn.ExecParams(ctx, sql, values, types, nil, nil).Read()
	return res.Rows, res.Err
}

// asProviderError gives every error that left the server or the connection the
// form of a fault; one that already has it is kept.
func asProviderError(err error) error {
	var pe *evidence.ProviderError
	if errors.As(err, &pe) {
		return err
	}
	return asFault(err)
}
