package declared_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/landedhq/landed/providers/evidence/declared"
)

func TestParseRefuses(t *testing.T) {
	t.Parallel()
	for _, row := range []struct {
		name     string
		edit     []string
		at       string // the line that holds this
		problems []string
	}{
		{"an unknown key", []string{"    items: body.things\n", "    itmes: body.things\n"}, "itmes:", []string{"unknown field", "itmes"}},
		{"no YAML", []string{"  class: L2", "  class: [L2"}, "index_lag:", nil},
		{"a duration without unit", []string{"index_lag: 10s", "index_lag: 10"}, "index_lag:", []string{"30s"}},
		{"no match", []string{"    match: {carrier: field, value: item.ref}\n", ""}, "- id: list", []string{"match is missing", "byte for byte"}},
		{"a match that knows the answer", []string{"value: item.ref}", "value: ref}"}, "match:", []string{"without ref"}},
		{"a match that reads nothing", []string{"value: item.ref}", "value: '\"x\"'}"}, "match:", []string{"does not read item"}},
		{"a match that gives true", []string{"value: item.ref}", "value: item.ref == \"x\"}"}, "match:", []string{"gives bool"}},
		{"a misspelt variable", []string{"items: body.things", "items: boby.things"}, "items:", []string{"boby", "usable here are", "body"}},
		{"broken syntax", []string{"items: body.things", "items: body..things"}, "items:", []string{"character 6"}},
		{"a POST that may write", []string{"method: GET", "method: POST"}, "method:", []string{"reads: true"}},
		{"another method", []string{"method: GET", "method: DELETE"}, "method:", []string{"only reads"}},
		{"a secret outside auth", []string{`{ref: "${ref}"}`, `{ref: "${ref}", key: "${secrets.token}"}`}, "query: {ref", []string{"secrets.token"}},
		{"a secret in a fact", []string{"id: item.id", "id: item.id, title: secrets.token"}, "facts:", []string{"secrets.token"}},
		{"an unknown parameter", []string{"things in ${params.place}", "things in ${params.palce}"}, "scopes:", []string{"params.palce", "params.place"}},
		{"a parameter of free text in the address", []string{`base: "${params.url}"`, `base: "https://${params.place}.example.com"`}, "base:", []string{"type url or label"}},
		{"something before a whole address", []string{`base: "${params.url}"`, `base: "https://x.${params.url}"`}, "base:", []string{"nothing may stand before it"}},
		{"an expression in the address", []string{`base: "${params.url}"`, `base: "${params.url + 'x'}"`}, "base:", []string{"only parameters"}},
		{"a status alone as absence (T-10)", []string{"    pages: {kind: whole}", "    absent: status == 404\n    pages: {kind: whole}"}, "absent:", []string{"missing endpoint"}},
		{"a page size that is not known", []string{"kind: whole", "kind: none"}, "pages:", []string{"how many rows"}},
		{"a cursor that goes nowhere", []string{"kind: whole", "kind: cursor, next: body.next"}, "pages:", []string{"param"}},
		{"an unknown way of paging", []string{"kind: whole", "kind: scroll"}, "pages:", []string{"none of whole"}},
		{"no scope", []string{"    scopes: [{name: \"things in ${params.place}\"}]\n", ""}, "- id: list", []string{"what this search covers"}},
		{"a scan that takes every row", []string{"class: L2", "class: L5"}, "- id: list", []string{"outside the window"}},
		{"an unknown class", []string{"class: L2", "class: L7"}, "class:", []string{"L1 to L6"}},
		{"no processing horizon", []string{"  processing_horizon: 5m\n", ""}, "sheet:", []string{"still land"}},
		{"an unknown language", []string{`{ref: "${ref}"}`, `{ref: {lang: klingon, text: "${ref}"}}`}, "query: {ref", []string{"klingon"}},
		{"an unknown key of a value", []string{`{ref: "${ref}"}`, `{ref: {lnag: jql, text: "${ref}"}}`}, "query: {ref", []string{"lnag"}},
		{"an open expression", []string{`{ref: "${ref}"}`, `{ref: "${ref"}`}, "query: {ref", []string{"never closed"}},
		{"credentials in a header", []string{"      query: {ref", "      headers: {Authorization: x}\n      query: {ref"}, "headers:", []string{"credentials go into auth"}},
		{"a parameter without a word", []string{`{type: string, default: main, about: "the place"}`, `{type: string, default: main}`}, "place: {", []string{"about is missing"}},
		{"a default that does not fit", []string{"{type: string, default: main,", "{type: int, default: main,"}, "place: {", []string{"whole number"}},
		{"a secret with a default", []string{"secret: true,", "secret: true, default: x,"}, "token: {", []string{"no default"}},
		{"an unknown way of proving", []string{"auth: {kind: bearer", "auth: {kind: magic"}, "auth:", []string{"none of none, bearer"}},
		{"a writer that writes no reference", []string{`value: "${ref}", why`, `value: "x", why`}, "fields:", []string{"carries ref"}},
		{"an unknown fault", []string{"steps:\n", "errors: [{when: \"true\", kind: odd, detail: x}]\nsteps:\n"}, "errors:", []string{"none of auth"}},
		{"an id that is not told", []string{"{id: item.id, state", "{state"}, "facts:", []string{"id and state"}},
		{"a mutation", []string{"method: GET\n      path: [things]\n      query: {ref: \"${ref}\"}", "method: POST\n      reads: true\n      path: [graphql]\n      graphql: {query: \"mutation { x }\"}"}, "graphql: {", []string{"must begin with query"}},
		{"a mutation behind a query", []string{"method: GET\n      path: [things]\n      query: {ref: \"${ref}\"}", "method: POST\n      reads: true\n      path: [graphql]\n      graphql: {query: \"query { x } mutation { y }\"}"}, "graphql: {", []string{"more than read"}},
	} {
		t.Run(row.name, func(t *testing.T) {
			t.Parallel()
			text := edited(t, row.edit...)
			before, _, ok := strings.Cut(text, row.at)
			if !ok {
				t.Fatalf("%q is not in the definition", row.at)
			}
			line := strings.Count(before, "\n") + 1
			_, err := declared.Parse("mine.yaml", []byte(text))
			var de *declared.DefinitionError
			if !errors.As(err, &de) {
				t.Fatalf("error %v, want a DefinitionError", err)
			}
			if de.File != "mine.yaml" || de.Line != line {
				t.Errorf("%s:%d, want line %d: %v", de.File, de.Line, line, err)
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
	_, err := declared.Parse("mine.yaml", []byte(edited(t, "class: L2", "class: L9", "method: GET", "method: PUT", "adapter: test.thing", "adapter: Test Thing")))
	if n := strings.Count(err.Error(), "mine.yaml:"); n < 2 {
		t.Errorf("%d problems: %v", n, err)
	}
}

func TestVersionHoldsTheFilesHash(t *testing.T) {
	t.Parallel()
	one, err := declared.Parse("a.yaml", []byte(base))
	if err != nil {
		t.Fatal(err)
	}
	two, err := declared.Parse("a.yaml", []byte(base+"# a comment\n"))
	if err != nil {
		t.Fatal(err)
	}
	if one.SHA256() == two.SHA256() || len(one.SHA256()) != 64 {
		t.Errorf("%s and %s", one.SHA256(), two.SHA256())
	}
	a := serve(t, base, nil)
	if v := a.Sheet().Version; v != "1+sha256:"+one.SHA256() {
		t.Errorf("version %q", v)
	}
}

func FuzzParse(f *testing.F) {
	f.Add(base)
	f.Add("adapter: [x]")
	f.Add("steps: [{items: {}}]")
	f.Fuzz(func(t *testing.T, s string) {
		d, err := declared.Parse("f.yaml", []byte(s))
		if (d == nil) == (err == nil) {
			t.Errorf("definition %v, error %v", d, err)
		}
	})
}

func TestParse_ATagWithoutAValue(t *testing.T) {
	t.Parallel()
	_, err := declared.Parse("x.yaml", []byte("adapter: x\nwriter:\n  setup: !0000000000000\n0000: 0\n"))
	if err == nil {
		t.Fatal("it was taken")
	}
	t.Log(err)
}
