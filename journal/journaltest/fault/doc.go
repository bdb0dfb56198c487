// Package fault breaks connections on purpose and at exact moments: between a
// program and PostgreSQL (Proxy), and between a program and an HTTP server
// (Gateway).
//
// It owns the moments (Point) and what may happen there (Act): a cut before or
// after any message of the protocol, a lost answer, a delay, a connection that
// goes silent, an address that refuses. What it passes on is passed on byte for
// byte. It starts no server, keeps nothing of what it saw, and speaks no TLS.
// Tests use it, and the soak in cmd/landed/bench; the product must not.
//
// The two faults that come in pairs at every durable step are
//
//	failed, not applied:  Cut at {Kind: Query or Sync}            the server never saw it
//	failed, but applied:  Cut at {Kind: ReadyForQuery}            the server ended it, the answer is lost
//
// A statement of the extended protocol without a transaction around it commits
// at Sync, after its CommandComplete: only ReadyForQuery says that it is
// durable. See https://www.postgresql.org/docs/current/protocol-flow.html,
// "Extended Query" and "Pipelining".
package fault
