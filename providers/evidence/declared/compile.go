package declared

import (
	"slices"
	"strings"

	"github.com/google/cel-go/cel"

	"github.com/landedhq/landed/providers/definition"
	"github.com/landedhq/landed/providers/evidence"
)

// step is one compiled step.
type step struct {
	id        string
	path      string
	when      *definition.Expr
	each      *definition.Expr
	request   *definition.Request
	errors    []*rule
	absent    *definition.Expr
	save      []saved
	scopes    []*scopeRule
	items     *definition.Expr
	pages     *pages
	truncated *definition.Expr
	refetch   *refetch
	match     *match
	unrelated *definition.Expr
	facts     *facts
}

type saved struct {
	name string
	expr *definition.Expr
}

type scopeRule struct {
	name   *definition.Text
	seen   *definition.Expr
	detail string
}

type rule struct {
	when, retryAfter *definition.Expr
	kind             evidence.FaultKind
	detail           string
}

type refetch struct {
	when    *definition.Expr
	request *definition.Request
	absent  *definition.Expr
	item    *definition.Expr
	max     int
}

type match struct {
	carrier string
	value   *definition.Expr
	dashed  bool
}

type facts struct {
	id, url, title, time, status, state *definition.Expr
	where                               *definition.Text
	more                                []saved
}

func (c *compiler) compileStep(path string, b *stepBlock) *step {
	answer := c.Answer(c.ask)
	s := &step{
		id: b.ID, path: path,
		when:    c.Maybe(path+".when", c.ask, b.When, cel.BoolType),
		each:    c.Maybe(path+".each", c.ask, b.Each, cel.ListType(cel.DynType), cel.ListType(cel.StringType)),
		request: c.request(path+".request", c.ask, &b.Request),
		errors:  c.rules(path+".errors", answer, b.Errors),
		absent:  c.Maybe(path+".absent", answer, b.Absent, cel.BoolType),
	}
	for _, name := range definition.SortedKeys(b.Save) {
		s.save = append(s.save, saved{name, c.Expr(path+".save."+name, answer, b.Save[name])})
	}
	for i, sc := range b.Scopes {
		p := definition.Index(path+".scopes", i)
		if sc.Name == "" || sc.Seen != "" && sc.Detail == "" {
			c.Src.Fail(p, "a scope needs a name, and a detail that says what it means when it was not seen")
		}
		s.scopes = append(s.scopes, &scopeRule{
			name: c.Text(p+".name", c.Plain, sc.Name, definition.LangText), seen: c.Maybe(p+".seen", answer, sc.Seen, cel.BoolType), detail: sc.Detail,
		})
	}
	if b.Items == "" {
		c.noSearch(path, b)
		return s
	}
	c.search(path, b, s, answer)
	return s
}

// noSearch refuses what only makes sense with items.
func (c *compiler) noSearch(path string, b *stepBlock) {
	for name, set := range map[string]bool{
		"pages": b.Pages != nil, "truncated": b.Truncated != "", "refetch": b.Refetch != nil, "match": b.Match != nil,
		"unrelated": b.Unrelated != "", "facts": b.Facts != nil, "absent": b.Absent != "",
	} {
		if set {
			c.Src.Fail(path+"."+name, "only a step with items has this: add items, or remove it")
		}
	}
}

// search compiles the part that looks for the reference.
func (c *compiler) search(path string, b *stepBlock, s *step, answer *definition.Scope) {
	s.items = c.Expr(path+".items", answer, b.Items, cel.ListType(cel.DynType), cel.ListType(cel.MapType(cel.StringType, cel.DynType)))
	s.truncated = c.Maybe(path+".truncated", answer, b.Truncated, cel.BoolType)
	if b.Absent != "" && !definition.Uses(b.Absent, "body") {
		c.Src.Fail(path+".absent", "does not read body: a status alone can't tell a missing object from a missing endpoint")
	}
	s.pages = c.pages(path+".pages", answer, b.Pages, &b.Request)
	row := c.Extend(answer, map[string]*cel.Type{"row": cel.DynType})
	item := c.Extend(row, map[string]*cel.Type{"item": cel.DynType})
	if r := b.Refetch; r != nil {
		s.refetch = &refetch{
			when:    c.Maybe(path+".refetch.when", row, r.When, cel.BoolType),
			request: c.request(path+".refetch.request", row, &r.Request),
			absent:  c.Maybe(path+".refetch.absent", row, r.Absent, cel.BoolType),
			item:    c.Expr(path+".refetch.item", row, r.Item),
			max:     r.Max,
		}
		if s.refetch.max == 0 {
			s.refetch.max = defaultRefetches
		}
	}
	if len(s.scopes) == 0 {
		c.Src.Fail(path+".scopes", "is missing: name what this search covers, so that people know what an empty answer means")
	}
	if s.unrelated = c.Maybe(path+".unrelated", item, b.Unrelated, cel.BoolType); b.Unrelated == "" && c.f.Sheet.Class == "L5" {
		c.Src.Fail(path+".unrelated", "is missing: a scan brings rows of other effects, so say which rows it must not bring, e.g. those outside the window")
	}
	s.match = c.match(path+".match", item, b.Match)
	s.facts = c.facts(path+".facts", item, b.Facts)
}

func (c *compiler) match(path string, item *definition.Scope, b *matchBlock) *match {
	if b == nil {
		c.Src.Fail(strings.TrimSuffix(path, ".match"), "match is missing: name the field that holds the reference, it is compared here byte for byte")
		return nil
	}
	if b.Carrier == "" {
		c.Src.Fail(path+".carrier", "is missing: name the field for people")
	}
	if b.Form != "" && b.Form != "hex" && b.Form != "dashed" {
		c.Src.Fail(path+".form", "%q is neither hex nor dashed", b.Form)
	}
	e := c.Expr(path+".value", item, b.Value, cel.StringType, cel.ListType(cel.StringType), cel.ListType(cel.DynType))
	if src := definition.Unquoted(b.Value); definition.Uses(src, "ref") {
		c.Src.Fail(path+".value", "must read the reference from the answer, without ref: comparing it is not the definition's task")
	} else if b.Value != "" && !definition.Uses(src, "item") {
		c.Src.Fail(path+".value", "does not read item: the reference must be read from the object itself")
	}
	return &match{carrier: b.Carrier, value: e, dashed: b.Form == "dashed"}
}

func (c *compiler) facts(path string, item *definition.Scope, b *factsBlock) *facts {
	if b == nil || b.ID == "" || b.State == "" {
		c.Src.Fail(path, "id and state are needed: which object it is, and whether it took effect (effective, pending or not_effective)")
		return nil
	}
	f := &facts{
		id:     c.Expr(path+".id", item, b.ID),
		url:    c.Maybe(path+".url", item, b.URL),
		title:  c.Maybe(path+".title", item, b.Title),
		time:   c.Maybe(path+".time", item, b.Time, cel.TimestampType),
		status: c.Maybe(path+".status", item, b.Status),
		state:  c.Expr(path+".state", item, b.State, cel.StringType),
	}
	if b.Where != "" {
		f.where = c.Text(path+".where", c.Plain, b.Where, definition.LangText)
	}
	for _, name := range definition.SortedKeys(b.More) {
		f.more = append(f.more, saved{name, c.Expr(path+".more."+name, item, b.More[name])})
	}
	return f
}

func (c *compiler) rules(path string, s *definition.Scope, bs []errorBlock) []*rule {
	var out []*rule
	for i, b := range bs {
		p := definition.Index(path, i)
		kinds := []evidence.FaultKind{evidence.FaultAuth, evidence.FaultForbidden, evidence.FaultRateLimited, evidence.FaultUnavailable, evidence.FaultBadAnswer, evidence.FaultRefused, evidence.FaultTooLarge}
		if !slices.Contains(kinds, evidence.FaultKind(b.Kind)) {
			c.Src.Fail(p+".kind", "%q is none of auth, forbidden, rate_limited, unavailable, bad_answer, refused, too_large", b.Kind)
		}
		if b.Detail == "" {
			c.Src.Fail(p+".detail", "is missing: say in one sentence what it means and what to do")
		}
		out = append(out, &rule{
			when: c.Expr(p+".when", s, b.When, cel.BoolType), retryAfter: c.Maybe(p+".retry_after", s, b.RetryAfter, cel.IntType),
			kind: evidence.FaultKind(b.Kind), detail: b.Detail,
		})
	}
	return out
}

// request compiles a request that only reads.
func (c *compiler) request(path string, s *definition.Scope, b *definition.RequestBlock) *definition.Request {
	c.Read(path, b)
	return c.Request(path, s, b)
}
