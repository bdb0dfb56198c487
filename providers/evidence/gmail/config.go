package gmail

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
	DefaultBaseURL           = "https://gmail.googleapis.com"
	DefaultTokenURL          = "https://oauth2.googleapis.com/token"
	DefaultMaxPages          = 3
	DefaultIndexLag          = 10 * time.Minute
	DefaultProcessingHorizon = 10 * time.Minute
)

// Config describes one mailbox. It takes either a service account, or a client
// with a refresh token.
type Config struct {
	// Mailbox is the address of the mailbox that sends. A token of another one is
	// refused by Gmail.
	Mailbox string
	// ServiceAccount is the whole key file of a service account that has domain-wide
	// delegation for the scope gmail.readonly, and nothing more.
	ServiceAccount evidence.Secret
	// ClientID, ClientSecret and RefreshToken are those of a consent to
	// gmail.readonly.
	ClientID                   string
	ClientSecret, RefreshToken evidence.Secret
	// Carrier is the one that the worker writes, see mailref.Carrier.Fields.
	Carrier mailref.Carrier
	// MessageIDKept says that a trial showed the sending path to keep the Message-ID
	// that the worker sets; the API does not.
	MessageIDKept bool
	// RefInBody says that the worker writes BodyLine into the text of every mail.
	RefInBody bool
	// MaxPages caps the pages of 50 messages read for one query; 0 =
	// DefaultMaxPages.
	MaxPages int
	// Timeout caps one request; 0 = egress.DefaultTimeout.
	Timeout time.Duration
	// IndexLag is how long a search may take to show a message; 0 =
	// DefaultIndexLag.
	IndexLag time.Duration
	// ProcessingHorizon is how long Gmail may still work on a request after the
	// client gave up; 0 = DefaultProcessingHorizon.
	ProcessingHorizon time.Duration
	// Retention is after how long the organisation's rules delete sent mail; 0 =
	// they don't.
	Retention time.Duration
	// BaseURL and TokenURL replace Google's addresses, e.g. for a gateway.
	BaseURL, TokenURL string
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
	c = c.withDefaults()
	base, baseErr := address("base_url", c.BaseURL)
	token, tokenErr := address("token_url", c.TokenURL)
	if err := errors.Join(baseErr, tokenErr, c.check()); err != nil {
		return nil, fmt.Errorf("gmail: %w", err)
	}
	return &Adapter{cfg: c, base: base, token: token, tokens: oauth.NewCache(), client: egress.Client(egress.Config{
		Hosts: []string{base.Host, token.Host}, AllowPrivate: c.AllowPrivate, Timeout: c.Timeout, RootCAs: c.RootCAs,
	})}, nil
}

func (c Config) withDefaults() Config {
	c.Carrier = c.Carrier.WithDefaults()
	if c.BaseURL == "" {
		c.BaseURL = DefaultBaseURL
	}
	if c.TokenURL == "" {
		c.TokenURL = DefaultTokenURL
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
	if !validMailbox(c.Mailbox) {
		errs = append(errs, fmt.Errorf("mailbox %.80q is no mail address", c.Mailbox))
	}
	byConsent := c.ClientID != "" || c.ClientSecret != nil || c.RefreshToken != nil
	switch {
	case c.ServiceAccount == nil && !byConsent:
		errs = append(errs, errors.New("no credentials: give service_account, or client_id, client_secret and refresh_token"))
	case c.ServiceAccount != nil && byConsent:
		errs = append(errs, errors.New("two sorts of credentials: give either service_account, or client_id, client_secret and refresh_token"))
	case byConsent && (c.ClientID == "" || c.ClientSecret == nil || c.RefreshToken == nil):
		errs = append(errs, errors.New("client_id, client_secret and refresh_token are only good together"))
	}
	if c.MaxPages < 1 || c.MaxPages > 20 {
		errs = append(errs, fmt.Errorf("max_pages is %d, allowed are 1 to 20", c.MaxPages))
	}
	if c.Timeout < 0 || c.IndexLag < 0 || c.ProcessingHorizon < 0 || c.Retention < 0 {
		errs = append(errs, errors.New("timeout, index_lag, processing_horizon and retention can't be negative"))
	}
	return errors.Join(errs...)
}

// validMailbox wants one address that can stand in a path. "me" is refused: the
// mailbox that a token happens to belong to proves nothing about another.
func validMailbox(s string) bool {
	at := strings.LastIndexByte(s, '@')
	return at > 0 && at < len(s)-1 && len(s) <= 254 && !strings.ContainsFunc(s, func(r rune) bool {
		return r <= ' ' || r > '~' || strings.ContainsRune(`/\?#%"<>(),:;[]`, r)
	})
}

func address(name, s string) (*url.URL, error) {
	u, err := url.Parse(s)
	if err != nil || u.Scheme != "https" || u.Host == "" || u.User != nil || u.RawQuery != "" || u.Fragment != "" {
		return nil, fmt.Errorf("%s is no https address", name)
	}
	return u, nil
}
