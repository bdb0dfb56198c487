package handlers

import (
	"slices"

	"github.com/landedhq/landed/providers/evidence/guide"
	"github.com/landedhq/landed/web"
)

// noGuide is said of an adapter that has nothing to say.
const noGuide = "This adapter gives no instruction. Ask whoever wrote it where the reference belongs."

// providerGuide says what a worker must set at a configured provider; name is the
// configuration's, which tools give as their provider.
func providerGuide(name string, g *guide.Guide) web.ProviderGuide {
	if g == nil {
		return web.ProviderGuide{NoAdvice: noGuide}
	}
	text := func(s string) web.Text { return web.Visible(s, web.ValueLimit) }
	out := web.ProviderGuide{About: text(g.About), Request: text(g.Request), Doubt: text(g.Unconfirmed),
		ToolWhy: text(g.Tool.Why)}
	for _, f := range g.Fields {
		out.Fields = append(out.Fields, web.GuideField{Where: guide.PlaceName(f.Place), Name: text(f.Name), Value: text(f.Value.String()), Why: text(f.Why)})
	}
	for _, s := range g.Setup {
		out.Setup = append(out.Setup, text(s))
	}
	for _, s := range append(slices.Clone(g.Says), "Until “not found” is believed: "+g.Believed) {
		out.Says = append(out.Says, text(s))
	}
	out.Tool = []web.Fact{{Name: "Provider, as tools give it", Value: line(name), Code: true}, {Name: "Class that fits", Value: web.Plain(string(g.Tool.Class)), Code: true}}
	if g.Tool.Window != "" {
		out.Tool = append(out.Tool, web.Fact{Name: "Key window", Value: web.Plain(g.Tool.Window)})
	}
	if slices.Contains(guide.Names(), g.Name) {
		out.Command = "landed guide " + g.Name
	}
	return out
}
