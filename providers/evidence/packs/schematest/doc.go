// Package schematest holds requests and answers against what vendors publish
// about their interfaces: OpenAPI 3.0 documents, and GraphQL schemas as the
// declarations of a TypeScript client. It is for tests only.
//
// The documents are no part of this module: .ci/descriptions names the packages
// that carry them, each with its version, licence and the sum of the file that is
// used, and fetches them; Read finds them then.
//
// What it can't see: whether the vendor's service keeps to its own document.
package schematest

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/landedhq/landed/journal/journaltest"
)

// Read gives a file that .ci/descriptions fetched, by its package and its path in
// it, and skips the test (or fails it, where nothing may be skipped) if it is not
// there.
func Read(t testing.TB, file string) []byte {
	t.Helper()
	dir, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	for {
		if _, err := os.Stat(filepath.Join(dir, "go.mod")); err == nil {
			break
		}
		up := filepath.Dir(dir)
		if up == dir {
			t.Fatal("no go.mod above the test")
		}
		dir = up
	}
	b, err := os.ReadFile(filepath.Join(dir, ".ci", "node_modules", ".descriptions", filepath.FromSlash(file)))
	if os.IsNotExist(err) {
		journaltest.Missing(t, "the vendor's description "+file, "bash .ci/descriptions fetch")
	}
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// Finding is one thing that a description does not allow.
type Finding struct {
	Where string // the operation and its part, e.g. "GET /v2/payments query limit"
	What  string
}

func (f Finding) String() string { return f.Where + ": " + f.What }
