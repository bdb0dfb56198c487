// Package dbos hands resolutions to workflows of DBOS Transact, of any language,
// as DBOS messages: rows of its system database in PostgreSQL. It needs no DBOS
// library.
//
// begin's resume is
//
//	{"to": "dbos", "workflow_id": "order-17", "topic": "landed"}
//
// where "to" is the configured target's name, and the topic may be left out. The
// workflow waits for it durably. The message is the object of resume.Payload in
// DBOS's portable form, JSON that every DBOS library reads:
//
//	m, err := dbos.Recv[resume.Payload](ctx, "landed", 24*time.Hour)    // Go
//	m = DBOS.recv("landed", timeout_seconds=86400)                      # Python
//	const m = await DBOS.recv("landed", 86400)                          // TypeScript
//
// Then call the journal again with the same key: it executes an order, or returns
// the outcome. The package journal/worker/dbos does all of that for Go.
//
// # What is promised
//
// The resolution's id is the message's idempotency key: however often and by how
// many processes it is handed over, the workflow gets one message. A message is
// kept until the workflow asks for it, so that a decision may come before the
// wait. Where DBOS keeps its tables in the journal's database (Config.Pool), the
// message is part of the transaction that records the resolution (DeliverTx).
//
// A workflow that does not exist is unknown, and asked for again for a while; one
// that has ended is gone. What ends between that look and the commit gets a
// message that nobody reads. A message that was sent before stays sent, also when
// its workflow has ended since.
//
// # Rights
//
// A role that can do no more than this (DBOS's schema is "dbos" unless configured
// otherwise):
//
//	grant usage on schema dbos to landed;
//	grant select (workflow_uuid, status) on dbos.workflow_status to landed;
//	grant insert on dbos.notifications to landed;
//
// DBOS's function send_message (its migration 14) writes the same row; it is not
// used because it needs the right to read notifications, and fails on a workflow
// that is not there, which would undo a transaction that it is part of.
//
// # Where this is from
//
// The source of github.com/dbos-inc/dbos-transact-golang v1.8.0:
// dbos/internal/sysdb/migrations 1 (tables, trigger), 11 (serialization), 12
// (consumed) and 14 (send_message); dbos/internal/sysdb/system_database.go
// (notificationKey, ConsumeMessage); dbos/serialization.go (portable_json). A
// system database from before migration 11 is refused as not set up. Rights of
// ON CONFLICT: PostgreSQL's documentation, "INSERT". The tests with DBOS itself
// are in journal/worker/dbos, a module of its own.
package dbos
