package zendesk

import (
	"crypto/x509"
	"errors"
	"fmt"
	"net/url"
	"slices"
	"strings"
	"time"
	"unicode"

	"github.com/landedhq/landed/providers/evidence"
	"github.com/landedhq/landed/providers/evidence/egress"
	"github.com/landedhq/landed/providers/evidence/oauth"
)

// The values that hold where Config leaves them zero.
const (
	DefaultMaxPages          = 10
	DefaultIndexLag          = time.Minute
	DefaultProcessingHorizon = 5 * time.Minute
)

// Config describes one account.
type Config struct {
	// Subdomain is the first part of the account's address, "acme" of
	// acme.zendesk.com; never a host-mapped name, which the API does not answer to.
	// A sandbox has one of its own.
	Subdomain string
	// ClientID and ClientSecret are of a confidential OAuth client. Landed then gets
	// its access tokens itself, with the scope read and no other.
	ClientID     string
	ClientSecret evidence.Secret
	// Token, instead of a client, is an OAuth access token with the scope read that
	// somebody else renews, or, with Email, an API token.
	Token evidence.Secret
	// Email is the user that an API token acts for; empty = OAuth.
	Email string
	// AllowUnverified takes a token that could write, or that Zendesk says nothing
	// about: API tokens need it.
	AllowUnverified bool
	// Sandbox says that the account is a sandbox: its tickets are no effects in the
	// world, and closed ones are archived after three days.
	Sandbox bool
	// NotEffective lists statuses of a ticket that exists and yet did not take
	// effect; nil = "deleted".
	NotEffective []string
	// MaxPages caps the pages of 100 rows read for one list; 0 = DefaultMaxPages.
	// Reaching it makes the answer incomplete. Zendesk gives 10 pages of deleted
	// tickets a minute.
	MaxPages int
	// Timeout caps one request; 0 = egress.DefaultTimeout.
	Timeout time.Duration
	// IndexLag is how long the list may take to show a new ticket; 0 =
	// DefaultIndexLag. Zendesk gives no figure for lists, so the default is a margin,
	// not a measurement.
	IndexLag time.Duration
	// ProcessingHorizon is how long Zendesk may still work on a request after the
	// client gave up; 0 = DefaultProcessingHorizon. Zendesk gives no figure.
	ProcessingHorizon time.Duration
	// BaseURL is another address than https://{subdomain}.zendesk.com, for tests.
	BaseURL string
	// AllowPrivate and AllowPlainHTTP let BaseURL lead to loopback, for tests.
	AllowPrivate, AllowPlainHTTP bool
	// RootCAs replaces the system's certificate authorities; nil = the system's.
	RootCAs *x509.CertPool
}

const howToGetAToken = "create a confidential OAuth client in Zendesk's Admin Center (Apps and integrations, APIs), allow it the scope read and no other, and give client_id and client_secret"

// maxBody holds a page of 100 tickets with long descriptions.
const maxBody = 16 << 20

// Open checks c and returns its adapter. It does no I/O. The error lists
// everything that is wrong.
func (c Config) Open() (evidence.Adapter, error) {
	c = c.withDefaults()
	base, err := c.check()
	if err != nil {
		return nil, fmt.Errorf("zendesk: %w", err)
	}
	return &Adapter{cfg: c, base: base, tokens: oauth.NewCache(), client: egress.Client(egress.Config{
		Hosts:          []string{base.Host},
		AllowPrivate:   c.AllowPrivate,
		AllowPlainHTTP: c.AllowPlainHTTP,
		Timeout:        c.Timeout,
		MaxBody:        maxBody,
		RootCAs:        c.RootCAs,
	})}, nil
}

func (c Config) withDefaults() Config {
	if c.NotEffective == nil {
		c.NotEffective = []string{"deleted"}
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
	errs := []error{checkSubdomain(c.Subdomain), baseErr, c.checkToken()}
	for _, s := range c.NotEffective {
		if s == "" || strings.TrimSpace(s) != s {
			errs = append(errs, fmt.Errorf("not_effective %.60q is no status of a ticket", s))
		}
	}
	if c.MaxPages < 1 || c.MaxPages > 100 {
		errs = append(errs, fmt.Errorf("max_pages is %d, allowed are 1 to 100", c.MaxPages))
	}
	if c.Timeout < 0 || c.IndexLag < 0 || c.ProcessingHorizon < 0 {
		errs = append(errs, errors.New("timeout, index_lag and processing_horizon can't be negative"))
	}
	return base, errors.Join(errs...)
}

func (c Config) checkToken() error {
	switch {
	case c.ClientID != "" && c.ClientSecret == nil, c.ClientID == "" && c.ClientSecret != nil:
		return errors.New("client_id and client_secret are only good together")
	case c.ClientID != "" && (c.Token != nil || c.Email != ""):
		return errors.New("give either client_id and client_secret, or token (and email): those are two sorts of credentials")
	case c.ClientID != "" && strings.ContainsFunc(c.ClientID, func(r rune) bool { return r <= ' ' || r > '~' }):
		return fmt.Errorf("client_id %.60q is no identifier of an OAuth client", c.ClientID)
	case c.ClientID != "":
		return nil
	case c.Token == nil:
		return errors.New("there are no credentials: " + howToGetAToken)
	case c.Email == "":
		return nil // its scopes are asked for when a session looks
	case !strings.Contains(c.Email, "@") || strings.ContainsFunc(c.Email, func(r rune) bool { return r == ':' || unicode.IsSpace(r) || unicode.IsControl(r) }):
		return fmt.Errorf("email %.80q is no mail address: leave it out for an OAuth token", c.Email)
	case strings.HasSuffix(c.Email, "/token"):
		return errors.New("email ends with /token, which is added here: give the address alone")
	case !c.AllowUnverified:
		return errors.New("an API token can do all that its user may, and Zendesk ends API tokens on 30 April 2027: " + howToGetAToken + ", or set allow_unverified")
	}
	return nil
}

// checkSubdomain allows one label of a host name.
func checkSubdomain(s string) error {
	switch {
	case s == "":
		return errors.New("subdomain is not set: give the first part of the account's address, acme of acme.zendesk.com")
	case strings.ContainsAny(s, "./:"):
		return fmt.Errorf("subdomain %.80q is an address: give its first part alone, acme of acme.zendesk.com", s)
	case len(s) > 63 || strings.Trim(s, "abcdefghijklmnopqrstuvwxyz0123456789-") != "" || s[0] == '-' || s[len(s)-1] == '-':
		return fmt.Errorf("subdomain %.80q: at most 63 lower-case letters, digits and -", s)
	}
	return nil
}

func (c Config) checkBase() (*url.URL, error) {
	if c.BaseURL == "" {
		return &url.URL{Scheme: "https", Host: c.Subdomain + ".zendesk.com"}, nil
	}
	u, err := url.Parse(c.BaseURL)
	switch {
	case err != nil || u.Host == "" || u.User != nil || u.RawQuery != "" || strings.Trim(u.Path, "/") != "":
		return nil, errors.New("base_url is no address of an API: leave it out for Zendesk's own")
	case u.Scheme == "http" && c.AllowPlainHTTP && c.AllowPrivate:
	case u.Scheme != "https":
		return nil, errors.New("base_url is not https, which would send the token in the clear")
	}
	u.Path = ""
	return u, nil
}

// effective reports whether a ticket in this status counts as landed.
func (c Config) effective(status string) bool {
	return !slices.ContainsFunc(c.NotEffective, func(s string) bool { return strings.EqualFold(s, status) })
}
