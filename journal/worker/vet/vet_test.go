package vet_test

import (
	"testing"

	"github.com/landedhq/landed/journal/worker/vet"
	"golang.org/x/tools/go/analysis/analysistest"
)

// Each package of the test data is one subject; its comments say what is expected.
// They are loaded together, as the standard library comes with each load.
func TestFindings(t *testing.T) {
	t.Parallel()
	packages := []string{
		"retried",    // J-05: minted inside of a retry
		"good",       // true negatives
		"keys",       // J-07, J-08, J-11, J-30: derived from what changes, or in the wrong place
		"effects",    // without the journal; R-05: repeated inside of a tool
		"directives", // silenced, with a reason or not
		"lib",        // facts of a package
		"mailer",     // facts of an effect
		"uselib",     // facts used elsewhere
		"agent",      // tools of a model, in a package that does not use the journal
	}
	for i, p := range packages {
		packages[i] = "example.com/" + p
	}
	analysistest.Run(t, analysistest.TestData(), vet.New(), packages...)
}
