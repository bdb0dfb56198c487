// Command peers measures Landed beside two systems that also write down, in
// PostgreSQL, what is to be done and what was done: DBOS Transact for Go, and
// River. It starts one private cluster, gives each system a database of its own
// there, and lets them take turns on it, in rounds, so that what else the machine
// does hits all of them alike. From this folder:
//
//	go run . --seconds 5 --workers 1,8,32,64
//	go run . --seconds 5 --json
//
// It is a module of its own, so that nobody who builds Landed has to fetch DBOS.
//
// # What is counted
//
// One effect: a durable record before a step that does nothing, and a durable
// record after it. The arguments, 235 bytes of JSON, are the same for all.
// A width is how many callers there are; each has one effect in hand at a time.
//
//   - landed: Begin and Commit of postgres.Store with its default, group commit.
//     Every caller returns only when its own row is durable.
//   - ungrouped: the same, each begin and each commit a transaction of its own.
//   - dbos: a workflow with one step, started directly and awaited. Before: the
//     workflow's row. After: the step's output, and the workflow's.
//   - river_width: the callers insert jobs one at a time for half of the turn; then
//     a client with as many slots works the full queue until every completion is
//     durable. The time of both halves counts. River's batches of completions
//     count for it: a job's worker does not wait until its end is durable.
//   - river_drain: the same, but working always has 2,000 slots, whatever the width.
//   - river_bulk: the same, but one caller hands over 5,000 jobs at a time, in one
//     transaction by COPY. No caller waits for a record of its own, and there is no
//     width: the figure is what River can do for one who has thousands of effects
//     in hand at once, and stands in every row so that it is measured beside the
//     others. Landed has no such call: an effect is begun by the worker that is
//     about to run it.
//   - river_one: a caller inserts one job and waits until its completion is
//     durable, then inserts the next.
//
// After each turn the system's own table is asked whether it holds as many ends
// as were counted; otherwise the run fails.
//
// Rates are medians of the rounds. The ratio is Landed's rate by the other's,
// round by round, and of those the median. Write-ahead bytes are all that the
// cluster wrote in the turn, by effect (median of the rounds; preparing a turn is
// left out). Statements are what pg_stat_statements saw in the system's database,
// BEGIN and COMMIT among them, background work included, in one more turn whose
// rate is not used: the extension is off while rates are measured. A statement
// that many effects share counts as its part of one.
//
// # What was chosen for the others
//
// Everything here is meant to be what their documentation advises, or better:
//
//   - The cluster runs with fsync, full_page_writes and synchronous_commit on. The
//     program asks through each system's own connections, and refuses to measure
//     otherwise. Every system has a pool of 20 connections, DBOS's default.
//   - DBOS: logging off, an application version given (it would hash the program),
//     no queue: direct start is its fast path (its makers measure it so, on
//     https://www.dbos.dev/blog/benchmarking-workflow-execution-scalability-on-postgres).
//     Workflow ids begin with a time-ordered part, as Landed's keys do: random ones
//     make the index write more.
//   - River: the values of its own benchmark (`river bench`, described on
//     https://riverqueue.com/docs/benchmarks; source cmd/river/riverbench):
//     MaxWorkers 2,000, FetchCooldown 2 ms, FetchPollInterval 20 ms, an emptied jobs
//     table before each turn, completion counted by subscription, and InsertManyFast
//     for bulk. Starting and stopping the client is not timed; its first fetch is.
//   - River, one job: with River's own batched completion a job is done after up to
//     250 ms. So the worker completes it in a transaction (JobCompleteTx,
//     https://riverqueue.com/docs/transactional-job-completion), and FetchCooldown
//     is the least that River takes, 1 ms.
//   - River's unique jobs are off, and no output is recorded; Landed refuses a second
//     begin of the same key and stores a result, in the figures as they stand.
//
// # Reading it
//
// river_width, river_one and dbos have as many effects in hand as Landed has.
// The width of river_drain holds for inserting only: its working half has 2,000
// jobs in hand whatever the width, so that with few callers it can be ahead of one
// who finishes each effect before the next: at one caller it waits for one durable
// write per job where an effect takes two. river_bulk is ahead of everybody at
// these widths, and says what batches of thousands are worth; the nearest like
// for like is Landed with as many callers as River has slots:
//
//	go run . --workers 2000
//
// What to keep in mind: the three do not promise the same. River and DBOS run the
// work themselves and recover it; Landed leaves running to the worker, and keeps
// what happened. One machine carries server and callers, so that rates are bound
// by its processors, not by its disk. The tables of Landed and DBOS grow from turn
// to turn, River's does not. River's turns end when its queue is empty, which on
// very short turns costs it up to a tick of its completer; give it seconds.
package main
