package login

import (
	"net/http"
	"time"

	"github.com/labstack/echo/v4"
)

// Base names of the cookies. Over https they get the prefix __Host-, which makes
// browsers insist on Secure, Path=/ and no Domain (RFC 6265bis, 4.1.3.2).
const (
	cookieSession = "landed"
	cookieFlow    = "landed-signin" // plus a slot number
	cookieHops    = "landed-hops"
)

func (l *Login) cookieName(base string) string {
	if l.secure {
		return "__Host-" + base
	}
	return base
}

// setCookie: Lax, not Strict. Strict drops the cookie when somebody follows a
// link from a mail or chat or comes back from the identity provider.
func (l *Login) setCookie(c echo.Context, base, value string, life time.Duration) {
	c.SetCookie(&http.Cookie{
		Name: l.cookieName(base), Value: value, Path: "/", MaxAge: int(life / time.Second),
		Secure: l.secure, HttpOnly: true, SameSite: http.SameSiteLaxMode,
	})
}

func (l *Login) clearCookie(c echo.Context, base string) {
	c.SetCookie(&http.Cookie{Name: l.cookieName(base), Path: "/", MaxAge: -1, Secure: l.secure, HttpOnly: true, SameSite: http.SameSiteLaxMode})
}

func (l *Login) cookie(c echo.Context, base string) string {
	k, err := c.Cookie(l.cookieName(base))
	if err != nil {
		return ""
	}
	return k.Value
}
