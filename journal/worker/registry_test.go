package worker_test

import (
	"strings"
	"testing"

	"github.com/landedhq/landed/journal"
	"github.com/landedhq/landed/journal/worker"
	"github.com/landedhq/landed/journal/worker/workertest"
)

func TestReplan_NothingIsJournaled(t *testing.T) {
	t.Parallel()
	schema := []byte(`{"type":"object","required":["amount"],"properties":{"amount":{"type":"integer","minimum":1},"to":{"type":"string"}},"additionalProperties":false}`)
	for _, row := range []struct{ name, tool, args, problem string }{
		{"no such tool", "paay", `{"amount":1}`, "there is no tool"},
		{"missing member", "pay", `{}`, "amount"},
		{"wrong type", "pay", `{"amount":"5"}`, "args/amount"},
		{"unknown member", "pay", `{"amount":5,"x":1}`, "x"},
		{"no args", "pay", ``, "args are missing"},
		{"not JSON", "pay", `{amount:1}`, "args"},
		{"invalid UTF-8", "pay", "{\"amount\":1,\"to\":\"\xff\"}", "args"},
		{"duplicate member", "pay", `{"amount":1,"amount":2}`, "amount"},
	} {
		t.Run(row.name, func(t *testing.T) {
			t.Parallel()
			j := workertest.NewMemory()
			s := spec("pay", journal.ClassAtMostOnce, confirm)
			s.ArgsSchema = schema
			c := on(row.tool, "k")
			c.Args = []byte(row.args)
			if row.args == "" {
				c.Args = nil
			}
			a, err := newFixture(t, j, s).Do(t.Context(), c)
			if err != nil || a.Status != worker.StatusReplan || len(a.Problems) == 0 || !strings.Contains(strings.Join(a.Problems, "\n"), row.problem) {
				t.Errorf("Do = %s %q, %v; want replan naming %q", a.Status, a.Problems, err, row.problem)
			}
			if j.Count() != 0 {
				t.Error("something was journaled")
			}
		})
	}
}

func TestRegister_Refuses(t *testing.T) {
	t.Parallel()
	good := spec("a", journal.ClassAtMostOnce, confirm)
	for _, row := range []struct {
		name string
		edit func(s *worker.ToolSpec)
	}{
		{"no class", func(s *worker.ToolSpec) { s.Class = "" }},
		{"no function", func(s *worker.ToolSpec) { s.Run = nil }},
		{"no key window", func(s *worker.ToolSpec) { s.Class = journal.ClassProviderIdempotent }},
		{"broken schema", func(s *worker.ToolSpec) { s.ArgsSchema = []byte(`{"type":7}`) }},
		{"schema that loads a file", func(s *worker.ToolSpec) { s.ArgsSchema = []byte(`{"$ref":"file:///etc/passwd"}`) }},
		{"name is taken", func(s *worker.ToolSpec) { s.Name = "taken" }},
	} {
		t.Run(row.name, func(t *testing.T) {
			t.Parallel()
			r := worker.NewRegistry()
			taken := good
			taken.Name = "taken"
			register(t, r, good, taken)
			s := good
			s.Name = "b"
			row.edit(&s)
			if err := r.Register(s); err == nil {
				t.Error("it was registered")
			}
			if n := len(r.Tools()); n != 2 {
				t.Errorf("%d tools, want 2", n)
			}
		})
	}
}
