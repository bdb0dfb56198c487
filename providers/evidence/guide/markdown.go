package guide

import (
	"fmt"
	"strings"
)

// Renew is the command that writes README.md and pages anew.
const Renew = "LANDED_RENEW=1 go test ./providers/evidence/guide -run TestRendered"

// PlaceName is what a place is called, for people.
func PlaceName(place string) string {
	names := map[string]string{
		"header": "request header", "json": "JSON body", "form": "form parameter", "query": "query parameter", "path": "path",
		"graphql": "GraphQL variable", "mime_header": "header field of the mail", "text": "text", "column": "column",
	}
	if name, ok := names[place]; ok {
		return name
	}
	return place
}

// Page renders one provider's guide as Markdown, with its code in these languages.
func Page(name string, langs ...Lang) (string, error) {
	g, err := Of(name)
	if err != nil {
		return "", err
	}
	var b strings.Builder
	fmt.Fprintf(&b, "# %s\n\n%s\n\n", heading(g), g.About)
	fmt.Fprintf(&b, "## What to set\n\nRequest: `%s`\n\n| where | name | value | why |\n| --- | --- | --- | --- |\n", g.Request)
	for _, f := range g.Fields {
		fmt.Fprintf(&b, "| %s | `%s` | `%s` | %s |\n", PlaceName(f.Place), cell(f.Name), cell(f.Value.String()), cell(f.Why))
	}
	b.WriteString("\n`{ref}` is the effect's reference, `{provider key}` the key of the provider-side request. Both come with the permission to execute; dashed means written as a UUID.\n\n")
	if len(g.Setup) > 0 {
		b.WriteString("## Before the first call, and what can't be found\n\n")
		for _, s := range g.Setup {
			fmt.Fprintf(&b, "- %s\n", s)
		}
		b.WriteString("\n")
	}
	fmt.Fprintf(&b, "## The tool's class\n\n`%s`. %s\n\n", g.Tool.Class, g.Tool.Why)
	fmt.Fprintf(&b, "## What evidence can and can't say\n\n%s\n\n", g.Looks)
	for _, s := range g.Says {
		fmt.Fprintf(&b, "- %s\n", s)
	}
	fmt.Fprintf(&b, "- Until “not found” is believed: %s\n", g.Believed)
	if g.Unconfirmed != "" {
		fmt.Fprintf(&b, "\nNot confirmed by the vendor's documents: %s\n", g.Unconfirmed)
	}
	if err := code(&b, g, langs); err != nil {
		return "", err
	}
	return b.String(), nil
}

func heading(g Guide) string {
	title := strings.ToUpper(g.Title[:1]) + g.Title[1:]
	return title + " (`" + g.Name + "`)"
}

func cell(text string) string { return strings.ReplaceAll(text, "|", `\|`) }

// code writes the examples.
func code(b *strings.Builder, g Guide, langs []Lang) error {
	if len(langs) == 0 {
		return nil
	}
	s, err := sampleOf(g.Name)
	if err != nil {
		return err
	}
	b.WriteString("\n## A tool that does it\n\n")
	if s.base != "" {
		fmt.Fprintf(b, "`base` is `%s`, `secret` the worker's own credentials.\n", s.base)
	}
	fmt.Fprintf(b, "Arguments, as an example: `%s`\n\n", s.args)
	b.WriteString("The tool's provider is the name that Landed's configuration gives the account; in the code it is this guide's name.\n")
	if s.source == "" {
		b.WriteString("The fields besides those of the table are an example, and were not checked against the vendor's documents.\n")
	} else {
		fmt.Fprintf(b, "The fields besides those of the table are an example, after %s.\n", s.source)
	}
	if s.doubt != "" {
		b.WriteString(s.doubt + "\n")
	}
	for _, l := range langs {
		f, err := Example(g.Name, l)
		if err != nil {
			return err
		}
		fence(b, "### "+l.Name(), l, f.Content)
	}
	return nil
}

func fence(b *strings.Builder, heading string, l Lang, source string) {
	fmt.Fprintf(b, "\n%s\n\n```%s\n%s\n```\n", heading, l, strings.Trim(source, "\n"))
}

// Index renders the list of all guides as Markdown. page is the address of a
// provider's page with %s for its name; "" = no links.
func Index(page string) (string, error) {
	var b strings.Builder
	b.WriteString("| provider | guide | tool's class | key window | “not found” is believed after |\n| --- | --- | --- | --- | --- |\n")
	for _, name := range Names() {
		g, err := Of(name)
		if err != nil {
			return "", err
		}
		link, window, after := "`"+name+"`", "", "never"
		if page != "" {
			link = "[`" + name + "`](" + fmt.Sprintf(page, name) + ")"
		}
		if g.Tool.KeyWindow > 0 {
			window = span(g.Tool.KeyWindow)
		}
		if g.BelievedAfter > 0 {
			after = span(g.BelievedAfter)
		}
		fmt.Fprintf(&b, "| %s | %s | `%s` | %s | %s |\n", g.Title, link, g.Tool.Class, window, after)
	}
	return b.String(), nil
}

// Frame renders what every worker of a language has besides its tools.
func Frame(l Lang) string {
	var b strings.Builder
	for _, f := range map[Lang][]File{
		Go:     {{"worker.go", "frame.go.txt"}, {"mail.go, where mail is sent", "mail.go.txt"}},
		Python: {{"worker.py", "frame.py.txt"}, {"the part of worker.py that mail needs", "mail.py.txt"}},
		Java:   {{"Main.java", "Main.java.txt"}, {"Send.java", "Send.java.txt"}, {"Mail.java, where mail is sent", "Mail.java.txt"}},
	}[l] {
		fence(&b, "### "+f.Name, l, frame(f.Content))
	}
	return b.String()
}

// Readme renders this folder's README.md.
func Readme() (string, error) {
	index, err := Index("pages/%s.md")
	if err != nil {
		return "", err
	}
	var b strings.Builder
	fmt.Fprintf(&b, `# The writer's guide

What a worker must set so that what it did can be found later: a page per provider, with code in Go, Python and Java. Every example is compiled
and run by this package's tests, against a recording server and a real journal, and each value is looked for where the look-up asks for it.

Written by the package; to renew it: %s. %s prints a page, %s this list.

The accounts and settings on these pages stand for anybody's. For a provider that is configured, the desk's page of providers shows the same with
the real ones.

%s
Times count from the last moment at which the request could be written, with a client time-out of %s.

## How to use an example

A page holds one tool: what the journal must know of it, and the function that sends. The rest of a worker is below, the same for all. Go takes the
tool from a function %s; the whole program is %s.
`, "`"+Renew+"`", "`landed guide NAME`", "`landed guide`", index, span(clientTimeout), "`tools(base, secret string) []worker.ToolSpec`", "`landed guide NAME --lang go --format json`, member `files`")
	for _, l := range Langs() {
		fmt.Fprintf(&b, "\n## What every worker in %s has\n%s", l.Name(), Frame(l))
	}
	return b.String(), nil
}
