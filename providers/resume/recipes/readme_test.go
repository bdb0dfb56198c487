package recipes_test

import (
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/landedhq/landed/providers/resume/recipe"
	"github.com/landedhq/landed/providers/resume/recipes"
)

// TestReadmeTellsWhatIsPromised holds the table of README.md against the files. On
// a difference it prints the table that belongs there.
func TestReadmeTellsWhatIsPromised(t *testing.T) {
	t.Parallel()
	b, err := os.ReadFile("README.md")
	if err != nil {
		t.Fatal(err)
	}
	const begin, end = "<!-- from the files -->\n", "<!-- to here -->"
	_, rest, ok := strings.Cut(string(b), begin)
	got, _, closed := strings.Cut(rest, end)
	if !ok || !closed {
		t.Fatal("README.md has no table")
	}
	want := promises(t)
	if got != want {
		t.Errorf("README.md is not what the files say. It should have:\n%s", want)
	}
}

func promises(t *testing.T) string {
	t.Helper()
	var b strings.Builder
	b.WriteString("| recipe | what is called | knows the id | kept until the wait | tells that it goes on | tried by `check` |\n| --- | --- | --- | --- | --- | --- |\n")
	var left, addresses, setup, config strings.Builder
	for _, name := range recipes.Names() {
		d, err := recipes.Load(name)
		if err != nil {
			t.Fatal(err)
		}
		s := d.Sheet()
		fmt.Fprintf(&b, "| `%s` | %s | %s | %s | %s | %s |\n", name, d.About(), yes(s.Dedupes), yes(s.Buffers), yes(s.Confirms), yes(d.Probes()))
		fmt.Fprintf(&left, "- `%s`: ", name)
		if k := d.Dedupe(); k != "" {
			fmt.Fprintf(&left, "%s. ", k)
		}
		fmt.Fprintf(&left, "%s\n", strings.TrimSpace(s.Residual))
		fmt.Fprintf(&addresses, "- `%s`: %s\n", name, members(d))
		fmt.Fprintf(&setup, "- `%s`: %s\n", name, strings.Join(d.Setup(), " "))
		fmt.Fprintf(&config, "- `%s`: %s\n", name, settings(d))
	}
	return b.String() + "\nWhat the workflow does to wait, and what is set up for it:\n\n" + setup.String() + "\nWhat is left to the consumer:\n\n" + left.String() +
		"\nWhat `begin`'s `resume` has beside `to`:\n\n" + addresses.String() + "\nWhat the configuration gives, and which secrets together:\n\n" + config.String()
}

func settings(d *recipe.Definition) string {
	var out, ways []string
	for _, p := range d.Params() {
		s := fmt.Sprintf("`%s`, %s", p.Name, p.About)
		switch {
		case p.Secret:
			s += " (secret)"
		case !p.Required:
			s += fmt.Sprintf(" (default `%q`)", p.Default)
		}
		out = append(out, s)
	}
	for _, w := range d.Ways() {
		if len(w) == 0 {
			ways = append(ways, "none")
			continue
		}
		ways = append(ways, "`"+strings.Join(w, "` and `")+"`")
	}
	return strings.Join(out, "; ") + ". Secrets: " + strings.Join(ways, ", or ")
}

func members(d *recipe.Definition) string {
	var out []string
	for _, a := range d.Address() {
		s := fmt.Sprintf("`%s`, %s", a.Name, a.About)
		if !a.Required {
			s += fmt.Sprintf(" (may be left out; then `%q`)", a.Default)
		}
		out = append(out, s)
	}
	return strings.Join(out, "; ") + ". For example `" + string(d.Example("my-runtime")) + "`"
}

func yes(b bool) string {
	if b {
		return "yes"
	}
	return "no"
}
