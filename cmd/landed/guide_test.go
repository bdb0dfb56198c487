package main

import (
	"encoding/json"
	"log/slog"
	"strings"
	"testing"

	"github.com/landedhq/landed/journal"
	"github.com/landedhq/landed/providers/evidence"
	"github.com/landedhq/landed/providers/evidence/declared"
	"github.com/landedhq/landed/providers/evidence/imap"
	"github.com/landedhq/landed/providers/evidence/packs"
)

func guideOutput(t *testing.T, args ...string) string {
	t.Helper()
	var out, errs output
	if err := run(t.Context(), append([]string{"guide"}, args...), stdio{strings.NewReader(""), &out, &errs}); err != nil {
		t.Fatalf("landed guide %v: %v\n%s", args, err, errs.String())
	}
	return out.String()
}

func TestGuide(t *testing.T) {
	t.Parallel()
	for _, row := range []struct {
		name        string
		args        []string
		holds, lack []string
	}{
		{"the list", nil, []string{"| Stripe | `stripe` | `provider_idempotent` | 24 h |", "| Freshdesk | `freshdesk.ticket` | `at_most_once` |  | never |"}, []string{"```"}},
		{"one, in all languages", []string{"stripe"}, []string{"# Stripe (`stripe`)", "metadata[landed_ref]", "```go\n", "```python\n", "```java\n"}, []string{"func main()"}},
		{"two, in one", []string{"stripe", "sql", "--lang", "go"}, []string{"# Stripe", "# A table in PostgreSQL", "func stripeTool(", "func main()"}, []string{"```python", "```java"}},
	} {
		t.Run(row.name, func(t *testing.T) {
			t.Parallel()
			got := guideOutput(t, row.args...)
			for _, s := range row.holds {
				if !strings.Contains(got, s) {
					t.Errorf("it lacks %q", s)
				}
			}
			for _, s := range row.lack {
				if strings.Contains(got, s) {
					t.Errorf("it holds %q", s)
				}
			}
		})
	}
}

func TestGuideJSON(t *testing.T) {
	t.Parallel()
	type one struct {
		Name  string
		Tool  struct{ Class, KeyWindow string }
		Files map[string][]struct{ Name, Content string }
	}
	var all, stripe []one
	if err := json.Unmarshal([]byte(guideOutput(t, "--format", "json")), &all); err != nil || len(all) < 30 || len(all[0].Files) != 0 {
		t.Errorf("%d guides, %v", len(all), err)
	}
	if err := json.Unmarshal([]byte(guideOutput(t, "stripe", "--lang", "java", "--format", "json")), &stripe); err != nil || len(stripe) != 1 {
		t.Fatalf("%d guides, %v", len(stripe), err)
	}
	var names []string
	for _, f := range stripe[0].Files["java"] {
		names = append(names, f.Name)
	}
	if got := strings.Join(names, " "); got != "StripeTool.java Tools.java Send.java Main.java" || stripe[0].Tool.Class != "provider_idempotent" {
		t.Errorf("%+v with the files %s", stripe[0].Tool, got)
	}
}

// The desk shows the settings of the configured provider, not those of the example.
func TestGuidesOfConfiguredProviders(t *testing.T) {
	t.Parallel()
	d, err := packs.Load("redmine.issue")
	if err != nil {
		t.Fatal(err)
	}
	desk, err := declared.Config{Definition: d, Params: map[string]string{"url": "https://desk.example.com", "field": "42"},
		Secrets: map[string]evidence.Secret{"api_key": evidence.Fixed("x")}}.Open()
	if err != nil {
		t.Fatal(err)
	}
	mail, err := imap.Config{Address: "imap.example.com:993", Username: "u", Password: evidence.Fixed("x"), Carrier: imap.Carrier{RefHeader: "X-Acme-Ref"}}.Open()
	if err != nil {
		t.Fatal(err)
	}
	got := guidesOf(map[string]evidence.Adapter{"desk": desk, "mail": mail, "own": mute{mail}}, slog.New(slog.DiscardHandler))
	if len(got) != 2 || got["desk"].Fields[0].Name != "issue.custom_fields[] (an object with id 42)" || got["mail"].Fields[1].Name != "X-Acme-Ref" {
		t.Errorf("%+v", got)
	}
	if m := got["mail"]; m.Tool.Class != journal.ClassAtMostOnce || m.BelievedAfter != 0 {
		t.Errorf("a Sent folder that nobody fills for certain: %+v", m.Tool)
	}
}

// mute is an adapter without an instruction.
type mute struct{ evidence.Adapter }
