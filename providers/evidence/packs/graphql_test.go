package packs_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/landedhq/landed/providers/evidence/packs/schematest"
)

// linearSDK declares every type of Linear's schema. The package holds the schema
// in no other form.
const linearSDK = "@linear/sdk/dist/index-D2pH4Pk9.d.mts"

func TestLinearKeepsToTheVendorsSchema(t *testing.T) {
	t.Parallel()
	sdl, err := schematest.ParseDeclarations(schematest.Read(t, linearSDK)).SDL()
	if err != nil {
		t.Fatal(err)
	}
	api, err := schematest.ParseGraphQL(sdl)
	if err != nil {
		t.Fatal(err)
	}
	held := newFindings()
	check := func(e exchange) []schematest.Finding {
		return append(api.CheckRequest(e.body), api.CheckAnswer(e.body, e.answer)...)
	}
	c := contracts()["linear.issue"]
	c.dialect = held.watched(c.dialect, check)
	t.Cleanup(func() { held.report(t, "linear.issue", nil) }) // even if the fake refuses
	checkRequests(t, c)
	checkStates(t, c)
	checkPages(t, c)

	last := held.last["POST /graphql"]
	request := last.body
	for _, word := range []string{"IssueFilter!", "includeArchived", "trashed", "hasNextPage", `"description":`, `"contains"`, `"eq"`, `"or"`, `"first":50`} {
		other := strings.Replace(string(request), word, strings.Replace(word, word[len(word)/2:len(word)/2+1], "z", 1), 1)
		if other == string(request) || len(api.CheckRequest([]byte(other))) == 0 {
			t.Errorf("a request with another %s was taken", word)
		}
	}
	var found any
	if err := json.Unmarshal(firstRows(t, last.answer), &found); err != nil {
		t.Fatal(err)
	}
	eachField(found, "", func(path string, object map[string]any, key string) {
		value := object[key]
		for _, broken := range []any{nil, []string{"x"}} { // another type; gone
			delete(object, key)
			if broken != nil {
				object[key] = broken
			}
			if len(api.CheckAnswer(request, marshal(t, found))) == 0 {
				t.Errorf("an answer with %s = %v was taken", path, broken)
			}
		}
		object[key] = value
	})
}
