package packstest

import (
	"testing"
	"time"

	"github.com/landedhq/landed/providers/evidence"
	"github.com/landedhq/landed/providers/evidence/declared"
	"github.com/landedhq/landed/providers/evidence/evidencetest"
	"github.com/landedhq/landed/providers/evidence/packs"
)

// Config is the pack's configuration for this fake.
func (f *Fake) Config(t testing.TB) declared.Config {
	t.Helper()
	d, err := packs.Load(f.Pack)
	if err != nil {
		t.Fatalf("loading the pack: %v", err)
	}
	c := declared.Config{
		Definition: d, Params: map[string]string{}, Secrets: map[string]evidence.Secret{},
		BaseURL: f.Server.URL, AllowPrivate: true, RootCAs: f.Roots(), Timeout: 20 * time.Second, TestMode: true,
	}
	for k, v := range f.Params {
		c.Params[k] = v
	}
	for k, v := range f.Secrets {
		c.Secrets[k] = evidence.Fixed(v)
	}
	return c
}

// Adapter opens the pack against this fake.
func (f *Fake) Adapter(t testing.TB) *declared.Adapter {
	t.Helper()
	a, err := f.Config(t).OpenDeclared()
	if err != nil {
		t.Fatalf("opening the pack: %v", err)
	}
	return a
}

// Find looks one reference up in a window around now.
func (f *Fake) Find(t testing.TB, ref string) (evidence.Answer, error) {
	t.Helper()
	s, err := f.Adapter(t).Session(t.Context())
	if err != nil {
		return evidence.Answer{}, err
	}
	defer s.Close()
	now := time.Now()
	return s.Find(t.Context(), evidence.Query{Ref: ref, From: now.Add(-time.Hour), To: now.Add(10 * time.Minute)})
}

// Fixture is what the conformance suite of adapters needs.
func Fixture(t *testing.T, d Dialect) evidencetest.Fixture {
	t.Helper()
	f := New(t, d)
	var secrets []string
	for _, s := range d.Secrets {
		secrets = append(secrets, s)
	}
	return evidencetest.Fixture{
		Open: func(t *testing.T) evidence.Adapter { return f.Adapter(t) },
		Put:  func(_ *testing.T, carrier string) { f.Put(carrier, "", time.Now()) },
		Break: func(t *testing.T, b evidencetest.Breakage) evidence.Adapter {
			broken := New(t, d)
			broken.SetFault(map[evidencetest.Breakage]Fault{
				evidencetest.BreakAuth: FaultAuth, evidencetest.BreakDown: FaultDown,
				evidencetest.BreakHang: FaultHang, evidencetest.BreakGarbage: FaultGarbage,
			}[b])
			return broken.Adapter(t)
		},
		Requests: f.Requests,
		ReadOnly: func(t *testing.T) {
			for _, w := range f.Writes() {
				t.Errorf("a request that could have altered something: %s", w)
			}
		},
		Secrets: secrets,
	}
}
