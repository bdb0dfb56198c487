// Package packs holds the definitions that come with Landed: one YAML file per
// provider and kind of object, run by package declared.
//
// It owns the files and nothing else. Each names the vendor's documents that its
// facts come from, and each is tested against a fake in packstest.
package packs

import (
	"embed"
	"fmt"
	"slices"
	"strings"

	"github.com/landedhq/landed/providers/evidence"
	"github.com/landedhq/landed/providers/evidence/declared"
)

//go:embed *.yaml
var files embed.FS

// Names lists the packs in alphabetical order, e.g. "redmine.issue".
func Names() []string {
	entries, err := files.ReadDir(".")
	if err != nil {
		return nil // an embedded folder can be read
	}
	var out []string
	for _, e := range entries {
		out = append(out, strings.TrimSuffix(e.Name(), ".yaml"))
	}
	slices.Sort(out)
	return out
}

// Load compiles a pack.
func Load(name string) (*declared.Definition, error) {
	if !slices.Contains(Names(), name) {
		return nil, fmt.Errorf("packs: there is no pack %.60q, there are %s", name, strings.Join(Names(), ", "))
	}
	b, err := files.ReadFile(name + ".yaml")
	if err != nil {
		return nil, fmt.Errorf("packs: %w", err)
	}
	return declared.Parse(name+".yaml", b)
}

// Open opens an adapter for a pack; c.Definition is replaced.
func Open(name string, c declared.Config) (evidence.Adapter, error) {
	d, err := Load(name)
	if err != nil {
		return nil, err
	}
	c.Definition = d
	return c.Open()
}

// Unconfirmed is what a pack takes for granted although the vendor's documents do
// not say it, in one sentence; "" = it lists nothing, or there is no such pack.
func Unconfirmed(name string) string {
	const begin = "# Not confirmed by the vendor's documents:"
	b, err := files.ReadFile(name + ".yaml")
	if err != nil {
		return ""
	}
	_, rest, found := strings.Cut(string(b), begin)
	if !found {
		return ""
	}
	var words []string
	for i, line := range strings.Split(rest, "\n") {
		text, comment := strings.CutPrefix(line, "#")
		if i > 0 && (!comment || strings.HasPrefix(text, " - ")) {
			break
		}
		words = append(words, strings.Fields(text)...)
	}
	return strings.Join(words, " ")
}
