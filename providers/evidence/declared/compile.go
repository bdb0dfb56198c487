package declared

import (
	"fmt"
	"net/http"
	"slices"
	"sort"
	"strings"

	"github.com/google/cel-go/cel"

	"github.com/landedhq/landed/providers/evidence"
)

// step is one compiled step.
type step struct {
	id        string
	path      string
	when      *expr
	each      *expr
	request   *request
	errors    []*rule
	absent    *expr
	save      []saved
	scopes    []*scopeRule
	items     *expr
	pages     *pages
	truncated *expr
	refetch   *refetch
	match     *match
	unrelated *expr
	facts     *facts
}

type saved struct {
	name string
	expr *expr
}

type scopeRule struct {
	name   *text
	seen   *expr
	detail string
}

type rule struct {
	when, retryAfter *expr
	kind             evidence.FaultKind
	detail           string
}

type refetch struct {
	when    *expr
	request *request
	absent  *expr
	item    *expr
	max     int
}

type match struct {
	carrier string
	value   *expr
	dashed  bool
}

type facts struct {
	id, url, title, time, status, state *expr
	where                               *text
	more                                []saved
}

func index(path string, i int) string { return fmt.Sprintf("%s[%d]", path, i) }

func (c *compiler) compileStep(path string, b *stepBlock) *step {
	answer := c.answerScope()
	s := &step{
		id: b.ID, path: path,
		when:    c.maybe(path+".when", c.ask, b.When, cel.BoolType),
		each:    c.maybe(path+".each", c.ask, b.Each, cel.ListType(cel.DynType), cel.ListType(cel.StringType)),
		request: c.request(path+".request", c.ask, &b.Request),
		errors:  c.rules(path+".errors", answer, b.Errors),
		absent:  c.maybe(path+".absent", answer, b.Absent, cel.BoolType),
	}
	for _, name := range sortedKeys(b.Save) {
		s.save = append(s.save, saved{name, c.expr(path+".save."+name, answer, b.Save[name])})
	}
	for i, sc := range b.Scopes {
		p := index(path+".scopes", i)
		if sc.Name == "" || sc.Seen != "" && sc.Detail == "" {
			c.src.fail(p, "a scope needs a name, and a detail that says what it means when it was not seen")
		}
		s.scopes = append(s.scopes, &scopeRule{
			name: c.text(p+".name", c.params, sc.Name, LangText), seen: c.maybe(p+".seen", answer, sc.Seen, cel.BoolType), detail: sc.Detail,
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
			c.src.fail(path+"."+name, "only a step with items has this: add items, or remove it")
		}
	}
}

// search compiles the part that looks for the reference.
func (c *compiler) search(path string, b *stepBlock, s *step, answer *scope) {
	s.items = c.expr(path+".items", answer, b.Items, cel.ListType(cel.DynType), cel.ListType(cel.MapType(cel.StringType, cel.DynType)))
	s.truncated = c.maybe(path+".truncated", answer, b.Truncated, cel.BoolType)
	if b.Absent != "" && !uses(b.Absent, "body") {
		c.src.fail(path+".absent", "does not read body: a status alone can't tell a missing object from a missing endpoint")
	}
	s.pages = c.pages(path+".pages", answer, b.Pages, &b.Request)
	row := c.extend(answer, map[string]*cel.Type{"row": cel.DynType})
	item := c.extend(row, map[string]*cel.Type{"item": cel.DynType})
	if r := b.Refetch; r != nil {
		s.refetch = &refetch{
			when:    c.maybe(path+".refetch.when", row, r.When, cel.BoolType),
			request: c.request(path+".refetch.request", row, &r.Request),
			absent:  c.maybe(path+".refetch.absent", row, r.Absent, cel.BoolType),
			item:    c.expr(path+".refetch.item", row, r.Item),
			max:     r.Max,
		}
		if s.refetch.max == 0 {
			s.refetch.max = defaultRefetches
		}
	}
	if len(s.scopes) == 0 {
		c.src.fail(path+".scopes", "is missing: name what this search covers, so that people know what an empty answer means")
	}
	if s.unrelated = c.maybe(path+".unrelated", item, b.Unrelated, cel.BoolType); b.Unrelated == "" && c.f.Sheet.Class == "L5" {
		c.src.fail(path+".unrelated", "is missing: a scan brings rows of other effects, so say which rows it must not bring, e.g. those outside the window")
	}
	s.match = c.match(path+".match", item, b.Match)
	s.facts = c.facts(path+".facts", item, b.Facts)
}

func (c *compiler) match(path string, item *scope, b *matchBlock) *match {
	if b == nil {
		c.src.fail(strings.TrimSuffix(path, ".match"), "match is missing: name the field that holds the reference, it is compared here byte for byte")
		return nil
	}
	if b.Carrier == "" {
		c.src.fail(path+".carrier", "is missing: name the field for people")
	}
	if b.Form != "" && b.Form != "hex" && b.Form != "dashed" {
		c.src.fail(path+".form", "%q is neither hex nor dashed", b.Form)
	}
	e := c.expr(path+".value", item, b.Value, cel.StringType, cel.ListType(cel.StringType), cel.ListType(cel.DynType))
	if src := unquoted(b.Value); uses(src, "ref") {
		c.src.fail(path+".value", "must read the reference from the answer, without ref: comparing it is not the definition's task")
	} else if b.Value != "" && !uses(src, "item") {
		c.src.fail(path+".value", "does not read item: the reference must be read from the object itself")
	}
	return &match{carrier: b.Carrier, value: e, dashed: b.Form == "dashed"}
}

// unquoted drops what stands in quotes.
func unquoted(src string) string {
	var b strings.Builder
	quote := byte(0)
	for i := 0; i < len(src); i++ {
		switch c := src[i]; {
		case quote != 0 && c == '\\':
			i++
		case quote != 0 && c == quote:
			quote = 0
		case quote != 0:
		case c == '"' || c == '\'':
			quote = c
		default:
			b.WriteByte(c)
		}
	}
	return b.String()
}

// uses reports whether an expression names a variable. It errs on the strict
// side: a field of that name counts only without a dot before it.
func uses(src, name string) bool {
	isWord := func(r byte) bool {
		return r == '_' || r == '.' || r >= '0' && r <= '9' || r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z'
	}
	for i := 0; i+len(name) <= len(src); i++ {
		if src[i:i+len(name)] != name || i > 0 && isWord(src[i-1]) {
			continue
		}
		if end := i + len(name); end == len(src) || !isWord(src[end]) || src[end] == '.' {
			return true
		}
	}
	return false
}

func (c *compiler) facts(path string, item *scope, b *factsBlock) *facts {
	if b == nil || b.ID == "" || b.State == "" {
		c.src.fail(path, "id and state are needed: which object it is, and whether it took effect (effective, pending or not_effective)")
		return nil
	}
	f := &facts{
		id:     c.expr(path+".id", item, b.ID),
		url:    c.maybe(path+".url", item, b.URL),
		title:  c.maybe(path+".title", item, b.Title),
		time:   c.maybe(path+".time", item, b.Time, cel.TimestampType),
		status: c.maybe(path+".status", item, b.Status),
		state:  c.expr(path+".state", item, b.State, cel.StringType),
	}
	if b.Where != "" {
		f.where = c.text(path+".where", c.params, b.Where, LangText)
	}
	for _, name := range sortedKeys(b.More) {
		f.more = append(f.more, saved{name, c.expr(path+".more."+name, item, b.More[name])})
	}
	return f
}

func (c *compiler) rules(path string, s *scope, bs []errorBlock) []*rule {
	var out []*rule
	for i, b := range bs {
		p := index(path, i)
		kinds := []evidence.FaultKind{evidence.FaultAuth, evidence.FaultForbidden, evidence.FaultRateLimited, evidence.FaultUnavailable, evidence.FaultBadAnswer, evidence.FaultRefused, evidence.FaultTooLarge}
		if !slices.Contains(kinds, evidence.FaultKind(b.Kind)) {
			c.src.fail(p+".kind", "%q is none of auth, forbidden, rate_limited, unavailable, bad_answer, refused, too_large", b.Kind)
		}
		if b.Detail == "" {
			c.src.fail(p+".detail", "is missing: say in one sentence what it means and what to do")
		}
		out = append(out, &rule{
			when: c.expr(p+".when", s, b.When, cel.BoolType), retryAfter: c.maybe(p+".retry_after", s, b.RetryAfter, cel.IntType),
			kind: evidence.FaultKind(b.Kind), detail: b.Detail,
		})
	}
	return out
}

// method checks that a request only reads.
func (c *compiler) method(path string, b *requestBlock) string {
	switch b.Method {
	case http.MethodGet:
		if b.JSON != nil || b.Form != nil || b.GraphQL != nil || b.Reads {
			c.src.fail(path, "a GET has no body and needs no reads: true")
		}
	case http.MethodPost:
		if !b.Reads {
			c.src.fail(path+".method", "POST is allowed only where the vendor documents the call as a read: say reads: true then")
		}
	default:
		c.src.fail(path+".method", "%q: evidence only reads, so GET, or POST with reads: true", b.Method)
	}
	return b.Method
}

func sortedKeys[V any](m map[string]V) []string {
	out := make([]string, 0, len(m))
	for k := range m {
		out = append(out, k)
	}
	sort.Strings(out)
	return out
}
