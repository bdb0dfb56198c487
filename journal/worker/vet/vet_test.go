package vet_test

import (
	"reflect"
	"testing"

	"github.com/landedhq/landed/journal"
	"github.com/landedhq/landed/journal/worker"
	"github.com/landedhq/landed/journal/worker/staged"
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

// The test data stands on stubs, and the analyzer on names: both must be the real
// package's.
func TestNamesAreTheRealOnes(t *testing.T) {
	t.Parallel()
	for _, row := range []struct {
		of     reflect.Type
		fields []string
	}{
		{reflect.TypeFor[worker.Call](), []string{"Key", "Step", "Operation", "Item", "Args", "Run"}},
		{reflect.TypeFor[worker.Run](), []string{"RootRun"}},
		{reflect.TypeFor[worker.ToolSpec](), []string{"Run", "KeyHeader"}},
		{reflect.TypeFor[worker.Undo](), []string{"Run"}},
		{reflect.TypeFor[worker.Outcome](), nil},
		{reflect.TypeFor[worker.Transport](), nil},
		{reflect.TypeFor[staged.Steps](), []string{"Create", "Read", "Finish"}},
		{reflect.TypeFor[journal.BeginRequest](), []string{"Key", "Args"}},
	} {
		for _, f := range row.fields {
			if _, ok := row.of.FieldByName(f); !ok {
				t.Errorf("%s has no field %s", row.of, f)
			}
		}
	}
	for _, m := range []string{"Do", "DoUntilSettled", "Compensate"} {
		if _, ok := reflect.TypeFor[*worker.Worker]().MethodByName(m); !ok {
			t.Errorf("Worker has no method %s", m)
		}
	}
	// These are named in a message or looked for.
	_, _, _ = worker.Client, worker.NewTransport, (*worker.Grant).Attempt
	_, _, _, _ = journal.DeriveKey, journal.NewID, journal.NewToken, journal.RandomRef
}
