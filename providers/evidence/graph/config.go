package graph

import (
	"crypto/x509"
	"errors"
	"fmt"
	"net/url"
	"strings"
	"time"

	"github.com/landedhq/landed/providers/evidence"
	"github.com/landedhq/landed/providers/evidence/egress"
	"github.com/landedhq/landed/providers/evidence/mailref"
	"github.com/landedhq/landed/providers/evidence/oauth"
)

// The values that hold where Config leaves them zero.
const (
	DefaultMaxPages          = 5
	DefaultIndexLag          = 5 * time.Minute
	DefaultProcessingHorizon = 10 * time.Minute
)

// Cloud is the Microsoft cloud that the organisation is in.
type Cloud string

// The clouds (learn.microsoft.com/graph/deployments). GCC uses the global one.
const (
	CloudGlobal Cloud = "global"
	CloudUSGov  Cloud = "us_gov"     // GCC High, L4
	CloudUSDoD  Cloud = "us_gov_dod" // L5
	CloudChina  Cloud = "china"      // operated by 21Vianet
)

// hosts are those of Graph and of the token server.
func (c Cloud) hosts() (graph, login string, err error) {
	switch c {
	case "", CloudGlobal:
		return "https://graph.microsoft.com", "https://login.microsoftonline.com", nil
	case CloudUSGov:
		return "https://graph.microsoft.us", "https://login.microsoftonline.us", nil
	case CloudUSDoD:
		return "https://dod-graph.microsoft.us", "https://login.microsoftonline.us", nil
	case CloudChina:
		return "https://microsoftgraph.chinacloudapi.cn", "https://login.chinacloudapi.cn", nil
	}
	return "", "", fmt.Errorf("cloud %.40q is none of global, us_gov, us_gov_dod, china", string(c))
}

// Config describes one mailbox and the application that reads it.
type Config struct {
	// Tenant is the organisation's directory: its id or one of its domains.
	Tenant string
	// ClientID and ClientSecret are the application's. It has the application
	// permission Mail.Read, limited to this mailbox, and nothing more.
	ClientID     string
	ClientSecret evidence.Secret
	// Mailbox is the id or the user principal name of the mailbox that sends.
	Mailbox string
	// Cloud is where both are; empty = CloudGlobal.
	Cloud Cloud
	// Carrier is the one that the worker writes, see Properties and
	// mailref.Carrier.Fields.
	Carrier mailref.Carrier
	// CopyKept says that the sending path keeps its copy in the mailbox:
	// saveToSentItems is not false and no rule deletes it. Otherwise an empty answer
	// proves nothing.
	CopyKept bool
	// MaxPages caps the pages of 50 messages read for one query; 0 =
	// DefaultMaxPages.
	MaxPages int
	// Timeout caps one request; 0 = egress.DefaultTimeout.
	Timeout time.Duration
	// IndexLag is how long the mailbox may take to show a message; 0 =
	// DefaultIndexLag.
	IndexLag time.Duration
	// ProcessingHorizon is how long Exchange may still work on a request after the
	// client gave up; 0 = DefaultProcessingHorizon.
	ProcessingHorizon time.Duration
	// Retention is after how long the organisation's rules archive or delete sent
	// mail; 0 = they don't.
	Retention time.Duration
	// BaseURL and LoginURL replace the cloud's addresses, e.g. for a gateway.
	BaseURL, LoginURL string
	// AllowPrivate lets the addresses lead to private networks.
	AllowPrivate bool
	// RootCAs replaces the system's certificate authorities; nil = the system's.
	RootCAs *x509.CertPool
	// TestMode says so on the capability sheet.
	TestMode bool
}

// Open checks c and returns its adapter. It does no I/O. The error lists
// everything that is wrong.
func (c Config) Open() (evidence.Adapter, error) {
	resource, login, cloudErr := c.Cloud.hosts()
	c = c.withDefaults(resource, login)
	if err := errors.Join(cloudErr, c.check()); err != nil {
		return nil, fmt.Errorf("graph: %w", err)
	}
	base, baseErr := address("base_url", c.BaseURL)
	tokens, loginErr := address("login_url", c.LoginURL)
	if err := errors.Join(baseErr, loginErr); err != nil {
		return nil, fmt.Errorf("graph: %w", err)
	}
	return &Adapter{cfg: c, base: base, token: tokens.JoinPath(c.Tenant, "oauth2", "v2.0", "token"), scope: resource + "/.default",
		tokens: oauth.NewCache(), client: egress.Client(egress.Config{
			Hosts: []string{base.Host, tokens.Host}, AllowPrivate: c.AllowPrivate, Timeout: c.Timeout, RootCAs: c.RootCAs,
		})}, nil
}

func (c Config) withDefaults(graph, login string) Config {
	c.Carrier = c.Carrier.WithDefaults()
	if c.BaseURL == "" {
		c.BaseURL = graph
	}
	if c.LoginURL == "" {
		c.LoginURL = login
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
	errs := []error{c.Carrier.Check()}
	switch {
	case !plain(c.Tenant, "-."):
		errs = append(errs, fmt.Errorf("tenant %.80q is neither a directory's id nor a domain", c.Tenant))
	case c.Tenant == "common" || c.Tenant == "organizations" || c.Tenant == "consumers":
		errs = append(errs, fmt.Errorf("tenant %q names no organisation: give the directory's id", c.Tenant))
	}
	if !plain(c.ClientID, "-") {
		errs = append(errs, fmt.Errorf("client_id %.80q is no application's id", c.ClientID))
	}
	if c.ClientSecret == nil {
		errs = append(errs, errors.New("client_secret is not set: create one for an application that has Mail.Read and nothing more"))
	}
	if !plain(c.Mailbox, "-.@_+'!~^$&=") || c.Mailbox == "me" || strings.Trim(c.Mailbox, ".") == "" {
		errs = append(errs, fmt.Errorf("mailbox %.80q is neither a user's id nor a user principal name", c.Mailbox))
	}
	if c.MaxPages < 1 || c.MaxPages > 20 {
		errs = append(errs, fmt.Errorf("max_pages is %d, allowed are 1 to 20", c.MaxPages))
	}
	if c.Timeout < 0 || c.IndexLag < 0 || c.ProcessingHorizon < 0 || c.Retention < 0 {
		errs = append(errs, errors.New("timeout, index_lag, processing_horizon and retention can't be negative"))
	}
	return errors.Join(errs...)
}

const letters = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"

// plain allows letters, digits and the other characters.
func plain(s, others string) bool {
	return s != "" && len(s) <= 254 && strings.Trim(s, letters+others) == ""
}

func address(name, s string) (*url.URL, error) {
	u, err := url.Parse(s)
	if err != nil || u.Scheme != "https" || u.Host == "" || u.User != nil || u.RawQuery != "" || u.Fragment != "" {
		return nil, fmt.Errorf("%s is no https address", name)
	}
	return u, nil
}
