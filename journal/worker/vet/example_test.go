package vet_test

import (
	"flag"
	"fmt"

	"github.com/landedhq/landed/journal/worker/vet"
)

// The analyzer fits every driver of package analysis, such as a multichecker with
// analyzers of your own.
func ExampleNew() {
	a := vet.New()
	a.Flags.VisitAll(func(f *flag.Flag) { fmt.Printf("-%s.%s: %s\n", a.Name, f.Name, f.Usage) })
	// Output:
	// -landed.argkey: report idempotency keys inside of arguments
	// -landed.args: report keys derived from the arguments of their call
	// -landed.callid: report keys that hold a framework's tool call id
	// -landed.fresh: report keys made of time or random numbers in the function that uses them
	// -landed.personal: report keys that hold a mail address or telephone number
	// -landed.repeated: report effects that a tool's function repeats on its own
	// -landed.retried: report keys that are minted anew by every retry
	// -landed.unjournaled: report effects that are caused without the journal
}
