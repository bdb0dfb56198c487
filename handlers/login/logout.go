package login

import (
	"net/http"

	"github.com/labstack/echo/v4"
)

// logout ends the session on the server, then in the browser. Without a session
// there is nothing to end, which is fine.
func (l *Login) logout(c echo.Context) error {
	noStore(c)
	ctx := c.Request().Context()
	s, err := l.load(c)
	if err != nil {
		return err
	}
	if s != nil {
		if err := l.sameSite(c, s); err != nil {
			return err
		}
		if err := l.checkForm(c, s); err != nil {
			return err
		}
		if err := l.store.Delete(ctx, s.hash); err != nil {
			return l.refuse(c, s.actor(), errStore(err))
		}
		l.event(ctx, EventLogout, s.actor(), "")
	}
	l.clearCookie(c, cookieSession)
	l.clearCookie(c, cookieHops)
	c.Response().Header().Set("Clear-Site-Data", `"cache", "storage"`)
	return c.Redirect(http.StatusSeeOther, PathLogout)
}

// signedOut is where a logout ends. It changes nothing: who is signed in is sent
// to the list.
func (l *Login) signedOut(c echo.Context) error {
	noStore(c)
	s, err := l.load(c)
	if err != nil {
		return err
	}
	if s != nil {
		return c.Redirect(http.StatusSeeOther, "/")
	}
	return l.cfg.SignedOut(c)
}

// plainSignedOut needs no style sheet and no script, so that it shows under any
// content security policy.
func plainSignedOut(c echo.Context) error {
	return c.HTML(http.StatusOK, `<!doctype html>
<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1">
<title>Signed out · Landed</title></head>
<body><main><h1>You are signed out</h1>
<p>Your session here is over. You may still be signed in at your identity provider.</p>
<p><a href="`+PathLogin+`">Sign in</a></p></main></body></html>
`)
}
