package main

import (
	"bytes"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestImportsGoOneWay(t *testing.T) {
	t.Parallel()
	for _, row := range []struct {
		name, self string
		imports    []string
		wrong      int
	}{
		{"the domain takes the standard library", "journal", []string{"time", "encoding/json"}, 0},
		{"the domain takes nothing else", "journal", []string{"github.com/google/uuid"}, 1},
		{"a provider takes the domain", "providers/evidence/imap", []string{module + "journal", module + "providers/evidence", "github.com/emersion/go-imap/v2"}, 0},
		{"a provider takes no store", "providers/evidence", []string{module + "journal/postgres"}, 1},
		{"nobody takes handlers", "providers/alert", []string{module + "handlers"}, 1},
		{"pages know no database", "web", []string{"github.com/jackc/pgx/v5"}, 1},
		{"pages know no router", "web", []string{"github.com/labstack/echo/v4"}, 1},
		{"the store takes the database", "journal/postgres/internal/sqlc", []string{"github.com/jackc/pgx/v5"}, 0},
		{"the program wires all", "cmd/landed", []string{module + "handlers/api", module + "journal/postgres"}, 0},
		{"a fake server may skip tests", "providers/evidence/rt/rttest", []string{module + "journal/journaltest"}, 0},
		{"the product may not", "providers/evidence/rt", []string{module + "journal/journaltest"}, 1},
		{"echo's middleware is out", "handlers", []string{"github.com/labstack/echo/v4/middleware"}, 1},
		{"a store for one table is no store for all", "journal/decide", []string{module + "journal/postgres", module + "journal/audit"}, 2},
	} {
		t.Run(row.name, func(t *testing.T) {
			t.Parallel()
			got := judgeImports(goPackage{ImportPath: module + row.self, Imports: row.imports})
			if len(got) != row.wrong {
				t.Errorf("%d findings, want %d: %q", len(got), row.wrong, got)
			}
		})
	}
}

func TestSumOfTests(t *testing.T) {
	t.Parallel()
	var out bytes.Buffer
	s := &sum{out: &out, kept: map[string][]string{}}
	for _, line := range []string{
		`{"Action":"run","Package":"p/a","Test":"TestGood"}`,
		`{"Action":"output","Package":"p/a","Test":"TestGood","Output":"chatter\n"}`,
		`{"Action":"pass","Package":"p/a","Test":"TestGood","Elapsed":0.1}`,
		`{"Action":"output","Package":"p/a","Test":"TestBad","Output":"    want 1\n"}`,
		`{"Action":"fail","Package":"p/a","Test":"TestBad","Elapsed":0.1}`,
		`{"Action":"output","Package":"p/a","Test":"TestLost","Output":"SKIPPED, Dovecot is missing\n"}`,
		`{"Action":"skip","Package":"p/a","Test":"TestLost"}`,
		`{"Action":"fail","Package":"p/a","Elapsed":0.3}`,
		`{"ImportPath":"p/b","Action":"build-output","Output":"b.go:1: undefined: x\n"}`,
		`{"Action":"fail","Package":"p/b","FailedBuild":"p/b"}`,
		`{"Action":"output","Package":"p/c","Test":"TestHangs","Output":"still here\n"}`,
		`{"Action":"output","Package":"p/c","Output":"panic: test timed out\n"}`,
		`{"Action":"fail","Package":"p/c","Elapsed":9}`,
		`go: something of its own` + "\n",
	} {
		s.line(line)
	}
	s.close()
	for _, want := range []string{
		"want 1", "SKIPPED, Dovecot", "undefined: x", "p/b (0.0s): it does not build", "still here", "panic: test timed out",
		"go: something of its own", "failed package: p/a\nfailed package: p/b\nfailed package: p/c\n", "tests: 1 passed, 1 failed, 1 skipped\n",
	} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("%q is missing in\n%s", want, out.String())
		}
	}
	if strings.Contains(out.String(), "chatter") {
		t.Error("a passing test's output is printed")
	}
}

// A package that can't be built fails the run even if no test failed.
func TestRunTestsFailsOnABrokenModule(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	write(t, dir, "go.mod", "module broken\n\ngo 1.26.0\n")
	write(t, dir, "a.go", "package a\n\nvar X = nope\n")
	write(t, dir, "a_test.go", "package a\n\nimport \"testing\"\n\nfunc TestA(t *testing.T) {}\n")
	var out bytes.Buffer
	if err := run([]string{"test", dir}, nil, &out); err == nil {
		t.Errorf("no error:\n%s", out.String())
	}
	if !strings.Contains(out.String(), "tests: 0 passed, 1 failed") || !strings.Contains(out.String(), "nope") {
		t.Errorf("the closing line or the cause is missing:\n%s", out.String())
	}
	write(t, dir, "a.go", "package a\n")
	write(t, dir, "a_test.go", "package a\n")
	if err := run([]string{"test", dir}, nil, io.Discard); err == nil {
		t.Error("no test ran, and no error")
	}
}

func TestVulnerabilities(t *testing.T) {
	t.Parallel()
	const head = `{"config":{}} {"SBOM":{"go_version":"go1.26.10"}} `
	const imported = `{"finding":{"osv":"GO-1","trace":[{"module":"m","version":"v1"}]}} `
	const reached = `{"finding":{"osv":"GO-2","fixed_version":"v2","trace":[{"module":"m","version":"v1","package":"m/p","function":"F"}]}} `
	for _, row := range []struct {
		name, stream, accepted string
		fails                  bool
	}{
		{"nothing", head, "", false},
		{"imported but not reached", head + imported, "", false},
		{"reached", head + reached, "", true},
		{"reached and accepted", head + reached, "# why\nGO-2 it can't be used here\n", false},
		{"accepted without a reason", head + reached, "GO-2\n", true},
		{"the scan failed", `{"config":{}} `, "", true},
		{"no JSON", `govulncheck: no`, "", true},
	} {
		t.Run(row.name, func(t *testing.T) {
			t.Parallel()
			file := write(t, t.TempDir(), "accepted", row.accepted)
			err := run([]string{"vulns", file}, strings.NewReader(row.stream), io.Discard)
			if (err != nil) != row.fails {
				t.Errorf("error %v, want one: %t", err, row.fails)
			}
		})
	}
}

func TestLicences(t *testing.T) {
	t.Parallel()
	for _, row := range []struct {
		name, file, text, want string
		fails                  bool
	}{
		{"MIT", "LICENSE", "Permission is hereby granted, free of charge,\nto any person obtaining a copy", "MIT", false},
		{"Apache", "LICENSE.txt", "   Apache License\n  Version 2.0, January 2004", "Apache-2.0", false},
		{"copyleft", "COPYING", "GNU GENERAL PUBLIC LICENSE\nVersion 3", "not permissive", true},
		{"weak copyleft", "LICENSE", "Mozilla Public License, version 2.0", "not permissive", true},
		{"unheard of", "LICENSE", "You may look at it.", "unknown", true},
		{"none", "README", "", "unknown", true},
	} {
		t.Run(row.name, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			write(t, dir, row.file, row.text)
			got, err := licenceOf(dir)
			if got != row.want || (err != nil) != row.fails {
				t.Errorf("%q, %v; want %q", got, err, row.want)
			}
		})
	}
	if !accepts(map[string]string{"x.org/a/": "because"}, "x.org/a/b") || accepts(map[string]string{"x.org/a": "because"}, "x.org/ab") {
		t.Error("a path accepts itself and what is below it, nothing else")
	}
}

func TestForbiddenWords(t *testing.T) {
	t.Parallel()
	for line, want := range map[string]bool{
		"https://proxy.go" + "lang.org/x":         true,
		"cd /wo" + "rk/main":                      true,
		"see ../sha" + "red/notes":                true,
		"/home/linuxbrew/.linuxbrew/opt":          false,
		"https://example.org/workers/work":        false,
		"the journal's /v1/effects and /e/ pages": false,
	} {
		if got := forbidden().MatchString(line); got != want {
			t.Errorf("%q: %t, want %t", line, got, want)
		}
	}
}

func write(t *testing.T, dir, name, text string) string {
	t.Helper()
	path := filepath.Join(dir, name)
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}
