package recipe

import (
	"encoding/json"
	"regexp"
	"slices"
	"strings"

	"github.com/google/cel-go/cel"

	"github.com/landedhq/landed/journal"
	"github.com/landedhq/landed/providers/definition"
	"github.com/landedhq/landed/providers/resume"
)

// Definition is one checked and compiled recipe. It is immutable.
type Definition struct {
	file    file
	sha256  string
	base    *definition.Text
	auth    []*definition.Auth
	checks  []*check
	deliver *delivery
	rules   []*rule
	says    *definition.Text
	probe   *delivery // nil = none is declared
	inPath  []string  // members of the address that become segments of a path
}

// Name is the recipe's name in the file, e.g. inngest.signal.
func (d *Definition) Name() string { return d.file.Adapter }

// Title names the runtime for people.
func (d *Definition) Title() string { return d.file.Title }

// About says in one sentence what is called.
func (d *Definition) About() string { return d.file.About }

// Version changes when the way of delivering does.
func (d *Definition) Version() string { return d.file.Version }

// SHA256 is the hash of the file's bytes, in hex.
func (d *Definition) SHA256() string { return d.sha256 }

// Setup says, in sentences for people, what the workflow does to wait and what is
// set up at the runtime.
func (d *Definition) Setup() []string { return slices.Clone(d.file.Setup) }

// Ways lists the ways of proving who sends, by the secrets that each needs.
func (d *Definition) Ways() [][]string {
	var out [][]string
	for _, a := range d.auth {
		out = append(out, slices.Sorted(slices.Values(a.Uses())))
	}
	return out
}

// Params lists the parameters by name.
func (d *Definition) Params() []definition.ParamInfo { return d.file.Params.List() }

// Address lists the members of begin's resume beside "to".
func (d *Definition) Address() []definition.ParamInfo { return d.file.Address.List() }

// Probes reports whether a target can be tried without handing anything over.
func (d *Definition) Probes() bool { return d.probe != nil }

// Dedupe says where the resolution's id goes and what the runtime does with a
// repeat; "" where it does nothing.
func (d *Definition) Dedupe() string {
	if k := d.file.Dedupe; k != nil {
		return k.Place + " " + k.Name + ": " + k.About
	}
	return ""
}

// Sheet is what the recipe promises.
func (d *Definition) Sheet() resume.Sheet {
	f := d.file
	return resume.Sheet{Kind: "recipe/" + f.Adapter, Dedupes: f.Dedupe != nil, Buffers: *f.Buffers, Confirms: *f.Confirms, Residual: f.Residual}
}

// Example is an address as a worker gives it to begin; to is the target's name.
func (d *Definition) Example(to string) []byte {
	all := map[string]any{"to": to}
	for k, v := range d.file.Example {
		all[k] = v
	}
	b, err := json.Marshal(all)
	if err != nil {
		return nil // what came from YAML and was checked can be written
	}
	return b
}

// Parse reads a recipe strictly and compiles it. name is how messages call the
// file. Errors are *definition.Error, joined: every problem with its line.
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
	c.address()
	c.promises()
	if src.Err() == nil { // expressions can't be checked against broken declarations
		c.body()
	}
	if src.Err() == nil {
		c.example()
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

	message *definition.Scope // params, address and message; grows by what checks save
}

// head checks what needs no expression.
func (c *compiler) head() {
	f := c.f
	for _, r := range []struct{ path, value, what string }{
		{"adapter", f.Adapter, "give the recipe a name like inngest.signal"},
		{"version", f.Version, "say which version of the way of delivering this is, like 1"},
		{"title", f.Title, "name the runtime for people"},
		{"about", f.About, "say in one sentence what is called"},
		{"base", f.Base, "give the address that requests go to"},
	} {
		if r.value == "" {
			c.Src.Fail(r.path, "is missing: %s", r.what)
		}
	}
	if f.Adapter != "" && !regexp.MustCompile(`^[a-z0-9_]+(\.[a-z0-9_]+)*$`).MatchString(f.Adapter) {
		c.Src.Fail("adapter", "%q: use lower-case letters, digits, _ and dots", f.Adapter)
	}
	if len(f.Auth) == 0 {
		c.Src.Fail("auth", "is missing: list the ways of proving who sends, [{kind: none}] if there is none")
	}
	if len(f.Setup) == 0 {
		c.Src.Fail("setup", "is missing: say what the workflow does to wait for this")
	}
	f.Params.Check(c.Src)
}

// address checks the declared members.
func (c *compiler) address() {
	for _, name := range definition.SortedKeys(c.f.Address) {
		p, path := c.f.Address[name], "address."+name
		switch {
		case name == "to":
			c.Src.Fail(path, "names the target and can't be a member of its own")
		case !regexp.MustCompile(`^[a-z][a-z0-9_]{0,40}$`).MatchString(name):
			c.Src.Fail(path, "a member's name has lower-case letters, digits and _")
		case p.Secret || p.Type == "url" || p.Type == "label":
			c.Src.Fail(path, "a member is of type string, int or bool, and no secret: workers write it, so it can't say which host is asked")
		default:
			if err := p.Check(); err != nil {
				c.Src.Fail(path, "%v", err)
			}
		}
	}
}

// promises checks that nothing is left unsaid.
func (c *compiler) promises() {
	f := c.f
	if f.Buffers == nil {
		c.Src.Fail("buffers", "is missing: say whether what comes before the work waits for it is kept until it does")
	}
	if f.Confirms == nil {
		c.Src.Fail("confirms", "is missing: say whether the answer tells that the work goes on, not only that it was taken")
	}
	if f.Dedupe == nil && f.Residual == "" {
		c.Src.Fail("residual", "is missing: without dedupe say in one sentence what the consumer must do with a resolution id that it has seen")
	}
	if k := f.Dedupe; k != nil && (k.About == "" || k.Name == "") {
		c.Src.Fail("dedupe", "name and about are needed: where the id goes, and what the runtime does with a repeat")
	}
}

// body compiles everything else.
func (c *compiler) body() {
	c.d.base = c.Host("base", c.f.Base)
	for i := range c.f.Auth {
		c.d.auth = append(c.d.auth, c.Auth(definition.Index("auth", i), &c.f.Auth[i]))
	}
	vars := map[string]*cel.Type{
		"id": cel.StringType, "payload": cel.DynType, "data": cel.DynType, "at": cel.TimestampType, "try": cel.IntType,
	}
	for name, p := range c.f.Address {
		vars["address."+name] = p.CELType()
	}
	c.message = c.Extend(c.Plain, vars)
	c.d.rules = c.compileRules("rules", c.answer(c.Plain), c.f.Rules)
	if c.f.Says != "" {
		c.d.says = c.Text("says", c.answer(c.Plain), c.f.Says, definition.LangText)
	}
	seen := map[string]bool{}
	for i := range c.f.Checks {
		b, path := &c.f.Checks[i], definition.Index("checks", i)
		if b.ID == "" || seen[b.ID] {
			c.Src.Fail(path+".id", "every check needs a name of its own")
		}
		seen[b.ID] = true
		c.d.checks = append(c.d.checks, c.compileCheck(path, b))
	}
	c.compileDeliver()
	if p := c.f.Probe; p != nil {
		c.Read("probe.request", &p.Request)
		answer := c.answer(c.Plain)
		c.d.probe = &delivery{request: c.Request("probe.request", c.Plain, &p.Request),
			rules: c.compileRules("probe.rules", answer, p.Rules), proof: c.Maybe("probe.proof", answer, p.Proof, cel.BoolType)}
	}
	c.confirmed()
}

// answer adds what an answer has.
func (c *compiler) answer(s *definition.Scope) *definition.Scope {
	return c.Extend(c.Answer(s), map[string]*cel.Type{"text": cel.StringType})
}

func (c *compiler) compileCheck(path string, b *checkBlock) *check {
	c.Read(path+".request", &b.Request)
	c.segments(&b.Request)
	answer := c.answer(c.message)
	k := &check{id: b.ID, when: c.Maybe(path+".when", c.message, b.When, cel.BoolType),
		request: c.Request(path+".request", c.message, &b.Request), rules: c.compileRules(path+".rules", answer, b.Rules)}
	if len(b.Rules) == 0 && len(b.Save) == 0 {
		c.Src.Fail(path+".rules", "is missing: a check that decides nothing and saves nothing is none")
	}
	more := map[string]*cel.Type{}
	for _, name := range definition.SortedKeys(b.Save) {
		k.save = append(k.save, saved{name, c.Expr(path+".save."+name, answer, b.Save[name])})
		more["saved."+name] = cel.DynType
	}
	c.message = c.Extend(c.message, more)
	return k
}

func (c *compiler) compileDeliver() {
	b := &c.f.Deliver
	if b.Request.Method != "POST" && b.Request.Method != "PUT" {
		c.Src.Fail("deliver.request.method", "%q: a delivery is a POST or a PUT", b.Request.Method)
	}
	if b.Request.Reads || b.Request.GraphQL != nil {
		c.Src.Fail("deliver.request", "a delivery changes something: reads and graphql are for checks")
	}
	c.segments(&b.Request)
	answer := c.answer(c.message)
	c.d.deliver = &delivery{request: c.Request("deliver.request", c.message, &b.Request),
		rules: c.compileRules("deliver.rules", answer, b.Rules), proof: c.Maybe("deliver.proof", answer, b.Proof, cel.BoolType)}
	c.travels(&b.Request)
}

// segments notes which members of the address become segments of a path.
func (c *compiler) segments(b *definition.RequestBlock) {
	for _, seg := range b.Path {
		for _, src := range definition.Expressions(seg) {
			for name := range c.f.Address {
				if definition.Uses(src, "address."+name) && !slices.Contains(c.d.inPath, name) {
					c.d.inPath = append(c.d.inPath, name)
				}
			}
		}
	}
	slices.Sort(c.d.inPath)
}

// travels checks that the resolution's id goes along, and where dedupe says so.
func (c *compiler) travels(b *definition.RequestBlock) {
	carries := func(v any) bool {
		return slices.ContainsFunc(texts(v), func(s string) bool {
			return slices.ContainsFunc(definition.Expressions(s), func(src string) bool {
				return definition.Uses(src, "id") || definition.Uses(src, "payload") || definition.Uses(src, "data.resolution_id")
			})
		})
	}
	if !carries([]any{b.Path, b.Query, b.Headers, b.JSON, b.Form}) {
		c.Src.Fail("deliver.request", "carries neither id nor payload: the consumer must be able to tell a repeat")
	}
	k := c.f.Dedupe
	if k == nil {
		return
	}
	var at any
	switch k.Place {
	case "json":
		at = b.JSON
		for _, seg := range strings.Split(k.Name, ".") {
			m, _ := at.(map[string]any)
			at = m[seg]
		}
	case "header":
		at = b.Headers[k.Name]
	case "query":
		at = b.Query[k.Name]
	default:
		c.Src.Fail("dedupe.place", "%q is none of json, header, query", k.Place)
		return
	}
	if s, _ := at.(string); !slices.ContainsFunc(definition.Expressions(s), func(src string) bool { return definition.Uses(src, "id") }) {
		c.Src.Fail("dedupe.name", "the request has no ${id} at %s %s", k.Place, k.Name)
	}
}

// texts lists the strings in a value as YAML gives it.
func texts(v any) []string {
	switch v := v.(type) {
	case string:
		return []string{v}
	case []string:
		return v
	case map[string]string:
		var out []string
		for _, x := range v {
			out = append(out, x)
		}
		return out
	case map[string]any:
		var out []string
		for _, x := range v {
			out = append(out, texts(x)...)
		}
		return out
	case []any:
		var out []string
		for _, x := range v {
			out = append(out, texts(x)...)
		}
		return out
	}
	return nil
}

// confirmed checks that confirms and the rules say the same.
func (c *compiler) confirmed() {
	resumes := func(rs []*rule) bool {
		return slices.ContainsFunc(rs, func(r *rule) bool { return r.outcome == journal.HandoverResumed })
	}
	says := resumes(c.d.rules) || resumes(c.d.deliver.rules)
	for _, k := range c.d.checks {
		says = says || resumes(k.rules)
	}
	switch {
	case *c.f.Confirms && !says:
		c.Src.Fail("confirms", "is true, but no rule has the outcome resumed")
	case !*c.f.Confirms && says:
		c.Src.Fail("confirms", "is false, but a rule has the outcome resumed: it would close the delivery")
	}
}

// example checks the example as any address is checked.
func (c *compiler) example() {
	if _, err := c.d.address(c.d.Example("x"), nil); err != nil {
		c.Src.Fail("example", "%v", err)
	}
}
