package login

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/netip"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/labstack/echo/v4"

	"github.com/landedhq/landed/journal"
)

// The values that hold where Config leaves them zero.
const (
	DefaultIdle        = 30 * time.Minute
	DefaultAbsolute    = 12 * time.Hour
	DefaultGroupsClaim = "groups"
)

// minSecret is the shortest client secret accepted: the key that seals the flow
// cookie comes from it, and who holds such a cookie may try secrets at leisure.
const minSecret = 16

// Config says where people sign in, and which of their groups give a role.
type Config struct {
	// ExternalURL is the address under which browsers reach Landed, scheme and
	// host (and port) only. The only source of redirect_uri. https, or http on a
	// loopback host.
	ExternalURL string
	// Issuer of the identity provider, exactly as its discovery document spells it.
	Issuer   string
	ClientID string
	// ClientSecret is the value itself, at least 16 bytes; all replicas share it.
	// A rotation ends sign-ins that are on their way, no session.
	ClientSecret string
	// Scopes asked for; nil = openid, profile, email. openid is always added.
	Scopes []string
	// GroupsClaim lists a person's groups: "groups", or "roles" for app roles.
	GroupsClaim string
	// NameClaim is shown as the person's name; "" = name, else preferred_username,
	// else email. Display only: a person is known by issuer and subject.
	NameClaim string
	// RoleGroups says which values of GroupsClaim give a role. There is no default
	// role: who has none is refused.
	RoleGroups map[journal.Role][]string
	// KeepGroups are the groups that a session remembers beside its roles: those
	// that decision policy names.
	KeepGroups []string
	// TrustPrompt takes the moment of a sign-in that was asked for with prompt=login
	// for the moment when the person proved who they are. For identity providers
	// that honour prompt=login but send no auth_time.
	TrustPrompt bool
	// StepUpACR is the authentication context that a fresh login must have been made
	// in, e.g. with a second factor; "" = any. A login in another one proves nothing
	// for decisions that ask for a fresh one.
	StepUpACR string
	// Idle and Absolute end a session after so long without a request, and
	// however busy it was.
	Idle, Absolute time.Duration
	// HTTPClient talks to the identity provider; nil = 10 s time-out, no redirects,
	// proxies from the environment. Answers over 1 MiB are cut in any case.
	HTTPClient *http.Client
	// AllowInsecureIssuer lets Issuer be http, on a loopback host only.
	AllowInsecureIssuer bool
	// Public lists further paths that need no session; one that ends in "/" is a
	// prefix. Built in: the login's own, /healthz, /readyz, /static/, /v1/.
	Public []string
	// SignedOut renders the page after a logout, with a link to PathLogin; nil = a
	// plain one.
	SignedOut func(echo.Context) error
	// OnEvent hears of logins, logouts and refusals, for the audit trail; may be nil.
	OnEvent func(context.Context, Event)
	// Clock; nil = time.Now.
	Clock func() time.Time
}

// Event is one entry for the audit trail.
type Event struct {
	Kind  string // one of the Event constants
	At    time.Time
	Actor journal.Actor // empty where nobody is known
	Why   string        // the Code of a refusal, else ""
}

// Kinds of events.
const (
	EventLogin   = "login"
	EventLogout  = "logout"
	EventRefused = "refused"
)

// checked returns the configuration with its defaults, or says what to change.
func (c Config) checked() (Config, error) {
	var err error
	if c.ExternalURL, err = externalURL(c.ExternalURL); err != nil {
		return c, err
	}
	if err := checkIssuer(c.Issuer, c.AllowInsecureIssuer); err != nil {
		return c, err
	}
	if c.ClientID == "" {
		return c, errors.New("client_id is empty: register Landed at the identity provider and copy its client id")
	}
	if len(c.ClientSecret) < minSecret {
		return c, fmt.Errorf("client_secret has %d bytes: it must have at least %d", len(c.ClientSecret), minSecret)
	}
	if c.Scopes == nil {
		c.Scopes = []string{"openid", "profile", "email"}
	}
	if !slices.Contains(c.Scopes, "openid") {
		c.Scopes = append([]string{"openid"}, c.Scopes...)
	}
	if c.GroupsClaim == "" {
		c.GroupsClaim = DefaultGroupsClaim
	}
	if c.Idle == 0 {
		c.Idle = DefaultIdle
	}
	if c.Absolute == 0 {
		c.Absolute = DefaultAbsolute
	}
	if c.Idle < 0 || c.Absolute < c.Idle {
		return c, fmt.Errorf("session limits idle %s and absolute %s: both must be positive, absolute the longer one", c.Idle, c.Absolute)
	}
	if c.Clock == nil {
		c.Clock = time.Now
	}
	if c.SignedOut == nil {
		c.SignedOut = plainSignedOut
	}
	return c, c.checkRoles()
}

func roles() []journal.Role {
	return []journal.Role{journal.RoleViewer, journal.RoleOperator, journal.RoleApprover, journal.RoleAuditor, journal.RoleAdmin}
}

func (c Config) checkRoles() error {
	total := 0
	for role, groups := range c.RoleGroups {
		if !slices.Contains(roles(), role) {
			return fmt.Errorf("role_groups names the role %q: the roles are %v", role, roles())
		}
		if slices.Contains(groups, "") {
			return fmt.Errorf("role_groups.%s holds an empty group name", role)
		}
		total += len(groups)
	}
	if total == 0 {
		return errors.New("role_groups is empty: nobody could sign in; name the groups that give a role")
	}
	return nil
}

// externalURL checks the address and returns it without a slash at its end.
func externalURL(s string) (string, error) {
	u, err := url.Parse(s)
	if err != nil || u.Host == "" || u.Hostname() == "" {
		return "", fmt.Errorf("external_url %q is no address: write it as https://landed.example.com", s)
	}
	if u.User != nil || strings.Trim(u.Path, "/") != "" || u.RawQuery != "" || u.ForceQuery || u.Fragment != "" {
		return "", fmt.Errorf("external_url %q must be scheme and host only: Landed lives at the root of its host", s)
	}
	switch {
	case u.Scheme == "https":
	case u.Scheme == "http" && loopback(u.Hostname()):
	case u.Scheme == "http":
		return "", fmt.Errorf("external_url %q is http: cookies and decisions would cross the network in the clear; only a loopback host may be http", s)
	default:
		return "", fmt.Errorf("external_url %q must begin with https://", s)
	}
	return u.Scheme + "://" + strings.ToLower(u.Host), nil
}

func checkIssuer(s string, insecure bool) error {
	u, err := url.Parse(s)
	if err != nil || u.Host == "" || u.User != nil || u.RawQuery != "" || u.Fragment != "" {
		return fmt.Errorf("issuer %q is no address: copy it from the identity provider's discovery document", s)
	}
	return checkSecure("issuer", u, insecure)
}

// checkSecure: https, or http on loopback where that is allowed.
func checkSecure(name string, u *url.URL, insecure bool) error {
	switch {
	case u.Scheme == "https":
		return nil
	case u.Scheme == "http" && insecure && loopback(u.Hostname()):
		return nil
	}
	return fmt.Errorf("%s %q must begin with https://", name, u.Redacted())
}

func loopback(host string) bool {
	if strings.EqualFold(host, "localhost") || strings.HasSuffix(strings.ToLower(host), ".localhost") {
		return true
	}
	ip, err := netip.ParseAddr(host)
	return err == nil && ip.Unmap().IsLoopback()
}
