// Package river hands resolutions to workers of River, the job queue in
// PostgreSQL for Go, by inserting a job.
//
// A River job can't sleep until a person has decided. So the job that finds its
// effect parked ends, and says in begin's resume which job shall be inserted in
// its stead:
//
//	{"to": "river", "kind": "refund", "queue": "payments", "args": {"order": "A1"}}
//
// "to" is the configured target's name, "kind" the consumer's kind of job, "queue"
// may be left out, and "args" are the job's own arguments. The message goes
// beside them, as "landed":
//
//	{"order": "A1", "landed": {"type": "effect.resolution.v1", "timestamp": …, "data": {…}}}
//
// so that the same worker can take both. It calls the journal again under the same
// key: that executes an order, or returns the outcome. Keys must therefore come
// from the business object and never from the job's id, which is another one now.
// Package journal/worker/river makes the resume, and ends the first job.
//
// # What is promised
//
// The job is unique by the resolution's id and nothing else, in every state:
// however often and by how many processes it is handed over, River has one job for
// it, and whether a worker is running does not matter. Where River keeps its tables
// in the journal's database (Config.Pool), the job is inserted by the transaction
// that records the resolution (DeliverTx).
//
// River deletes jobs some time after their end (by default completed and cancelled
// ones after a day, discarded ones after a week). What is handed over again after
// that, which takes a person's order, becomes a new job. One that was given up
// (discarded, cancelled) and is not deleted yet answers gone: retry it in River.
//
// # Rights
//
// A role that can do no more than this (River's schema is "public" unless
// configured otherwise):
//
//	grant usage on schema public to landed;
//	grant select, insert, update (kind) on river_job to landed;
//	grant usage on sequence river_job_id_seq to landed;
//
// The update is River's own: it gets to read the job that is there already by
// setting its kind to what it is. Give this River a schema of its own where Landed
// runs in the same database: Landed's desk has one for its own work, "river".
//
// # Where this is from
//
// https://riverqueue.com/docs/unique-jobs and
// https://riverqueue.com/docs/transactional-enqueueing; the source of
// github.com/riverqueue/river v0.51.2: insert_opts.go (UniqueOpts), client.go
// (retention periods, names of queues), and of its driver riverpgxv5
// river_job.sql (JobInsertFastMany) and migration 6.
package river
