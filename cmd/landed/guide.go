package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"

	"github.com/landedhq/landed/providers/evidence"
	"github.com/landedhq/landed/providers/evidence/guide"
)

// guidesOf are the guides of the configured providers, with their real settings. One
// that can't be made is left out: nothing but a page needs it.
func guidesOf(adapters map[string]evidence.Adapter, log *slog.Logger) map[string]guide.Guide {
	out := map[string]guide.Guide{}
	for name, a := range adapters {
		g, ok, err := guide.For(a)
		if err != nil {
			log.Warn("the writer's guide of a provider can't be made", "provider", name, "error", err)
		} else if ok {
			out[name] = g
		}
	}
	return out
}

type guideCmd struct {
	Name   []string `arg:"" optional:"" help:"Guides, e.g. stripe or redmine.issue; none = the list of them."`
	Lang   string   `enum:"go,python,java," default:"" help:"Code in one language only: go, python or java."`
	Format string   `enum:"markdown,json" default:"markdown" help:"Output: markdown or json."`
}

// guideOut is one guide as JSON. Files are the whole worker in each language, but for
// Landed's client.
type guideOut struct {
	guide.Guide
	Files map[guide.Lang][]guide.File `json:"files,omitempty"`
}

func (c *guideCmd) Run(_ context.Context, io stdio) error {
	langs := guide.Langs()
	if c.Lang != "" {
		langs = []guide.Lang{guide.Lang(c.Lang)}
	}
	var err error
	switch {
	case c.Format == "json":
		err = c.json(io, langs)
	case len(c.Name) == 0:
		err = c.list(io)
	default:
		err = c.pages(io, langs)
	}
	var unknown *guide.UnknownError
	if errors.As(err, &unknown) {
		return &usageError{err}
	}
	return err
}

func (c *guideCmd) list(io stdio) error {
	text, err := guide.Index("")
	if err != nil {
		return err
	}
	fmt.Fprintf(io.out, "# The writer's guides\n\n%s\n`landed guide NAME` prints one.\n", text)
	return nil
}

// pages prints guides; with one language also what every worker in it has.
func (c *guideCmd) pages(io stdio, langs []guide.Lang) error {
	var pages []string
	for _, name := range c.Name {
		page, err := guide.Page(name, langs...)
		if err != nil {
			return err
		}
		pages = append(pages, page)
	}
	for i, page := range pages {
		if i > 0 {
			fmt.Fprintln(io.out)
		}
		fmt.Fprint(io.out, page)
	}
	if c.Lang != "" {
		fmt.Fprintf(io.out, "\n## What every worker in %s has\n%s", langs[0].Name(), guide.Frame(langs[0]))
	}
	return nil
}

// json prints guides with their code; of the whole list without.
func (c *guideCmd) json(io stdio, langs []guide.Lang) error {
	names := c.Name
	if len(names) == 0 {
		names, langs = guide.Names(), nil
	}
	out := []guideOut{}
	for _, name := range names {
		g, err := guide.Of(name)
		if err != nil {
			return err
		}
		one := guideOut{Guide: g, Files: map[guide.Lang][]guide.File{}}
		for _, l := range langs {
			if one.Files[l], err = guide.Worker(l, guide.Entry{Name: name}); err != nil {
				return err
			}
		}
		out = append(out, one)
	}
	return printJSON(io, out)
}
