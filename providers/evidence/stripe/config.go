package stripe

import (
	"crypto/x509"
	"errors"
	"fmt"
	"net/url"
	"strings"
	"time"
	"unicode"

	"github.com/landedhq/landed/providers/evidence"
	"github.com/landedhq/landed/providers/evidence/egress"
)

// APIVersion is the version of Stripe's API that the adapter speaks, sent with
// every request: the account's own default changes nothing.
const APIVersion = "2026-08-26.dahlia"

// The values that hold where Config leaves them zero.
const (
	DefaultBaseURL           = "https://api.stripe.com"
	DefaultMetadataKey       = "landed_ref"
	DefaultMaxPages          = 20
	DefaultIndexLag          = time.Minute
	DefaultProcessingHorizon = 5 * time.Minute
)

// Mode is "live" or "test".
type Mode string

// The modes of a Stripe account. Sandboxes are test mode.
const (
	Live Mode = "live"
	Test Mode = "test"
)

// Config describes one kind of object in one mode of one account.
type Config struct {
	// Key is a restricted key (rk_live_… or rk_test_…) with Read permissions only.
	Key evidence.Secret
	// Mode must be the key's and every object's.
	Mode Mode
	// Object is what the tool makes: one kind, see the package comment.
	Object Object
	// MetadataKey is the metadata field that carries the reference; empty =
	// DefaultMetadataKey.
	MetadataKey string
	// Account is the connected account (acct_…) that the tool acts for, if any.
	Account string
	// MaxPages caps the pages of 100 objects read for one list; 0 =
	// DefaultMaxPages. Reaching it makes the answer incomplete.
	MaxPages int
	// Timeout caps one request; 0 = egress.DefaultTimeout.
	Timeout time.Duration
	// IndexLag is how long a list may take to show a new object; 0 =
	// DefaultIndexLag. Stripe says that lists have no delay and gives no figure, so
	// the default is a margin, not a measurement.
	IndexLag time.Duration
	// ProcessingHorizon is how long Stripe may still work on a request after the
	// client gave up; 0 = DefaultProcessingHorizon. Stripe gives no figure; its own
	// client libraries wait for 80 seconds.
	ProcessingHorizon time.Duration
	// BaseURL is another address than Stripe's, for tests; empty = DefaultBaseURL.
	BaseURL string
	// AllowPrivate and AllowPlainHTTP let BaseURL lead to loopback, for tests.
	AllowPrivate, AllowPlainHTTP bool
	// RootCAs replaces the system's certificate authorities; nil = the system's.
	RootCAs *x509.CertPool
}

// Open checks c and returns its adapter. It asks Stripe nothing. A key that can
// be read now and could move money is refused now; one that can't be read is
// looked at when a session begins. The error lists everything that is wrong.
func (c Config) Open() (evidence.Adapter, error) {
	c = c.withDefaults()
	k, _ := kindOf(c.Object)
	base, err := c.check()
	if err != nil {
		return nil, fmt.Errorf("stripe: %w", err)
	}
	return &Adapter{cfg: c, kind: k, base: base, client: egress.Client(egress.Config{
		Hosts:          []string{base.Host},
		AllowPrivate:   c.AllowPrivate,
		AllowPlainHTTP: c.AllowPlainHTTP,
		Timeout:        c.Timeout,
		MaxBody:        maxBody,
		RootCAs:        c.RootCAs,
	})}, nil
}

// maxBody holds a page of 100 charges with all their details.
const maxBody = 8 << 20

func (c Config) withDefaults() Config {
	if c.BaseURL == "" {
		c.BaseURL = DefaultBaseURL
	}
	if c.MetadataKey == "" {
		c.MetadataKey = DefaultMetadataKey
	}
	if c.MaxPages == 0 {
		c.MaxPages = DefaultMaxPages
	}
	if c.IndexLag == 0 {
		c.IndexLag = DefaultIndexLag
	}
	if c.ProcessingHorizon == 0 {
		c.ProcessingHorizon = DefaultProcessingHorizon
	}
	return c
}

func (c Config) check() (*url.URL, error) {
	base, baseErr := c.checkBase()
	errs := []error{c.checkKeyNow(), baseErr, checkMetadataKey(c.MetadataKey)}
	if c.Mode != Live && c.Mode != Test {
		errs = append(errs, fmt.Errorf("mode is %q: say live or test", string(c.Mode)))
	}
	if _, ok := kindOf(c.Object); !ok {
		errs = append(errs, fmt.Errorf("object is %q: say payment_intents, charges, refunds, transfers or checkout_sessions", string(c.Object)))
	}
	if c.Account != "" && (!strings.HasPrefix(c.Account, "acct_") || strings.ContainsFunc(c.Account, func(r rune) bool {
		return r > unicode.MaxASCII || r != '_' && !unicode.IsLetter(r) && !unicode.IsDigit(r)
	})) {
		errs = append(errs, fmt.Errorf("account %.60q is no id of a connected account (acct_…)", c.Account))
	}
	if c.MaxPages < 1 || c.MaxPages > 100 {
		errs = append(errs, fmt.Errorf("max_pages is %d, allowed are 1 to 100", c.MaxPages))
	}
	if c.Timeout < 0 || c.IndexLag < 0 || c.ProcessingHorizon < 0 {
		errs = append(errs, errors.New("timeout, index_lag and processing_horizon can't be negative"))
	}
	return base, errors.Join(errs...)
}

// checkKeyNow looks at the key if it can be read already.
func (c Config) checkKeyNow() error {
	if c.Key == nil {
		return errors.New("key is not set: " + howToGetAKey)
	}
	key, err := c.Key()
	if err != nil {
		return nil // a session tells, and tries again
	}
	return checkKey(key, c.Mode)
}

const howToGetAKey = "create a restricted key in Stripe's dashboard (Developers, API keys) with the permission Read on the objects of this provider and on Events, and None on everything else"

// checkKey takes restricted keys of the mode only. No error holds any of the key.
func checkKey(key string, mode Mode) error {
	switch {
	case strings.HasPrefix(key, "sk_live_"):
		return errors.New("key is a live secret key, which could move money: Landed never holds one; " + howToGetAKey)
	case strings.HasPrefix(key, "sk_"):
		return errors.New("key is a secret key, which could do everything: " + howToGetAKey)
	case !strings.HasPrefix(key, "rk_"):
		return errors.New("key is no restricted key (rk_…): " + howToGetAKey)
	case !strings.HasPrefix(key, "rk_"+string(mode)+"_"):
		return fmt.Errorf("key is not of %s mode: the other mode's objects are not visible to it", mode)
	case strings.ContainsFunc(key, func(r rune) bool { return r <= ' ' || r > '~' }):
		return errors.New("key holds characters that no Stripe key has")
	}
	return nil
}

// checkMetadataKey allows what Stripe takes (40 characters, no square brackets)
// and what needs no escaping in a search.
func checkMetadataKey(k string) error {
	if len(k) > 40 || strings.Trim(k, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-") != "" {
		return fmt.Errorf("metadata_key %.60q: at most 40 letters, digits, _ and -", k)
	}
	return nil
}

func (c Config) checkBase() (*url.URL, error) {
	u, err := url.Parse(c.BaseURL)
	switch {
	case err != nil || u.Host == "" || u.User != nil || u.RawQuery != "" || strings.Trim(u.Path, "/") != "":
		return nil, errors.New("base_url is no address of an API: leave it out for Stripe's own")
	case u.Scheme == "http" && c.AllowPlainHTTP && c.AllowPrivate:
	case u.Scheme != "https":
		return nil, errors.New("base_url is not https, which would send the key in the clear")
	}
	u.Path = ""
	return u, nil
}
