package declared

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/landedhq/landed/journal"
	"github.com/landedhq/landed/providers/definition"
)

// Instruction says what a worker must put into its request so that the effect
// can be found again.
type Instruction struct {
	About   string   // one sentence
	Setup   []string // what somebody must set up at the provider beforehand
	Request string   // the call that it belongs to, e.g. "POST /issues.json"
	Fields  []Field
}

// Field is one value that the worker sets.
type Field struct {
	Place string // header, json, form, query, path, graphql, mime_header or text
	Name  string // header's name, dotted JSON path, parameter
	Value string
	Why   string
}

type writer struct {
	block  writerBlock
	fields []writerField
}

type writerField struct {
	place, why  string
	name, value *definition.Text
}

func (c *compiler) compileWriter() *writer {
	b := c.f.Writer
	w := &writer{block: b}
	if b.About == "" || len(b.Fields) == 0 {
		c.Src.Fail("writer", "about and fields are needed: say what a worker must set so that its effect can be found")
	}
	carries := false
	for i, f := range b.Fields {
		p := definition.Index("writer.fields", i)
		if !slices.Contains([]string{"header", "json", "form", "query", "path", "graphql", "mime_header", "text"}, f.Place) {
			c.Src.Fail(p+".place", "%q is none of header, json, form, query, path, graphql, mime_header, text", f.Place)
		}
		if f.Name == "" || f.Value == "" || f.Why == "" {
			c.Src.Fail(p, "name, value and why are needed")
		}
		carries = carries || definition.Uses(f.Value, "ref") || definition.Uses(f.Value, "dashed")
		w.fields = append(w.fields, writerField{f.Place, f.Why, c.Text(p+".name", c.hint, f.Name, definition.LangText), c.Text(p+".value", c.hint, f.Value, definition.LangText)})
	}
	if len(b.Fields) > 0 && !carries {
		c.Src.Fail("writer.fields", "none of them carries ref: then nothing can be found")
	}
	return w
}

// Instruction renders the writer's side for one effect: its reference and the
// number of the provider-side request, 1 at first.
func (a *Adapter) Instruction(ref string, issue int) (Instruction, error) {
	if !journal.ValidRef(ref) || issue < 1 {
		return Instruction{}, errors.New("declared: an instruction needs a reference and an issue number from 1 on")
	}
	ctx, w := context.Background(), a.def.writer
	v := a.params.With(definition.Vars{"ref": ref, "issue": issue, "provider_key": journal.ProviderKey(ref, issue)})
	out := Instruction{About: w.block.About, Setup: slices.Clone(w.block.Setup), Request: w.block.Request}
	for _, f := range w.fields {
		name, err := f.name.Render(ctx, v)
		if err != nil {
			return Instruction{}, fmt.Errorf("declared: %w", err)
		}
		value, err := f.value.Render(ctx, v)
		if err != nil {
			return Instruction{}, fmt.Errorf("declared: %w", err)
		}
		out.Fields = append(out.Fields, Field{Place: f.place, Name: name, Value: value, Why: f.why})
	}
	return out, nil
}
