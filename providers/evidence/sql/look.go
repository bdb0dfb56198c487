package sql

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"github.com/landedhq/landed/journal"
	"github.com/landedhq/landed/providers/evidence"
)

// writerPoll is how often a look asks whether a writer has ended.
const writerPoll = 50 * time.Millisecond

// look is one query under way.
type look struct {
	s   *session
	ref string
	ans evidence.Answer
}

// param is the reference as the statement takes it.
func (l *look) param() string {
	if l.s.a.cfg.Dashed {
		return journal.Dashed(l.ref)
	}
	return l.ref // PostgreSQL takes a uuid without dashes as well
}

func (l *look) run(ctx context.Context) error {
	primary, err := l.checkPrimary(ctx)
	if err != nil {
		return err
	}
	if err := l.ask(ctx); err != nil {
		return err
	}
	if len(l.ans.Matches) > 0 || !primary {
		return nil
	}
	p, err := l.plan(ctx)
	if err != nil {
		return err
	}
	if len(p.blind) > 0 {
		l.scope("all that the statement could bring", false, strings.Join(p.blind, "; "))
		return nil
	}
	if err := l.awaitWriters(ctx, p); err != nil {
		return err
	}
	// Also if nobody was writing: a writer may have ended between the two.
	return l.ask(ctx)
}

// checkPrimary adds the scope of the rows: a standby's are no proof.
func (l *look) checkPrimary(ctx context.Context) (bool, error) {
	const question = "SELECT pg_is_in_recovery()::text, current_database()"
	start := time.Now()
	rows, err := l.s.rows(ctx, question)
	if err != nil {
		return false, err
	}
	if len(rows) != 1 {
		return false, &evidence.ProviderError{Kind: evidence.FaultBadAnswer, Detail: "PostgreSQL does not say whether it is a primary"}
	}
	standby := string(rows[0][0]) != "false"
	l.record(question, fmt.Sprintf("pg_is_in_recovery = %s, database %s", rows[0][0], rows[0][1]), start)
	l.scope(scopeRows, !standby, "this server is a standby (pg_is_in_recovery), which shows commits late: give the primary's address")
	return !standby, nil
}

func (l *look) scope(name string, seen bool, why string) {
	if seen {
		why = ""
	}
	l.ans.Scopes = append(l.ans.Scopes, journal.Scope{Name: name, Seen: seen, Detail: why})
}

// ask runs the statement and replaces what an earlier run brought.
func (l *look) ask(ctx context.Context) error {
	start := time.Now()
	rows, err := l.s.rows(ctx, l.s.ask, l.param())
	if err != nil {
		l.record(l.request(), "no rows: "+err.Error(), start)
		return err
	}
	l.record(l.request(), l.shown(rows), start)
	l.ans.Matches, l.ans.Unrelated = nil, 0
	l.ans.AllPagesRead = len(rows) <= maxRows
	for _, r := range rows[:min(len(rows), maxRows)] {
		if !l.s.isRef(string(r[0]), l.ref) {
			l.ans.Unrelated++
			continue
		}
		m, err := l.match(r)
		if err != nil {
			return err
		}
		l.ans.Matches = append(l.ans.Matches, m)
	}
	return nil
}

func (l *look) request() string { return l.s.a.cfg.Statement + "\n-- $1 = '" + l.param() + "'" }

// shown writes the mapped columns of the rows for people.
func (l *look) shown(rows [][][]byte) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%d rows", len(rows))
	for _, r := range rows[:min(len(rows), 20)] {
		b.WriteByte('\n')
		for i, name := range l.s.a.cfg.Columns.all() {
			if i > 0 {
				b.WriteString(", ")
			}
			text := "NULL"
			if r[i] != nil {
				text = fmt.Sprintf("%q", r[i])
			}
			fmt.Fprintf(&b, "%s = %s", name, text)
		}
	}
	return b.String()
}

// match turns a row that carries the reference into a match.
func (l *look) match(row [][]byte) (journal.Match, error) {
	c := l.s.a.cfg
	values := map[string]string{}
	for i, name := range c.Columns.all() {
		values[name] = string(row[i])
	}
	id := values[c.Columns.ID]
	if id == "" {
		return journal.Match{}, &evidence.ProviderError{Kind: evidence.FaultBadAnswer,
			Detail: fmt.Sprintf("column %q of a row with the reference is empty: it must identify the row", c.Columns.ID)}
	}
	m := journal.Match{ID: id, URL: c.link(id), State: journal.MatchEffective, Where: "the configured statement's table", Carrier: "column " + c.Columns.Ref}
	if c.Columns.Title != "" {
		m.Title = values[c.Columns.Title]
	}
	if c.Columns.Status != "" {
		m.Status = values[c.Columns.Status]
		m.State = c.state(m.Status)
	}
	if c.Columns.At != "" {
		m.At = parseTime(values[c.Columns.At])
	}
	for _, name := range c.Columns.Facts {
		m.Facts = append(m.Facts, journal.MatchFact{Name: name, Value: values[name]})
	}
	return m, nil
}

// parseTime reads a timestamp in ISO style; no verdict hangs on it, so what
// can't be read (infinity, years before Christ) is zero.
func parseTime(text string) time.Time {
	for _, layout := range []string{"2006-01-02 15:04:05.999999999-07", "2006-01-02 15:04:05.999999999"} {
		if at, err := time.Parse(layout, text); err == nil {
			return at.UTC()
		}
	}
	return time.Time{}
}

// writing lists the transactions that may have written to the tables and have
// not ended: each holds, or waits for, a ROW EXCLUSIVE lock.
const writing = `SELECT DISTINCT virtualtransaction FROM pg_catalog.pg_locks
WHERE locktype = 'relation' AND mode = 'RowExclusiveLock' AND pid IS DISTINCT FROM pg_backend_pid()
AND database = (SELECT oid FROM pg_catalog.pg_database WHERE datname = current_database())
AND relation::text IN (SELECT json_array_elements_text($1::json))`

// awaitWriters waits until every transaction that was writing to the tables has
// ended. Later ones began after the look, when every attempt had been fenced.
func (l *look) awaitWriters(ctx context.Context, p plan) error {
	oids := make([]string, len(p.relations))
	for i, r := range p.relations {
		oids[i] = r.oid
	}
	tables, err := json.Marshal(oids)
	if err != nil {
		return fmt.Errorf("listing the tables: %w", err)
	}
	start := time.Now()
	first, err := l.writers(ctx, tables)
	if err != nil {
		return err
	}
	open := first
	for len(open) > 0 {
		if time.Since(start) >= l.s.a.cfg.WriterWait {
			l.record("transactions that write to the tables", fmt.Sprintf("%d of %d have not ended", len(open), len(first)), start)
			return &evidence.ProviderError{Kind: evidence.FaultUnavailable, Detail: fmt.Sprintf(
				"%d transactions that were writing to the table when the look began have not ended: their rows can't be seen yet", len(open))}
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(writerPoll):
		}
		now, err := l.writers(ctx, tables)
		if err != nil {
			return err
		}
		for id := range open {
			if !now[id] {
				delete(open, id)
			}
		}
	}
	l.record("transactions that write to the tables", "none that began before the look", start)
	return nil
}

func (l *look) writers(ctx context.Context, tables []byte) (map[string]bool, error) {
	rows, err := l.s.rows(ctx, writing, string(tables))
	if err != nil {
		return nil, err
	}
	out := map[string]bool{}
	for _, r := range rows {
		out[string(r[0])] = true
	}
	return out, nil
}

func (l *look) record(request, response string, start time.Time) {
	l.ans.Exchanges = append(l.ans.Exchanges, journal.Exchange{
		Request: evidence.CapText(request), Response: evidence.CapText(response), Took: time.Since(start),
	})
}
