package declared

import (
	"crypto/x509"
	"errors"
	"fmt"
	"time"

	"github.com/landedhq/landed/providers/definition"
	"github.com/landedhq/landed/providers/evidence"
)

// Config is one account at one provider that a definition describes.
type Config struct {
	// Definition is what Parse or packs.Load gave.
	Definition *Definition
	// Params fill the definition's parameters, by name; typed and checked by it.
	Params map[string]string
	// Secrets fill its secret parameters; they are read anew for every session.
	Secrets map[string]evidence.Secret
	// BaseURL replaces the definition's address, e.g. for a vendor's sandbox, a
	// gateway or a region; empty = the definition's. A token is then asked for
	// there as well.
	BaseURL string
	// IndexLag and ProcessingHorizon lengthen what the definition declares; 0 = as
	// declared. Shorter ones are refused: too early a look sends money twice.
	IndexLag, ProcessingHorizon time.Duration
	// Retention shortens what the definition declares, or sets it; 0 = as declared.
	Retention time.Duration
	// Timeout caps one request; 0 = egress.DefaultTimeout.
	Timeout time.Duration
	// MaxBody caps one answer in bytes; 0 = egress.DefaultMaxBody.
	MaxBody int64
	// AllowPrivate lets the address lead to loopback and private networks.
	AllowPrivate bool
	// AllowPlainHTTP lets it be http://; only together with AllowPrivate, and then
	// for private addresses only.
	AllowPlainHTTP bool
	// RootCAs replaces the system's certificate authorities; nil = the system's.
	RootCAs *x509.CertPool
	// TestMode says so on the capability sheet: sandbox, test account.
	TestMode bool
}

// Open checks c and returns its adapter. It does no I/O. The error lists
// everything that is wrong.
func (c Config) Open() (evidence.Adapter, error) {
	a, err := c.open()
	if err != nil {
		return nil, err
	}
	return a, nil
}

// OpenDeclared is Open with the concrete type, which also renders the writer's
// side.
func (c Config) OpenDeclared() (*Adapter, error) { return c.open() }

func (c Config) open() (*Adapter, error) {
	if c.Definition == nil {
		return nil, errors.New("declared: the configuration names no definition")
	}
	d := c.Definition
	var names []string
	for n, s := range c.Secrets {
		if s != nil {
			names = append(names, n)
		}
	}
	params, err := d.file.Params.Fill(d.file.Adapter, c.Params, names, d.file.Params.Secrets())
	errs := []error{err, c.checkTimes()}
	if err != nil {
		return nil, fmt.Errorf("%s: %w", d.Name(), errors.Join(errs...))
	}
	a := &Adapter{def: d, cfg: c, params: params}
	a.account, err = definition.Way{BaseURL: c.BaseURL, Timeout: c.Timeout, MaxBody: c.MaxBody, AllowPrivate: c.AllowPrivate,
		AllowPlainHTTP: c.AllowPlainHTTP, RootCAs: c.RootCAs, Agent: "landed/declared"}.Open(d.Title(), d.base, d.hosts, d.auth, params)
	if err := errors.Join(append(errs, err)...); err != nil {
		return nil, fmt.Errorf("%s: %w", d.Name(), err)
	}
	if a.sheet, err = a.makeSheet(); err != nil {
		return nil, fmt.Errorf("%s: %w", d.Name(), err)
	}
	return a, nil
}

func (c Config) checkTimes() error {
	d := c.Definition.times
	var errs []error
	for _, t := range []struct {
		name     string
		v, least time.Duration
	}{{"index_lag", c.IndexLag, d.indexLag}, {"processing_horizon", c.ProcessingHorizon, d.horizon}} {
		if t.v != 0 && t.v < t.least {
			errs = append(errs, fmt.Errorf("%s is %v, shorter than the declared %v: it can only be made longer", t.name, t.v, t.least))
		}
	}
	if r := d.retention; c.Retention < 0 || r > 0 && c.Retention > r {
		errs = append(errs, fmt.Errorf("retention is %v, longer than the declared %v: it can only be made shorter", c.Retention, r))
	}
	if c.Timeout < 0 || c.MaxBody < 0 {
		errs = append(errs, errors.New("timeout or max_body is negative"))
	}
	return errors.Join(errs...)
}
