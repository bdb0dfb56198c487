package login_test

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/labstack/echo/v4"

	"github.com/landedhq/landed/handlers/login"
	"github.com/landedhq/landed/handlers/login/logintest"
	"github.com/landedhq/landed/journal"
)

func good() login.Config {
	return login.Config{ExternalURL: "https://landed.example.com", Issuer: "https://id.example.com", ClientID: "landed",
		ClientSecret: logintest.ClientSecret, RoleGroups: roleGroups()}
}

func TestW09_StartUpCheck(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name   string
		change func(*login.Config)
		want   string // part of the error, "" = fine
	}{
		{"good", func(*login.Config) {}, ""},
		{"slash at the end", func(c *login.Config) { c.ExternalURL += "/" }, ""},
		{"http on loopback", func(c *login.Config) { c.ExternalURL = "http://127.0.0.1:8080" }, ""},
		{"http on localhost", func(c *login.Config) { c.ExternalURL = "http://localhost:8080" }, ""},
		{"http on ::1", func(c *login.Config) { c.ExternalURL = "http://[::1]:8080" }, ""},
		{"no external url", func(c *login.Config) { c.ExternalURL = "" }, "external_url"},
		{"no scheme", func(c *login.Config) { c.ExternalURL = "landed.example.com" }, "external_url"},
		{"http elsewhere", func(c *login.Config) { c.ExternalURL = "http://landed.example.com" }, "in the clear"},
		{"http on a name that looks like loopback", func(c *login.Config) { c.ExternalURL = "http://127.0.0.1.evil.test" }, "in the clear"},
		{"path", func(c *login.Config) { c.ExternalURL = "https://example.com/landed" }, "root of its host"},
		{"query", func(c *login.Config) { c.ExternalURL = "https://example.com?a=b" }, "root of its host"},
		{"user", func(c *login.Config) { c.ExternalURL = "https://a@example.com" }, "root of its host"},
		{"other scheme", func(c *login.Config) { c.ExternalURL = "ftp://example.com" }, "https://"},
		{"issuer http", func(c *login.Config) { c.Issuer = "http://id.example.com" }, "issuer"},
		{"issuer http, allowed, not loopback", func(c *login.Config) { c.Issuer, c.AllowInsecureIssuer = "http://id.example.com", true }, "issuer"},
		{"issuer http on loopback, not allowed", func(c *login.Config) { c.Issuer = "http://127.0.0.1:1" }, "issuer"},
		{"issuer http on loopback, allowed", func(c *login.Config) { c.Issuer, c.AllowInsecureIssuer = "http://127.0.0.1:1", true }, ""},
		{"no issuer", func(c *login.Config) { c.Issuer = "" }, "issuer"},
		{"no client id", func(c *login.Config) { c.ClientID = "" }, "client_id"},
		{"short secret", func(c *login.Config) { c.ClientSecret = "secret" }, "client_secret has 6 bytes"},
		{"no roles", func(c *login.Config) { c.RoleGroups = nil }, "role_groups is empty"},
		{"unknown role", func(c *login.Config) { c.RoleGroups = map[journal.Role][]string{"boss": {"g"}} }, `"boss"`},
		{"empty group", func(c *login.Config) { c.RoleGroups = map[journal.Role][]string{"viewer": {""}} }, "empty group"},
		{"absolute below idle", func(c *login.Config) { c.Idle, c.Absolute = time.Hour, time.Minute }, "absolute"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			cfg := good()
			c.change(&cfg)
			_, err := login.New(cfg, logintest.NewSessions(nil), nil)
			switch {
			case c.want == "" && err != nil:
				t.Errorf("refused: %v", err)
			case c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)):
				t.Errorf("got %v, want something about %q", err, c.want)
			case err != nil && strings.Contains(err.Error(), logintest.ClientSecret):
				t.Errorf("the error shows the secret: %v", err)
			}
		})
	}
}

// Over https the cookies are pinned to the host, whatever the request claims.
func TestHTTPSCookies(t *testing.T) {
	t.Parallel()
	p := logintest.New(t, "https://landed.example.com", nil)
	cfg := good()
	cfg.Issuer, cfg.ClientID, cfg.AllowInsecureIssuer = p.URL, logintest.ClientID, true
	l, err := login.New(cfg, logintest.NewSessions(nil), nil)
	if err != nil {
		t.Fatal(err)
	}
	e := echo.New()
	l.Register(e)
	req := httptest.NewRequest(http.MethodGet, "http://10.0.0.1/login?to=/e/42", nil)
	req.Header.Set("X-Forwarded-Proto", "http")
	rec := httptest.NewRecorder()
	e.ServeHTTP(rec, req)
	cookies := rec.Result().Cookies()
	if len(cookies) != 1 {
		t.Fatalf("cookies %v", cookies)
	}
	k := cookies[0]
	if !strings.HasPrefix(k.Name, "__Host-landed-signin") || !k.Secure || !k.HttpOnly || k.SameSite != http.SameSiteLaxMode || k.Path != "/" || k.Domain != "" || k.MaxAge != 600 {
		t.Errorf("cookie %s", rec.Header().Get("Set-Cookie"))
	}
	b := logintest.NewBrowser(t)
	back := b.Pick(b.Get(rec.Header().Get("Location")), "p-amara")
	req = httptest.NewRequest(http.MethodGet, back.Location, nil)
	req.AddCookie(&http.Cookie{Name: k.Name, Value: k.Value})
	rec = httptest.NewRecorder()
	e.ServeHTTP(rec, req)
	for _, k := range rec.Result().Cookies() {
		if k.Name == "__Host-landed" && k.Secure && k.HttpOnly && k.SameSite == http.SameSiteLaxMode && k.Path == "/" && k.Domain == "" && k.MaxAge == 0 {
			return
		}
	}
	t.Errorf("no __Host-landed in %d %q", rec.Code, rec.Header()["Set-Cookie"])
}

func TestSignedOutPageCanBeReplaced(t *testing.T) {
	t.Parallel()
	d := newDesk(t, func(c *login.Config) {
		c.SignedOut = func(c echo.Context) error { return c.String(http.StatusOK, "bye") }
		c.Public = []string{"/no/such/"}
	})
	b := logintest.NewBrowser(t)
	if p := b.Get(d.URL + "/logout"); p.Body != "bye" {
		t.Errorf("got %q", p.Body)
	}
	if p := b.Get(d.URL + "/no/such/route"); p.Status != http.StatusNotFound {
		t.Errorf("a path named as public: %d", p.Status)
	}
}
