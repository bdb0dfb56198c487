package rt

import (
	"crypto/x509"
	"errors"
	"fmt"
	"net/netip"
	"net/url"
	"slices"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/landedhq/landed/providers/evidence"
	"github.com/landedhq/landed/providers/evidence/egress"
)

// The values that hold where Config leaves them zero.
const (
	DefaultField             = "Landed Ref"
	DefaultMaxPages          = 5
	DefaultIndexLag          = 10 * time.Second
	DefaultProcessingHorizon = 5 * time.Minute
)

// Config describes one account at one RT.
type Config struct {
	// BaseURL is RT's own address as people open it, e.g.
	// "https://desk.example.com/rt". https unless AllowPlainHTTP.
	BaseURL string
	// Token is an RT auth token ("1-23-…") of a read-only account.
	Token evidence.Secret
	// Queue is where the worker creates its tickets: the name, spelled as in RT, or
	// the numeric id. Tickets that were moved elsewhere are found as well.
	Queue string
	// Field is the name of the custom field that carries the reference; empty =
	// DefaultField.
	Field string
	// NotEffective lists the statuses of a ticket that exists and yet did not take
	// effect; nil = "rejected" and "deleted", of RT's default lifecycle. Names are
	// compared without regard to case, as RT does.
	NotEffective []string
	// MaxPages caps the pages of 100 rows read for one query; 0 = DefaultMaxPages.
	// Reaching it makes the answer incomplete.
	MaxPages int
	// Timeout caps one request; 0 = egress.DefaultTimeout.
	Timeout time.Duration
	// IndexLag is how long RT may take to show a new ticket; 0 = DefaultIndexLag.
	// RT searches its primary database, so the default only covers clocks and a
	// web server that answers before the database's commit is visible everywhere;
	// with read replicas it is their lag.
	IndexLag time.Duration
	// ProcessingHorizon is how long RT may still work on a request after the
	// client gave up; 0 = DefaultProcessingHorizon. It is bounded by the time-outs
	// of the web server in front of RT (Apache's Timeout is 60 s by default, and
	// mail notifications are sent before the answer).
	ProcessingHorizon time.Duration
	// AllowPrivate lets BaseURL lead to loopback and private addresses.
	AllowPrivate bool
	// AllowPlainHTTP lets BaseURL be http://; only together with AllowPrivate, and
	// then for private addresses only.
	AllowPlainHTTP bool
	// RootCAs replaces the system's certificate authorities; nil = the system's.
	RootCAs *x509.CertPool
	// TestMode says so on the capability sheet: RT is a test instance.
	TestMode bool
}

// Open checks c and returns its adapter. It does no I/O. The error lists
// everything that is wrong.
func (c Config) Open() (evidence.Adapter, error) {
	c = c.withDefaults()
	base, err := c.check()
	if err != nil {
		return nil, fmt.Errorf("rt: %w", err)
	}
	return &Adapter{
		cfg:  c,
		base: base,
		client: egress.Client(egress.Config{
			Hosts:          []string{base.Host},
			AllowPrivate:   c.AllowPrivate,
			AllowPlainHTTP: c.AllowPlainHTTP,
			Timeout:        c.Timeout,
			RootCAs:        c.RootCAs,
		}),
	}, nil
}

func (c Config) withDefaults() Config {
	if c.Field == "" {
		c.Field = DefaultField
	}
	if c.NotEffective == nil {
		c.NotEffective = []string{"rejected", statusDeleted}
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

// check returns the parsed base URL without a slash at its end.
func (c Config) check() (*url.URL, error) {
	base, urlErr := c.checkBase()
	errs := []error{urlErr, checkQueue(c.Queue), checkName("field", c.Field)}
	if c.Token == nil {
		errs = append(errs, errors.New("token is not set: create an auth token for the read-only account in RT (Settings, Auth Tokens)"))
	}
	for _, s := range c.NotEffective {
		errs = append(errs, checkName("not_effective", s))
	}
	if c.MaxPages < 1 || c.MaxPages > 100 {
		errs = append(errs, fmt.Errorf("max_pages is %d, allowed are 1 to 100", c.MaxPages))
	}
	for _, d := range []struct {
		name string
		v    time.Duration
	}{{"timeout", c.Timeout}, {"index_lag", c.IndexLag}, {"processing_horizon", c.ProcessingHorizon}} {
		if d.v < 0 {
			errs = append(errs, fmt.Errorf("%s is negative: %v", d.name, d.v))
		}
	}
	return base, errors.Join(errs...)
}

func (c Config) checkBase() (*url.URL, error) {
	u, err := url.Parse(c.BaseURL)
	switch {
	case c.BaseURL == "":
		return nil, errors.New("base_url is not set: give RT's address, e.g. https://desk.example.com")
	case err != nil:
		return nil, errors.New("base_url can't be parsed as a URL")
	case u.User != nil:
		return nil, errors.New("base_url holds credentials: put the token into token")
	case u.Host == "" || u.Hostname() == "":
		return nil, errors.New("base_url has no host: give RT's address, e.g. https://desk.example.com")
	case u.RawQuery != "" || u.Fragment != "" || u.ForceQuery:
		return nil, errors.New("base_url holds a query or a fragment: give RT's address only")
	case strings.Contains(u.Path, "/REST/"):
		return nil, errors.New("base_url holds the path of the API: give RT's address without /REST/2.0")
	}
	switch u.Scheme {
	case "https":
	case "http":
		if !c.AllowPlainHTTP || !c.AllowPrivate {
			return nil, errors.New("base_url is http://, which would send the token in the clear: use https://, or set allow_private and allow_plain_http for a private address")
		}
	default:
		return nil, fmt.Errorf("base_url has the scheme %q: use https://", u.Scheme)
	}
	if ip, err := netip.ParseAddr(u.Hostname()); err == nil && !c.AllowPrivate && (ip.IsLoopback() || ip.IsPrivate()) {
		return nil, fmt.Errorf("base_url leads to the private address %s: set allow_private if that is meant", ip)
	}
	u.Path, u.RawPath = strings.TrimRight(u.Path, "/"), ""
	return u, nil
}

// checkQueue allows what RT's own path can carry: it takes the name as bytes, up
// to the next slash, and a name of digits as an id.
func checkQueue(queue string) error {
	if err := checkName("queue", queue); err != nil {
		return err
	}
	for _, r := range queue {
		if r > unicode.MaxASCII || r == '/' {
			return fmt.Errorf("queue %q holds %q, which RT's API can't take in a name: give the queue's numeric id", queue, r)
		}
	}
	if strings.Trim(queue, ".") == "" {
		return fmt.Errorf("queue %q would be read as a path: give the queue's numeric id", queue)
	}
	return nil
}

func checkName(what, name string) error {
	switch {
	case name == "":
		return fmt.Errorf("%s is not set", what)
	case len(name) > 200:
		return fmt.Errorf("%s has %d bytes: RT's names have at most 200", what, len(name))
	case !utf8.ValidString(name) || strings.ContainsFunc(name, func(r rune) bool { return !unicode.IsPrint(r) }):
		return fmt.Errorf("%s %q holds control characters or is not UTF-8", what, name)
	case strings.TrimSpace(name) != name:
		return fmt.Errorf("%s %q begins or ends with a space", what, name)
	}
	return nil
}

// effective reports whether a ticket in this status counts as landed.
func (c Config) effective(status string) bool {
	return !slices.ContainsFunc(c.NotEffective, func(s string) bool { return strings.EqualFold(s, status) })
}
