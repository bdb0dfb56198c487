package jira

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
)

// The values that hold where Config leaves them zero.
const (
	DefaultLabelPrefix       = "landed-"
	DefaultPropertyKey       = "landed"
	DefaultMaxPages          = 10
	DefaultIndexLag          = 10 * time.Minute
	DefaultProcessingHorizon = 5 * time.Minute
)

// Carrier is where the search looks for the reference.
type Carrier string

// The carriers. CreateBody writes both; one of them is searched.
const (
	// Label needs nothing but the field on the project's screens.
	Label Carrier = "label"
	// Property needs an app on the site that has {PropertyKey}.ref indexed.
	Property Carrier = "property"
)

// Config describes one project of one Jira Cloud site.
type Config struct {
	// Site is the site's address as people open it, "https://acme.atlassian.net".
	Site string
	// CloudID sends the requests to api.atlassian.com/ex/jira/{CloudID}: tokens with
	// scopes and OAuth tokens are taken there alone. Empty = to Site.
	CloudID string
	// Email is the account of an API token; empty = Token is an OAuth access token.
	Email string
	// Token is an API token or an OAuth access token.
	Token evidence.Secret
	// Project is the key of the project where the worker creates its issues. Issues
	// that were moved elsewhere are found as well, where the account may browse.
	Project string
	// Carrier is what is searched; empty = Label.
	Carrier Carrier
	// LabelPrefix stands before the reference in the label; empty =
	// DefaultLabelPrefix.
	LabelPrefix string
	// PropertyKey is the issue property that carries the reference; empty =
	// DefaultPropertyKey.
	PropertyKey string
	// NotEffective lists names of statuses of an issue that exists and yet did not
	// take effect; none by default.
	NotEffective []string
	// AllowUnverified takes an account that could write in the project, for a token
	// whose scopes are read-only: Jira does not tell them.
	AllowUnverified bool
	// MaxPages caps the pages of 100 issues read for one search; 0 = DefaultMaxPages.
	// Reaching it makes the answer incomplete.
	MaxPages int
	// Timeout caps one request; 0 = egress.DefaultTimeout.
	Timeout time.Duration
	// IndexLag is how long the search may take to know a new issue; 0 =
	// DefaultIndexLag. Atlassian says "a few seconds to minutes" and gives no bound.
	IndexLag time.Duration
	// ProcessingHorizon is how long Jira may still work on a request after the client
	// gave up; 0 = DefaultProcessingHorizon. Atlassian gives no figure.
	ProcessingHorizon time.Duration
	// TestMode says so on the capability sheet: the site or project is for tests.
	TestMode bool
	// APIURL is another address for the requests, for tests; empty = by CloudID.
	APIURL string
	// AllowPrivate and AllowPlainHTTP let APIURL lead to loopback, for tests.
	AllowPrivate, AllowPlainHTTP bool
	// RootCAs replaces the system's certificate authorities; nil = the system's.
	RootCAs *x509.CertPool
}

const howToGetAToken = "create an API token for an account that has Browse Projects and no other permission"

// maxBody holds a page of 100 issues with the few fields that are asked for.
const maxBody = 8 << 20

// Open checks c and returns its adapter. It does no I/O. The error lists
// everything that is wrong.
func (c Config) Open() (evidence.Adapter, error) {
	c = c.withDefaults()
	site, siteErr := c.checkSite()
	api, apiErr := c.checkAPI(site)
	if err := errors.Join(siteErr, apiErr, c.check()); err != nil {
		return nil, fmt.Errorf("jira: %w", err)
	}
	return &Adapter{cfg: c, site: site, api: api, client: egress.Client(egress.Config{
		Hosts:          []string{api.Host},
		AllowPrivate:   c.AllowPrivate,
		AllowPlainHTTP: c.AllowPlainHTTP,
		Timeout:        c.Timeout,
		MaxBody:        maxBody,
		RootCAs:        c.RootCAs,
	})}, nil
}

func (c Config) withDefaults() Config {
	if c.Carrier == "" {
		c.Carrier = Label
	}
	if c.LabelPrefix == "" {
		c.LabelPrefix = DefaultLabelPrefix
	}
	if c.PropertyKey == "" {
		c.PropertyKey = DefaultPropertyKey
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

func (c Config) check() error {
	errs := []error{c.checkToken(), checkProject(c.Project), checkWord("label_prefix", c.LabelPrefix), checkWord("property_key", c.PropertyKey)}
	if c.Carrier != Label && c.Carrier != Property {
		errs = append(errs, fmt.Errorf("carrier is %.40q: say label or property", string(c.Carrier)))
	}
	for _, s := range c.NotEffective {
		if s == "" || strings.TrimSpace(s) != s {
			errs = append(errs, fmt.Errorf("not_effective %.60q is no name of a status", s))
		}
	}
	if c.MaxPages < 1 || c.MaxPages > 100 {
		errs = append(errs, fmt.Errorf("max_pages is %d, allowed are 1 to 100", c.MaxPages))
	}
	if c.Timeout < 0 || c.IndexLag < 0 || c.ProcessingHorizon < 0 {
		errs = append(errs, errors.New("timeout, index_lag and processing_horizon can't be negative"))
	}
	return errors.Join(errs...)
}

func (c Config) checkToken() error {
	switch {
	case c.Token == nil:
		return errors.New("token is not set: " + howToGetAToken)
	case c.Email == "" && c.CloudID == "":
		return errors.New("email is not set, so token is an OAuth access token, which needs cloud_id: give either")
	case c.Email != "" && (!strings.Contains(c.Email, "@") || strings.ContainsFunc(c.Email, func(r rune) bool { return r == ':' || unicode.IsSpace(r) || unicode.IsControl(r) })):
		return fmt.Errorf("email %.80q is no mail address: leave it out for an OAuth access token", c.Email)
	}
	return nil
}

// checkProject allows what Jira takes for a key, in upper case; an id or a name is
// refused, since issues are told apart by the key.
func checkProject(key string) error {
	if key == "" {
		return errors.New("project is not set: give the key of the project where the tool creates its issues")
	}
	if len(key) > 255 || strings.Trim(key, "ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_") != "" || key[0] < 'A' || key[0] > 'Z' {
		return fmt.Errorf("project %.60q is no key: upper-case letters, digits and _, a letter first", key)
	}
	return nil
}

// checkWord allows what needs no escaping in a query and no space in a label.
func checkWord(what, s string) error {
	if len(s) > 80 || strings.Trim(s, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-") != "" {
		return fmt.Errorf("%s %.100q: at most 80 letters, digits, _ and -", what, s)
	}
	return nil
}

func (c Config) checkSite() (*url.URL, error) {
	u, err := url.Parse(c.Site)
	switch {
	case c.Site == "":
		return nil, errors.New("site is not set: give the site's address, e.g. https://acme.atlassian.net")
	case err != nil || u.Host == "" || u.User != nil || u.RawQuery != "" || u.Fragment != "" || strings.Trim(u.Path, "/") != "":
		return nil, errors.New("site is no address of a Jira Cloud site: give it as people open it, e.g. https://acme.atlassian.net")
	case u.Scheme != "https":
		return nil, errors.New("site is not https, which would send the token in the clear")
	case u.Hostname() == "api.atlassian.com":
		return nil, errors.New("site is the API's address: give the site's own and cloud_id")
	}
	u.Path = ""
	return u, nil
}

// checkAPI returns where requests go, without a slash at the end.
func (c Config) checkAPI(site *url.URL) (*url.URL, error) {
	if c.APIURL != "" {
		u, err := url.Parse(c.APIURL)
		switch {
		case err != nil || u.Host == "" || u.User != nil || u.RawQuery != "":
			return nil, errors.New("api_url is no address of an API: leave it out for Atlassian's own")
		case u.Scheme == "http" && c.AllowPlainHTTP && c.AllowPrivate:
		case u.Scheme != "https":
			return nil, errors.New("api_url is not https, which would send the token in the clear")
		}
		u.Path = strings.TrimRight(u.Path, "/")
		return u, nil
	}
	if c.CloudID == "" {
		return site, nil
	}
	if len(c.CloudID) != 36 || strings.Trim(c.CloudID, "abcdef0123456789-") != "" {
		return nil, fmt.Errorf("cloud_id %.60q is no id of a site: {site}/_edge/tenant_info tells it", c.CloudID)
	}
	return &url.URL{Scheme: "https", Host: "api.atlassian.com", Path: "/ex/jira/" + c.CloudID}, nil
}

// effective reports whether an issue in this status counts as landed.
func (c Config) effective(status string) bool {
	return !slices.ContainsFunc(c.NotEffective, func(s string) bool { return strings.EqualFold(s, status) })
}
