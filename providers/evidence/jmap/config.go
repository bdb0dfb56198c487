package jmap

import (
	"crypto/x509"
	"errors"
	"fmt"
	"net/url"
	"strings"
	"time"

	"github.com/landedhq/landed/providers/evidence"
	"github.com/landedhq/landed/providers/evidence/egress"
)

// The values that hold where Config leaves them zero.
const (
	DefaultSessionURL        = "https://api.fastmail.com/jmap/session"
	DefaultRefHeader         = "X-Landed-Ref"
	DefaultDomain            = "effects.landed"
	DefaultMaxPages          = 5
	DefaultIndexLag          = time.Minute
	DefaultProcessingHorizon = 10 * time.Minute
)

// Config describes one mail account.
type Config struct {
	// SessionURL is the address of the session resource; empty =
	// DefaultSessionURL.
	SessionURL string
	// APIHost is the host of the session's apiUrl, where it is another one than the
	// session's. The token goes to no other.
	APIHost string
	// Token is a bearer token, read-only.
	Token evidence.Secret
	// AccountID is the JMAP account; empty = the token's primary one for mail.
	AccountID string
	// RefHeader and Domain are those that the worker writes, see Properties; empty =
	// DefaultRefHeader and DefaultDomain.
	RefHeader, Domain string
	// CopyKept says that the sending path keeps the message in the account once it
	// is submitted. Otherwise an empty answer proves nothing.
	CopyKept bool
	// MaxPages caps the pages of 50 messages read for one query; 0 =
	// DefaultMaxPages.
	MaxPages int
	// Timeout caps one request; 0 = egress.DefaultTimeout.
	Timeout time.Duration
	// IndexLag is how long a search may take to show a message; 0 =
	// DefaultIndexLag.
	IndexLag time.Duration
	// ProcessingHorizon is how long the server may still work on a request after the
	// client gave up; 0 = DefaultProcessingHorizon.
	ProcessingHorizon time.Duration
	// AllowPrivate and AllowPlainHTTP let SessionURL lead to private addresses, the
	// latter without TLS.
	AllowPrivate, AllowPlainHTTP bool
	// RootCAs replaces the system's certificate authorities; nil = the system's.
	RootCAs *x509.CertPool
	// TestMode says so on the capability sheet.
	TestMode bool
}

// Open checks c and returns its adapter. It does no I/O. The error lists
// everything that is wrong.
func (c Config) Open() (evidence.Adapter, error) {
	c = c.withDefaults()
	session, err := c.check()
	if err != nil {
		return nil, fmt.Errorf("jmap: %w", err)
	}
	hosts := []string{session.Host}
	if c.APIHost != "" {
		hosts = append(hosts, c.APIHost)
	}
	return &Adapter{cfg: c, session: session, client: egress.Client(egress.Config{
		Hosts: hosts, AllowPrivate: c.AllowPrivate, AllowPlainHTTP: c.AllowPlainHTTP, Timeout: c.Timeout, RootCAs: c.RootCAs,
	})}, nil
}

func (c Config) withDefaults() Config {
	if c.SessionURL == "" {
		c.SessionURL = DefaultSessionURL
	}
	if c.RefHeader == "" {
		c.RefHeader = DefaultRefHeader
	}
	if c.Domain == "" {
		c.Domain = DefaultDomain
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
	u, urlErr := c.checkSession()
	errs := []error{urlErr, checkCarrier(c.RefHeader, c.Domain)}
	if c.Token == nil {
		errs = append(errs, errors.New("token is not set: create a read-only API token for mail"))
	}
	if c.AccountID != "" && !validID(c.AccountID) {
		errs = append(errs, fmt.Errorf("account_id %.60q is no JMAP id", c.AccountID))
	}
	if strings.ContainsAny(c.APIHost, "/@?# ") {
		errs = append(errs, fmt.Errorf("api_host %.60q is no host", c.APIHost))
	}
	if c.MaxPages < 1 || c.MaxPages > 100 {
		errs = append(errs, fmt.Errorf("max_pages is %d, allowed are 1 to 100", c.MaxPages))
	}
	if c.Timeout < 0 || c.IndexLag < 0 || c.ProcessingHorizon < 0 {
		errs = append(errs, errors.New("timeout, index_lag and processing_horizon can't be negative"))
	}
	return u, errors.Join(errs...)
}

func (c Config) checkSession() (*url.URL, error) {
	u, err := url.Parse(c.SessionURL)
	switch {
	case err != nil || u.Host == "" || u.User != nil || u.Fragment != "":
		return nil, errors.New("session_url is no address of a session resource, e.g. " + DefaultSessionURL)
	case u.Scheme == "http" && c.AllowPlainHTTP && c.AllowPrivate:
	case u.Scheme != "https":
		return nil, errors.New("session_url is not https, which would send the token in the clear")
	}
	return u, nil
}

// checkCarrier allows header fields of our own and domain names.
func checkCarrier(header, domain string) error {
	const letters = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-"
	if len(header) < 3 || len(header) > 76 || !strings.EqualFold(header[:2], "X-") || strings.Trim(header, letters) != "" {
		return fmt.Errorf("ref_header %.80q is no header of our own: X- and letters, digits and hyphens, at most 76", header)
	}
	if domain == "" || len(domain) > 200 || strings.Trim(domain, letters+".") != "" || strings.Trim(domain, "-.") != domain || strings.Contains(domain, "..") {
		return fmt.Errorf("domain %.80q is no domain name", domain)
	}
	return nil
}

// validID: RFC 8620, section 1.2.
func validID(s string) bool {
	return len(s) >= 1 && len(s) <= 255 && strings.Trim(s, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_") == ""
}
