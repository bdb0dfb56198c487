package declared

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"strconv"
	"strings"

	"github.com/google/cel-go/cel"

	"github.com/landedhq/landed/providers/definition"
)

// The caps of one look.
const (
	defaultPages     = 5
	maxPages         = 50
	defaultRefetches = 20
	maxRequests      = 60
)

// pages is the compiled way of paging.
type pages struct {
	kind, param string
	inJSON      bool
	next        *definition.Expr
	more, total *definition.Expr
	size, first int
	max         int
}

func (c *compiler) pages(path string, answer *definition.Scope, b *pagesBlock, r *definition.RequestBlock) *pages {
	if b == nil {
		c.Src.Fail(path, "is missing: say how the answer is paged: whole, none, next_url, link, cursor, page or offset")
		return nil
	}
	p := &pages{kind: b.Kind, param: b.Param, inJSON: b.In == "json", size: b.Size, first: b.First, max: b.Max,
		next:  c.Maybe(path+".next", answer, b.Next),
		more:  c.Maybe(path+".more", answer, b.More, cel.BoolType),
		total: c.Maybe(path+".total", answer, b.Total, cel.IntType),
	}
	if p.max == 0 {
		p.max = defaultPages
	}
	if p.max < 1 || p.max > maxPages {
		c.Src.Fail(path+".max", "is %d, allowed are 1 to %d", p.max, maxPages)
	}
	if b.In != "" && b.In != "query" && b.In != "json" {
		c.Src.Fail(path+".in", "%q is neither query nor json", b.In)
	}
	if p.inJSON && r.JSON == nil && r.GraphQL == nil {
		c.Src.Fail(path+".in", "the request has no JSON body")
	}
	c.checkPages(path, p)
	return p
}

// checkPages wants what each kind needs to tell the end of the rows.
func (c *compiler) checkPages(path string, p *pages) {
	needs := func(name string, have bool, why string) {
		if !have {
			c.Src.Fail(path+"."+name, "is missing: %s", why)
		}
	}
	switch p.kind {
	case "whole", "link":
	case "none":
		needs("size", p.size > 0, "say how many rows the request asks for: as many as that may not be all")
	case "next_url":
		needs("next", p.next != nil, "say where the answer holds the next address")
	case "cursor":
		needs("next", p.next != nil, "say where the answer holds the cursor")
		needs("param", p.param != "", "say where the cursor goes in the next request")
	case "page", "offset":
		needs("param", p.param != "", "say which parameter counts")
		needs("size", p.size > 0, "say how many rows a full page has")
	default:
		c.Src.Fail(path+".kind", "%q is none of whole, none, next_url, link, cursor, page, offset", p.kind)
	}
}

// pager walks the pages of one search.
type pager struct {
	p      *pages
	number int // of the page that comes next
	rows   int
	cursor string
	url    *url.URL // next_url, link
	seen   map[string]bool
}

// apply turns the first request into that for the next page.
func (g *pager) apply(b *definition.Built) error {
	value := ""
	switch g.p.kind {
	case "next_url", "link":
		if g.url != nil {
			b.URL = g.url
		}
		return nil
	case "cursor":
		value = g.cursor
	case "page":
		value = strconv.Itoa(g.p.first + g.number)
	case "offset":
		value = strconv.Itoa(g.rows)
	}
	if value == "" || g.number == 0 && g.p.kind == "cursor" {
		return nil
	}
	if !g.p.inJSON {
		q := b.URL.Query()
		q.Set(g.p.param, value)
		b.URL.RawQuery = q.Encode()
		return nil
	}
	return setJSON(b, g.p.param, value, g.p.kind != "cursor")
}

// setJSON sets a dotted path in the body; number says that it is one.
func setJSON(b *definition.Built, path, value string, number bool) error {
	m := b.JSON
	segs := strings.Split(path, ".")
	for _, s := range segs[:len(segs)-1] {
		next, ok := m[s].(map[string]any)
		if !ok {
			next = map[string]any{}
			m[s] = next
		}
		m = next
	}
	m[segs[len(segs)-1]] = value
	if n, err := strconv.Atoi(value); number && err == nil {
		m[segs[len(segs)-1]] = n
	}
	return b.Encode()
}

// advance looks at the page just read, which had n rows. more says that there is
// another one; complete, meant only without more, that all rows were read.
func (g *pager) advance(ctx context.Context, a *answer, n int) (more, complete bool, err error) {
	g.number++
	g.rows += n
	total, err := g.total(ctx, a.vars)
	if err != nil {
		return false, false, err
	}
	switch g.p.kind {
	case "whole":
		return false, g.reached(total), nil
	case "none":
		return false, n < g.p.size && g.reached(total), nil
	case "next_url", "link", "cursor":
		more, err = g.follow(ctx, a)
	default:
		more, err = g.count(ctx, a.vars, n, total)
	}
	if err != nil || more {
		return more, false, err
	}
	return false, g.reached(total), nil
}

// reached reports whether as many rows were read as the provider says there are.
// More than that are as doubtful as fewer.
func (g *pager) reached(total int) bool { return total < 0 || g.rows == total }

// total is how many rows the provider says there are; -1 = it doesn't say.
func (g *pager) total(ctx context.Context, v definition.Vars) (int, error) {
	if g.p.total == nil {
		return -1, nil
	}
	n, err := g.p.total.Int(ctx, v)
	if err != nil {
		return -1, err
	}
	if n < 0 {
		return -1, errors.New("the provider's total is negative")
	}
	return int(n), nil
}

// count decides for page and offset.
func (g *pager) count(ctx context.Context, v definition.Vars, n, total int) (bool, error) {
	switch {
	case n == 0:
		return false, nil
	case g.p.more != nil:
		return g.p.more.Bool(ctx, v)
	case total >= 0:
		return g.rows < total, nil
	}
	return n >= g.p.size, nil
}

// follow finds the next cursor or address. One that was there before would never
// end.
func (g *pager) follow(ctx context.Context, a *answer) (bool, error) {
	var next string
	var err error
	if g.p.kind == "link" {
		next = linkNext(a.links)
	} else if next, err = g.p.next.Text(ctx, a.vars); err != nil {
		return false, err
	}
	if g.p.more != nil {
		more, err := g.p.more.Bool(ctx, a.vars)
		if err != nil {
			return false, err
		}
		if more && next == "" {
			return false, errors.New("the provider says that there is more, and not where")
		}
		if !more {
			return false, nil
		}
	}
	if next == "" {
		return false, nil
	}
	if g.seen[next] {
		return false, errors.New("the provider leads to a page that was read before")
	}
	g.seen[next] = true
	g.cursor = next
	if g.p.kind != "cursor" {
		if g.url, err = a.resolve(next); err != nil {
			return false, err
		}
	}
	return true, nil
}

// linkNext finds rel="next" in Link headers (RFC 8288).
func linkNext(links []string) string {
	for _, h := range links {
		for _, l := range strings.Split(h, ",") {
			target, params, ok := strings.Cut(l, ";")
			target = strings.TrimSpace(target)
			if !ok || !strings.HasPrefix(target, "<") || !strings.HasSuffix(target, ">") {
				continue
			}
			for _, p := range strings.Split(params, ";") {
				k, v, _ := strings.Cut(strings.TrimSpace(p), "=")
				if strings.EqualFold(k, "rel") && strings.EqualFold(strings.Trim(v, `"`), "next") {
					return target[1 : len(target)-1]
				}
			}
		}
	}
	return ""
}

// errOffHost is why a next page was not followed.
func errOffHost(host string) error {
	return fmt.Errorf("the next page is said to be at %.80q, which the definition does not allow", host)
}
