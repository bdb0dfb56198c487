package worker_test

import (
	"testing"

	"github.com/landedhq/landed/journal/worker"
	"github.com/landedhq/landed/journal/worker/workertest"
)

func TestCasesOnMemory(t *testing.T) {
	t.Parallel()
	workertest.RunCases(t, func(*testing.T) worker.Journal { return workertest.NewMemory() })
}
