package login_test

import (
	"context"
	"errors"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/labstack/echo/v4"

	"github.com/landedhq/landed/cmd/landed/demo/idp"
	"github.com/landedhq/landed/handlers/login"
	"github.com/landedhq/landed/handlers/login/logintest"
	"github.com/landedhq/landed/journal"
)

// desk is a small Landed: a list, an effect page, a decision and an API call.
type desk struct {
	URL      string
	Login    *login.Login
	Clock    *logintest.Clock
	Sessions *logintest.Sessions
	Provider *logintest.Provider

	mu      sync.Mutex
	events  []login.Event
	decided int
	logs    strings.Builder
}

func (d *desk) Write(b []byte) (int, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.logs.Write(b)
}

func (d *desk) log() string {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.logs.String()
}

// seen returns the events so far as "kind sub why".
func (d *desk) seen() []string {
	d.mu.Lock()
	defer d.mu.Unlock()
	var out []string
	for _, e := range d.events {
		out = append(out, strings.TrimSpace(e.Kind+" "+e.Actor.Subject+" "+e.Why))
	}
	return out
}

func roleGroups() map[journal.Role][]string {
	return map[journal.Role][]string{
		journal.RoleViewer: {idp.GroupViewers}, journal.RoleOperator: {idp.GroupOperators},
		journal.RoleApprover: {idp.GroupApprovers}, journal.RoleAuditor: {idp.GroupAuditors},
	}
}

// newDesk starts a desk and its identity provider; change edits the
// configuration.
func newDesk(t *testing.T, change func(*login.Config)) *desk {
	t.Helper()
	d := &desk{Clock: logintest.NewClock()}
	srv := httptest.NewUnstartedServer(nil)
	d.URL = "http://" + srv.Listener.Addr().String()
	d.Sessions = logintest.NewSessions(d.Clock.Now)
	d.Provider = logintest.New(t, d.URL, d.Clock.Now)
	cfg := login.Config{
		ExternalURL: d.URL, Issuer: d.Provider.URL, ClientID: logintest.ClientID, ClientSecret: logintest.ClientSecret,
		RoleGroups: roleGroups(), AllowInsecureIssuer: true, Clock: d.Clock.Now,
		OnEvent: func(_ context.Context, e login.Event) {
			d.mu.Lock()
			defer d.mu.Unlock()
			d.events = append(d.events, e)
		},
	}
	if change != nil {
		change(&cfg)
	}
	l, err := login.New(cfg, d.Sessions, slog.New(slog.NewTextHandler(d, nil)))
	if err != nil {
		t.Fatalf("New: %v", err)
	}
	d.Login = l
	srv.Config.Handler = d.routes()
	srv.Start()
	t.Cleanup(srv.Close)
	return d
}

func (d *desk) routes() *echo.Echo {
	e := echo.New()
	e.HTTPErrorHandler = func(err error, c echo.Context) {
		var le *login.Error
		var he *echo.HTTPError
		switch {
		case errors.As(err, &le):
			_ = c.String(le.Status, le.Code+"\n"+le.Title+"\n"+le.WhatToDo)
		case errors.As(err, &he):
			_ = c.String(he.Code, "http error")
		default:
			_ = c.String(http.StatusInternalServerError, "internal")
		}
	}
	e.Use(d.Login.Middleware())
	d.Login.Register(e)
	page := func(c echo.Context) error {
		who, _ := login.Actor(c)
		return c.String(http.StatusOK, "page "+c.Request().URL.RequestURI()+"\nactor "+who.Subject+"\nname "+who.Name+"\ngroups "+strings.Join(who.Groups, ",")+
			"\nproved "+strconv.FormatInt(max(who.AuthAt.Unix(), 0), 10)+"\ntoken "+login.FormToken(c))
	}
	e.GET("/", page)
	e.GET("/e/:id", page)
	e.HEAD("/e/:id", page)
	e.POST("/e/:id/decision", func(c echo.Context) error {
		if err := d.Login.CheckFormToken(c); err != nil {
			return err
		}
		d.mu.Lock()
		defer d.mu.Unlock()
		d.decided++
		return c.String(http.StatusOK, "decided")
	})
	public := func(c echo.Context) error {
		_, ok := login.Actor(c)
		return c.String(http.StatusOK, map[bool]string{true: "somebody", false: "nobody"}[ok])
	}
	e.GET("/healthz", public)
	e.GET("/readyz", public)
	e.GET("/static/app.css", public)
	e.POST("/v1/effects", public)
	e.GET("/v1/effects", public)
	return e
}

// field reads "name value" from a page of the desk.
func field(t *testing.T, body, name string) string {
	t.Helper()
	for line := range strings.Lines(body) {
		if v, ok := strings.CutPrefix(strings.TrimSpace(line), name+" "); ok {
			return v
		}
	}
	t.Fatalf("no %s in %q", name, body)
	return ""
}

// sessionCookie returns the value of the session cookie that the browser holds.
func sessionCookie(t *testing.T, b *logintest.Browser, p logintest.Page) string {
	t.Helper()
	for _, c := range b.Client.Jar.Cookies(p.URL) {
		if c.Name == "landed" {
			return c.Value
		}
	}
	t.Fatal("the browser holds no session cookie")
	return ""
}
