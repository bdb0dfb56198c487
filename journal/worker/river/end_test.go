package riverworker_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/riverqueue/river"
	"github.com/riverqueue/river/rivertype"

	"github.com/landedhq/landed/journal"
	"github.com/landedhq/landed/journal/worker"
	riverworker "github.com/landedhq/landed/journal/worker/river"
)

// TestEnd: what River does with the job, for every answer that Do gives.
func TestEnd(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name string
		a    worker.Answer
		err  error
		want string
	}{
		{"done", worker.Answer{Status: worker.StatusDone}, nil, "completed"},
		{"parked", worker.Answer{Status: worker.StatusUnknown, Directive: journal.DirectiveParked}, nil, "cancelled"},
		{"another attempt runs", worker.Answer{Status: worker.StatusInProgress, RetryAfter: 7 * time.Second}, nil, "snoozed 7s"},
		{"in progress, no time given", worker.Answer{Status: worker.StatusInProgress}, nil, "snoozed 1s"},
		{"verifying", worker.Answer{Status: worker.StatusUnknown, Directive: journal.DirectiveVerifying, RetryAfter: time.Minute}, nil, "snoozed 1m0s"},
		{"refused", worker.Answer{Status: worker.StatusRefused}, nil, "cancelled"},
		{"abandoned", worker.Answer{Status: worker.StatusAbandoned}, nil, "cancelled"},
		{"hard stop", worker.Answer{Status: worker.StatusHardStop}, nil, "cancelled"},
		{"replan", worker.Answer{Status: worker.StatusReplan}, nil, "cancelled"},
		{"the key was reused", worker.Answer{Status: worker.StatusReplan}, &journal.KeyReusedError{}, "cancelled"},
		{"purged", worker.Answer{Status: worker.StatusHardStop}, fmt.Errorf("beginning: %w", journal.ErrExpired), "cancelled"},
		{"the journal is away", worker.Answer{Status: worker.StatusHardStop}, fmt.Errorf("beginning: %w", journal.ErrUnavailable), "retried"},
		{"the journal was restored", worker.Answer{Status: worker.StatusHardStop}, journal.ErrRestored, "retried"},
		{"unreported", worker.Answer{Status: worker.StatusUnknown}, journal.ErrUnavailable, "retried"},
		{"the client stops", worker.Answer{Status: worker.StatusUnknown}, context.Canceled, "retried"},
		{"done, not recorded", worker.Answer{Status: worker.StatusDone}, &journal.DoneUnrecordedError{Err: journal.ErrUnavailable}, "cancelled"},
		{"done twice", worker.Answer{Status: worker.StatusDone}, journal.ErrCommitConflict, "cancelled"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			if got := fate(riverworker.End(c.a, c.err)); got != c.want {
				t.Errorf("%s, wanted %s", got, c.want)
			}
		})
	}
}

func fate(err error) string {
	var snooze *river.JobSnoozeError
	var cancel *river.JobCancelError
	switch {
	case err == nil:
		return "completed"
	case errors.As(err, &snooze):
		return "snoozed " + snooze.Duration.String()
	case errors.As(err, &cancel):
		return "cancelled"
	}
	return "retried"
}

func TestResume(t *testing.T) {
	t.Parallel()
	job := &rivertype.JobRow{ID: 7, Kind: "refund", Queue: "payments", EncodedArgs: []byte(`{"order":"A1","id":1970670598291982290,"landed":{"type":"x"}}`)}
	raw, err := riverworker.Resume("river", job)
	if err != nil {
		t.Fatal(err)
	}
	const want = `{"to":"river","kind":"refund","queue":"payments","args":{"id":1970670598291982290,"order":"A1"}}`
	if diff := cmp.Diff(want, string(raw)); diff != "" {
		t.Error(diff)
	}
	job.EncodedArgs = []byte(`[1]`)
	if _, err := riverworker.Resume("river", job); err == nil {
		t.Error("arguments that are no object were taken")
	}
}
