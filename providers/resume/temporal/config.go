package temporal

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net/http"
	"net/netip"
	"net/url"
	"strings"
	"time"

	"github.com/landedhq/landed/providers/evidence"
	"github.com/landedhq/landed/providers/evidence/egress"
	"github.com/landedhq/landed/providers/resume"
)

// DefaultTimeout holds where Config leaves Timeout zero: below
// resume.SendTimeout, so that a slow server is told from a cancelled try.
const DefaultTimeout = 15 * time.Second

// maxName is the server's limit for workflow ids, signal names and the like
// (limit.maxIDLength, 1,000 bytes by default).
const maxName = 1000

// Config describes one namespace at one Temporal service.
type Config struct {
	// Name is what begin's resume calls this target, e.g. "temporal".
	Name string
	// URL is where the frontend's HTTP API answers, e.g.
	// "https://temporal.internal:7243"; a path is what a proxy in front of it wants.
	URL string
	// Namespace holds the workflows.
	Namespace string
	// APIKey, if set, is sent as a bearer token; it is read for every call.
	APIKey evidence.Secret
	// Certificate, if set, is what the client shows to a server that asks for one
	// (mutual TLS).
	Certificate *tls.Certificate
	// Timeout caps one call; 0 = DefaultTimeout.
	Timeout time.Duration
	// AllowPrivate lets URL lead to loopback and private addresses.
	AllowPrivate bool
	// AllowPlainHTTP lets URL be http://; only together with AllowPrivate, and then
	// for private addresses only.
	AllowPlainHTTP bool
	// RootCAs replaces the system's certificate authorities; nil = the system's.
	RootCAs *x509.CertPool
}

// Open checks c and returns its target. It does no I/O. The error lists
// everything that is wrong.
func (c Config) Open() (*Target, error) {
	if c.Timeout == 0 {
		c.Timeout = DefaultTimeout
	}
	base, err := c.check()
	if err != nil {
		return nil, fmt.Errorf("temporal: %w", err)
	}
	client := egress.Client(egress.Config{
		Hosts: []string{base.Host}, AllowPrivate: c.AllowPrivate, AllowPlainHTTP: c.AllowPlainHTTP,
		Timeout: c.Timeout, MaxBody: maxAnswer, RootCAs: c.RootCAs, Certificate: c.Certificate,
	})
	// Temporal redirects nobody: a redirect is somebody else's answer, and following
	// one could make a GET of the call.
	client.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	return &Target{cfg: c, base: base, client: client}, nil
}

func (c Config) check() (*url.URL, error) {
	base, urlErr := c.checkURL()
	errs := []error{checkName("name", c.Name), urlErr, checkPart("namespace", c.Namespace)}
	if c.Timeout < 0 || c.Timeout > resume.SendTimeout {
		errs = append(errs, fmt.Errorf("timeout is %v: it can be at most %v", c.Timeout, resume.SendTimeout))
	}
	return base, errors.Join(errs...)
}

func (c Config) checkURL() (*url.URL, error) {
	const example = "give the HTTP API's address, e.g. https://temporal.internal:7243"
	u, err := url.Parse(c.URL)
	switch {
	case c.URL == "":
		return nil, errors.New("url is not set: " + example)
	case err != nil:
		return nil, errors.New("url can't be parsed: " + example)
	case u.User != nil:
		return nil, errors.New("url holds credentials: put the key into api_key")
	case u.Hostname() == "":
		return nil, errors.New("url has no host: " + example)
	case u.RawQuery != "" || u.Fragment != "" || u.ForceQuery:
		return nil, errors.New("url holds a query or a fragment: " + example)
	case strings.Contains(u.Path, "/api/v1"):
		return nil, errors.New("url holds the path of the API: " + example)
	}
	switch u.Scheme {
	case "https":
	case "http":
		if !c.AllowPlainHTTP || !c.AllowPrivate {
			return nil, errors.New("url is http://, which shows everything on the way: use https://, or set allow_private and allow_plain_http for a private address")
		}
		if c.Certificate != nil {
			return nil, errors.New("url is http://, which knows no client certificates")
		}
	default:
		return nil, fmt.Errorf("url has the scheme %q: use https://", u.Scheme)
	}
	if ip, err := netip.ParseAddr(u.Hostname()); err == nil && !c.AllowPrivate && (ip.IsLoopback() || ip.IsPrivate()) {
		return nil, fmt.Errorf("url leads to the private address %s: set allow_private if that is meant", ip)
	}
	u.Path, u.RawPath = strings.TrimRight(u.Path, "/"), ""
	return u, nil
}
