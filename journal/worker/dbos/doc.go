// Package dbosworker runs tools under the journal as steps of DBOS workflows in
// Go: an effect is then executed once however often its step is run, and a
// workflow whose effect is parked waits for the decision, for days and across
// restarts, and goes on with it.
//
// It owns the way between the two: which workflow an effect belongs to, what a
// step leaves in DBOS, and the wait. Executing is package worker's, deciding the
// journal's; messages come from Landed's target providers/resume/dbos.
//
//	steps := dbosworker.New(worker.New(journal, registry, worker.Options{}), dbosworker.Options{Target: "dbos"})
//
//	func refund(ctx dbos.Context, order Order) (string, error) { // a DBOS workflow
//		a, err := steps.Do(ctx, worker.Call{Tool: "refund", Step: "refund", Item: order.ID, Args: order.Args()})
//		if err != nil {
//			return "", err // errors.Is(err, dbosworker.ErrRefused), …
//		}
//		return a.ProviderID, nil
//	}
//
// # Keys
//
// The key is made from the workflow's id and the call's Step, Operation and Item,
// never from arguments, time or DBOS's number of the step: a step that is recovered,
// or whose code moved, finds its effect. A fork begins with the id of the workflow
// that it was forked from, and so gets what that one did; to do it anew, name
// another item. A workflow id that is used a second time, after its workflow was
// deleted, gets the first one's outcome.
//
// # What a step leaves
//
//	begin ─► the effect ─► commit ─► DBOS's checkpoint
//
// Killed at any arrow, the recovered step asks the journal first. What was
// committed is returned; what may have happened is parked. The step itself has no
// retries of DBOS's: they would only ask the journal again, and Do does that. An
// unreachable journal means that the effect is not executed; Do sleeps durably and
// tries again for Options.Outage, then gives up with journal.ErrUnavailable.
//
// # Waiting for a decision
//
// Do waits by dbos.Recv on a topic of the effect's own, and then asks the journal,
// whatever the message says: an order is executed, an outcome returned, and either
// closes the delivery. A message that is lost, or a target that is not configured,
// costs no more than Options.Recheck, after which Do asks anyway.
//
// # Limits
//
// Do belongs into a workflow's function, not into a step. It takes as many of
// DBOS's step numbers as it needs: two for a wait or a sleep, one for each time that
// it asks. A later correction of an outcome that a workflow has already used waits
// in its topic, and is the feed's and the operators' matter.
package dbosworker
