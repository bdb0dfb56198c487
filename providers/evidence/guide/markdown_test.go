package guide

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// The folder holds what the package renders now.
func TestRendered(t *testing.T) {
	t.Parallel()
	readme, err := Readme()
	if err != nil {
		t.Fatal(err)
	}
	want := map[string]string{"README.md": readme}
	for _, name := range Names() {
		page, err := Page(name, Langs()...)
		if err != nil {
			t.Fatal(err)
		}
		want[filepath.Join("pages", name+".md")] = page
	}
	old, err := filepath.Glob("pages/*")
	if err != nil {
		t.Fatal(err)
	}
	if os.Getenv("LANDED_RENEW") != "" {
		renew(t, old, want)
		return
	}
	for _, name := range old {
		if want[name] == "" {
			t.Errorf("%s belongs to no provider: run %s", name, Renew)
		}
	}
	for name, text := range want {
		got, err := os.ReadFile(name)
		if err != nil {
			t.Errorf("%v: run %s", err, Renew)
		} else if diff := cmp.Diff(string(got), text); diff != "" {
			t.Errorf("%s is not current, run %s\n%s", name, Renew, diff)
		}
	}
}

func renew(t *testing.T, old []string, want map[string]string) {
	t.Helper()
	for _, name := range old {
		if err := os.Remove(name); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.MkdirAll("pages", 0o755); err != nil {
		t.Fatal(err)
	}
	for name, text := range want {
		if err := os.WriteFile(name, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

// Every page says what it must, and a placeholder that was not understood is no
// value.
func TestPages(t *testing.T) {
	t.Parallel()
	s := newStand()
	for _, name := range Names() {
		g, err := Of(name)
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		page, err := Page(name, Langs()...)
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		for _, never := range []string{s.ref, s.key, "5eed0000-", "%!", "<no value>"} {
			if strings.Contains(page, never) {
				t.Errorf("%s: the page holds %q", name, never)
			}
		}
		for _, always := range []string{g.About, string(g.Tool.Class), "{ref}", "```go\n", "```python\n", "```java\n", "Until “not found” is believed"} {
			if !strings.Contains(page, always) && !(always == "{ref}" && strings.Contains(page, "{dashed ref}")) {
				t.Errorf("%s: the page lacks %q", name, always)
			}
		}
	}
}
