// Package alert tells people that effects need a decision: the contract that
// every sink fulfils, and the notifier that feeds the sinks from the journal.
//
// It owns what a message says (little: which tool at which provider, how many, a
// link), how raised alerts become messages (one per tool and provider, however
// many effects), and when a failed message is tried again. It does not own the
// queue: rows in the journal's database are the queue (Store), so that several
// replicas share the work and a crash loses nothing.
//
//	effect stuck or parked ─raise─► alert ─bind─► message per sink ─claim─► sent
//	                                                 ▲                │
//	                                                 └── retry later ─┤
//	                                                                  └► given up
//
// A message may reach a sink twice (sent, and then the database was not
// reachable), always under the same ID. A sink that fails delays nobody but
// itself, and never the journal.
package alert
