// Package recipes holds the recipes that come with Landed: one YAML file per
// runtime and way of resuming, run by package recipe.
//
// It owns the files and nothing else. Each names the vendor's documents that its
// facts come from, and what they don't confirm; each is tested against a fake in
// recipestest. README.md says what each promises.
package recipes

import (
	"embed"
	"fmt"
	"slices"
	"strings"

	"github.com/landedhq/landed/providers/resume/recipe"
)

//go:embed *.yaml
var files embed.FS

// Names lists the recipes in alphabetical order, e.g. "inngest.signal".
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

// Load compiles a recipe.
func Load(name string) (*recipe.Definition, error) {
	if !slices.Contains(Names(), name) {
		return nil, fmt.Errorf("recipes: there is no recipe %.60q, there are %s", name, strings.Join(Names(), ", "))
	}
	b, err := files.ReadFile(name + ".yaml")
	if err != nil {
		return nil, fmt.Errorf("recipes: %w", err)
	}
	return recipe.Parse(name+".yaml", b)
}

// Open opens a target for a recipe; c.Definition is replaced.
func Open(name string, c recipe.Config) (*recipe.Target, error) {
	d, err := Load(name)
	if err != nil {
		return nil, err
	}
	c.Definition = d
	return c.Open()
}
