// Command landedvet checks that a worker's effects go through the journal, under
// keys that survive a retry. Package journal/worker/vet says what it finds.
//
// It is a tool for go vet, which caches what it found and follows functions across
// packages:
//
//	go install github.com/landedhq/landed/cmd/landedvet@latest
//	go vet -vettool=$(which landedvet) ./...
//
// Given packages instead of go vet's protocol, it starts go vet with itself, so that
// a module that requires Landed needs no installation:
//
//	go run github.com/landedhq/landed/cmd/landedvet ./...
package main

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strings"

	"github.com/landedhq/landed/journal/worker/vet"
	"golang.org/x/tools/go/analysis/unitchecker"
)

func main() {
	if !byGoVet(os.Args[1:]) {
		os.Exit(runGoVet(os.Args[1:]))
	}
	unitchecker.Main(vet.New())
}

// byGoVet reports whether go vet started the program: it asks for the version and
// the flags, and then names one package's configuration.
func byGoVet(args []string) bool {
	for _, a := range args {
		if strings.HasPrefix(a, "-V") || a == "-flags" || strings.HasSuffix(a, ".cfg") || a == "help" || a == "-h" || a == "-help" || a == "--help" {
			return true
		}
	}
	return len(args) == 0
}

// runGoVet runs go vet with this program as its tool, on flags and packages as they
// were given, and returns its exit status.
func runGoVet(args []string) int {
	self, err := os.Executable()
	if err != nil {
		fmt.Fprintln(os.Stderr, "landedvet: finding its own file:", err)
		return 1
	}
	cmd := exec.Command("go", append([]string{"vet", "-vettool=" + self}, args...)...)
	cmd.Stdin, cmd.Stdout, cmd.Stderr = os.Stdin, os.Stdout, os.Stderr
	err = cmd.Run()
	var exit *exec.ExitError
	switch {
	case errors.As(err, &exit):
		return exit.ExitCode()
	case err != nil:
		fmt.Fprintln(os.Stderr, "landedvet: starting go vet:", err)
		return 1
	}
	return 0
}
