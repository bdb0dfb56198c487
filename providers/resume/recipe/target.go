package recipe

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/landedhq/landed/journal"
	"github.com/landedhq/landed/providers/definition"
	"github.com/landedhq/landed/providers/evidence"
	"github.com/landedhq/landed/providers/evidence/faults"
	"github.com/landedhq/landed/providers/resume"
)

// maxSays caps what is told of the runtime's own words, and maxText what rules see
// of an answer as text.
const (
	maxSays = 200
	maxText = 16 << 10
)

// Target hands resolutions to one runtime, as its recipe says.
type Target struct {
	def     *Definition
	cfg     Config
	params  definition.Vars
	account *definition.Account
}

var (
	_ resume.Target = (*Target)(nil)
	_ resume.Prober = (*Target)(nil)
)

// check is a compiled request that only reads.
type check struct {
	id      string
	when    *definition.Expr
	request *definition.Request
	rules   []*rule
	save    []saved
}

type saved struct {
	name string
	expr *definition.Expr
}

// delivery is a compiled request whose good answer ends the try.
type delivery struct {
	request *definition.Request
	rules   []*rule
	proof   *definition.Expr
}

// Name is how the configuration and begin's resume call the target.
func (t *Target) Name() string { return t.cfg.Name }

// Sheet is what the recipe promises.
func (t *Target) Sheet() resume.Sheet { return t.def.Sheet() }

// Definition is the recipe.
func (t *Target) Definition() *Definition { return t.def }

// Check says what is wrong with an address, without any I/O.
func (t *Target) Check(raw []byte) error {
	_, err := t.def.address(raw, t.cfg.Address)
	return err
}

// Deliver makes the checks and then the delivery.
func (t *Target) Deliver(ctx context.Context, m resume.Message) (resume.Receipt, error) {
	v, err := t.vars(m)
	if err != nil {
		return resume.Receipt{}, err
	}
	d, err := t.open(ctx)
	if err != nil {
		return resume.Receipt{}, err
	}
	defer d.s.Close()
	for _, k := range t.def.checks {
		got, more := d.check(ctx, k, v)
		if got.outcome != "" {
			return d.end(got)
		}
		v = v.With(more)
	}
	return d.end(d.send(ctx, t.def.deliver, v))
}

// Probe asks whether the runtime is there and lets Landed in, without handing
// anything over. A recipe without a probe can only tell whether its secrets can be
// read.
func (t *Target) Probe(ctx context.Context) error {
	d, err := t.open(ctx)
	if err != nil || t.def.probe == nil {
		return err
	}
	defer d.s.Close()
	_, err = d.end(d.send(ctx, t.def.probe, t.params))
	return err
}

// vars are what a message's requests see.
func (t *Target) vars(m resume.Message) (definition.Vars, error) {
	address, err := t.def.address(m.Resume, t.cfg.Address)
	if err != nil {
		return nil, resume.Fail(journal.HandoverBadAddress, "%w", err)
	}
	body, err := payload(m.Payload())
	if err != nil {
		return nil, resume.Fail(journal.HandoverTransient, "%w", err)
	}
	whole, _ := body.(map[string]any)
	return t.params.With(address).With(definition.Vars{
		"id": m.ID, "payload": body, "data": whole["data"], "at": m.At.UTC(), "try": m.Try,
	}), nil
}

// open reads the secrets.
func (t *Target) open(ctx context.Context) (*try, error) {
	s, err := t.account.Session(ctx, t.def.Name(), t.cfg.Secrets)
	if err != nil {
		return nil, resume.Fail(journal.HandoverAuth, "%w", err)
	}
	return &try{t: t, s: s}, nil
}

// try is one Deliver or Probe under way.
type try struct {
	t *Target
	s *definition.Session
}

// end turns a verdict into what the contract wants.
func (d *try) end(v verdict) (resume.Receipt, error) {
	detail := d.s.Clean(v.detail)
	switch v.outcome {
	case journal.HandoverAccepted:
		return resume.Receipt{Detail: detail}, nil
	case journal.HandoverResumed:
		return resume.Receipt{Resumed: true, Detail: detail}, nil
	}
	return resume.Receipt{}, &resume.Failure{Outcome: v.outcome, RetryAfter: v.retryAfter, Stop: v.stop, Err: errors.New(detail)}
}

// check asks one question; the zero verdict lets the delivery go on.
func (d *try) check(ctx context.Context, k *check, v definition.Vars) (verdict, definition.Vars) {
	if k.when != nil {
		on, err := k.when.Bool(ctx, v)
		if err != nil {
			return d.form(err), nil
		}
		if !on {
			return verdict{}, blanks(k)
		}
	}
	a, bad := d.exchange(ctx, k.request, v)
	if a == nil {
		return bad, nil
	}
	good := a.resp.StatusCode >= 200 && a.resp.StatusCode < 300
	got, err := d.judge(ctx, k.rules, a, good)
	switch {
	case err != nil:
		return d.form(err), nil
	case got.outcome != "":
		return got, nil
	case !good:
		return d.worded(ctx, a, byStatus(a.resp, d.t.account.Title)), nil
	}
	more := definition.Vars{}
	for _, s := range k.save {
		x, err := s.expr.Eval(ctx, a.vars)
		if err != nil {
			return d.form(err), nil
		}
		more["saved."+s.name] = x
	}
	return verdict{}, more
}

// blanks are what a check that was not made saves: nothing, as text.
func blanks(k *check) definition.Vars {
	out := definition.Vars{}
	for _, s := range k.save {
		out["saved."+s.name] = ""
	}
	return out
}

// send makes the request whose answer ends the try.
func (d *try) send(ctx context.Context, r *delivery, v definition.Vars) verdict {
	a, bad := d.exchange(ctx, r.request, v)
	if a == nil {
		return bad
	}
	got, err := d.judge(ctx, r.rules, a, false)
	if err != nil || got.outcome != "" {
		return got
	}
	out := d.worded(ctx, a, byStatus(a.resp, d.t.account.Title))
	if out.outcome != journal.HandoverAccepted || r.proof == nil {
		return out
	}
	if ok, err := r.proof.Bool(ctx, a.vars); err != nil || !ok {
		return verdict{outcome: journal.HandoverTransient, detail: fmt.Sprintf("what answers with %d is not %s: perhaps a login page or a proxy",
			a.resp.StatusCode, d.t.account.Title)}
	}
	return out
}

// judge asks the rules of a request, then those of the file.
func (d *try) judge(ctx context.Context, own []*rule, a *answer, strict bool) (verdict, error) {
	got, err := judge(ctx, own, a.vars, a.resp, strict)
	if err == nil && got.outcome == "" {
		got, err = judge(ctx, d.t.def.rules, a.vars, a.resp, false)
	}
	return d.worded(ctx, a, got), err
}

// worded adds the runtime's own words to a failure.
func (d *try) worded(ctx context.Context, a *answer, v verdict) verdict {
	if d.t.def.says == nil || v.outcome == "" || v.outcome == journal.HandoverAccepted || v.outcome == journal.HandoverResumed {
		return v
	}
	if s, err := d.t.def.says.Render(ctx, a.vars); err == nil && strings.TrimSpace(s) != "" {
		v.detail += "; it says: " + cut(strings.TrimSpace(s), maxSays)
	}
	return v
}

// form is an answer that the recipe can't read.
func (d *try) form(err error) verdict {
	return verdict{outcome: journal.HandoverTransient,
		detail: cut(fmt.Sprintf("the answer of %s does not have the expected form (%v)", d.t.account.Title, err), 2*maxSays)}
}

// answer is one answer, as rules see it.
type answer struct {
	resp *http.Response
	vars definition.Vars
}

// exchange sends one request and reads its answer; without one the verdict says why.
func (d *try) exchange(ctx context.Context, r *definition.Request, v definition.Vars) (*answer, verdict) {
	b, err := r.Build(ctx, d.t.account.Base, v)
	if err != nil {
		return nil, verdict{outcome: journal.HandoverBadAddress, detail: cut("the request can't be built: "+err.Error(), 2*maxSays)}
	}
	resp, err := d.s.Send(ctx, b, func(string, *url.URL, string, time.Time) {}, func() {})
	if err != nil {
		return nil, d.unsent(err)
	}
	defer resp.Body.Close()
	raw, err := io.ReadAll(resp.Body)
	if err != nil {
		return nil, d.unsent(err)
	}
	if resp.StatusCode == http.StatusUnauthorized {
		d.s.Refused(ctx)
	}
	var body any
	if x, err := definition.DecodeJSON(raw); err == nil {
		body = x
	}
	more := definition.AnswerVars(resp, body)
	more["text"] = cut(strings.ToValidUTF8(string(raw[:min(len(raw), maxText)]), "\uFFFD"), maxText)
	return &answer{resp: resp, vars: v.With(more)}, verdict{}
}

// unsent words that there is no answer. It may have been taken all the same.
func (d *try) unsent(err error) verdict {
	var no *definition.Unusable
	if errors.As(err, &no) {
		return verdict{outcome: journal.HandoverBadAddress, detail: cut("the request can't be built: "+no.Error(), 2*maxSays)}
	}
	var pe *evidence.ProviderError
	if !errors.As(err, &pe) && !errors.As(faults.Transport(err, d.t.account.Title), &pe) {
		return verdict{outcome: journal.HandoverTransient, detail: d.t.account.Title + " did not answer"}
	}
	v := verdict{outcome: journal.HandoverTransient, detail: pe.Detail, retryAfter: pe.RetryAfter}
	switch {
	case pe.Kind == evidence.FaultTooLarge:
		v.detail = "the answer of " + d.t.account.Title + " is larger than what is read of one: it may have been taken"
	case errors.Is(err, context.Canceled):
		v.detail = "the try was cancelled: it may have been taken"
	}
	if pe.Kind == evidence.FaultAuth || pe.Kind == evidence.FaultForbidden {
		v.outcome = journal.HandoverAuth
	}
	return v
}

// cut shortens a text at a rune.
func cut(s string, n int) string {
	if len(s) <= n {
		return s
	}
	for n > 0 && !utf8.RuneStart(s[n]) {
		n--
	}
	return s[:n] + "…"
}
