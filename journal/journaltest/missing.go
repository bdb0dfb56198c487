// Package journaltest helps tests of the journal and of what stands on it: a
// fresh Postgres database per test, row factories, and fault injection. It is
// for tests only; nothing outside _test.go files and other xtest packages may
// import it.
package journaltest

import (
	"os"
	"testing"
)

// RequireEnv names the environment variable that forbids skips: set to "all",
// a missing server or browser fails the test instead of skipping it.
const RequireEnv = "LANDED_TEST_REQUIRE"

// Missing ends the test because the machine lacks what. how says how to get it,
// as a command or a package name. With LANDED_TEST_REQUIRE=all it fails.
func Missing(t testing.TB, what, how string) {
	t.Helper()
	if os.Getenv(RequireEnv) == "all" {
		t.Fatalf("%s is missing (and %s=all forbids skips): %s", what, RequireEnv, how)
	}
	t.Skipf("SKIPPED, %s is missing: %s", what, how)
}
