package login

import (
	"crypto/subtle"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/coreos/go-oidc/v3/oidc"

	"github.com/landedhq/landed/journal"
)

// clockSkew is how far the provider's clock may be from ours, and maxTokenAge
// how old a token may be that was made for this very sign-in.
const (
	clockSkew   = 5 * time.Minute
	maxTokenAge = 10 * time.Minute
)

// claims is what the package reads of an ID token.
type claims struct {
	Issuer   string      `json:"iss"`
	Subject  string      `json:"sub"`
	AZP      string      `json:"azp"`
	AuthTime numericDate `json:"auth_time"`
	ACR      string      `json:"acr"`
	all      map[string]json.RawMessage
}

// numericDate is seconds since the epoch; providers write it as a whole number,
// with a fraction, or leave it out.
type numericDate float64

func (n numericDate) time() time.Time {
	if n <= 0 {
		return time.Time{}
	}
	return time.Unix(int64(n), 0).UTC()
}

// checkToken does what the verifier leaves to its caller: typ, nonce, azp, iat
// and the subject (OpenID Connect Core 1.0, 3.1.3.7).
func (l *Login) checkToken(id *oidc.IDToken, raw, nonce string) (*claims, error) {
	var c claims
	if err := id.Claims(&c); err != nil {
		return nil, fmt.Errorf("id token: %w", err)
	}
	if err := id.Claims(&c.all); err != nil {
		return nil, fmt.Errorf("id token: %w", err)
	}
	now := l.cfg.Clock() // a missing iat reads as the year 1, or 1970: too old
	switch {
	case !plainJWT(raw):
		return nil, errors.New("id token: its typ is that of another kind of token")
	case subtle.ConstantTimeCompare([]byte(id.Nonce), []byte(nonce)) != 1:
		return nil, errors.New("id token: the nonce is not that of this sign-in")
	case c.AZP != "" && c.AZP != l.cfg.ClientID:
		return nil, fmt.Errorf("id token: azp %q is not our client id", clip(c.AZP, 100))
	case len(id.Audience) > 1 && c.AZP == "":
		return nil, errors.New("id token: several audiences and no azp")
	case id.IssuedAt.After(now.Add(clockSkew)) || id.IssuedAt.Before(now.Add(-maxTokenAge)):
		return nil, fmt.Errorf("id token: iat %s is missing or too far from now, %s: check both clocks", id.IssuedAt.UTC().Format(time.RFC3339), now.UTC().Format(time.RFC3339))
	case c.Subject == "" || len(c.Subject) > 255:
		return nil, errors.New("id token: sub is missing or longer than 255 bytes")
	}
	c.Issuer = l.cfg.Issuer
	return &c, nil
}

// plainJWT: the header's typ is missing or JWT, not that of a logout or access
// token.
func plainJWT(raw string) bool {
	head, _, _ := strings.Cut(raw, ".")
	b, err := base64.RawURLEncoding.DecodeString(head)
	if err != nil {
		return false
	}
	var h struct {
		Typ string `json:"typ"`
	}
	if json.Unmarshal(b, &h) != nil {
		return false
	}
	typ := strings.ToLower(h.Typ)
	return typ == "" || typ == "jwt" || typ == "application/jwt"
}

// actor says who signed in and what for. Roles come from the groups alone.
func (l *Login) actor(c *claims) (journal.Actor, *Error) {
	who := journal.Actor{Issuer: c.Issuer, Subject: c.Subject, Name: l.displayName(c)}
	groups, ok := c.list(l.cfg.GroupsClaim)
	switch {
	case !ok && c.overage(l.cfg.GroupsClaim):
		return who, errGroupsOverage(l.cfg.GroupsClaim)
	case !ok:
		return who, errGroupsMissing(l.cfg.GroupsClaim)
	}
	for _, role := range roles() {
		if slices.ContainsFunc(l.cfg.RoleGroups[role], func(g string) bool { return slices.Contains(groups, g) }) {
			who.Roles = append(who.Roles, role)
		}
	}
	for _, g := range l.cfg.KeepGroups {
		if slices.Contains(groups, g) {
			who.Groups = append(who.Groups, g)
		}
	}
	if len(who.Roles) == 0 {
		return who, errNoRole(l.cfg.GroupsClaim)
	}
	return who, nil
}

// list reads a claim that holds names: a list, or a single string. Not ok: it is
// missing, null or something else.
func (c *claims) list(name string) ([]string, bool) {
	raw, ok := c.all[name]
	if !ok {
		return nil, false
	}
	var many []string
	if json.Unmarshal(raw, &many) == nil && many != nil {
		return many, true
	}
	var one string
	if json.Unmarshal(raw, &one) == nil && one != "" {
		return []string{one}, true
	}
	return nil, false
}

// overage: the token points to the groups instead of listing them. Microsoft
// Entra ID writes _claim_names (code flow, over 200 groups) or hasgroups
// (implicit flow): "Configure group claims for applications", learn.microsoft.com.
func (c *claims) overage(name string) bool {
	var names map[string]json.RawMessage
	if json.Unmarshal(c.all["_claim_names"], &names) == nil {
		if _, ok := names[name]; ok {
			return true
		}
	}
	if name != DefaultGroupsClaim {
		return false
	}
	var has any
	if json.Unmarshal(c.all["hasgroups"], &has) != nil {
		return false
	}
	return has == true || has == "true"
}

// displayName is for people's eyes only. Directory accounts often have no mail
// address, so none is needed.
func (l *Login) displayName(c *claims) string {
	names := []string{"name", "preferred_username", "email"}
	if l.cfg.NameClaim != "" {
		names = append([]string{l.cfg.NameClaim}, names...)
	}
	for _, n := range names {
		var s string
		if json.Unmarshal(c.all[n], &s) == nil {
			if s = clip(s, 80); s != "" {
				return s
			}
		}
	}
	return clip(c.Subject, 80)
}

// clip makes foreign text fit for a log line or a page: no control or direction
// characters, at most n runes.
func clip(s string, n int) string {
	if !utf8.ValidString(s) {
		s = strings.ToValidUTF8(s, "�")
	}
	s = strings.Map(func(r rune) rune {
		if unicode.IsControl(r) || unicode.Is(unicode.Cf, r) {
			return -1
		}
		return r
	}, s)
	s = strings.TrimSpace(s)
	if r := []rune(s); len(r) > n {
		s = strings.TrimSpace(string(r[:n-1])) + "…"
	}
	return s
}
