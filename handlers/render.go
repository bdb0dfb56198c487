package handlers

import (
	"bytes"
	"context"
	"fmt"
	"net/http"

	"github.com/a-h/templ"
	"github.com/labstack/echo/v4"

	"github.com/landedhq/landed/journal"
	"github.com/landedhq/landed/static"
	"github.com/landedhq/landed/web"
)

// render writes the whole page to a buffer first: a page that breaks half-way
// becomes an error page, never half a page.
func render(c echo.Context, status int, page templ.Component) error {
	var b bytes.Buffer
	if err := page.Render(c.Request().Context(), &b); err != nil {
		return fmt.Errorf("rendering %s: %w", c.Path(), err)
	}
	return c.HTMLBlob(status, b.Bytes())
}

// renderLastResort renders the page that is sent when nothing else can be.
func (s *server) renderLastResort() ([]byte, error) {
	a := httpAnswer(http.StatusInternalServerError)
	var b bytes.Buffer
	err := web.Message(web.MessagePage{
		Shell:  web.Shell{Title: a.title, CSS: s.urls.css, JS: s.urls.js, Icon: s.urls.icon},
		Notice: web.Notice{Tone: web.ToneStop, Title: a.title, Lines: []string{a.text}, Links: []web.Link{{Text: "All that needs attention", URL: web.RouteList}}},
		Status: fmt.Sprint(a.status),
	}).Render(context.Background(), &b)
	if err != nil {
		return nil, fmt.Errorf("rendering the last-resort page: %w", err)
	}
	return b.Bytes(), nil
}

// SignedOut is the page where a logout ends, for the login's configuration: it
// belongs to nobody and shows nothing.
func SignedOut() (echo.HandlerFunc, error) {
	files, err := static.Load()
	if err != nil {
		return nil, fmt.Errorf("handlers: %w", err)
	}
	u := newAssetURLs(files)
	page := web.MessagePage{
		Shell: web.Shell{Title: "Signed out", CSS: u.css, JS: u.js, Icon: u.icon},
		Notice: web.Notice{Tone: web.ToneInfo, Title: "You are signed out",
			Lines: []string{"Your session here is over. You may still be signed in at your identity provider."},
			Links: []web.Link{{Text: "Sign in", URL: web.RouteLogin}}},
	}
	return func(c echo.Context) error { return render(c, http.StatusOK, web.Message(page)) }, nil
}

// shell is what every page has around its content. made is nil on pages that
// show no data.
func (s *server) shell(c echo.Context, title string, made *web.Stamp) web.Shell {
	sh := web.Shell{Title: title, CSS: s.urls.css, JS: s.urls.js, Icon: s.urls.icon, Made: made}
	who, ok := s.cfg.Actor(c)
	if !ok {
		return sh
	}
	sh.Token = s.cfg.FormToken(c)
	sh.Who = web.Visible(firstOf(who.Name, who.Subject), web.LineLimit)
	sh.Roles = roleNames(who)
	sh.Nav = []web.NavLink{{Text: "Effects", URL: web.RouteList, Current: c.Path() == web.RouteList},
		{Text: "Providers", URL: web.RouteProviders, Current: c.Path() == web.RouteProviders}}
	sh.Nav = append(sh.Nav, web.NavLink{Text: "Outcomes", URL: web.RouteOutcomes, Current: c.Path() == web.RouteOutcomes})
	sh.Nav = append(sh.Nav, web.NavLink{Text: "Reviews", URL: web.RouteReviews, Current: c.Path() == web.RouteReviews})
	if who.Has(journal.RoleAuditor, journal.RoleAdmin) {
		sh.Nav = append(sh.Nav, web.NavLink{Text: "Audit", URL: web.RouteAudit, Current: c.Path() == web.RouteAudit})
	}
	return sh
}

// viewer is who looks; the login middleware let nobody else past.
func (s *server) viewer(c echo.Context) (journal.Actor, error) {
	who, ok := s.cfg.Actor(c)
	if !ok {
		return journal.Actor{}, echo.ErrUnauthorized
	}
	if !who.Has(journal.RoleViewer, journal.RoleOperator, journal.RoleApprover, journal.RoleAuditor, journal.RoleAdmin) {
		return who, &roleError{what: "see this", need: []journal.Role{journal.RoleViewer}}
	}
	return who, nil
}

// logView records that the page was shown, before it is: what can't be recorded
// is not shown. HEAD shows nothing.
func (s *server) logView(c echo.Context, who journal.Actor, effectID string) error {
	if c.Request().Method == http.MethodHead {
		return nil
	}
	if err := s.cfg.Journal.LogView(c.Request().Context(), who, c.Request().URL.Path, effectID); err != nil {
		return fmt.Errorf("logging the view: %w", err)
	}
	return nil
}

func roleNames(who journal.Actor) string {
	if len(who.Roles) == 0 {
		return "no role"
	}
	out := ""
	for i, r := range who.Roles {
		if i > 0 {
			out += ", "
		}
		out += string(r)
	}
	return out
}

func firstOf(values ...string) string {
	for _, v := range values {
		if v != "" {
			return v
		}
	}
	return ""
}
