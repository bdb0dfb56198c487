package main

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
)

const readmeLines = 120

// forbidden are addresses and paths that tie the project to one machine or one
// network. They are put together so that this file does not hold them.
func forbidden() *regexp.Regexp {
	return regexp.MustCompile(strings.Join([]string{
		`proxy\.go` + `lang\.org`, `registry\.npm` + `js\.org`, `deb\.deb` + `ian\.org`, `py` + `pi\.org`, `regist` + `ry\.yarnpkg\.com`,
		`(^|[^\w./-])/wo` + `rk(/|\b)`, `/ro` + `ot/go\b`, `\.\./sha` + `red\b`, `(^|[^\w./-])/ho` + `me/[a-z]+/(go|src)\b`,
	}, "|"))
}

// checkWords looks through every file that is or would be committed.
func checkWords(out io.Writer) error {
	list, err := exec.Command("git", "ls-files", "-z", "--cached", "--others", "--exclude-standard").Output()
	if err != nil {
		return fmt.Errorf("listing files: %w", err)
	}
	found := 0
	re := forbidden()
	for _, name := range strings.Split(strings.TrimRight(string(list), "\x00"), "\x00") {
		b, err := os.ReadFile(filepath.FromSlash(name))
		if err != nil || bytes.IndexByte(b, 0) >= 0 {
			continue // removed, or not text
		}
		for n, line := range bytes.Split(b, []byte("\n")) {
			if re.Match(line) {
				fmt.Fprintf(out, "%s:%d: %s\n", name, n+1, bytes.TrimSpace(line))
				found++
			}
		}
		if lines := bytes.Count(b, []byte("\n")); name == "README.md" && lines > readmeLines {
			fmt.Fprintf(out, "README.md has %d lines, at most %d are read\n", lines, readmeLines)
			found++
		}
	}
	if found > 0 {
		return errFound
	}
	return nil
}
