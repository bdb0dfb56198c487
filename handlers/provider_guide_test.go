package handlers

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/landedhq/landed/journal"
	"github.com/landedhq/landed/providers/evidence/guide"
	"github.com/landedhq/landed/web"
)

// deskGuide is that of a Redmine whose custom field has the number 42.
func deskGuide() guide.Guide {
	return guide.Guide{
		Name: "redmine.issue", Title: "Redmine", About: "The reference goes into a custom field.", Setup: []string{"A field of issues."},
		Request: "POST /issues.json", Says: []string{"A match proves that it landed."}, Believed: "6 min.", Unconfirmed: "how soon it shows.",
		Fields: []guide.Field{{Place: "json", Name: "issue.custom_fields[] (an object with id 42)", Value: guide.Value{{Text: "r:"}, {Kind: guide.Ref}}, Why: "the search asks for it"}},
		Tool:   guide.Tool{Class: journal.ClassProviderIdempotent, KeyWindow: time.Hour, Window: "1 h", Why: "It honours keys."},
	}
}

func TestProviderGuideWhole(t *testing.T) {
	t.Parallel()
	g := deskGuide()
	code := func(name, value string) web.Fact { return web.Fact{Name: name, Value: web.Plain(value), Code: true} }
	want := web.ProviderGuide{
		About: web.Plain("The reference goes into a custom field."), Request: web.Plain("POST /issues.json"), Setup: []web.Text{web.Plain("A field of issues.")},
		Fields: []web.GuideField{{Where: "JSON body", Name: web.Plain("issue.custom_fields[] (an object with id 42)"), Value: web.Plain("r:{ref}"), Why: web.Plain("the search asks for it")}},
		Tool: []web.Fact{code("Provider, as tools give it", "desk"), code("Class that fits", "provider_idempotent"),
			{Name: "Key window", Value: web.Plain("1 h")}},
		ToolWhy: web.Plain("It honours keys."),
		Says:    []web.Text{web.Plain("A match proves that it landed."), web.Plain("Until “not found” is believed: 6 min.")},
		Doubt:   web.Plain("how soon it shows."), Command: "landed guide redmine.issue",
	}
	if diff := cmp.Diff(want, providerGuide("desk", &g), sameText()); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	g.Name = "acme.ticket" // a team's own definition: no code comes with it
	if got := providerGuide("desk", &g); got.Command != "" {
		t.Errorf("the command is %q", got.Command)
	}
}

func TestProviderGuideOnThePage(t *testing.T) {
	t.Parallel()
	f := everything()
	g := deskGuide()
	g.Setup = []string{"<script>alert(1)</script>"}
	f.guides = map[string]guide.Guide{"sent-mail": g}
	w := newSite(t, f).get(web.RouteProviders)
	if strings.Contains(w.Body.String(), "<script>alert") {
		t.Error("the guide's text is not escaped")
	}
	doc := parse(t, w)
	fold := doc.Find("#p-sent-mail details#guide-sent-mail")
	for _, want := range []string{"What a worker must set", "an object with id 42", "r:{ref}", "<script>alert(1)</script>", "landed guide redmine.issue"} {
		if !strings.Contains(squash(fold.Text()), want) {
			t.Errorf("the fold lacks %q", want)
		}
	}
	if fold.Find("caption").Length() != 1 || fold.Find("tbody th[scope=row]").Length() != 1 || fold.Find("tbody td[data-label]").Length() != 3 {
		t.Error("the table lacks its caption or labels")
	}
	wantText(t, doc, "#guide-paused", "This adapter gives no instruction.")
}
