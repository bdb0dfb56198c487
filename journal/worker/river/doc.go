// Package riverworker runs tools under the journal in jobs of River, the job queue
// in PostgreSQL for Go.
//
// It owns how a job ends for each answer of package worker, and which job goes on
// once a person has decided; executing is package worker's, and inserting that job
// Landed's own (its target providers/resume/river).
//
//	type RefundArgs struct {
//		Order string `json:"order"`
//	}
//
//	func (w *refunds) Work(ctx context.Context, job *river.Job[RefundArgs]) error {
//		_, err := riverworker.Do(ctx, w.worker, "river", job.JobRow, worker.Call{
//			Run:  worker.Run{RootRun: "refund-" + job.Args.Order}, // the business object's, not the job's
//			Tool: "refund", Step: "refund",
//		})
//		return err
//	}
//
// A job can't wait for days, so a job whose effect is parked is cancelled, with the
// effect's id in its errors; the decision inserts another one of the same kind and
// arguments. Both must come to the same key: RootRun, Step and Item are made from
// the arguments, never from the job's id, its attempt or the time. The tool gets
// the job's arguments without "landed", where the second job carries the message.
//
// River's attempts are not the effect's: a job that is run again asks the journal
// first, and gets the recorded outcome.
package riverworker
