package e2e_test

import (
	"fmt"
	"os"
	"testing"

	"github.com/landedhq/landed/journal/journaltest"
)

// TestMain runs the tests, or, in a process that a test started for it, one
// worker.
func TestMain(m *testing.M) {
	if job := os.Getenv(workerEnv); job != "" {
		if err := runWorker(job); err != nil {
			fmt.Println("failed", err)
			os.Exit(1)
		}
		return
	}
	journaltest.Main(m)
}
