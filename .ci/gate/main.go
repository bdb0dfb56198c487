// Command gate holds the checks of the build that a shell can't do well: it runs
// the tests and sums them up, and looks at imports, licences, words and known
// vulnerabilities. It owns no product code and imports none. `.ci/test` and
// `.ci/run` call it from the top of the tree.
package main

import (
	"errors"
	"fmt"
	"io"
	"os"
)

// errFound says that a check found something, which was already printed.
var errFound = errors.New("the check found something")

func main() {
	if err := run(os.Args[1:], os.Stdin, os.Stdout); err != nil {
		fmt.Fprintln(os.Stdout, "gate:", err)
		os.Exit(1)
	}
}

// run does one check. in is read by vulns alone.
func run(args []string, in io.Reader, out io.Writer) error {
	if len(args) == 0 {
		return errors.New("usage: gate test|imports|licences|words|vulns")
	}
	switch args[0] {
	case "test":
		return runTests(args[1:], out)
	case "imports":
		return checkImports(out)
	case "licences":
		return checkLicences(args[1:], out)
	case "words":
		return checkWords(out)
	case "vulns":
		if len(args) != 2 {
			return errors.New("usage: gate vulns FILE-OF-ACCEPTED-IDS < govulncheck's JSON")
		}
		return checkVulns(args[1], in, out)
	}
	return fmt.Errorf("there is no check named %q", args[0])
}
