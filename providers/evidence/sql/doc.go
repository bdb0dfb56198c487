// Package sql is the evidence adapter for a table in a PostgreSQL database of
// one's own: the worker writes the reference in the same transaction as the
// effect, and one configured SELECT finds it.
//
// It owns the check of that statement, the read-only transaction around it, the
// proof that it read a primary and plain tables, and the wait for writers that
// have not ended. It compares the reference column byte for byte and leaves the
// verdict to package evidence. Package sqltest below it has the servers of its
// tests.
//
// # The statement
//
// Exactly one SELECT with one placeholder, $1, for the reference; it returns the
// reference column, a column that identifies the row, and whatever people should
// see. Open checks the text without I/O: no second statement, no comments, no
// LIMIT, OFFSET, FETCH, DISTINCT or GROUP BY, which would hide a second row. Every
// session has the server prepare it inside parentheses, where PostgreSQL allows a
// query and nothing else, in a read-only transaction that is rolled back.
// A condition such as "deleted_at IS NULL" hides what landed and was deleted
// since: select the column as the status instead.
//
// # Why an empty answer can be believed
//
//   - pg_is_in_recovery() must be false: a standby lags.
//   - row_security is off for the transaction. PostgreSQL then fails a query that
//     a row-level security policy would have cut, instead of returning fewer rows.
//   - The plan of the very query is read: foreign tables, functions, samples,
//     materialized views, unlogged tables (emptied after a crash) and a limit
//     inside a view make the answer inconclusive.
//   - The row of a transaction that has not committed is invisible. Every writer
//     holds a ROW EXCLUSIVE lock on its table until its transaction ends, and
//     pg_locks shows it to everybody, also for prepared transactions. So before an
//     empty answer is given, the look waits for those that held one when it began,
//     and asks again. One that does not end makes it fail, to be repeated.
//
// What no look can see: a request that has not reached the table yet, which is
// what the processing horizon is for (the largest of the writing role's
// statement_timeout and idle_in_transaction_session_timeout is its bound); an old
// primary that was cut off and does not know of its successor; and commits that a
// failover to an asynchronous standby lost.
//
// # Rights
//
// The role needs CONNECT, USAGE on the schema and SELECT on the tables. One that
// may write to them, or a superuser, is refused: Landed causes no side effect and
// holds no credentials that could. TLS with a verified certificate is required
// except over a Unix socket and loopback, unless the configuration says otherwise.
//
// # Sources
//
// PostgreSQL's documentation of version 15: "SET TRANSACTION" for what a
// read-only transaction refuses; section 20.11, client connection defaults, for
// row_security, statement_timeout and lock_timeout; section 13.3, explicit
// locking, for ROW EXCLUSIVE; section 54.12 (v15), pg_locks, for what is visible
// and for prepared transactions; section 9.27, pg_is_in_recovery; "CREATE TABLE"
// for unlogged tables; section 7.8, WITH queries, for data-modifying statements
// being allowed at the top level only. All but foreign tables and prepared
// transactions are pinned by tests against a real server.
package sql
