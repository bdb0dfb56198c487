//go:build !linux

package sqltest

import (
	"testing"

	"github.com/landedhq/landed/journal/journaltest"
)

// Standby needs Linux: only there a child ends with its parent for certain.
func Standby(t testing.TB, _, _, _ string) string {
	t.Helper()
	journaltest.Missing(t, "a hot standby", "run this test on Linux")
	return ""
}
