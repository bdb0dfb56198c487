// Package config reads the configuration of `landed serve`: one YAML file, read
// strictly. An unknown key is an error with its line; secrets are never written
// into the file but named: "env:NAME" or "file:/path".
package config

import (
	"errors"
	"fmt"
	"net"
	"net/url"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/goccy/go-yaml"

	"github.com/landedhq/landed/journal"
)

// Config is the whole file.
type Config struct {
	// Listen is where pages and worker API are served; default 127.0.0.1:8080.
	Listen string `yaml:"listen"`
	// ExternalURL is how browsers reach this server; the only source of links and
	// of the login's redirect.
	ExternalURL string `yaml:"external_url"`
	// Database is a PostgreSQL connection string, usually env: or file:.
	Database Secret `yaml:"database"`
	Login    Login  `yaml:"login"`
	// Providers are asked for evidence, by the name that tools give.
	Providers map[string]Provider `yaml:"providers"`
	// Tools registered here need no worker to register them.
	Tools  []Tool  `yaml:"tools"`
	Alerts []Alert `yaml:"alerts"`
	// Resume are the runtimes that resolutions are handed over to. All can be pulled
	// without any.
	Resume []Resume `yaml:"resume"`
	Policy Policy   `yaml:"policy"`
	// Retention is how long settled effects are kept; then their keys stay refused
	// and their decisions stay on the audit trail. 0 = for ever.
	Retention Duration `yaml:"retention"`
	// CheckpointFile keeps the newest audit row's number and hash outside of the
	// database: on a volume that is not restored with it. A journal that falls
	// short of it is quarantined.
	CheckpointFile string `yaml:"checkpoint_file"`
	// Every is how often the background rounds start; default 2s.
	Every Duration `yaml:"every"`
}

// Login is the OpenID Connect client.
type Login struct {
	Issuer       string   `yaml:"issuer"`
	ClientID     string   `yaml:"client_id"`
	ClientSecret Secret   `yaml:"client_secret"`
	Scopes       []string `yaml:"scopes"`
	GroupsClaim  string   `yaml:"groups_claim"`
	NameClaim    string   `yaml:"name_claim"`
	// Roles says which groups give a role.
	Roles map[string][]string `yaml:"roles"`
	// AllowInsecureIssuer lets the issuer be http on loopback.
	AllowInsecureIssuer bool `yaml:"allow_insecure_issuer"`
	// TrustPrompt: the provider asks again on prompt=login, but sends no auth_time.
	TrustPrompt bool `yaml:"trust_prompt"`
	// StepUpACR is the authentication context (acr) that a fresh login must have.
	StepUpACR string   `yaml:"step_up_acr"`
	Idle      Duration `yaml:"idle"`
	Absolute  Duration `yaml:"absolute"`
}

// Tool is journal.Tool in the file's words.
type Tool struct {
	Name           string   `yaml:"name"`
	Class          string   `yaml:"class"`
	Provider       string   `yaml:"provider"`
	KeyWindow      Duration `yaml:"key_window"`
	ClientTimeout  Duration `yaml:"client_timeout"`
	IdentityFields []string `yaml:"identity_fields"`
	DisplayFields  []string `yaml:"display_fields"`
	// CompensatedBy is the tool that undoes an effect of this one.
	CompensatedBy string `yaml:"compensated_by"`
	// CompensateRun: closing one of its effects as not landed asks the runtime to
	// undo the root run's completed effects.
	CompensateRun bool `yaml:"compensate_run"`
	// SettleFound settles an effect as landed once the provider shows exactly one
	// object with its reference, without a person. It never orders a repeat.
	SettleFound bool `yaml:"settle_found"`
}

// JournalPolicy is the policy with what the tools add to it.
func (c *Config) JournalPolicy() journal.Policy {
	p := c.Policy.Journal()
	p.SettleFound = map[string]bool{}
	for _, t := range c.Tools {
		p.SettleFound[t.Name] = t.SettleFound
	}
	return p
}

// Journal returns the tool as the journal knows it.
func (t Tool) Journal() journal.Tool {
	return journal.Tool{Name: t.Name, Class: journal.Class(t.Class), Provider: t.Provider, KeyWindow: t.KeyWindow.D(),
		ClientTimeout: t.ClientTimeout.D(), IdentityFields: t.IdentityFields, DisplayFields: t.DisplayFields,
		CompensatedBy: t.CompensatedBy, CompensateRun: t.CompensateRun}
}

// Alert is one sink.
type Alert struct {
	Name    string   `yaml:"name"`
	Webhook *Webhook `yaml:"webhook"`
}

// Webhook is a signed webhook (Standard Webhooks 1.0).
type Webhook struct {
	URL          string `yaml:"url"`
	Secret       Secret `yaml:"secret"` // whsec_…
	AllowPrivate bool   `yaml:"allow_private"`
}

// Policy overrides journal.DefaultPolicy where a field is set.
type Policy struct {
	Version          string   `yaml:"version"`
	EvidenceMaxAge   Duration `yaml:"evidence_max_age"`
	OrderEvidenceAge Duration `yaml:"order_evidence_age"`
	PickupWithin     Duration `yaml:"pickup_within"`
	WindowMargin     Duration `yaml:"window_margin"`
	RetryBudget      int      `yaml:"retry_budget"`
	VerifyLimit      int      `yaml:"verify_limit"`
	DefaultLease     Duration `yaml:"default_lease"`
	MaxLease         Duration `yaml:"max_lease"`
	RetryGrace       Duration `yaml:"retry_grace"`
	AlertInterval    Duration `yaml:"alert_interval"`
	DeliverWithin    Duration `yaml:"deliver_within"`
	AckWithin        Duration `yaml:"ack_within"`
	// Rules ask more of the decisions that they match; all that match hold.
	Rules []Rule `yaml:"rules"`
	// Overrides are the blocks that a second person may let pass: found,
	// found_pending, found_twice, too_early.
	Overrides []string `yaml:"overrides"`
	// BreakGlass are the groups whose members may act without the second person.
	BreakGlass     []string `yaml:"break_glass"`
	StepUp         Duration `yaml:"step_up"`
	ProposalWithin Duration `yaml:"proposal_within"`
	ReviewWithin   Duration `yaml:"review_within"`
	// BulkMax is how many effects one person may decide together; default 500.
	BulkMax int `yaml:"bulk_max"`
}

// Journal returns the policy in force.
func (p Policy) Journal() journal.Policy {
	out := journal.DefaultPolicy()
	if p.Version != "" {
		out.Version = p.Version
	}
	p.decisions(&out)
	for _, f := range []struct {
		to   *time.Duration
		from Duration
	}{
		{&out.EvidenceMaxAge, p.EvidenceMaxAge}, {&out.OrderEvidenceAge, p.OrderEvidenceAge}, {&out.PickupWithin, p.PickupWithin},
		{&out.WindowMargin, p.WindowMargin}, {&out.DefaultLease, p.DefaultLease}, {&out.MaxLease, p.MaxLease}, {&out.RetryGrace, p.RetryGrace}, {&out.AlertInterval, p.AlertInterval},
		{&out.DeliverWithin, p.DeliverWithin}, {&out.AckWithin, p.AckWithin},
		{&out.StepUp, p.StepUp}, {&out.ProposalWithin, p.ProposalWithin}, {&out.ReviewWithin, p.ReviewWithin},
	} {
		if f.from > 0 {
			*f.to = f.from.D()
		}
	}
	if p.RetryBudget > 0 {
		out.RetryBudget = p.RetryBudget
	}
	if p.VerifyLimit > 0 {
		out.VerifyLimit = p.VerifyLimit
	}
	if p.BulkMax > 0 {
		out.BulkMax = p.BulkMax
	}
	return out
}

// Duration is a length of time as Go writes it: 30s, 5m, 24h.
type Duration time.Duration

// D returns it as Go knows it.
func (d Duration) D() time.Duration { return time.Duration(d) }

// UnmarshalYAML reads "30s".
func (d *Duration) UnmarshalYAML(b []byte) error {
	var s string
	if err := yaml.Unmarshal(b, &s); err != nil {
		return fmt.Errorf("a duration is written like 30s, 5m or 24h: %w", err)
	}
	v, err := time.ParseDuration(s)
	if err != nil || v < 0 {
		return fmt.Errorf("%q is no duration: write it like 30s, 5m or 24h", s)
	}
	*d = Duration(v)
	return nil
}

// Secret is a value that the file only names.
type Secret string

// UnmarshalYAML refuses a secret that is written out.
func (s *Secret) UnmarshalYAML(b []byte) error {
	var v string
	if err := yaml.Unmarshal(b, &v); err != nil {
		return fmt.Errorf("a secret is named by env:NAME or file:/path: %w", err)
	}
	if v != "" && !strings.HasPrefix(v, "env:") && !strings.HasPrefix(v, "file:") {
		return errors.New("a secret is not written into the file: name it by env:NAME or file:/path")
	}
	*s = Secret(v)
	return nil
}

// Value reads the secret where it is kept; a trailing line break is dropped.
func (s Secret) Value() (string, error) {
	switch name, isEnv := strings.CutPrefix(string(s), "env:"); {
	case s == "":
		return "", errors.New("is not set")
	case isEnv:
		v := os.Getenv(name)
		if v == "" {
			return "", fmt.Errorf("the environment variable %s is empty", name)
		}
		return v, nil
	}
	b, err := os.ReadFile(strings.TrimPrefix(string(s), "file:"))
	if err != nil {
		return "", fmt.Errorf("reading a secret: %w", err)
	}
	return strings.TrimRight(string(b), "\r\n"), nil
}

// Load reads and checks a file. Errors name the line, or the key and what to do.
func Load(path string) (*Config, error) {
	b, err := os.ReadFile(path)
	if err != nil {
		return nil, fmt.Errorf("reading the configuration: %w", err)
	}
	c, err := Parse(b)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return c, nil
}

// Parse reads a configuration strictly and fills the defaults.
func Parse(b []byte) (*Config, error) {
	var c Config
	if err := decode(b, &c); err != nil {
		return nil, err
	}
	if c.Listen == "" {
		c.Listen = "127.0.0.1:8080"
	}
	if c.Every == 0 {
		c.Every = Duration(2 * time.Second)
	}
	if c.Login.GroupsClaim == "" {
		c.Login.GroupsClaim = "groups"
	}
	return &c, c.check()
}

// decode reads strict YAML. The library panics on some input, e.g. a tag without
// a value where a list is expected.
func decode(b []byte, into *Config) (err error) {
	defer func() {
		if p := recover(); p != nil {
			err = errors.New("this is no YAML that can be read: look for a tag (!) or an anchor (&) that stands alone")
		}
	}()
	if err := yaml.UnmarshalWithOptions(b, into, yaml.Strict()); err != nil {
		return fmt.Errorf("%s", strings.TrimSpace(yaml.FormatError(err, false, true)))
	}
	return nil
}

func (c *Config) check() error {
	var errs []error
	fail := func(format string, args ...any) { errs = append(errs, fmt.Errorf(format, args...)) }
	if _, _, err := net.SplitHostPort(c.Listen); err != nil {
		fail("listen: %q is no host:port", c.Listen)
	}
	if u, err := url.Parse(c.ExternalURL); err != nil || u.Host == "" || (u.Scheme != "https" && u.Scheme != "http") || (u.Path != "" && u.Path != "/") {
		fail("external_url: %q must be the address that browsers use, like https://landed.example.com", c.ExternalURL)
	}
	if c.Database == "" {
		fail("database: name the PostgreSQL connection string, like env:LANDED_DATABASE")
	}
	if c.Login.Issuer == "" || c.Login.ClientID == "" || c.Login.ClientSecret == "" {
		fail("login: issuer, client_id and client_secret are needed")
	}
	if len(c.Login.Roles) == 0 {
		fail("login.roles: say which groups give a role, else nobody can sign in")
	}
	for role := range c.Login.Roles {
		if !slices.Contains([]journal.Role{journal.RoleViewer, journal.RoleOperator, journal.RoleApprover, journal.RoleAuditor, journal.RoleAdmin}, journal.Role(role)) {
			fail("login.roles: %q is none of viewer, operator, approver, auditor, admin", role)
		}
	}
	if c.Retention != 0 && c.Retention.D() < 24*time.Hour {
		fail("retention: %s is less than a day", c.Retention.D())
	}
	for name, p := range c.Providers {
		if err := journal.ValidateName("name", name); err != nil {
			fail("providers: %s: %v", name, err)
		}
		if err := p.check(); err != nil {
			fail("providers.%s: %v", name, err)
		}
	}
	for i, t := range c.Tools {
		if err := t.Journal().Validate(); err != nil {
			fail("tools[%d]: %v", i, err)
		}
	}
	names := map[string]bool{}
	for i, a := range c.Alerts {
		if a.Name == "" || names[a.Name] || a.Webhook == nil {
			fail("alerts[%d]: needs a name of its own and a webhook", i)
		}
		names[a.Name] = true
	}
	errs = append(errs, c.checkResume()...)
	if err := c.Policy.check(); err != nil {
		errs = append(errs, err)
	}
	return errors.Join(errs...)
}
