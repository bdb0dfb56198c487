package definition

import (
	"fmt"
	"net/http"
	"regexp"
	"sort"
	"strings"

	"github.com/google/cel-go/cel"
)

// Compiler turns what a file says into programs. It notes problems in Src and
// gives nil for what has one.
type Compiler struct {
	Src    *Source
	Params Params
	// Plain is the set of variables with the parameters only, Secret that with the
	// secrets too: for auth and nothing else.
	Plain, Secret *Scope
}

// NewCompiler makes the first two sets of variables from the parameters.
func NewCompiler(src *Source, ps Params) (*Compiler, error) {
	root, err := NewScope()
	if err != nil {
		return nil, err
	}
	c := &Compiler{Src: src, Params: ps}
	plain, secrets := ps.Types()
	c.Plain = c.Extend(root, plain)
	c.Secret = c.Extend(c.Plain, secrets)
	return c, nil
}

// Extend adds variables to a set.
func (c *Compiler) Extend(s *Scope, more map[string]*cel.Type) *Scope {
	if s == nil {
		return nil
	}
	out, err := s.Extend(more)
	if err != nil {
		c.Src.Fail("params", "%v", err)
		return nil
	}
	return out
}

// Answer adds what an answer has: body, status and headers. See AnswerVars.
func (c *Compiler) Answer(s *Scope) *Scope {
	return c.Extend(s, map[string]*cel.Type{
		"body": cel.DynType, "status": cel.IntType, "headers": cel.MapType(cel.StringType, cel.StringType),
	})
}

// AnswerVars are the variables of an answer; body is nil where it is no JSON.
func AnswerVars(resp *http.Response, body any) Vars {
	headers := map[string]string{}
	for k, vs := range resp.Header {
		headers[strings.ToLower(k)] = strings.Join(vs, ", ")
	}
	return Vars{"body": body, "status": resp.StatusCode, "headers": headers}
}

// Expr compiles one expression and notes its problem.
func (c *Compiler) Expr(path string, s *Scope, src string, wants ...*cel.Type) *Expr {
	if s == nil {
		return nil
	}
	e, err := s.Compile(path, src, wants...)
	if err != nil {
		c.Src.Fail(path, "%v", err)
	}
	return e
}

// Maybe compiles an expression that may be left out.
func (c *Compiler) Maybe(path string, s *Scope, src string, wants ...*cel.Type) *Expr {
	if src == "" {
		return nil
	}
	return c.Expr(path, s, src, wants...)
}

// Text compiles a value of a request.
func (c *Compiler) Text(path string, s *Scope, src string, lang Lang) *Text {
	if s == nil {
		return nil
	}
	if !lang.known() {
		c.Src.Fail(path, "%q is no language", string(lang))
		return nil
	}
	t, err := s.CompileText(path, src, lang)
	if err != nil {
		c.Src.Fail(path, "%v", err)
	}
	return t
}

// Host compiles an address. It takes only parameters that can't change which host
// is meant beyond what they are declared for.
func (c *Compiler) Host(path, src string) *Text {
	for _, m := range regexp.MustCompile(`\$\{([^}]*)\}?`).FindAllStringSubmatch(src, -1) {
		name, ok := strings.CutPrefix(strings.TrimSpace(m[1]), "params.")
		p, known := c.Params[name]
		switch {
		case !ok || !known:
			c.Src.Fail(path, "only parameters may stand in an address, like ${params.url}: %s is none", m[1])
		case p.Type == "url" && !strings.HasPrefix(src, m[0]):
			c.Src.Fail(path, "${params.%s} is a whole address: nothing may stand before it", name)
		case p.Type != "url" && p.Type != "label" && len(p.Values) == 0:
			c.Src.Fail(path, "params.%s must be of type url or label, or list its values, to stand in an address", name)
		}
	}
	return c.Text(path, c.Plain, src, LangText)
}

// Hosts compiles the addresses of a file: base and the further hosts.
func (c *Compiler) Hosts(base string, hosts []string) (b *Text, more []*Text) {
	b = c.Host("base", base)
	for i, h := range hosts {
		more = append(more, c.Host(Index("hosts", i), h))
	}
	return b, more
}

// Redact compiles the places that are never kept.
func (c *Compiler) Redact(paths []string) []RedactPath {
	var out []RedactPath
	for i, p := range paths {
		rp, err := ParseRedact(p)
		if err != nil {
			c.Src.Fail(Index("redact", i), "%v", err)
		}
		out = append(out, rp)
	}
	return out
}

// Index is the path of a list's element.
func Index(path string, i int) string { return fmt.Sprintf("%s[%d]", path, i) }

// SortedKeys are a map's keys, so that what is compiled and what is complained of
// always comes in the same order.
func SortedKeys[V any](m map[string]V) []string {
	out := make([]string, 0, len(m))
	for k := range m {
		out = append(out, k)
	}
	sort.Strings(out)
	return out
}

// Unquoted drops what stands in quotes.
func Unquoted(src string) string {
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

// Uses reports whether an expression names a variable. It errs on the strict
// side: a field of that name counts only without a dot before it.
func Uses(src, name string) bool {
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
