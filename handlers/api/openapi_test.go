package api_test

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/goccy/go-yaml"
	"github.com/google/go-cmp/cmp"
	"github.com/labstack/echo/v4"

	"github.com/landedhq/landed/handlers/api"
	"github.com/landedhq/landed/journal"
	"github.com/landedhq/landed/journal/client/wire"
)

// contract is what the tests read of the document.
type contract struct {
	Paths      map[string]map[string]map[string]any `yaml:"paths"`
	Components struct {
		Examples map[string]struct {
			Value any `yaml:"value"`
		} `yaml:"examples"`
		Schemas map[string]struct {
			Properties map[string]any `yaml:"properties"`
		} `yaml:"schemas"`
	} `yaml:"components"`
	Errors map[string]struct {
		Status int    `yaml:"status"`
		What   string `yaml:"what"`
	} `yaml:"x-errors"`
}

func readContract(t *testing.T) contract {
	t.Helper()
	var c contract
	if err := yaml.Unmarshal(api.Document(), &c); err != nil {
		t.Fatal(err)
	}
	return c
}

func TestOpenAPI_NamesEveryRouteAndNoOther(t *testing.T) {
	t.Parallel()
	e := echo.New()
	api.New(api.Config{}).Register(e.Group("/v1"))
	var served []string
	for _, r := range e.Routes() {
		if r.Method == echo.RouteNotFound {
			continue
		}
		path := strings.NewReplacer("/tools/*", "/tools/{name}", ":id", "{id}").Replace(strings.TrimPrefix(r.Path, "/v1"))
		served = append(served, r.Method+" "+path)
	}
	var documented []string
	for path, methods := range readContract(t).Paths {
		for method := range methods {
			documented = append(documented, strings.ToUpper(method)+" "+path)
		}
	}
	slices.Sort(served)
	slices.Sort(documented)
	if d := cmp.Diff(served, documented); d != "" {
		t.Errorf("served (-) and documented (+) differ:\n%s", d)
	}
}

func TestOpenAPI_NamesEveryErrorCodeAndNoOther(t *testing.T) {
	t.Parallel()
	c := readContract(t)
	var codes, documented []string
	for _, code := range wire.Codes() {
		codes = append(codes, string(code))
	}
	for code, e := range c.Errors {
		documented = append(documented, code)
		if e.Status < 400 || e.What == "" {
			t.Errorf("%s has status %d and text %q", code, e.Status, e.What)
		}
	}
	slices.Sort(codes)
	slices.Sort(documented)
	if d := cmp.Diff(codes, documented); d != "" {
		t.Errorf("codes (-) and documented (+) differ:\n%s", d)
	}
}

// form reads and writes one form of the wire, and names its schema.
type form struct {
	schema string
	again  func([]byte) ([]byte, error)
}

func through[T any](schema string, decode func([]byte) (T, error), encode func(T) ([]byte, error)) form {
	return form{schema, func(b []byte) ([]byte, error) {
		v, err := decode(b)
		if err != nil {
			return nil, err
		}
		return encode(v)
	}}
}

func forms() map[string]form {
	const id = "0198c7a3-0000-7000-8000-000000000001"
	begin := through("BeginAnswer", wire.DecodeBeginAnswer, wire.EncodeBeginAnswer)
	commit := through("Commit", func(b []byte) (journal.CommitRequest, error) { return wire.DecodeCommit(id, b) }, wire.EncodeCommit)
	problem := through("Problem", wire.DecodeProblem, func(p wire.Problem) ([]byte, error) { return p.Encode(nil) })
	plain := func(schema string, v func() any) form {
		return form{schema, func(b []byte) ([]byte, error) {
			into := v()
			if err := json.Unmarshal(b, into); err != nil {
				return nil, err
			}
			return json.Marshal(into)
		}}
	}
	return map[string]form{
		"tool":    through("Tool", func(b []byte) (journal.Tool, error) { return wire.DecodeTool("refund", b) }, wire.EncodeTool),
		"begin":   through("Begin", wire.DecodeBegin, wire.EncodeBegin),
		"execute": begin, "executeAgain": begin, "returned": begin, "returnedText": begin, "parked": begin,
		"inProgress": {"", func(b []byte) ([]byte, error) {
			p, err := wire.DecodeProblem(b)
			if err != nil {
				return nil, err
			}
			a, err := begin.again(b)
			if err != nil {
				return nil, err
			}
			return p.Encode(a)
		}},
		"keyReused": problem, "invalid": problem, "leaseLost": problem,
		"commit": commit, "commitBytes": commit,
		"committed":  through("CommitAnswer", wire.DecodeCommitAnswer, wire.EncodeCommitAnswer),
		"fail":       through("Fail", func(b []byte) (journal.FailRequest, error) { return wire.DecodeFail(id, b) }, wire.EncodeFail),
		"failed":     through("FailAnswer", wire.DecodeFailAnswer, wire.EncodeFailAnswer),
		"heartbeat":  through("Lease", func(b []byte) (journal.Report, error) { return wire.DecodeHeartbeat(id, b) }, wire.EncodeHeartbeat),
		"renewed":    through("HeartbeatAnswer", wire.DecodeHeartbeatAnswer, wire.EncodeHeartbeatAnswer),
		"handle":     through("Handle", func(b []byte) (journal.HandleRequest, error) { return wire.DecodeHandle(id, b) }, wire.EncodeHandle),
		"resolution": plain("Resolution", func() any { return new(journal.Resolution) }),
		"feed":       plain("Feed", func() any { return new(wire.Feed) }),
		"undoPage":   through("UndoPage", wire.DecodeUndoPage, wire.EncodeUndoPage),
		"effect":     through("Effect", wire.DecodeEffect, wire.EncodeEffect),
	}
}

func TestOpenAPI_ExamplesRoundTrip(t *testing.T) {
	t.Parallel()
	c := readContract(t)
	known := forms()
	for name := range known {
		if _, ok := c.Components.Examples[name]; !ok {
			t.Errorf("example %s is not in the document", name)
		}
	}
	for name, ex := range c.Components.Examples {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f, ok := known[name]
			if !ok {
				t.Fatal("the test knows no form for this example")
			}
			in, err := json.Marshal(ex.Value)
			if err != nil {
				t.Fatal(err)
			}
			out, err := f.again(in)
			if err != nil {
				t.Fatal(err)
			}
			if d := cmp.Diff(object(t, in), object(t, out)); d != "" {
				t.Errorf("the example (-) and what came back (+) differ:\n%s", d)
			}
			if f.schema == "" {
				return
			}
			properties := c.Components.Schemas[f.schema].Properties
			for member := range object(t, out) {
				if _, ok := properties[member]; !ok {
					t.Errorf("member %s is not in schema %s", member, f.schema)
				}
			}
		})
	}
}

// A member that the document names must be taken, one that it does not name
// refused: schemas and strict forms agree.
func TestOpenAPI_RequestSchemasMatchTheForms(t *testing.T) {
	t.Parallel()
	c := readContract(t)
	read := map[string]func([]byte) error{
		"Tool":   func(b []byte) error { _, err := wire.DecodeTool("x", b); return err },
		"Begin":  func(b []byte) error { _, err := wire.DecodeBegin(b); return err },
		"Commit": func(b []byte) error { _, err := wire.DecodeCommit("x", b); return err },
		"Fail":   func(b []byte) error { _, err := wire.DecodeFail("x", b); return err },
		"Lease":  func(b []byte) error { _, err := wire.DecodeHeartbeat("x", b); return err },
		"Handle": func(b []byte) error { _, err := wire.DecodeHandle("x", b); return err },
	}
	for schema, decode := range read {
		for member := range c.Components.Schemas[schema].Properties {
			if err := decode(fmt.Appendf(nil, `{%q:null}`, member)); err != nil {
				t.Errorf("%s.%s: %v", schema, member, err)
			}
		}
		err := decode([]byte(`{"no_such_member":1}`))
		if err == nil {
			t.Fatalf("%s takes anything", schema)
		}
		_, known, _ := strings.Cut(err.Error(), "known are ")
		if got, want := len(strings.Split(known, ", ")), len(c.Components.Schemas[schema].Properties); got != want {
			t.Errorf("%s knows %d members, the document %d: %s", schema, got, want, known)
		}
	}
}

func object(t *testing.T, b []byte) map[string]any {
	t.Helper()
	var m map[string]any
	if err := json.Unmarshal(b, &m); err != nil {
		t.Fatalf("%s: %v", b, err)
	}
	return m
}
