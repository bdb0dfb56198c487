// Package journal is the domain of Landed: what an effect is, which states it
// may be in, and every rule by which it moves between them.
//
// It owns the words (effect, attempt, phase, directive, evidence, order,
// resolution), the identity of an effect (key, reference, fingerprint), the
// transitions as pure functions over a Snapshot, the assessment that tells an
// operator what follows from class, attempts, evidence and clock, and the
// requests and answers of the worker protocol. It stores nothing and calls
// nobody: journal/postgres applies a Change in one transaction, journal/worker
// speaks the protocol, journal/decide carries an operator's decision.
//
//	(none) ──begin──► INTENT ──commit─────────────────────────► COMMITTED
//	                   │  ▲                                         ▲
//	  refused, final,  │  │ begin consumes the order               │ close_landed · evidence by
//	  nothing exposed  │  │ (attempt n+1)                          │ policy · late commit
//	  REJECTED ◄───────┤  └────────────── REISSUE ◄─── reissue ─┐  │
//	                   │                    │ order void        │  │
//	                   └──── PARKED ◄───────┘                   │  │
//	                            └──────────── decided ──────────┴──┤
//	                   (a stuck INTENT is decided like PARKED)     └──► ABANDONED
//
// The package depends on the standard library only. Times are instants of the
// database's clock unless a name says otherwise; durations in the wire forms
// are milliseconds.
package journal
