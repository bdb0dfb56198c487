package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
)

// goModule is what this check reads of `go list -deps -json`.
type goModule struct {
	Path, Version, Dir string
	Main               bool
	Replace            *goModule
}

// licence is a permissive licence, known by a phrase of its text.
type licence struct {
	name   string
	phrase string
}

func permissive() []licence {
	return []licence{
		{"Apache-2.0", "apache license version 2.0"},
		{"MIT", "permission is hereby granted, free of charge, to any person obtaining a copy"},
		{"BSD", "redistribution and use in source and binary forms, with or without modification, are permitted"},
		{"ISC", "permission to use, copy, modify, and/or distribute this software for any purpose with or without fee is hereby granted"},
		{"ISC", "permission to use, copy, modify, and distribute this software for any purpose with or without fee is hereby granted"},
		{"CC0-1.0", "cc0 1.0 universal"},
		{"Unlicense", "this is free and unencumbered software released into the public domain"},
	}
}

// copyleft outweighs: a file that also holds one of these is not permissive.
func copyleft() []string {
	return []string{
		"gnu general public license", "gnu lesser general public license", "gnu affero general public license",
		"mozilla public license", "server side public license", "business source license", "eclipse public license",
	}
}

// checkLicences looks at every module from which a package is built into the
// program or its tests, in each folder. The first argument is the file of the
// modules that are accepted all the same.
func checkLicences(dirs []string, out io.Writer) error {
	if len(dirs) < 2 {
		return errors.New("usage: gate licences FILE-OF-ACCEPTED-MODULES FOLDER…")
	}
	ok, err := readAccepted(dirs[0])
	if err != nil {
		return err
	}
	seen := map[string]bool{}
	count := map[string]int{}
	bad := 0
	for _, dir := range dirs[1:] {
		mods, err := modulesUsed(dir)
		if err != nil {
			return err
		}
		for _, m := range mods {
			if id := m.Path + "@" + m.Version; !seen[id] {
				seen[id] = true
				name, err := licenceOf(m.Dir)
				if err != nil && accepts(ok, m.Path) {
					name = "accepted"
				} else if err != nil {
					fmt.Fprintf(out, "%s: %v\n", id, err)
					bad++
				}
				count[name]++
			}
		}
	}
	for _, name := range sortedKeys(count) {
		fmt.Fprintf(out, "%3d %s\n", count[name], name)
	}
	if bad > 0 {
		return errFound
	}
	return nil
}

// accepts reports whether a path of the list is the module's or above it.
func accepts(ok map[string]string, module string) bool {
	for path := range ok {
		if under(module, strings.TrimSuffix(path, "/")) {
			return true
		}
	}
	return false
}

func modulesUsed(dir string) ([]goModule, error) {
	cmd := exec.Command("go", "list", "-deps", "-test", "-json=Module", "./...")
	cmd.Dir, cmd.Stderr = dir, os.Stderr
	list, err := cmd.Output()
	if err != nil {
		return nil, fmt.Errorf("listing the packages of %s: %w", dir, err)
	}
	var mods []goModule
	for dec := json.NewDecoder(bytes.NewReader(list)); ; {
		var p struct{ Module *goModule }
		if err := dec.Decode(&p); errors.Is(err, io.EOF) {
			return mods, nil
		} else if err != nil {
			return nil, fmt.Errorf("reading the list of packages: %w", err)
		}
		if m := p.Module; m != nil && !m.Main && m.Replace == nil {
			mods = append(mods, *m)
		}
	}
}

var spaces = regexp.MustCompile(`[\s,]+`)

// licenceOf names the licence of the module in dir. Every licence file there
// must be permissive.
func licenceOf(dir string) (string, error) {
	files, err := os.ReadDir(dir)
	if err != nil {
		return "unknown", err
	}
	var names []string
	for _, f := range files {
		upper := strings.ToUpper(f.Name())
		if f.IsDir() || !(strings.HasPrefix(upper, "LICEN") || strings.HasPrefix(upper, "COPYING") || strings.HasPrefix(upper, "UNLICENSE")) {
			continue
		}
		b, err := os.ReadFile(filepath.Join(dir, f.Name()))
		if err != nil {
			return "unknown", err
		}
		name, err := recognise(string(b))
		if err != nil {
			return name, fmt.Errorf("%s: %w", f.Name(), err)
		}
		names = append(names, name)
	}
	if len(names) == 0 {
		return "unknown", errors.New("it has no licence file")
	}
	slices.Sort(names)
	return strings.Join(slices.Compact(names), " and "), nil
}

func recognise(text string) (string, error) {
	flat := normal(text)
	for _, c := range copyleft() {
		// The Apache licence and some notices speak of others in passing.
		if i := strings.Index(flat, normal(c)); i >= 0 && i < 400 {
			return "not permissive", fmt.Errorf("it is under the %s", c)
		}
	}
	for _, l := range permissive() {
		if strings.Contains(flat, normal(l.phrase)) {
			return l.name, nil
		}
	}
	return "unknown", errors.New("its licence is not one of those known to be permissive")
}

// normal takes out commas, case and line breaks: licences differ in them.
func normal(s string) string {
	return strings.TrimSpace(spaces.ReplaceAllString(strings.ToLower(s), " "))
}
