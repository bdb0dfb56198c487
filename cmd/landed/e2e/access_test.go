package e2e_test

import (
	"encoding/json"
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/landedhq/landed/journal/journaltest"
)

// axePath is where `.ci/test` keeps axe-core, which finds barriers on pages for
// people who can't see, hear or point well.
const axePath = "../../../.ci/node_modules/axe-core/axe.min.js"

func readAxe(t *testing.T) string {
	t.Helper()
	b, err := os.ReadFile(axePath)
	if os.IsNotExist(err) {
		journaltest.Missing(t, "axe-core", "bash .ci/test installs it; or in the top folder: npm install --prefix .ci --no-save --no-package-lock axe-core")
	}
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

// axeRun reports violations of WCAG 2.2 A and AA, and of axe's best practices.
const axeRun = `axe.run(document, {resultTypes: ["violations"], runOnly: ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa", "best-practice"]})
	.then((r) => JSON.stringify(r.violations.map((v) => ({id: v.id, impact: v.impact, help: v.help,
		nodes: v.nodes.map((n) => n.html.slice(0, 200) + " — " + (n.failureSummary ?? ""))}))))`

// barriers runs axe on the page as it is now.
func (b *tab) barriers() []string {
	b.t.Helper()
	if there, err := eval[bool](b, `typeof axe === "object"`); err != nil || !there {
		if _, err := eval[bool](b, readAxe(b.t)+"; true"); err != nil {
			b.t.Fatalf("loading axe: %v", err)
		}
	}
	text, err := eval[string](b, axeRun)
	if err != nil {
		b.t.Fatalf("running axe: %v", err)
	}
	var found []struct {
		ID, Impact, Help string
		Nodes            []string
	}
	if err := json.Unmarshal([]byte(text), &found); err != nil {
		b.t.Fatalf("reading what axe says: %v", err)
	}
	var out []string
	for _, f := range found {
		out = append(out, fmt.Sprintf("%s (%s): %s\n  %s", f.ID, f.Impact, f.Help, strings.Join(f.Nodes, "\n  ")))
	}
	return out
}
