package imap

import (
	"crypto/sha256"
	"crypto/x509"
	"encoding/hex"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"strconv"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/landedhq/landed/providers/evidence"
)

// Kind is the adapter's name in sheets and evidence.
const Kind = "imap"

// TLSMode says how the connection is protected.
type TLSMode string

// The TLS modes.
const (
	TLSImplicit TLSMode = "implicit" // TLS from the first byte, usually port 993; the default
	TLSStartTLS TLSMode = "starttls" // upgrade, refused if the server doesn't offer it
	TLSNone     TLSMode = "none"     // loopback and private addresses only
)

// Defaults of Config.
const (
	DefaultProcessingHorizon = 10 * time.Minute
	DefaultIndexLag          = 30 * time.Second
	DefaultTimeout           = time.Minute
	DefaultDialTimeout       = 10 * time.Second
	DefaultMaxScan           = 2000
	maxMaxScan               = 20000
)

// Config is one account at one IMAP server. Open checks it.
type Config struct {
	Address  string         // host:port
	TLS      TLSMode        // "" = TLSImplicit
	RootCAs  *x509.CertPool // nil = the system's
	Username string
	Password evidence.Secret
	// Mailbox is the folder that holds sent mail, in UTF-8; "" = those that the
	// server marks with \Sent.
	Mailbox string
	// SentAppended says that the sending path appends each mail to this folder
	// itself, as a step that the worker journals. Without it an empty answer
	// never proves anything.
	SentAppended bool
	// SentSaved says that the server that takes the mail for sending saves it to
	// this folder itself, as Gmail and Microsoft 365 do. Beside SentAppended there
	// may be two copies of one mail: see the package documentation.
	SentSaved bool
	Carrier   Carrier // zero = defaults

	ProcessingHorizon time.Duration // 0 = DefaultProcessingHorizon
	IndexLag          time.Duration // 0 = DefaultIndexLag
	Timeout           time.Duration // for opening a session, and for each look; 0 = DefaultTimeout
	DialTimeout       time.Duration // 0 = DefaultDialTimeout
	MaxScan           int           // messages read when header search can't be used; 0 = DefaultMaxScan
}

// Open checks the configuration and returns the adapter. It does no I/O.
func (c Config) Open() (evidence.Adapter, error) {
	c = c.withDefaults()
	host, err := c.check()
	if err != nil {
		return nil, fmt.Errorf("imap: %w", err)
	}
	return &adapter{cfg: c, host: host}, nil
}

func (c Config) withDefaults() Config {
	if c.TLS == "" {
		c.TLS = TLSImplicit
	}
	c.Carrier = c.Carrier.withDefaults()
	c.ProcessingHorizon = orDefault(c.ProcessingHorizon, DefaultProcessingHorizon)
	c.IndexLag = orDefault(c.IndexLag, DefaultIndexLag)
	c.Timeout = orDefault(c.Timeout, DefaultTimeout)
	c.DialTimeout = orDefault(c.DialTimeout, DefaultDialTimeout)
	c.MaxScan = orDefault(c.MaxScan, DefaultMaxScan)
	return c
}

func orDefault[T comparable](v, def T) T {
	var zero T
	if v == zero {
		return def
	}
	return v
}

// check returns the server's host name.
func (c Config) check() (string, error) {
	host, err := checkAddress(c.Address)
	if err != nil {
		return "", err
	}
	switch c.TLS {
	case TLSImplicit, TLSStartTLS:
	case TLSNone:
		if a, err := netip.ParseAddr(host); err == nil && !nearby(a) {
			return "", fmt.Errorf("tls none is allowed for loopback and private addresses only, not for %s: use implicit or starttls", host)
		}
	default:
		return "", fmt.Errorf("tls is %q: use implicit, starttls or none", c.TLS)
	}
	if err := checkText("username", c.Username, 255); err != nil {
		return "", err
	}
	if c.Username == "" {
		return "", errors.New("username is missing")
	}
	if c.Password == nil {
		return "", errors.New("password is missing")
	}
	if err := checkText("mailbox", c.Mailbox, 500); err != nil {
		return "", err
	}
	if err := c.Carrier.check(); err != nil {
		return "", err
	}
	if c.MaxScan < 1 || c.MaxScan > maxMaxScan {
		return "", fmt.Errorf("max scan is %d: use 1 to %d messages", c.MaxScan, maxMaxScan)
	}
	for name, d := range map[string]time.Duration{
		"processing horizon": c.ProcessingHorizon, "index lag": c.IndexLag,
		"timeout": c.Timeout, "dial timeout": c.DialTimeout,
	} {
		if d < 0 {
			return "", fmt.Errorf("%s is negative", name)
		}
	}
	return host, nil
}

func checkAddress(address string) (string, error) {
	if err := checkText("address", address, 300); err != nil {
		return "", err
	}
	host, port, err := net.SplitHostPort(address)
	if err != nil || host == "" {
		return "", fmt.Errorf("address %q is not host:port, e.g. imap.example.org:993", address)
	}
	if n, err := strconv.ParseUint(port, 10, 16); err != nil || n == 0 {
		return "", fmt.Errorf("address %q: the port is a number from 1 to 65535", address)
	}
	if strings.ContainsFunc(host, unicode.IsSpace) {
		return "", fmt.Errorf("address %q: the host holds a space", address)
	}
	return host, nil
}

// checkText refuses what could end a protocol line: quoting can't make that safe.
func checkText(name, s string, limit int) error {
	if !utf8.ValidString(s) {
		return fmt.Errorf("%s is not valid UTF-8", name)
	}
	if strings.ContainsFunc(s, unicode.IsControl) {
		return fmt.Errorf("%s holds a control character: none is allowed", name)
	}
	if len(s) > limit {
		return fmt.Errorf("%s has %d bytes, at most %d are allowed", name, len(s), limit)
	}
	return nil
}

// nearby reports whether a connection to a stays on this machine or in a
// private network.
func nearby(a netip.Addr) bool {
	a = a.Unmap()
	return a.IsLoopback() || a.IsPrivate() || a.IsLinkLocalUnicast()
}

// version changes when the way of looking does.
func (c Config) version() string {
	sum := sha256.Sum256(fmt.Appendf(nil, "%q %q %q %q %q %d %t %t",
		c.Address, c.Username, c.Mailbox, c.Carrier.RefHeader, c.Carrier.Domain, c.MaxScan, c.SentAppended, c.SentSaved))
	return "2-" + hex.EncodeToString(sum[:4])
}
