package recipe

import (
	"crypto/x509"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/landedhq/landed/providers/definition"
	"github.com/landedhq/landed/providers/evidence"
)

// The caps that hold where Config leaves them zero.
const (
	DefaultTimeout = 15 * time.Second
	DefaultMaxBody = 4 << 20
)

// Config is one runtime that a recipe describes.
type Config struct {
	// Name is how the configuration and begin's resume call the target.
	Name string
	// Definition is what Parse or recipes.Load gave.
	Definition *Definition
	// Params fill the recipe's parameters, by name; typed and checked by it.
	Params map[string]string
	// Address stands in for members that an effect's resume leaves out.
	Address map[string]string
	// Secrets fill the secret parameters of one of the recipe's ways of proving who
	// sends; they are read anew for every delivery.
	Secrets map[string]evidence.Secret
	// BaseURL replaces the recipe's address; empty = the recipe's.
	BaseURL string
	// AllowPrivate lets the address lead to loopback and private networks.
	AllowPrivate bool
	// AllowPlainHTTP lets it be http://; only together with AllowPrivate, and then
	// for private addresses only.
	AllowPlainHTTP bool
	// Timeout caps one request; 0 = DefaultTimeout. A delivery with all its checks
	// has resume.SendTimeout.
	Timeout time.Duration
	// MaxBody caps one answer in bytes; 0 = DefaultMaxBody.
	MaxBody int64
	// RootCAs replaces the system's certificate authorities; nil = the system's.
	RootCAs *x509.CertPool
}

// Open checks c and returns its target. It does no I/O. The error lists everything
// that is wrong.
func (c Config) Open() (*Target, error) {
	if c.Definition == nil {
		return nil, errors.New("recipe: the configuration names no recipe")
	}
	d := c.Definition
	var errs []error
	if c.Name == "" {
		errs = append(errs, errors.New("the target has no name"))
	}
	if c.Timeout < 0 || c.MaxBody < 0 {
		errs = append(errs, errors.New("timeout or max_body is negative"))
	}
	given := c.secrets()
	auth, err := d.pick(given)
	errs = append(errs, err)
	params, err := d.file.Params.Fill(d.file.Adapter, c.Params, given, nil)
	errs = append(errs, err, c.checkAddress())
	if err := errors.Join(errs...); err != nil {
		return nil, fmt.Errorf("%s: %w", d.Name(), err)
	}
	way := definition.Way{BaseURL: c.BaseURL, Timeout: c.Timeout, MaxBody: c.MaxBody, AllowPrivate: c.AllowPrivate, AllowPlainHTTP: c.AllowPlainHTTP,
		RootCAs: c.RootCAs, Agent: "landed/recipe", Unfollowed: true}
	if way.Timeout == 0 {
		way.Timeout = DefaultTimeout
	}
	if way.MaxBody == 0 {
		way.MaxBody = DefaultMaxBody
	}
	account, err := way.Open(d.Title(), d.base, nil, auth, params)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", d.Name(), err)
	}
	return &Target{def: d, cfg: c, params: params, account: account}, nil
}

// secrets are the names of those that are given.
func (c Config) secrets() []string {
	var out []string
	for _, n := range definition.SortedKeys(c.Secrets) {
		if c.Secrets[n] != nil {
			out = append(out, n)
		}
	}
	return out
}

// checkAddress checks the members that are configured, each by itself.
func (c Config) checkAddress() error {
	var errs []error
	for _, name := range definition.SortedKeys(c.Address) {
		p, ok := c.Definition.file.Address[name]
		if !ok {
			errs = append(errs, fmt.Errorf("address.%s is not known: %s has %s", name, c.Definition.Name(), c.Definition.members()))
			continue
		}
		if _, err := c.Definition.member(name, p, nil, c.Address); err != nil {
			errs = append(errs, fmt.Errorf("address.%s: %w", name, err))
		}
	}
	return errors.Join(errs...)
}

// pick chooses the way of proving who sends that needs exactly the given secrets.
// With one too few the next weaker way would be taken without a word; with one too
// many somebody thinks that it counts.
func (d *Definition) pick(given []string) (*definition.Auth, error) {
	var ways []string
	for i, uses := range d.Ways() {
		if slices.Equal(uses, given) {
			return d.auth[i], nil
		}
		if len(uses) == 0 {
			ways = append(ways, "none")
		} else {
			ways = append(ways, strings.Join(uses, " and "))
		}
	}
	have := "none are given"
	if len(given) > 0 {
		have = "given are " + strings.Join(given, ", ")
	}
	return nil, fmt.Errorf("secrets: %s, but %s takes %s", have, d.file.Adapter, strings.Join(ways, ", or "))
}
