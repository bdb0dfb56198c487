package schematest_test

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/landedhq/landed/providers/evidence/packs/schematest"
)

const description = `{
"openapi": "3.0.3", "info": {"version": "7"}, "servers": [{"url": "https://api.example.com/v1"}], "security": [{"key": []}],
"paths": {
  "/things/{id}": {
    "parameters": [{"$ref": "#/components/parameters/id"}],
    "get": {
      "parameters": [
        {"name": "state", "in": "query", "schema": {"type": "string", "enum": ["open", "all"]}},
        {"name": "limit", "in": "query", "required": true, "schema": {"type": "integer", "maximum": 100}},
        {"name": "tag", "in": "query", "schema": {"type": "array", "items": {"type": "string"}}},
        {"name": "made", "in": "query", "style": "deepObject", "schema": {"type": "object", "properties": {"gt": {"type": "integer"}}}},
        {"name": "x-version", "in": "header", "schema": {"type": "string", "enum": ["7"]}}],
      "responses": {
        "200": {"content": {"application/json": {"schema": {"type": "array", "items": {"$ref": "#/components/schemas/thing"}}}}},
        "4XX": {"$ref": "#/components/responses/problem"}}},
    "put": {
      "requestBody": {"required": true, "content": {"application/json": {"schema": {"$ref": "#/components/schemas/thing"}},
        "application/x-www-form-urlencoded": {"schema": {"$ref": "#/components/schemas/thing"}}}},
      "responses": {"204": {"description": "done"}}}},
  "/things/mine": {"get": {"responses": {"200": {"content": {"application/json": {"schema": {"type": "object"}}}}}}}},
"components": {
  "parameters": {"id": {"name": "id", "in": "path", "required": true, "schema": {"type": "string", "pattern": "^t[0-9]+$"}}},
  "responses": {"problem": {"content": {"application/json": {"schema": {"type": "object", "required": ["code"], "properties": {"code": {"type": "string"}}}}}}},
  "securitySchemes": {"key": {"type": "apiKey", "in": "header", "name": "X-Key"}},
  "schemas": {
    "thing": {"allOf": [{"$ref": "#/components/schemas/named"}, {"type": "object", "required": ["count"], "properties": {
      "count": {"type": "integer"}, "next": {"type": "string", "nullable": true}, "labels": {"type": "object", "additionalProperties": {"type": "string"}}}}]},
    "named": {"type": "object", "properties": {"name": {"type": "string"}}}}}
}`

func TestOpenAPIRequests(t *testing.T) {
	t.Parallel()
	api, err := schematest.ParseOpenAPI([]byte(description))
	if err != nil {
		t.Fatal(err)
	}
	for _, row := range []struct{ name, request, body, want string }{
		{"good", "GET /v1/things/t1?limit=5&state=all&tag=a&tag=b&made[gt]=9", "", ""},
		{"the literal path wins", "GET /v1/things/mine", "", ""},
		{"no such path", "GET /v1/others", "", "GET /v1/others"},
		{"below another base", "GET /v2/things/mine", "", "GET /v2/things/mine"},
		{"no such method", "DELETE /v1/things/t1", "", "DELETE /v1/things/t1"},
		{"a path's value", "GET /v1/things/x?limit=5", "", "GET /things/{id} path id"},
		{"no such parameter", "GET /v1/things/t1?limit=5&size=1", "", "GET /things/{id} query size"},
		{"no such word", "GET /v1/things/t1?limit=5&state=shut", "", "GET /things/{id} query state"},
		{"no number", "GET /v1/things/t1?limit=five", "", "GET /things/{id} query limit"},
		{"too large", "GET /v1/things/t1?limit=101", "", "GET /things/{id} query limit"},
		{"required", "GET /v1/things/t1", "", "GET /things/{id} query limit"},
		{"a part's type", "GET /v1/things/t1?limit=5&made[gt]=soon", "", "GET /things/{id} query made"},
		{"brackets where there are none", "GET /v1/things/t1?limit=5&tag[]=a", "", "GET /things/{id} query tag"},
		{"a header's value", "GET /v1/things/t1?limit=5 X-Version:8", "", "GET /things/{id} header X-Version"},
		{"no credentials", "GET /v1/things/mine X-Key:", "", "GET /things/mine credentials"},
		{"body", "PUT /v1/things/t1", `{"count": 1, "name": "a", "next": null, "labels": {"any": "x"}}`, ""},
		{"form", "PUT /v1/things/t1", "count=1&labels[any]=1", ""},
		{"no such field of a form", "PUT /v1/things/t1", "count=1&total=1", "PUT /things/{id} body /total"},
		{"no body", "PUT /v1/things/t1", "", "PUT /things/{id} body"},
		{"no such field", "PUT /v1/things/t1", `{"count": 1, "title": "a"}`, "PUT /things/{id} body /title"},
		{"a field's type", "PUT /v1/things/t1", `{"count": "1"}`, "PUT /things/{id} body /count"},
	} {
		t.Run(row.name, func(t *testing.T) {
			t.Parallel()
			line, header, _ := strings.Cut(row.request, " X-")
			method, target, _ := strings.Cut(line, " ")
			r := httptest.NewRequest(method, target, strings.NewReader(row.body))
			r.Header.Set("X-Key", "k")
			if r.Header.Set("Content-Type", "application/json"); !strings.HasPrefix(row.body, "{") {
				r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
			}
			if name, value, ok := strings.Cut(header, ":"); ok {
				if r.Header.Del("X-" + name); value != "" {
					r.Header.Set("X-"+name, value)
				}
			}
			checkWhere(t, api.CheckRequest(r), row.want)
		})
	}
}

func TestOpenAPIAnswers(t *testing.T) {
	t.Parallel()
	api, err := schematest.ParseOpenAPI([]byte(description))
	if err != nil {
		t.Fatal(err)
	}
	r := httptest.NewRequest(http.MethodGet, "/v1/things/t1?limit=5", http.NoBody)
	for _, row := range []struct {
		name, body, want string
		status           int
	}{
		{"good", `[{"count": 1, "next": null}, {"count": 2, "name": "a"}]`, "", 200},
		{"a missing field", `[{"count": 1}, {}]`, "GET /things/{id} answer 200 /*", 200},
		{"an unknown field", `[{"count": 1, "cuont": 1}]`, "GET /things/{id} answer 200 /*/cuont", 200},
		{"null", `[{"count": null}]`, "GET /things/{id} answer 200 /*/count", 200},
		{"a described error", `{"code": "x"}`, "", 404},
		{"an error of another shape", `{"message": "x"}`, "GET /things/{id} answer 404", 404},
		{"an error that is not described", `oops`, "", 500},
		{"a success that is not described", `[]`, "GET /things/{id} answer 202", 202},
		{"no JSON", `<html>`, "GET /things/{id} answer 200", 200},
	} {
		t.Run(row.name, func(t *testing.T) {
			t.Parallel()
			checkWhere(t, api.CheckAnswer(r, row.status, http.Header{"Content-Type": {"application/json; charset=utf-8"}}, []byte(row.body)), row.want)
		})
	}
}

func checkWhere(t *testing.T, got []schematest.Finding, want string) {
	t.Helper()
	if want == "" && len(got) > 0 || want != "" && (len(got) == 0 || got[0].Where != want) {
		t.Errorf("found %v, want it at %q", got, want)
	}
}

// What code generators write, in the forms that they write it in.
const declarations = `
type Scalars = {
  ID: string;
  String: string;
  Int: number;
  DateTime: Date;
};
type Node = {
  id: Scalars["ID"];
};
type Thing = Node & {
  __typename?: "Thing";
  /** When. */
  madeAt: Scalars["DateTime"];
  title?: Maybe<Scalars["String"]>;
  kind: Kind;
};
declare enum Kind {
  Big = "big",
}
type ThingFilter = {
  or?: InputMaybe<Array<ThingFilter>>;
  title?: InputMaybe<Scalars["String"]>;
};
type Query = {
  __typename?: "Query";
  things: Array<Thing>;
};
type QueryThingsArgs = {
  filter?: InputMaybe<ThingFilter>;
  first: Scalars["Int"];
};
export declare class Row extends Base {
    'id': string;
    "at"?: Date;
    'rows'?: Array<Row>;
    'state': Row.StateEnum;
    'more'?: {
        [key: string]: string;
    };
    static readonly map: {
        name: string;
    } | undefined;
}
export declare namespace Row {
    enum StateEnum {
        Open = "open"
    }
}
export declare class Api {
    find(since: Date, order?: "asc" | "desc", limit?: number): Promise<Row>;
}
`

func TestDeclarationsAsGraphQL(t *testing.T) {
	t.Parallel()
	sdl, err := schematest.ParseDeclarations([]byte(declarations)).SDL()
	if err != nil {
		t.Fatal(err)
	}
	want := `type Query {
  things(filter: ThingFilter first: Int! ): [Thing!]!
}
input ThingFilter {
  or: [ThingFilter!]
  title: String
}
type Thing implements Node {
  madeAt: DateTime!
  title: String
  kind: Kind!
  id: ID!
}
interface Node {
  id: ID!
}
scalar DateTime
enum Kind { big }
`
	if diff := cmp.Diff(want, sdl); diff != "" {
		t.Fatal(diff)
	}
	api, err := schematest.ParseGraphQL(sdl)
	if err != nil {
		t.Fatal(err)
	}
	const good = `{"query": "query Q($f: ThingFilter) { things(filter: $f, first: 1) { id title kind madeAt } }", "variables": {"f": {"or": [{"title": "a"}]}}}`
	checkWhere(t, api.CheckRequest([]byte(good)), "")
	checkWhere(t, api.CheckRequest([]byte(strings.Replace(good, "kind", "sort", 1))), "query")
	checkWhere(t, api.CheckRequest([]byte(strings.Replace(good, `"title"`, `"name"`, 1))), "variables")
	for _, row := range []struct{ answer, want string }{
		{`{"id": "1", "title": null, "kind": "big", "madeAt": "2026-11-30T08:00:00Z"}`, ""},
		{`{"id": "1", "title": null, "kind": "odd", "madeAt": "2026-11-30T08:00:00Z"}`, "answer /things/*/kind"},
		{`{"id": null, "title": null, "kind": "big", "madeAt": "2026-11-30T08:00:00Z"}`, "answer /things/*/id"},
		{`{"id": "1", "title": 5, "kind": "big", "madeAt": "2026-11-30T08:00:00Z"}`, "answer /things/*/title"},
		{`{"id": "1", "kind": "big", "madeAt": "2026-11-30T08:00:00Z"}`, "answer /things/*/title"},
		{`{"id": "1", "title": null, "kind": "big", "madeAt": 5}`, "answer /things/*/madeAt"},
		{`{"id": "1", "title": null, "kind": "big", "madeAt": "x", "url": "x"}`, "answer /things/*/url"},
	} {
		checkWhere(t, api.CheckAnswer([]byte(good), []byte(`{"data": {"things": [`+row.answer+`]}}`)), row.want)
	}
}

func TestDeclarationsAsTypes(t *testing.T) {
	t.Parallel()
	d := schematest.ParseDeclarations([]byte(declarations))
	for _, row := range []struct{ text, want string }{
		{`{"id": "1", "state": "open", "at": "2026", "rows": [{"id": "2", "state": "open"}], "more": {"any": 1}}`, ""},
		{`{"id": "1", "state": "shut"}`, "Row/state"},
		{`{"id": 1, "state": "open"}`, "Row/id"},
		{`{"state": "open"}`, "Row/id"},
		{`{"id": "1", "state": "open", "name": "of something inside another field"}`, "Row/name"},
		{`{"id": "1", "state": "open", "rows": [{"id": "2"}]}`, "Row/rows/*/state"},
	} {
		checkWhere(t, d.Check("Row", []byte(row.text)), row.want)
	}
	for _, row := range []struct{ query, want string }{
		{"since=2026&order=asc&limit=5", ""},
		{"order=asc", "find/since"},
		{"since=2026&order=up", "find/order"},
		{"since=2026&limit=five", "find/limit"},
		{"since=2026&size=5", "find/size"},
	} {
		checkWhere(t, d.CheckQuery("find", httptest.NewRequest(http.MethodGet, "/?"+row.query, http.NoBody).URL.Query()), row.want)
	}
}
