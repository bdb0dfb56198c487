package main

import (
	"fmt"
	"os"
	"strings"
)

// readAccepted reads lines of a name and the reason; # begins a comment.
func readAccepted(path string) (map[string]string, error) {
	b, err := os.ReadFile(path)
	if err != nil {
		return nil, fmt.Errorf("reading what is accepted: %w", err)
	}
	ok := map[string]string{}
	for n, line := range strings.Split(string(b), "\n") {
		line = strings.TrimSpace(line)
		if line == "" || strings.HasPrefix(line, "#") {
			continue
		}
		name, why, _ := strings.Cut(line, " ")
		if why = strings.TrimSpace(why); why == "" {
			return nil, fmt.Errorf("%s:%d: %s is accepted without a reason", path, n+1, name)
		}
		ok[name] = why
	}
	return ok, nil
}
