package declared

import (
	"crypto/sha256"
	"encoding/hex"

	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/goccy/go-yaml"
	"github.com/google/cel-go/cel"

	"github.com/landedhq/landed/providers/evidence"
)

// maxFileBytes bounds a definition.
const maxFileBytes = 64 << 10

// Definition is one checked and compiled definition. It is immutable.
type Definition struct {
	file   file
	sha256 string
	times  times
	base   *text
	hosts  []*text
	auth   *auth
	steps  []*step
	errors []*rule
	redact []redactPath
	writer *writer
}

// times are the sheet's lengths of time.
type times struct{ indexLag, horizon, retention, window time.Duration }

// Name is the adapter's name in the definition, e.g. redmine.issue.
func (d *Definition) Name() string { return d.file.Adapter }

// Title names the provider and its objects for people.
func (d *Definition) Title() string { return d.file.Title }

// SHA256 is the hash of the file's bytes, in hex.
func (d *Definition) SHA256() string { return d.sha256 }

// Parse reads a definition strictly and compiles it. name is how messages call
// the file. Errors are *DefinitionError, joined: every problem with its line.
func Parse(name string, b []byte) (d *Definition, err error) {
	if len(b) > maxFileBytes {
		return nil, &DefinitionError{File: name, Problem: "a definition has at most 64 KiB"}
	}
	defer func() {
		if p := recover(); p != nil { // the YAML library's, on a tag without a value where a list is expected
			d, err = nil, &DefinitionError{File: name, Problem: "is no YAML that can be read: look for a tag (!) or an anchor (&) that stands alone"}
		}
	}()
	src, err := newSource(name, b)
	if err != nil {
		return nil, err
	}
	sum := sha256.Sum256(b)
	d = &Definition{sha256: hex.EncodeToString(sum[:])}
	if err := yaml.UnmarshalWithOptions(b, &d.file, yaml.Strict()); err != nil {
		return nil, yamlError(name, err)
	}
	root, err := newScope()
	if err != nil {
		return nil, err
	}
	c := &compiler{src: src, d: d, f: &d.file}
	c.head()
	c.scopes(root)
	if src.err() == nil { // expressions can't be checked against broken parameters
		c.body()
	}
	if err := src.err(); err != nil {
		return nil, err
	}
	return d, nil
}

// compiler carries what compiling needs; problems go to src.
type compiler struct {
	src *source
	d   *Definition
	f   *file

	params *scope // params only
	ask    *scope // plus the question; grows by what steps save
	secret *scope // params and secrets
	hint   *scope // the writer's side
}

// head checks what needs no expression.
func (c *compiler) head() {
	f := c.f
	for _, r := range []struct{ path, value, what string }{
		{"adapter", f.Adapter, "give the definition a name like redmine.issue"},
		{"version", f.Version, "say which version of the way of looking this is, like 1"},
		{"title", f.Title, "name the provider and its objects for people"},
		{"base", f.Base, "give the address that requests go to"},
		{"sheet.class", f.Sheet.Class, "give the look-up class, L1 to L6"},
	} {
		if r.value == "" {
			c.src.fail(r.path, "is missing: %s", r.what)
		}
	}
	if f.Adapter != "" && !regexp.MustCompile(`^[a-z0-9_]+(\.[a-z0-9_]+)*$`).MatchString(f.Adapter) {
		c.src.fail("adapter", "%q: use lower-case letters, digits, _ and dots", f.Adapter)
	}
	if f.Sheet.Class != "" && !slices.Contains([]string{"L1", "L2", "L3", "L4", "L5", "L6"}, f.Sheet.Class) {
		c.src.fail("sheet.class", "%q is none of L1 to L6", f.Sheet.Class)
	}
	c.times()
	if c.d.times.horizon == 0 {
		c.src.fail("sheet.processing_horizon", "is missing: say how long an accepted request can still land, like 5m")
	}
	if f.Sheet.Native.Header == "" && f.Sheet.Native != (nativeBlock{}) {
		c.src.fail("sheet.native.header", "is missing: name the header or field of the provider's own key")
	}
	if len(f.Steps) == 0 {
		c.src.fail("steps", "is missing: say how to look")
	}
	for name, p := range f.Params {
		if !regexp.MustCompile(`^[a-z][a-z0-9_]{0,40}$`).MatchString(name) {
			c.src.fail("params."+name, "a parameter's name has lower-case letters, digits and _")
		}
		if err := p.check(); err != nil {
			c.src.fail("params."+name, "%v", err)
		}
	}
	for i, p := range f.Redact {
		rp, err := parseRedact(p)
		if err != nil {
			c.src.fail(index("redact", i), "%v", err)
		}
		c.d.redact = append(c.d.redact, rp)
	}
}

func (c *compiler) times() {
	sh := c.f.Sheet
	for _, t := range []struct {
		path, src string
		to        *time.Duration
	}{
		{"sheet.index_lag", sh.IndexLag, &c.d.times.indexLag}, {"sheet.processing_horizon", sh.ProcessingHorizon, &c.d.times.horizon},
		{"sheet.retention", sh.Retention, &c.d.times.retention}, {"sheet.native.window", sh.Native.Window, &c.d.times.window},
	} {
		v, err := parseDuration(t.src)
		if err != nil {
			c.src.fail(t.path, "%v", err)
		}
		*t.to = v
	}
}

// scopes makes the sets of variables.
func (c *compiler) scopes(root *scope) {
	params, secrets := map[string]*cel.Type{}, map[string]*cel.Type{}
	for name, p := range c.f.Params {
		if p.Secret {
			secrets["secrets."+name] = cel.StringType
		} else {
			params["params."+name] = p.celType()
		}
	}
	c.params = c.extend(root, params)
	c.secret = c.extend(c.params, secrets)
	c.hint = c.extend(c.params, map[string]*cel.Type{"ref": cel.StringType, "provider_key": cel.StringType, "issue": cel.IntType})
	c.ask = c.extend(c.params, map[string]*cel.Type{
		"ref": cel.StringType, "from": cel.TimestampType, "to": cel.TimestampType, "now": cel.TimestampType, "handles": cel.ListType(cel.DynType), "each": cel.DynType,
	})
}

func (c *compiler) extend(s *scope, more map[string]*cel.Type) *scope {
	if s == nil {
		return nil
	}
	out, err := s.extend(more)
	if err != nil {
		c.src.fail("params", "%v", err)
		return nil
	}
	return out
}

// body compiles everything else.
func (c *compiler) body() {
	c.d.base = c.hostText("base", c.f.Base)
	for i, h := range c.f.Hosts {
		c.d.hosts = append(c.d.hosts, c.hostText(index("hosts", i), h))
	}
	c.d.auth = c.compileAuth()
	answer := c.answerScope()
	c.d.errors = c.rules("errors", answer, c.f.Errors)
	seen := map[string]bool{}
	searches := 0
	for i := range c.f.Steps {
		b, path := &c.f.Steps[i], index("steps", i)
		if b.ID == "" || seen[b.ID] {
			c.src.fail(path+".id", "every step needs a name of its own")
		}
		seen[b.ID] = true
		s := c.compileStep(path, b)
		c.d.steps = append(c.d.steps, s)
		if b.Items != "" {
			searches++
		}
		c.grow(b.Save)
	}
	if searches == 0 {
		c.src.fail("steps", "no step has items: one must bring the rows in which the reference is looked for")
	}
	c.d.writer = c.compileWriter()
}

// grow makes what a step saved usable in later ones.
func (c *compiler) grow(save map[string]string) {
	more := map[string]*cel.Type{}
	for name := range save {
		more["saved."+name] = cel.DynType
	}
	c.ask = c.extend(c.ask, more)
}

func (c *compiler) answerScope() *scope {
	return c.extend(c.ask, map[string]*cel.Type{
		"body": cel.DynType, "status": cel.IntType, "headers": cel.MapType(cel.StringType, cel.StringType),
	})
}

// expr compiles one expression and notes its problem.
func (c *compiler) expr(path string, s *scope, src string, wants ...*cel.Type) *expr {
	if s == nil {
		return nil
	}
	e, err := s.compile(path, src, wants...)
	if err != nil {
		c.src.fail(path, "%v", err)
	}
	return e
}

// maybe compiles an expression that may be left out.
func (c *compiler) maybe(path string, s *scope, src string, wants ...*cel.Type) *expr {
	if src == "" {
		return nil
	}
	return c.expr(path, s, src, wants...)
}

func (c *compiler) text(path string, s *scope, src string, lang Lang) *text {
	if s == nil {
		return nil
	}
	if !lang.known() {
		c.src.fail(path, "%q is no language", string(lang))
		return nil
	}
	t, err := s.compileText(path, src, lang)
	if err != nil {
		c.src.fail(path, "%v", err)
	}
	return t
}

// hostText takes only parameters that can't change which host is meant beyond
// what they are declared for.
func (c *compiler) hostText(path, src string) *text {
	for _, m := range regexp.MustCompile(`\$\{([^}]*)\}?`).FindAllStringSubmatch(src, -1) {
		name, ok := strings.CutPrefix(strings.TrimSpace(m[1]), "params.")
		p, known := c.f.Params[name]
		switch {
		case !ok || !known:
			c.src.fail(path, "only parameters may stand in an address, like ${params.url}: %s is none", m[1])
		case p.Type == "url" && !strings.HasPrefix(src, m[0]):
			c.src.fail(path, "${params.%s} is a whole address: nothing may stand before it", name)
		case p.Type != "url" && p.Type != "label" && len(p.Values) == 0:
			c.src.fail(path, "params.%s must be of type url or label, or list its values, to stand in an address", name)
		}
	}
	return c.text(path, c.params, src, LangText)
}

// sheet is the capability sheet as declared; Open adds what is configured.
func (d *Definition) sheet() evidence.Sheet {
	s, n := d.file.Sheet, d.file.Sheet.Native
	return evidence.Sheet{
		Kind:              "declared/" + d.file.Adapter,
		Version:           d.file.Version + "+sha256:" + d.sha256,
		Class:             evidence.LookupClass(s.Class),
		IndexLag:          d.times.indexLag,
		ProcessingHorizon: d.times.horizon,
		Retention:         d.times.retention,
		Native:            evidence.NativeIdempotency{Header: n.Header, Window: d.times.window, ErrorsKept: n.ErrorsKept, BodyCompared: n.BodyCompared},
		Conclusive:        s.InconclusiveWhy == "",
		InconclusiveWhy:   s.InconclusiveWhy,
	}
}
