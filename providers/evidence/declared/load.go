package declared

import (
	"regexp"
	"slices"
	"time"

	"github.com/google/cel-go/cel"

	"github.com/landedhq/landed/providers/definition"
	"github.com/landedhq/landed/providers/evidence"
)

// Definition is one checked and compiled definition. It is immutable.
type Definition struct {
	file   file
	sha256 string
	times  times
	base   *definition.Text
	hosts  []*definition.Text
	auth   *definition.Auth
	steps  []*step
	errors []*rule
	redact []definition.RedactPath
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

// DefinitionError says what is wrong with a definition, where, and what to do.
type DefinitionError = definition.Error

// Parse reads a definition strictly and compiles it. name is how messages call
// the file. Errors are *DefinitionError, joined: every problem with its line.
func Parse(name string, b []byte) (*Definition, error) {
	d := &Definition{}
	src, err := definition.Decode(name, b, &d.file)
	if err != nil {
		return nil, err
	}
	d.sha256 = src.SHA256()
	common, err := definition.NewCompiler(src, d.file.Params)
	if err != nil {
		return nil, err
	}
	c := &compiler{Compiler: common, d: d, f: &d.file}
	c.head()
	c.scopes()
	if src.Err() == nil { // expressions can't be checked against broken parameters
		c.body()
	}
	if err := src.Err(); err != nil {
		return nil, err
	}
	return d, nil
}

// compiler carries what compiling needs; problems go to Src.
type compiler struct {
	*definition.Compiler
	d *Definition
	f *file

	ask  *definition.Scope // params and the question; grows by what steps save
	hint *definition.Scope // the writer's side
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
			c.Src.Fail(r.path, "is missing: %s", r.what)
		}
	}
	if f.Adapter != "" && !regexp.MustCompile(`^[a-z0-9_]+(\.[a-z0-9_]+)*$`).MatchString(f.Adapter) {
		c.Src.Fail("adapter", "%q: use lower-case letters, digits, _ and dots", f.Adapter)
	}
	if f.Sheet.Class != "" && !slices.Contains([]string{"L1", "L2", "L3", "L4", "L5", "L6"}, f.Sheet.Class) {
		c.Src.Fail("sheet.class", "%q is none of L1 to L6", f.Sheet.Class)
	}
	c.times()
	if c.d.times.horizon == 0 {
		c.Src.Fail("sheet.processing_horizon", "is missing: say how long an accepted request can still land, like 5m")
	}
	if f.Sheet.Native.Header == "" && f.Sheet.Native != (nativeBlock{}) {
		c.Src.Fail("sheet.native.header", "is missing: name the header or field of the provider's own key")
	}
	if len(f.Steps) == 0 {
		c.Src.Fail("steps", "is missing: say how to look")
	}
	f.Params.Check(c.Src)
	c.d.redact = c.Redact(f.Redact)
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
			c.Src.Fail(t.path, "%v", err)
		}
		*t.to = v
	}
}

// scopes makes the sets of variables.
func (c *compiler) scopes() {
	c.hint = c.Extend(c.Plain, map[string]*cel.Type{"ref": cel.StringType, "provider_key": cel.StringType, "issue": cel.IntType})
	c.ask = c.Extend(c.Plain, map[string]*cel.Type{
		"ref": cel.StringType, "from": cel.TimestampType, "to": cel.TimestampType, "now": cel.TimestampType, "handles": cel.ListType(cel.DynType), "each": cel.DynType,
	})
}

// body compiles everything else.
func (c *compiler) body() {
	c.d.base, c.d.hosts = c.Hosts(c.f.Base, c.f.Hosts)
	c.d.auth = c.Auth("auth", &c.f.Auth)
	answer := c.Answer(c.ask)
	c.d.errors = c.rules("errors", answer, c.f.Errors)
	seen := map[string]bool{}
	searches := 0
	for i := range c.f.Steps {
		b, path := &c.f.Steps[i], definition.Index("steps", i)
		if b.ID == "" || seen[b.ID] {
			c.Src.Fail(path+".id", "every step needs a name of its own")
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
		c.Src.Fail("steps", "no step has items: one must bring the rows in which the reference is looked for")
	}
	c.d.writer = c.compileWriter()
}

// grow makes what a step saved usable in later ones.
func (c *compiler) grow(save map[string]string) {
	more := map[string]*cel.Type{}
	for name := range save {
		more["saved."+name] = cel.DynType
	}
	c.ask = c.Extend(c.ask, more)
}

// ParamInfo describes one parameter of a definition, for configuration pages and
// messages.
type ParamInfo = definition.ParamInfo

// Params lists the parameters by name.
func (d *Definition) Params() []ParamInfo { return d.file.Params.List() }

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
