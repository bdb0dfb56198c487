package stripe_test

import (
	"errors"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/landedhq/landed/journal"
	"github.com/landedhq/landed/providers/evidence"
	"github.com/landedhq/landed/providers/evidence/stripe"
)

func goodConfig() stripe.Config {
	return stripe.Config{Key: evidence.Fixed(readerKey), Mode: stripe.Test, Object: stripe.Refunds}
}

func TestConfigIsChecked(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name string
		edit func(*stripe.Config)
		want string // part of the error; empty = accepted
	}{
		{"good", func(*stripe.Config) {}, ""},
		{"live", func(c *stripe.Config) { c.Key, c.Mode = evidence.Fixed(liveKey), stripe.Live }, ""},
		{"no key", func(c *stripe.Config) { c.Key = nil }, "key is not set"},
		{"live secret key", func(c *stripe.Config) { c.Key, c.Mode = evidence.Fixed("sk_"+"live_51abc"), stripe.Live }, "could move money"},
		{"test secret key", func(c *stripe.Config) { c.Key = evidence.Fixed("sk_" + "test_51abc") }, "create a restricted key"},
		{"publishable key", func(c *stripe.Config) { c.Key = evidence.Fixed("pk_" + "test_51abc") }, "no restricted key"},
		{"empty key", func(c *stripe.Config) { c.Key = evidence.Fixed("") }, "no restricted key"},
		{"key of the other mode", func(c *stripe.Config) { c.Mode = stripe.Live }, "not of live mode"},
		{"key with a line break", func(c *stripe.Config) { c.Key = evidence.Fixed(readerKey + "\r\nX: 1") }, "no Stripe key has"},
		{"key that can't be read yet", func(c *stripe.Config) { c.Key = func() (string, error) { return "", errors.New("sealed") } }, ""},
		{"no mode", func(c *stripe.Config) { c.Mode = "" }, "say live or test"},
		{"no object", func(c *stripe.Config) { c.Object = "payouts" }, "object is"},
		{"metadata key that breaks a query", func(c *stripe.Config) { c.MetadataKey = "a']:'b" }, "metadata_key"},
		{"metadata key with brackets", func(c *stripe.Config) { c.MetadataKey = "a[b]" }, "metadata_key"},
		{"long metadata key", func(c *stripe.Config) { c.MetadataKey = strings.Repeat("a", 41) }, "metadata_key"},
		{"account", func(c *stripe.Config) { c.Account = "acct_1Abc" }, ""},
		{"account with a line break", func(c *stripe.Config) { c.Account = "acct_1\n" }, "connected account"},
		{"other account", func(c *stripe.Config) { c.Account = "cus_1" }, "connected account"},
		{"pages", func(c *stripe.Config) { c.MaxPages = 101 }, "max_pages"},
		{"plain HTTP", func(c *stripe.Config) { c.BaseURL = "http://127.0.0.1:1" }, "in the clear"},
		{"address with a path", func(c *stripe.Config) { c.BaseURL = "https://api.stripe.com/v1" }, "no address of an API"},
		{"negative lag", func(c *stripe.Config) { c.IndexLag = -1 }, "negative"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			cfg := goodConfig()
			c.edit(&cfg)
			_, err := cfg.Open()
			switch {
			case c.want == "" && err != nil:
				t.Errorf("Open: %v", err)
			case c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)):
				t.Errorf("Open: %v, want something about %q", err, c.want)
			}
			if err != nil && strings.Contains(err.Error(), "51") {
				t.Errorf("part of a key shows: %v", err)
			}
		})
	}
}

func TestKeyIsCheckedAgainWhenASessionBegins(t *testing.T) {
	t.Parallel()
	c := goodConfig()
	key, fail := readerKey, error(nil)
	c.Key = func() (string, error) { return key, fail }
	a := open(t, c)
	key = "sk_" + "test_51rolled"
	if _, err := a.Session(t.Context()); err == nil || !strings.Contains(err.Error(), "restricted key") {
		t.Errorf("Session: %v", err)
	}
	fail = errors.New("vault is sealed")
	if _, err := a.Session(t.Context()); err == nil || !strings.Contains(err.Error(), "vault is sealed") {
		t.Errorf("Session: %v", err)
	}
}

func TestSheet(t *testing.T) {
	t.Parallel()
	c := goodConfig()
	c.Account = "acct_1x"
	want := evidence.Sheet{
		Kind: "stripe", Version: "1/2026-08-26.dahlia", Class: evidence.L5, ProcessingHorizon: 5 * time.Minute, IndexLag: time.Minute,
		Native: evidence.NativeIdempotency{Header: "Idempotency-Key", Window: 24 * time.Hour, ErrorsKept: true, BodyCompared: true},
		Scopes: []string{"refunds created in the window, test mode of acct_1x", "events of the last 30 days, by the effect's Idempotency-Key"},
		Mode:   "test", Conclusive: true,
	}
	if diff := cmp.Diff(want, open(t, c).Sheet()); diff != "" {
		t.Error(diff)
	}
}

// What Form and Header give makes an object that the adapter finds, and sent
// twice under one key it makes one object (P-06).
func TestP06_WriterGuidance(t *testing.T) {
	t.Parallel()
	account := newAccount()
	ref := journal.RandomRef()
	form, err := stripe.Form(url.Values{"amount": {"1250"}, "currency": {"eur"}, "confirm": {"true"}}, "", ref)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(url.Values{"amount": {"1250"}, "currency": {"eur"}, "confirm": {"true"}, "metadata[landed_ref]": {ref}}, form); diff != "" {
		t.Error(diff)
	}
	header, err := stripe.Header(journal.ProviderKey(ref, 1))
	if err != nil {
		t.Fatal(err)
	}
	for range 2 {
		r := httptest.NewRequest(http.MethodPost, "/v1/payment_intents", strings.NewReader(form.Encode()))
		r.Header = header.Clone()
		r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
		r.Header.Set("Authorization", "Bearer "+workerKey)
		rec := httptest.NewRecorder()
		if account.ServeHTTP(rec, r); rec.Code != http.StatusOK {
			t.Fatalf("%d %s", rec.Code, rec.Body)
		}
	}
	if a := mustLook(t, serve(t, account), ref); len(a.Matches) != 1 || a.Matches[0].State != journal.MatchEffective {
		t.Errorf("matches %+v", a.Matches)
	}
	for _, bad := range []string{"", strings.ToUpper(ref), ref + "0", `x'] OR '`} {
		if _, err := stripe.Form(nil, "", bad); err == nil {
			t.Errorf("reference %q was taken", bad)
		}
		if _, err := stripe.Header(bad); err == nil {
			t.Errorf("provider key %q was taken", bad)
		}
	}
	if _, err := stripe.Form(nil, "a]", ref); err == nil {
		t.Error("a wrong metadata key was taken")
	}
}

func TestHandleOf(t *testing.T) {
	t.Parallel()
	if kind, value, err := stripe.HandleOf(stripe.PaymentIntents, "pi_3abc"); err != nil || kind != "payment_intent" || value != "pi_3abc" {
		t.Errorf("%q %q %v", kind, value, err)
	}
	for _, bad := range []string{"", "pi_", "ch_3abc", "pi_3/../../x", "pi_3?x=1", "pi_" + strings.Repeat("a", 300)} {
		if _, _, err := stripe.HandleOf(stripe.PaymentIntents, bad); err == nil {
			t.Errorf("%q was taken", bad)
		}
	}
	if _, _, err := stripe.HandleOf("payouts", "po_1"); err == nil {
		t.Error("an unknown kind was taken")
	}
}
