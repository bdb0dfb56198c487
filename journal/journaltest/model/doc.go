// Package model plays made-up stories on the journal and on a model of it.
//
// A story is a list of acts by four workers (two on the store, two over HTTP),
// two operators, a collector, the sweeper, the provider and the clock; some acts
// happen at once, and one of them is then held up between two of its statements.
// The model (spec_*_test.go) is written from the rules of the design alone and
// shares no code with the journal. After every act the answer must be the one
// that the model gives, every row what the model holds, and the invariants must
// hold in the rows themselves: at most one unfenced attempt, no grant that was
// not due, versions that rise, nothing recorded that is lost, an audit trail
// without a gap, a list that shows exactly what needs attention, reads that
// write nothing, and no effect that happened more often than it was ordered.
//
// A story that breaks a promise is cut down to the shortest one that still
// does, and printed as sentences. Those that broke one once are kept in
// stories_test.go. The generator and the cutting are our own (story_test.go,
// shrink_test.go), since an act means something only where its story stands:
// acts that do not apply are dropped, and a cut story stays one that can be kept.
//
//	go test ./journal/journaltest/model                                          # 30 stories, and those kept
//	go test ./journal/journaltest/model -model.checks 2000 -model.seed 0 -timeout 30m  # new ones
//
// The exhaustive model of one effect is in journal/model.
package model
