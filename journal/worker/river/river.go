package riverworker

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/riverqueue/river"
	"github.com/riverqueue/river/rivertype"

	"github.com/landedhq/landed/journal"
	"github.com/landedhq/landed/journal/worker"
)

// member is the job argument in which Landed's target sends its message.
const member = "landed"

// leastSnooze keeps a job that waits from coming back at once.
const leastSnooze = time.Second

// Resume is begin's resume for a job: the decision inserts another one of the same
// kind, in the same queue, with the same arguments and the message beside them.
// target is the name by which Landed's configuration calls this River.
func Resume(target string, job *rivertype.JobRow) ([]byte, error) {
	args, err := Args(job)
	if err != nil {
		return nil, err
	}
	raw, err := json.Marshal(struct {
		To    string          `json:"to"`
		Kind  string          `json:"kind"`
		Queue string          `json:"queue"`
		Args  json.RawMessage `json:"args"`
	}{target, job.Kind, job.Queue, args})
	if err != nil {
		return nil, fmt.Errorf("riverworker: shaping the address of job %d: %w", job.ID, err)
	}
	return raw, nil
}

// Args are a job's arguments without the message, the same for the first job and
// for the one that a decision inserts: what the key's identity is made of.
func Args(job *rivertype.JobRow) ([]byte, error) {
	args := map[string]json.RawMessage{}
	if err := json.Unmarshal(job.EncodedArgs, &args); err != nil {
		return nil, fmt.Errorf("riverworker: the arguments of job %d are no JSON object: %w", job.ID, err)
	}
	delete(args, member)
	raw, err := json.Marshal(args)
	if err != nil {
		return nil, fmt.Errorf("riverworker: shaping the arguments of job %d: %w", job.ID, err)
	}
	return raw, nil
}

// End is what a worker's Work returns for an answer of worker.Do and its error.
//
//	done                          the job is completed
//	parked                        cancelled with a *ParkedError: the decision inserts another job
//	another attempt runs, a look
//	at the provider is due        snoozed: this job asks again, and spends no attempt
//	refused, abandoned, replan,
//	hard stop                     cancelled with a *StoppedError
//	done but not recorded         cancelled: it must not run again, a person settles it
//	the journal can't be reached,
//	the client is stopping        an error: River retries, and nothing was executed
func End(a worker.Answer, err error) error {
	var unrecorded *journal.DoneUnrecordedError
	switch {
	case errors.As(err, &unrecorded):
		return river.JobCancel(err)
	case err != nil && (a.Status == worker.StatusReplan || a.Status == worker.StatusDone || errors.Is(err, journal.ErrExpired)):
		return river.JobCancel(err)
	case err != nil:
		return err
	case a.Status == worker.StatusDone:
		return nil
	case a.Parked():
		return river.JobCancel(&ParkedError{EffectID: a.EffectID, Reason: a.Reason})
	case !a.Settled():
		return river.JobSnooze(max(a.RetryAfter, leastSnooze))
	}
	return river.JobCancel(&StoppedError{Answer: a})
}

// Do is worker.Do in a River job, with Args and Resume filled in where they are nil.
// The error is what Work returns.
func Do(ctx context.Context, w *worker.Worker, target string, job *rivertype.JobRow, call worker.Call) (worker.Answer, error) {
	if call.Args == nil {
		raw, err := Args(job)
		if err != nil {
			return worker.Answer{}, river.JobCancel(err)
		}
		call.Args = raw
	}
	if target != "" && call.Resume == nil {
		raw, err := Resume(target, job)
		if err != nil {
			return worker.Answer{}, river.JobCancel(err)
		}
		call.Resume = raw
	}
	a, err := w.Do(ctx, call)
	return a, End(a, err)
}

// ParkedError says that a person decides on the effect. It stands as the last
// error on the cancelled job.
type ParkedError struct{ EffectID, Reason string }

func (e *ParkedError) Error() string {
	return fmt.Sprintf("effect %s is parked (%s): a person decides, and the decision inserts another job", e.EffectID, e.Reason)
}

// StoppedError says that the effect was not executed, or is closed as not landed.
type StoppedError struct{ Answer worker.Answer }

func (e *StoppedError) Error() string {
	return fmt.Sprintf("%s: %s", e.Answer.Status, e.Answer.Reason)
}
