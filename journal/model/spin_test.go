package model

import (
	_ "embed"
	"flag"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/landedhq/landed/journal/journaltest"
)

//go:embed journal.pml
var source []byte

var large = flag.Bool("model.large", false, "search the largest model as well: half a minute and 600 MB more")

// search is one run of the checker.
type search struct {
	name  string
	class string
	flags []string
	// broken: a rule is out, and the checker must find what goes wrong.
	broken bool
}

const (
	atMostOnce = "0"
	deduped    = "1"
	idempotent = "2"
)

func searches() []search {
	sound := []search{
		{name: "at_most_once, three attempts, one order", class: atMostOnce},
		{name: "journal_deduped, three attempts", class: deduped, flags: []string{"-DORDERS=0"}},
		{name: "journal_deduped, one order", class: deduped, flags: []string{"-DMAXA=2"}},
		{name: "provider_idempotent, one order", class: idempotent, flags: []string{"-DMAXA=2"}},
	}
	if *large {
		sound = append(sound, search{name: "provider_idempotent, three attempts", class: idempotent, flags: []string{"-DORDERS=0"}})
	}
	for _, b := range []search{
		{name: "FENCE_SKIPPED", class: atMostOnce, flags: []string{"-DMAXA=2"}},
		{name: "LEASE_IGNORED", class: idempotent, flags: []string{"-DMAXA=2", "-DORDERS=0"}},
		{name: "ORDER_NOT_SPENT", class: atMostOnce},
		{name: "HIT_IGNORED", class: atMostOnce, flags: []string{"-DMAXA=2"}},
		{name: "WINDOW_UNCHECKED", class: idempotent, flags: []string{"-DMAXA=2"}},
		{name: "LATE_COMMIT_DROPPED", class: atMostOnce, flags: []string{"-DMAXA=2"}},
		{name: "VERSION_UNCHECKED", class: atMostOnce, flags: []string{"-DMAXA=2"}},
		{name: "CLEARED_KEPT", class: deduped, flags: []string{"-DORDERS=0"}},
		{name: "LOOK_TOO_EARLY", class: deduped, flags: []string{"-DORDERS=0"}},
		{name: "SWEEPER_GRANTS", class: idempotent, flags: []string{"-DMAXA=2"}},
	} {
		b.broken = true
		b.flags = append(b.flags, "-DBREAK_"+b.name)
		b.name = "without the rule of " + b.name
		sound = append(sound, b)
	}
	return sound
}

// TestModel_EveryInterleaving searches the model to its end.
func TestModel_EveryInterleaving(t *testing.T) {
	t.Parallel()
	const how = "apt-get install --no-install-recommends spin gcc libc6-dev"
	for _, c := range []string{"spin", "gcc"} {
		if _, err := exec.LookPath(c); err != nil {
			journaltest.Missing(t, c, how)
		}
	}
	two := make(chan struct{}, 2) // a search takes a processor and some 300 MB
	for _, s := range searches() {
		t.Run(s.name, func(t *testing.T) {
			t.Parallel()
			two <- struct{}{}
			defer func() { <-two }()
			s.judge(t, s.run(t))
		})
	}
}

// run compiles the model and returns what the search reported.
func (s search) run(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "journal.pml"), source, 0o600); err != nil {
		t.Fatal(err)
	}
	command := func(name string, args ...string) string {
		cmd := exec.CommandContext(t.Context(), name, args...)
		cmd.Dir = dir
		out, err := cmd.CombinedOutput()
		if err != nil {
			t.Fatalf("%s %s: %v\n%s", name, strings.Join(args, " "), err, out)
		}
		return string(out)
	}
	command("spin", append(append([]string{"-a", "-DCLASS=" + s.class}, s.flags...), "journal.pml")...)
	command("gcc", "-w", "-O1", "-DSAFETY", "-DCOLLAPSE", "-DMEMLIM=2000", "-o", "pan", "pan.c")
	return command("./pan", "-m100000")
}

var (
	errorsLine = regexp.MustCompile(`errors: (\d+)`)
	statesLine = regexp.MustCompile(`(\d+(?:\.\d+)?(?:e\+\d+)?) states, stored`)
)

// judge requires a whole search: one that was cut short proves nothing.
func (s search) judge(t *testing.T, out string) {
	t.Helper()
	m := errorsLine.FindStringSubmatch(out)
	states := statesLine.FindStringSubmatch(out)
	if m == nil || states == nil {
		t.Fatalf("the search reported no end:\n%s", out)
	}
	if s.broken {
		if m[1] == "0" || !strings.Contains(out, "assertion violated") {
			t.Errorf("a rule is out, and the search found nothing:\n%s", out)
		}
		return
	}
	for _, cut := range []string{"Search not completed", "max search depth too small", "reached -DMEMLIM", "out of memory", "hash array"} {
		if strings.Contains(out, cut) {
			t.Fatalf("the search was cut short (%s):\n%s", cut, out)
		}
	}
	if m[1] != "0" {
		t.Errorf("a promise is broken:\n%s", out)
	}
	t.Logf("%s states", states[1])
}
