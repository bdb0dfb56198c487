package stagedtest

import (
	"testing"

	"github.com/landedhq/landed/journal"
	"github.com/landedhq/landed/journal/worker"
)

// One runs the call once, in a worker that lives.
func One(t *testing.T, r Rig) worker.Answer {
	t.Helper()
	b := newBench(t, r)
	return b.do(t.Context())
}

// Attempt runs the call in a worker that does not wait, and returns the attempts
// beside the answer.
func Attempt(t *testing.T, r Rig) (worker.Answer, []journal.Attempt) {
	t.Helper()
	b := newBench(t, r)
	a, err := b.worker(b.memory, worker.Options{Patience: -1}).Do(t.Context(), call())
	if err != nil {
		t.Fatal(err)
	}
	_, attempts, _ := b.memory.Effect(key)
	return a, attempts
}

// Discarded runs the call while what waits is discarded before it is finished: the
// second attempt meets it.
func Discarded(t *testing.T, r Rig) worker.Answer {
	t.Helper()
	b := newBench(t, r)
	b.front.on(Finish, thenBusy(b.Discard))
	return b.do(t.Context())
}

// Handles runs the call once and returns the handles that it journaled.
func Handles(t *testing.T, r Rig) []journal.Handle {
	t.Helper()
	b := newBench(t, r)
	b.do(t.Context())
	return b.memory.Handles(key)
}
