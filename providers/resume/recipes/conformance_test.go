package recipes_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/landedhq/landed/journal"
	"github.com/landedhq/landed/providers/evidence"
	"github.com/landedhq/landed/providers/resume"
	"github.com/landedhq/landed/providers/resume/recipe"
	"github.com/landedhq/landed/providers/resume/recipes"
	"github.com/landedhq/landed/providers/resume/recipes/recipestest"
)

// each runs a test against every recipe's runtime.
func each(t *testing.T, test func(t *testing.T, f *recipestest.Fake)) {
	t.Helper()
	for _, d := range recipestest.Dialects() {
		t.Run(d.Recipe, func(t *testing.T) {
			t.Parallel()
			test(t, recipestest.New(t, d))
		})
	}
}

func newID() string { return journal.Dashed(journal.RandomRef()) }

// message is a resolution of one effect.
func message(f *recipestest.Fake, t testing.TB, effect string) resume.Message {
	id := newID()
	at := time.Date(2026, 11, 29, 10, 15, 0, 0, time.UTC)
	return resume.Message{ID: id, At: at, Try: 1, Resume: f.Resume(t, effect), Data: resume.Data{
		ResolutionID: id, Cursor: 7, EffectID: effect, EffectVersion: 3, Key: "order-17/charge", Tool: "charge", Resolution: journal.ResolutionKind("committed"),
		At: at, URL: "https://desk.example.com/e/" + effect}}
}

func outcome(t testing.TB, err error) journal.HandoverOutcome {
	t.Helper()
	if err == nil {
		return journal.HandoverAccepted
	}
	var f *resume.Failure
	if !errors.As(err, &f) {
		t.Fatalf("error %v, want a Failure", err)
	}
	return f.Outcome
}

func deliver(t testing.TB, target *recipe.Target, m resume.Message) resume.Receipt {
	t.Helper()
	r, err := target.Deliver(t.Context(), m)
	if err != nil {
		t.Fatalf("Deliver: %v", err)
	}
	if r.Detail == "" || r.Resumed != target.Sheet().Confirms {
		t.Errorf("receipt %+v, the sheet says confirms %v", r, target.Sheet().Confirms)
	}
	return r
}

func TestEveryRecipeHasARuntime(t *testing.T) {
	t.Parallel()
	var have []string
	for _, d := range recipestest.Dialects() {
		have = append(have, d.Recipe)
	}
	slices.Sort(have)
	if !slices.Equal(have, recipes.Names()) {
		t.Errorf("there are runtimes for %v and recipes for %v", have, recipes.Names())
	}
}

func TestDeliverOnce(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, f *recipestest.Fake) {
		effect := newID()
		f.Wait(effect)
		m := message(f, t, effect)
		target := f.Target(t)
		if err := target.Check(m.Resume); err != nil {
			t.Fatalf("Check: %v", err)
		}
		deliver(t, target, m)
		if got := f.Seen(effect); !slices.Equal(got, []string{m.ID}) {
			t.Errorf("resumed by %v, want %s once", got, m.ID)
		}
		for _, r := range f.Requests() {
			for _, secret := range f.Secrets {
				if strings.Contains(r.Body, secret) && !strings.HasSuffix(r.Path, "/token") {
					t.Errorf("a secret is in the body of %s %s", r.Method, r.Path)
				}
			}
		}
	})
}

// A repeat, as after a crash between the call and its record, must not resume the
// run's next wait where the recipe says that the runtime knows ids. Elsewhere the
// run finds the id and can tell.
func TestDeliverThreeTimes(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, f *recipestest.Fake) {
		effect := newID()
		f.Wait(effect)
		m := message(f, t, effect)
		target := f.Target(t)
		deliver(t, target, m)
		for range 2 {
			f.Wait(effect) // the run waits again, under the same name
			m.Try++
			if _, err := target.Deliver(t.Context(), m); err != nil && outcome(t, err) != journal.HandoverNotWaiting {
				t.Errorf("a repeat: %v", err)
			}
		}
		got := f.Seen(effect)
		if target.Sheet().Dedupes && len(got) != 1 || len(got) < 1 {
			t.Errorf("resumed %d times", len(got))
		}
		for _, id := range got {
			if id != m.ID {
				t.Errorf("the run sees %q as the id", id)
			}
		}
		if !target.Sheet().Dedupes && target.Sheet().Residual == "" {
			t.Error("what is left to the consumer is not said")
		}
	})
}

func TestDeliverBeforeTheWait(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, f *recipestest.Fake) {
		effect := newID()
		f.Begin(effect)
		m := message(f, t, effect)
		target := f.Target(t)
		if target.Sheet().Buffers != (f.Early == recipestest.Kept) {
			t.Errorf("the sheet says buffers %v", target.Sheet().Buffers)
		}
		_, err := target.Deliver(t.Context(), m)
		want := journal.HandoverAccepted
		if f.Early == recipestest.Refused {
			want = journal.HandoverNotWaiting
		}
		if got := outcome(t, err); got != want {
			t.Fatalf("outcome %s, want %s: %v", got, want, err)
		}
		f.Wait(effect)
		if f.Early != recipestest.Kept {
			if n := len(f.Seen(effect)); n != 0 {
				t.Fatalf("resumed %d times before it was delivered again", n)
			}
			m.Try++
			deliver(t, target, m)
		}
		if got := f.Seen(effect); !slices.Equal(got, []string{m.ID}) {
			t.Errorf("resumed by %v", got)
		}
	})
}

func TestDeliverAfterTheEnd(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, f *recipestest.Fake) {
		effect := newID()
		f.Wait(effect)
		f.End(effect)
		_, err := f.Target(t).Deliver(t.Context(), message(f, t, effect))
		if got := outcome(t, err); got != f.Ended {
			t.Errorf("a run that ended: %s, want %s: %v", got, f.Ended, err)
		}
		never := newID()
		_, err = f.Target(t).Deliver(t.Context(), message(f, t, never))
		if got := outcome(t, err); got != f.Unknown {
			t.Errorf("a run that never was: %s, want %s: %v", got, f.Unknown, err)
		}
		if len(f.Seen(effect))+len(f.Seen(never)) != 0 {
			t.Error("something was resumed")
		}
	})
}

func TestWrongCredentials(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, f *recipestest.Fake) {
		effect := newID()
		f.Wait(effect)
		c := f.Config(t)
		for name := range c.Secrets {
			c.Secrets[name] = evidence.Fixed("another-key-0123456789")
		}
		target, err := c.Open()
		if err != nil {
			t.Fatal(err)
		}
		_, err = target.Deliver(t.Context(), message(f, t, effect))
		if got := outcome(t, err); got != journal.HandoverAuth || strings.Contains(err.Error(), "another-key") {
			t.Errorf("outcome %s: %v", got, err)
		}
		if len(f.Seen(effect)) != 0 {
			t.Error("the run was resumed")
		}
		if target.Definition().Probes() && f.Recipe != "hatchet.webhook" { // its probe needs no credentials
			if err := target.Probe(t.Context()); outcome(t, err) != journal.HandoverAuth {
				t.Errorf("Probe: %v", err)
			}
		}
	})
}

func TestProbe(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, f *recipestest.Fake) {
		target := f.Target(t)
		if err := target.Probe(t.Context()); err != nil {
			t.Errorf("Probe: %v", err)
		}
		for _, r := range f.Requests() {
			if r.Method != "GET" && !strings.HasSuffix(r.Path, "/token") && !strings.HasSuffix(r.Path, "/search") {
				t.Errorf("the probe made %s %s", r.Method, r.Path)
			}
		}
		if !target.Definition().Probes() {
			return
		}
		for _, x := range []recipestest.Fault{recipestest.FaultDown, recipestest.FaultRedirect} {
			f.SetFault(x)
			if err := f.Target(t).Probe(t.Context()); err == nil {
				t.Errorf("%s: the probe found nothing wrong", x)
			}
		}
	})
}

func TestFaults(t *testing.T) {
	t.Parallel()
	for _, row := range []struct {
		fault recipestest.Fault
		says  string
		after time.Duration
	}{
		{recipestest.FaultLimit, "fewer", 7 * time.Second},
		{recipestest.FaultRedirect, "never followed", 0},
		{recipestest.FaultHuge, "larger", 0},
		{recipestest.FaultLogin, "", 0},
		{recipestest.FaultEcho, "", 0},
		{recipestest.FaultDown, "out of order", 0},
		{recipestest.FaultHang, "in time", 0},
	} {
		t.Run(string(row.fault), func(t *testing.T) {
			t.Parallel()
			each(t, func(t *testing.T, f *recipestest.Fake) {
				effect := newID()
				f.Wait(effect)
				c := f.Config(t)
				if row.fault == recipestest.FaultHang {
					c.Timeout = 300 * time.Millisecond
				}
				target, err := c.Open()
				if err != nil {
					t.Fatal(err)
				}
				token := strings.HasPrefix(f.Recipe, "camunda.") // the token is asked for first: let it be had
				if token {
					if err := target.Probe(t.Context()); err != nil {
						t.Fatal(err)
					}
				}
				before := len(f.Requests())
				f.SetFault(row.fault)
				ctx, cancel := context.WithTimeout(t.Context(), resume.SendTimeout)
				defer cancel()
				_, err = target.Deliver(ctx, message(f, t, effect))
				var no *resume.Failure
				if !errors.As(err, &no) || no.Outcome != journal.HandoverTransient || no.RetryAfter != row.after || no.Stop {
					t.Fatalf("%+v: %v", no, err)
				}
				if !strings.Contains(err.Error(), row.says) {
					t.Errorf("%q does not say %q", err, row.says)
				}
				for name, secret := range f.Secrets {
					if strings.Contains(err.Error(), secret) {
						t.Errorf("%s is told: %v", name, err)
					}
				}
				if n := len(f.Requests()) - before; n != 1 {
					t.Errorf("%d requests", n)
				}
				f.SetFault("")
				m := message(f, t, effect)
				deliver(t, target, m) // it is no worse for it
				if got := f.Seen(effect); !slices.Equal(got, []string{m.ID}) {
					t.Errorf("resumed by %v", got)
				}
			})
		})
	}
}

// No address can change which host is asked, or which path.
func TestHostileAddresses(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, f *recipestest.Fake) {
		target := f.Target(t)
		for _, member := range target.Definition().Address() {
			for _, evil := range []string{"..", ".", "../..", "a/../../v2/x", "a/b", `a\b`, "%2e%2e", "%2e%2e%2f", "a%2Fb", "a?x=1", "a#b", "a;b", "a\r\nX-Evil: 1", "a\x00b",
				"https://evil.example", "//evil.example", "@evil.example", "${secrets.token}", strings.Repeat("a", 2000), "\u202eevil", ""} {
				effect := newID()
				f.Wait(effect)
				m := message(f, t, effect)
				m.Resume = f.Resume(t, effect, func(a map[string]any) { a[member.Name] = evil })
				before := len(f.Requests())
				refused := target.Check(m.Resume) != nil
				_, err := target.Deliver(t.Context(), m)
				arrived := f.Requests()[before:]
				if refused && (len(arrived) != 0 || outcome(t, err) != journal.HandoverBadAddress) {
					t.Errorf("%s %q: refused, but %d requests were made: %v", member.Name, evil, len(arrived), err)
				}
				for _, r := range arrived {
					if !slices.ContainsFunc(f.Paths, func(p string) bool { return fits(p, r.Path) }) || r.Header.Get("X-Evil") != "" {
						t.Errorf("%s %q: it asked %s", member.Name, evil, r.Path)
					}
				}
			}
			for _, other := range []any{7, true, nil, []any{"a"}, map[string]any{"a": 1}} {
				raw := f.Resume(t, newID(), func(a map[string]any) { a[member.Name] = other })
				if target.Check(raw) == nil {
					t.Errorf("%s as %v was taken", member.Name, other)
				}
			}
		}
		for name, raw := range map[string]string{"unknown": `{"to":"runtime","hots":"evil.example"}`, "list": `[]`, "broken": `{"to":`, "two": `{}{}`, "to": `{"to":7}`} {
			if target.Check([]byte(raw)) == nil {
				t.Errorf("%s was taken", name)
			}
		}
	})
}

// fits compares a path with one that has * for a segment.
func fits(pattern, path string) bool {
	want, got := strings.Split(pattern, "/"), strings.Split(path, "/")
	if len(want) != len(got) {
		return false
	}
	for i := range want {
		if want[i] != "*" && want[i] != got[i] {
			return false
		}
	}
	return true
}

// The configuration's address stands in for members that an effect leaves out, and
// for an effect that names no target at all.
func TestConfiguredAddress(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, f *recipestest.Fake) {
		effect := newID()
		f.Wait(effect)
		c := f.Config(t)
		c.Address = map[string]string{}
		for k, v := range f.Address(effect) {
			c.Address[k], _ = v.(string)
		}
		target, err := c.Open()
		if err != nil {
			t.Fatal(err)
		}
		m := message(f, t, effect)
		m.Resume = nil
		deliver(t, target, m)
		if len(f.Seen(effect)) != 1 {
			t.Error("the run was not resumed")
		}
		c.Address["hots"] = "x"
		if _, err := c.Open(); err == nil || !strings.Contains(err.Error(), "address.hots is not known") {
			t.Errorf("Open: %v", err)
		}
	})
}

func TestSecretsAreAllOrNothing(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, f *recipestest.Fake) {
		c := f.Config(t)
		c.Secrets["another"] = evidence.Fixed("x")
		if _, err := c.Open(); err == nil {
			t.Error("a secret that nothing uses was taken")
		}
		if len(f.Secrets) > 1 { // one of two must not fall back to a weaker way
			c = f.Config(t)
			for name := range c.Secrets {
				delete(c.Secrets, name)
				break
			}
			if _, err := c.Open(); err == nil || !strings.Contains(err.Error(), " and ") {
				t.Errorf("half of the credentials: %v", err)
			}
		}
	})
}

func TestDeliverIsCancelled(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, f *recipestest.Fake) {
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		_, err := f.Target(t).Deliver(ctx, message(f, t, newID()))
		if outcome(t, err) != journal.HandoverTransient {
			t.Errorf("%v", err)
		}
	})
}

// What people read about parameters is there and in full sentences' form.
func TestEveryWordIsThere(t *testing.T) {
	t.Parallel()
	for _, name := range recipes.Names() {
		d, err := recipes.Load(name)
		if err != nil {
			t.Fatal(err)
		}
		for _, p := range append(d.Params(), d.Address()...) {
			if p.About == "" {
				t.Errorf("%s: %s has no about", name, p.Name)
			}
		}
		if len(d.Example("x")) < len(`{"to":"x"}`) {
			t.Errorf("%s has no example", name)
		}
	}
}
