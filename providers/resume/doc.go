// Package resume brings a resolution home: to the runtime that parked the work.
// It is the contract that every runtime's adapter fulfils, and the dispatcher
// that feeds them from the journal.
//
// It owns which target a resolution goes to, when a failed try is made again, and
// when trying ends. It does not own the queue: the delivery's row in the journal's
// database is the queue (Store), so that several replicas share the work and a
// crash loses nothing. It decides nothing about the effect.
//
//	recorded ─► pending ─try─► sent ─► acknowledged, by ack or by a begin
//	              ▲    │
//	              │    ├─► refused   nobody there will ever take it
//	              └────┤
//	            retry  └─► expired   not in time, or overtaken
//
// # What is promised
//
// At least once: a process that dies between the call and its record makes the
// same call again, with the same resolution id. A runtime with a dedupe key of its
// own gets that id as the key, and resumes exactly once; others find the id in the
// body, and must ignore one that they have seen. Sent is not acknowledged: most
// runtimes only say that they took it. A delivery is closed by the runtime's
// acknowledgement (POST /v1/decisions/{id}/ack), by a begin that returns the
// outcome or consumes the order, or by a target that confirms the resumption.
//
// Nothing depends on a target: every resolution can be pulled, at any time, whether
// it was handed over or not.
//
// # How an effect chooses
//
// begin's resume is a JSON object. Its member "to" names a configured target, the
// others are that target's address of the parked work:
//
//	{"to": "temporal", "workflow_id": "order-17", "signal": "landed"}
//
// Without "to" the configuration's defaults for the tool hold; without those, and
// with {"kind": "pull"}, the runtime pulls.
package resume
