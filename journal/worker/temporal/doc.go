// Package temporal keeps the side effects of Temporal workflows in the effect
// journal: an interceptor for workers of the Go SDK.
//
// It owns how an activity's call becomes a journaled effect (its key, its
// arguments and result as bytes, the types of its errors), and how a workflow
// waits for the decision on one that is parked (Execute). It does not own what may
// be executed, which is the journal's word (package worker makes the calls), nor
// how decisions get to Temporal (package providers/resume/temporal). It is a module
// of its own, so that nobody else needs Temporal's SDK.
//
//	i, err := temporal.NewInterceptor(temporal.Config{
//		Journal:  journal, // journal/client
//		ResumeTo: "temporal",
//		Activities: map[string]temporal.Activity{
//			"Refund": {Tool: journal.Tool{Class: journal.ClassAtMostOnce, Provider: "bank", ClientTimeout: 30 * time.Second}},
//		},
//	})
//	err = i.Sync(ctx)
//	w := worker.New(client, "orders", worker.Options{Interceptors: []interceptor.WorkerInterceptor{i}})
//	i.Register(w)
//
// In a workflow, instead of workflow.ExecuteActivity(ctx, Refund, order).Get(ctx, &receipt):
//
//	err := temporal.Execute(ctx, &receipt, Refund, order)
//
// In the activity the client comes from worker.Client(ctx), or Sending is called
// before the first byte, as in every tool of the journal.
//
// # What Temporal alone does not do
//
// Temporal runs an activity again when a worker died, a time-out passed or an
// answer was lost, and can't know whether the first attempt reached the provider.
// Here each attempt asks the journal first:
//
//	begin says          the activity
//	execute             runs; commit is recorded with a context that outlives it
//	return              is not run: what was recorded is its result
//	in_progress, retry  fails with TypeLater, and Temporal tries again after the journal's delay
//	(no answer)         fails with TypeUnavailable, and was not run
//	parked              fails with TypeParked, finally: a person decides
//	anything else       fails finally, with a type of its own
//
// While the activity runs its lease is renewed, and its context ends with the lease.
//
// # Keys
//
// A key is <root run>/<step>/<activity type>/<item>. It is made in the workflow,
// once per call, and travels in a header: so it is the same in every attempt, after
// every replay and on every worker. None of its parts is a run id of the moment:
//
//	                          the key is
//	activity retry, replay    the same
//	reset                     the same: what is recorded is returned, not repeated
//	workflow retry            the same: the run starts over and finds what it did
//	continue as new           another one, as the loop's next round is
//	child workflow            its own, and the same when a reset parent starts it again
//	cron                      another one per run; a workflow retry under a cron schedule is refused
//
// The step is the call's place: the how manyth call of its activity type it is in
// its run. Where the order of calls depends on what comes from outside (signals,
// timers, concurrent coroutines) name it with WithCall, and name it too before you
// insert a call in front of others: a run that is reset across such a change counts
// anew. A place that is taken by a call with other arguments fails with
// TypeKeyReused; it never repeats an effect.
//
// # Parked work
//
// Execute waits for a signal or an update named "landed", which are kept from the
// run's first moment on, so that a decision may be quicker than the wait. A message
// only wakes it. It then runs the activity again under the same key, and the journal
// hands out the attempt that was ordered, or what came of it; that also closes the
// delivery. The same message twice, or an old one, wakes nobody. In case that no
// message ever comes it asks by itself, after a minute and then less and less often.
//
// A workflow that calls workflow.ExecuteActivity gets TypeParked as an error, and
// is on its own.
//
// # Limits
//
//   - Local activities can't be journaled, and neither can activities that are
//     completed from outside (activity.ErrResultPending): both are refused.
//   - Every worker of a workflow and of its activities needs the interceptor. An
//     activity that comes without a key is refused, not run unguarded.
//   - Temporal's time-outs say nothing of the provider. Execute asks the journal after
//     one, three times in a row at most.
//   - Operators read arguments and results: they are journaled as the SDK's default
//     converter writes them, whatever codec the client has (Config.Converter).
//   - A result that was never recorded (an operator found that the effect landed)
//     has to be made by Activity.Settled; otherwise the activity fails with TypeNoResult.
//   - A workflow id with a slash can't be addressed in Temporal's HTTP API: such
//     work finds its decisions by asking.
package temporal
