package handlers

import (
	"crypto/rand"
	"crypto/subtle"
	"encoding/hex"
	"errors"
	"fmt"
	"net/http"
	"runtime/debug"
	"strings"

	"github.com/labstack/echo/v4"

	"github.com/landedhq/landed/web"
)

// maxFormBytes is more than the longest reason in its longest encoding.
const maxFormBytes = 64 << 10

// contentPolicy lets a page load our own style sheet, script and icon, talk and
// post to this server, and nothing else. There is no inline script and no style
// attribute, so no nonce is needed. The script's one use of HTML text goes
// through its trusted-types policy.
const contentPolicy = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; " +
	"form-action 'self'; frame-ancestors 'none'; base-uri 'none'; object-src 'none'; " +
	"require-trusted-types-for 'script'; trusted-types landed"

const headerRequestID = "X-Request-Id"

// requestID names the request. A name that the caller sends is not believed: it
// would end up in the log.
func requestID(next echo.HandlerFunc) echo.HandlerFunc {
	return func(c echo.Context) error {
		var b [8]byte
		_, _ = rand.Read(b[:])
		c.Response().Header().Set(headerRequestID, hex.EncodeToString(b[:]))
		return next(c)
	}
}

// panicError carries a panic to the error table, which logs it once.
type panicError struct {
	value any
	stack []byte
}

func (e *panicError) Error() string { return fmt.Sprintf("panic: %v\n%s", e.value, e.stack) }

func recoverPanics(next echo.HandlerFunc) echo.HandlerFunc {
	return func(c echo.Context) (err error) {
		defer func() {
			r := recover()
			if r == nil {
				return
			}
			if aborted, ok := r.(error); ok && errors.Is(aborted, http.ErrAbortHandler) {
				panic(r)
			}
			err = &panicError{value: r, stack: debug.Stack()}
		}()
		return next(c)
	}
}

// headers go out with every answer, also with errors.
func (s *server) headers(next echo.HandlerFunc) echo.HandlerFunc {
	secure := strings.HasPrefix(s.cfg.ExternalURL, "https://")
	return func(c echo.Context) error {
		h := c.Response().Header()
		h.Set("Content-Security-Policy", contentPolicy)
		h.Set("X-Content-Type-Options", "nosniff")
		h.Set("Referrer-Policy", "no-referrer")
		h.Set("Cross-Origin-Opener-Policy", "same-origin")
		h.Set("Cross-Origin-Resource-Policy", "same-origin")
		h.Set("Permissions-Policy", "camera=(), display-capture=(), geolocation=(), microphone=(), payment=(), usb=()")
		h.Set("X-Robots-Tag", "noindex, nofollow")
		h.Set("Cache-Control", "no-store")
		if secure {
			h.Set("Strict-Transport-Security", "max-age=31536000; includeSubDomains")
		}
		return next(c)
	}
}

// sameSite refuses unsafe requests that a browser sent from another site, and
// those that carry cookies but do not say where they come from: every browser
// that we support says so.
func (s *server) sameSite() (echo.MiddlewareFunc, error) {
	origins := http.NewCrossOriginProtection()
	if s.cfg.ExternalURL != "" {
		if err := origins.AddTrustedOrigin(strings.TrimSuffix(s.cfg.ExternalURL, "/")); err != nil {
			return nil, fmt.Errorf("handlers: external url: %w", err)
		}
	}
	return func(next echo.HandlerFunc) echo.HandlerFunc {
		return func(c echo.Context) error {
			r := c.Request()
			if err := origins.Check(r); err != nil {
				return &crossSiteError{err}
			}
			silent := r.Header.Get("Sec-Fetch-Site") == "" && r.Header.Get("Origin") == ""
			if !safeMethod(r.Method) && silent && r.Header.Get("Cookie") != "" {
				return &crossSiteError{errors.New("a request with cookies carries neither Sec-Fetch-Site nor Origin")}
			}
			return next(c)
		}
	}, nil
}

func safeMethod(m string) bool {
	return m == http.MethodGet || m == http.MethodHead || m == http.MethodOptions
}

func limitBody(next echo.HandlerFunc) echo.HandlerFunc {
	return func(c echo.Context) error {
		r := c.Request()
		r.Body = http.MaxBytesReader(c.Response(), r.Body, maxFormBytes)
		return next(c)
	}
}

// checkToken refuses a form that was not made for this session.
func (s *server) checkToken(next echo.HandlerFunc) echo.HandlerFunc {
	return func(c echo.Context) error {
		if err := c.Request().ParseForm(); err != nil {
			return err
		}
		want := s.cfg.FormToken(c)
		got := c.Request().PostForm.Get(web.FieldToken)
		if got == "" {
			got = c.Request().Header.Get(web.HeaderToken)
		}
		if want == "" || subtle.ConstantTimeCompare([]byte(got), []byte(want)) != 1 {
			return errFormToken
		}
		return next(c)
	}
}
