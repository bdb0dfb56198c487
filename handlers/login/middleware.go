package login

import (
	"errors"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/labstack/echo/v4"

	"github.com/landedhq/landed/journal"
)

// contextKey is where the middleware leaves the session for this package.
const contextKey = "github.com/landedhq/landed/handlers/login"

// Middleware lets nobody past without a session, except to the public paths. It
// belongs on the whole server, so that paths that do not exist answer the same.
//
//	page without a session  GET, HEAD → 303 to /login?to=…; anything else → 401
//	session, unsafe method  refused unless the browser says that the request
//	                        comes from this site
//	/v1/                    passed on without looking at cookies: bearer only
func (l *Login) Middleware() echo.MiddlewareFunc {
	return func(next echo.HandlerFunc) echo.HandlerFunc {
		return func(c echo.Context) error {
			if l.public(echo.GetPath(c.Request())) {
				return next(c)
			}
			s, err := l.load(c)
			if err != nil {
				return err
			}
			if s == nil {
				return l.turnAway(c)
			}
			if err := l.sameSite(c, s); err != nil {
				return err
			}
			if l.cookie(c, cookieHops) != "" {
				l.clearCookie(c, cookieHops)
			}
			c.Set(contextKey, s)
			return next(c)
		}
	}
}

// public compares with the very path that the router sees: another decoding
// could open a page.
func (l *Login) public(path string) bool {
	builtIn := []string{PathLogin, PathCallback, PathLogout, "/healthz", "/readyz", "/static/", "/v1/"}
	match := func(p string) bool {
		return path == p || strings.HasSuffix(p, "/") && strings.HasPrefix(path, p)
	}
	return slices.ContainsFunc(builtIn, match) || slices.ContainsFunc(l.cfg.Public, match)
}

func safe(method string) bool {
	return method == http.MethodGet || method == http.MethodHead
}

func (l *Login) turnAway(c echo.Context) error {
	r := c.Request()
	noStore(c)
	if !safe(r.Method) {
		return errSignInRequired()
	}
	return c.Redirect(http.StatusSeeOther, loginURL(returnPath(r.URL.RequestURI())))
}

// sameSite refuses unsafe requests from other sites, and those that say nothing
// about where they come from: every browser that we support sends one of the two
// headers.
func (l *Login) sameSite(c echo.Context, s *session) error {
	r := c.Request()
	if safe(r.Method) {
		return nil
	}
	if r.Header.Get("Sec-Fetch-Site") == "" && r.Header.Get("Origin") == "" {
		return l.refuse(c, s.actor(), errCrossOrigin(errors.New("neither Sec-Fetch-Site nor Origin")))
	}
	if err := l.origins.Check(r); err != nil {
		return l.refuse(c, s.actor(), errCrossOrigin(err))
	}
	return nil
}

func current(c echo.Context) *session {
	s, _ := c.Get(contextKey).(*session)
	return s
}

// Actor returns who makes the request. Not ok: nobody is signed in, or the path
// is public.
func Actor(c echo.Context) (journal.Actor, bool) {
	s := current(c)
	if s == nil {
		return journal.Actor{}, false
	}
	return s.actor(), true
}

// AuthTime returns when the person last proved who they are, as the identity
// provider said; zero if it did not say.
func AuthTime(c echo.Context) time.Time {
	s := current(c)
	if s == nil {
		return time.Time{}
	}
	return numericDate(s.rec.AuthTime).time()
}
