package recipe_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/landedhq/landed/providers/definition"
	"github.com/landedhq/landed/providers/resume/recipe"
)

func TestParseRefuses(t *testing.T) {
	t.Parallel()
	for _, row := range []struct {
		name     string
		edit     []string
		at       string // the line that holds this
		problems []string
	}{
		{"an unknown key", []string{"about: It tells it.", "abuot: It tells it."}, "abuot:", []string{"unknown field", "abuot"}},
		{"no YAML", []string{"example: {run: r1}", "example: {run: r1"}, "", nil},
		{"no name", []string{"adapter: test.runtime\n", ""}, "", []string{"adapter", "is missing"}},
		{"a name with capitals", []string{"adapter: test.runtime", "adapter: Test"}, "adapter:", []string{"lower-case"}},
		{"no way of proving", []string{"auth:\n  - {kind: bearer, value: \"${secrets.token}\"}\n", ""}, "", []string{"auth", "is missing"}},
		{"an unknown way of proving", []string{"kind: bearer", "kind: magic"}, "kind: magic", []string{"none of none, bearer"}},
		{"a secret outside auth", []string{`"${saved.token}"`, `"${secrets.token}"`}, "json: {token", []string{"secrets.token"}},
		{"a secret in a rule", []string{`body.state == "done"`, `body.state == secrets.token`}, "when: body.state", []string{"secrets.token"}},
		{"a secret in says", []string{`body.?error.orValue("")`, `secrets.token`}, "says:", []string{"secrets.token"}},
		{"an address in the base", []string{`base: "${params.url}"`, `base: "https://${address.run}"`}, "base:", []string{"only parameters"}},
		{"a parameter of free text in the base", []string{`base: "${params.url}"`, `base: "https://${params.place}.example.com"`}, "base:", []string{"type url or label"}},
		{"an address of type url", []string{"run: {type: string,", "run: {type: url,"}, "run: {", []string{"which host is asked"}},
		{"a secret address", []string{"run: {type: string,", "run: {type: string, secret: true,"}, "run: {", []string{"no secret"}},
		{"a member called to", []string{"  step: {", "  to: {"}, "  to: {", []string{"names the target"}},
		{"a check that writes", []string{"method: GET", "method: POST"}, "method: POST, path: [runs, \"${address.run}\"]", []string{"reads: true"}},
		{"a check without a name", []string{"- id: state\n    request", "- request"}, "checks:", []string{"a name of its own"}},
		{"a check that decides nothing", []string{"    rules:\n      - {when: body.state == \"done\", outcome: gone, detail: it is over}\n    save: {token: body.token}\n", "", `"${saved.token}"`, "x"}, "- id: state", []string{"decides nothing"}},
		{"a delivery that only reads", []string{"    method: POST", "    method: GET"}, "    method: GET", []string{"POST or a PUT"}},
		{"a delivery that says it reads", []string{"    method: POST", "    method: POST\n    reads: true"}, "  request:\n    method: POST", []string{"for checks"}},
		{"an unknown outcome", []string{"outcome: gone", "outcome: lost"}, "outcome: lost", []string{"none of accepted"}},
		{"a rule without words", []string{", detail: it is over", ""}, "outcome: gone", []string{"say in one sentence"}},
		{"a rule that is no question", []string{"when: 'status == 409'", "when: 'status'"}, "when: 'status'", []string{"gives int"}},
		{"a misspelt variable", []string{"proof: body.ok", "proof: boby.ok"}, "proof:", []string{"boby", "usable here are"}},
		{"something saved later", []string{"path: [runs, \"${address.run}\"]", "path: [runs, \"${saved.token}\"]"}, "path: [runs, \"${saved", []string{"saved.token"}},
		{"nothing to tell a repeat by", []string{`headers: {X-Key: "${id}"}`, `headers: {X-Key: "x"}`, `, payload: "${payload}"`, ""}, "  request:\n    method: POST", []string{"neither id nor payload"}},
		{"dedupe elsewhere", []string{"name: X-Key,", "name: X-Other,"}, "dedupe:", []string{"no ${id} at header X-Other"}},
		{"dedupe without the id", []string{`headers: {X-Key: "${id}"}`, `headers: {X-Key: "id"}`}, "dedupe:", []string{"no ${id}"}},
		{"dedupe nowhere", []string{"place: header", "place: cookie"}, "dedupe:", []string{"none of json, header, query"}},
		{"no dedupe and no word about it", []string{"dedupe: {place: header, name: X-Key, about: \"a repeat is ignored for a day\"}\n", "", "residual: Nothing.\n", ""}, "", []string{"residual", "has seen"}},
		{"no word about waiting", []string{"setup: [It waits.]\n", ""}, "", []string{"setup", "to wait for this"}},
		{"buffers unsaid", []string{"buffers: false\n", ""}, "", []string{"buffers", "is missing"}},
		{"confirms unsaid", []string{"confirms: false\n", ""}, "", []string{"confirms", "is missing"}},
		{"confirms without a rule", []string{"confirms: false", "confirms: true"}, "confirms:", []string{"no rule"}},
		{"resumed without confirms", []string{"outcome: gone", "outcome: resumed"}, "confirms:", []string{"would close the delivery"}},
		{"an example that is wrong", []string{"example: {run: r1}", "example: {run: 7}"}, "example:", []string{"run is not of type string"}},
		{"credentials in a header", []string{`headers: {X-Key: "${id}"}`, `headers: {Authorization: "${id}"}`}, "headers:", []string{"credentials go into auth"}},
	} {
		t.Run(row.name, func(t *testing.T) {
			t.Parallel()
			text := edited(t, row.edit...)
			_, err := recipe.Parse("mine.yaml", []byte(text))
			var de *definition.Error
			if !errors.As(err, &de) {
				t.Fatalf("error %v, want a definition.Error", err)
			}
			if row.at != "" {
				before, _, ok := strings.Cut(text, row.at)
				if line := strings.Count(before, "\n") + 1; !ok || de.File != "mine.yaml" || de.Line != line && de.Line != line+1 {
					t.Errorf("%s:%d, want line %d (found %v): %v", de.File, de.Line, line, ok, err)
				}
			}
			for _, p := range row.problems {
				if !strings.Contains(err.Error(), p) {
					t.Errorf("%q is not in: %v", p, err)
				}
			}
		})
	}
}

func TestParseListsEveryProblem(t *testing.T) {
	t.Parallel()
	_, err := recipe.Parse("mine.yaml", []byte(edited(t, "adapter: test.runtime", "adapter: Test", "buffers: false\n", "", "run: {type: string,", "run: {type: url,")))
	if err == nil || strings.Count(err.Error(), "mine.yaml") != 3 {
		t.Errorf("want 3 problems: %v", err)
	}
	_, err = recipe.Parse("mine.yaml", []byte(edited(t, "kind: bearer", "kind: magic", "    method: POST", "    method: DELETE", "outcome: gone", "outcome: lost")))
	if err == nil || strings.Count(err.Error(), "mine.yaml:") != 3 {
		t.Errorf("want 3 problems: %v", err)
	}
}

func TestDefinitionTells(t *testing.T) {
	t.Parallel()
	d, err := recipe.Parse("a.yaml", []byte(base))
	if err != nil {
		t.Fatal(err)
	}
	if s := d.Sheet(); s.Kind != "recipe/test.runtime" || !s.Dedupes || s.Buffers || s.Confirms || s.Residual != "Nothing." {
		t.Errorf("%+v", s)
	}
	if len(d.SHA256()) != 64 || d.Probes() || d.Dedupe() != "header X-Key: a repeat is ignored for a day" || string(d.Example("x")) != `{"run":"r1","to":"x"}` {
		t.Errorf("%s %v %s %s", d.SHA256(), d.Probes(), d.Dedupe(), d.Example("x"))
	}
	if a := d.Address(); len(a) != 2 || a[0].Name != "run" || !a[0].Required || a[1].Required || a[1].Default != "1" {
		t.Errorf("%+v", a)
	}
}

func FuzzParse(f *testing.F) {
	f.Add(base)
	f.Add("adapter: [x]")
	f.Add("checks: [{rules: {}}]")
	f.Add("address: !0")
	f.Fuzz(func(t *testing.T, s string) {
		d, err := recipe.Parse("f.yaml", []byte(s))
		if (d == nil) == (err == nil) {
			t.Errorf("definition %v, error %v", d, err)
		}
	})
}

func FuzzCheck(f *testing.F) {
	d, err := recipe.Parse("a.yaml", []byte(base))
	if err != nil {
		f.Fatal(err)
	}
	c := recipe.Config{Name: "x", Definition: d, Params: map[string]string{"url": "https://x.example"}}
	c.Secrets = fixed()
	target, err := c.Open()
	if err != nil {
		f.Fatal(err)
	}
	f.Add(`{"to":"x","run":"r1"}`)
	f.Add(`{"run":"a/b","step":1e3}`)
	f.Fuzz(func(t *testing.T, s string) {
		if target.Check([]byte(s)) == nil && !strings.Contains(s, "run") {
			t.Errorf("%q has no run and was taken", s)
		}
	})
}
