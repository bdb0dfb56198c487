package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
)

// finding is what this check reads of govulncheck's JSON stream. A trace that
// begins with a function means that our code reaches the vulnerable symbol.
type finding struct {
	OSV          string
	FixedVersion string `json:"fixed_version"`
	Trace        []struct{ Module, Version, Package, Function string }
}

// checkVulns prints every known vulnerability that our code reaches and that
// the file of accepted ones does not name, and every accepted one that is gone.
func checkVulns(accepted string, in io.Reader, out io.Writer) error {
	ok, err := readAccepted(accepted)
	if err != nil {
		return err
	}
	reached := map[string]finding{}
	scanned := false
	for dec := json.NewDecoder(in); ; {
		var m struct {
			Finding *finding
			SBOM    *json.RawMessage
		}
		if err := dec.Decode(&m); errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			return fmt.Errorf("reading govulncheck's output: %w", err)
		}
		scanned = scanned || m.SBOM != nil
		if f := m.Finding; f != nil && len(f.Trace) > 0 && f.Trace[0].Function != "" {
			reached[f.OSV] = *f
		}
	}
	if !scanned {
		return errors.New("govulncheck scanned nothing")
	}
	bad := 0
	for _, id := range sortedKeys(reached) {
		f := reached[id]
		if why, known := ok[id]; known {
			fmt.Fprintf(out, "accepted %s in %s: %s\n", id, f.Trace[0].Module, why)
			continue
		}
		fmt.Fprintf(out, "%s in %s %s, reached through %s.%s; fixed in %q\n", id, f.Trace[0].Module, f.Trace[0].Version, f.Trace[0].Package, f.Trace[0].Function, f.FixedVersion)
		bad++
	}
	for _, id := range sortedKeys(ok) {
		if _, there := reached[id]; !there {
			fmt.Fprintf(out, "not reached any more: %s\n", id)
		}
	}
	if bad > 0 {
		return errFound
	}
	return nil
}
