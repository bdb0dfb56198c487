package login

import (
	"context"
	"crypto/sha256"
	"crypto/subtle"
	"errors"
	"fmt"
	"net/http"
	"strconv"

	"github.com/coreos/go-oidc/v3/oidc"
	"github.com/labstack/echo/v4"
	"golang.org/x/oauth2"

	"github.com/landedhq/landed/journal"
)

// callback finishes a sign-in: the browser comes back from the identity provider.
func (l *Login) callback(c echo.Context) error {
	noStore(c)
	ctx := c.Request().Context()
	f, bad := l.takeFlow(c)
	if bad != nil {
		return l.refuse(c, noActor(), bad)
	}
	p, err := l.provider(ctx)
	if err != nil {
		return l.refuse(c, noActor(), errProviderDown(err))
	}
	if bad := l.checkAnswer(c, p); bad != nil {
		return l.refuse(c, noActor(), bad)
	}
	claims, bad := l.exchange(ctx, p, c.QueryParam("code"), f)
	if bad != nil {
		return l.refuse(c, noActor(), bad)
	}
	who, bad := l.actor(claims)
	if bad != nil {
		return l.refuse(c, who, bad)
	}
	if bad := l.proved(f, claims); bad != nil {
		return l.refuse(c, who, bad)
	}
	if bad := l.replaceSession(c, who, claims); bad != nil {
		return l.refuse(c, who, bad)
	}
	l.event(ctx, EventLogin, who, "")
	return c.Redirect(http.StatusSeeOther, f.to)
}

// takeFlow finds the sign-in that this browser started, and uses it up.
func (l *Login) takeFlow(c echo.Context) (flow, *Error) {
	state := c.QueryParam("state")
	if state == "" {
		return flow{}, errExpired(errors.New("the callback carries no state"))
	}
	slot := state[:1]
	sealed := l.cookie(c, cookieFlow+slot)
	if sealed == "" {
		return flow{}, errExpired(errors.New("the browser sent no flow cookie for this state"))
	}
	f, err := l.openFlow(slot, sealed)
	if err != nil {
		return flow{}, errExpired(err)
	}
	if subtle.ConstantTimeCompare([]byte(f.state()), []byte(state)) != 1 {
		return flow{}, errExpired(errors.New("the state is not that of this browser"))
	}
	l.clearCookie(c, cookieFlow+slot)
	if !l.cfg.Clock().Before(f.expires) {
		return flow{}, errExpired(errors.New("the sign-in is older than ten minutes"))
	}
	return f, l.useUp(c.Request().Context(), f)
}

// useUp marks the sign-in as used, for all replicas: the cookie alone could be
// sent again.
func (l *Login) useUp(ctx context.Context, f flow) *Error {
	mark := sha256.Sum256([]byte("used sign-in\x00" + f.state()))
	data, _, _, err := l.store.Load(ctx, mark[:])
	if err != nil {
		return errStore(err)
	}
	if data != nil {
		return errReplayed()
	}
	if err := l.store.Save(ctx, mark[:], []byte(`{"kind":"used"}`), f.expires); err != nil {
		return errStore(err)
	}
	return nil
}

// checkAnswer looks at the callback's own parameters: the issuer (RFC 9207) and
// the provider's refusal.
func (l *Login) checkAnswer(c echo.Context, p *remote) *Error {
	iss := c.QueryParam("iss")
	if iss == "" && p.issuerArg {
		return errProviderWrong(errors.New("the callback carries no iss although the provider's metadata promises one"))
	}
	if iss != "" && iss != l.cfg.Issuer {
		return errProviderWrong(fmt.Errorf("the callback carries the iss %q of another provider", clip(iss, 100)))
	}
	switch e := c.QueryParam("error"); e {
	case "":
		return nil
	case "temporarily_unavailable", "server_error":
		return errProviderDown(fmt.Errorf("the provider answered %s", e))
	default:
		return errCancelled(fmt.Errorf("the provider answered %q", clip(e, 60)))
	}
}

// exchange trades the code for an ID token and returns its claims, checked.
func (l *Login) exchange(ctx context.Context, p *remote, code string, f flow) (*claims, *Error) {
	if code == "" {
		return nil, errProviderWrong(errors.New("the callback carries no code"))
	}
	ctx, cancel := context.WithTimeout(oidc.ClientContext(ctx, l.client), remoteTimeout)
	defer cancel()
	tok, err := p.oauth.Exchange(ctx, code, oauth2.VerifierOption(f.verifier()))
	if err != nil {
		return nil, exchangeError(err)
	}
	raw, _ := tok.Extra("id_token").(string)
	if raw == "" {
		return nil, errProviderWrong(errors.New("the token answer holds no id_token: is the scope openid allowed?"))
	}
	id, err := p.verifier.Verify(ctx, raw)
	if err != nil {
		return nil, errProviderWrong(err)
	}
	if id.AccessTokenHash != "" {
		if err := id.VerifyAccessToken(tok.AccessToken); err != nil {
			return nil, errProviderWrong(err)
		}
	}
	out, err := l.checkToken(id, raw, f.nonce())
	if err != nil {
		return nil, errProviderWrong(err)
	}
	return out, nil
}

// exchangeError tells a provider that refused the code from one that did not
// answer. The answer's body stays out of the log: it may hold tokens.
func exchangeError(err error) *Error {
	var re *oauth2.RetrieveError
	if errors.As(err, &re) {
		status := 0
		if re.Response != nil {
			status = re.Response.StatusCode
		}
		cause := fmt.Errorf("token endpoint answered %d, error %q", status, clip(re.ErrorCode, 60))
		if status >= 500 {
			return errProviderDown(cause)
		}
		return errProviderWrong(cause)
	}
	return errProviderDown(fmt.Errorf("token endpoint: %w", err))
}

// proved checks that a sign-in which asked for a fresh proof of identity brought
// one: auth_time is required in the answer to max_age (OpenID Connect Core 1.0,
// 3.1.2.1). Without TrustPrompt an answer that lacks it proves nothing.
func (l *Login) proved(f flow, c *claims) *Error {
	enough := l.cfg.StepUpACR == "" || c.ACR == l.cfg.StepUpACR
	if !enough {
		c.AuthTime = 0
	}
	if f.asked.IsZero() {
		return nil
	}
	if !enough {
		return errWeak(l.cfg.StepUpACR, c.ACR)
	}
	at := c.AuthTime.time()
	if at.IsZero() && l.cfg.TrustPrompt {
		c.AuthTime = numericDate(l.cfg.Clock().Unix())
		return nil
	}
	if at.Before(f.asked.Add(-clockSkew)) {
		return errNotFresh(at, f.to)
	}
	return nil
}

// replaceSession kills the session that the browser had and makes a new one: a
// token from before the login never becomes one of a signed-in person.
func (l *Login) replaceSession(c echo.Context, who journal.Actor, cl *claims) *Error {
	ctx := c.Request().Context()
	old, bad := l.loadSession(c)
	if bad != nil {
		return bad
	}
	if t := l.cookie(c, cookieSession); t != "" {
		if err := l.store.Delete(ctx, hashToken(t)); err != nil {
			return errStore(err)
		}
	}
	token, err := l.newSession(ctx, who, cl.AuthTime.time())
	if err != nil {
		return errStore(err)
	}
	l.setCookie(c, cookieSession, token, 0)
	if old == nil {
		l.setCookie(c, cookieHops, strconv.Itoa(l.hops(c)+1), hopsLife)
	}
	return nil
}
