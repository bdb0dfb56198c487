package idp_test

import (
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/PuerkitoBio/goquery"
	"github.com/coreos/go-oidc/v3/oidc"

	"github.com/landedhq/landed/cmd/landed/demo/idp"
)

const (
	callback = "http://127.0.0.1:8080/login/callback"
	verifier = "dBjftJeZ4CVP-mB92K27uhbUJU1p1r_wW1gFWFOEjXk" // RFC 7636, appendix B
)

type clock struct {
	mu  sync.Mutex
	now time.Time
}

func (c *clock) Now() time.Time { c.mu.Lock(); defer c.mu.Unlock(); return c.now }

func (c *clock) add(d time.Duration) { c.mu.Lock(); defer c.mu.Unlock(); c.now = c.now.Add(d) }

// start runs a provider below the path /idp.
func start(t *testing.T) (string, *clock) {
	t.Helper()
	k := &clock{now: time.Now().Truncate(time.Second)}
	srv := httptest.NewUnstartedServer(nil)
	issuer := "http://" + srv.Listener.Addr().String() + "/idp"
	p, err := idp.New(idp.Config{Issuer: issuer, ClientID: "desk", ClientSecret: "s3cret value", RedirectURI: callback, Clock: k.Now})
	if err != nil {
		t.Fatal(err)
	}
	srv.Config.Handler = p
	srv.Start()
	t.Cleanup(srv.Close)
	return issuer, k
}

func params() url.Values {
	sum := sha256.Sum256([]byte(verifier))
	return url.Values{"client_id": {"desk"}, "redirect_uri": {callback}, "response_type": {"code"}, "scope": {"openid profile"},
		"state": {"st&te"}, "nonce": {"n0nce"}, "code_challenge_method": {"S256"}, "code_challenge": {base64.RawURLEncoding.EncodeToString(sum[:])}}
}

func with(k, v string) url.Values {
	p := params()
	p.Set(k, v)
	return p
}

func do(t *testing.T, req *http.Request) (*http.Response, string) {
	t.Helper()
	c := http.Client{CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	res, err := c.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	b, err := io.ReadAll(res.Body)
	if err != nil {
		t.Fatal(err)
	}
	return res, string(b)
}

func get(t *testing.T, address string) (*http.Response, string) {
	t.Helper()
	req, err := http.NewRequest(http.MethodGet, address, nil)
	if err != nil {
		t.Fatal(err)
	}
	return do(t, req)
}

func post(t *testing.T, address string, form url.Values, change func(*http.Request)) (*http.Response, string) {
	t.Helper()
	req, err := http.NewRequest(http.MethodPost, address, strings.NewReader(form.Encode()))
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	if change != nil {
		change(req)
	}
	return do(t, req)
}

func basic(r *http.Request) { r.SetBasicAuth("desk", url.QueryEscape("s3cret value")) }

// code picks a person and returns the code.
func code(t *testing.T, issuer, person string) string {
	t.Helper()
	form := params()
	form.Set("person", person)
	res, body := post(t, issuer+"/authorize", form, nil)
	u, err := res.Location()
	if err != nil || res.StatusCode != http.StatusSeeOther || !strings.HasPrefix(u.String(), callback+"?") {
		t.Fatalf("picking %s: %d %s", person, res.StatusCode, body)
	}
	if u.Query().Get("state") != "st&te" || u.Query().Get("iss") != issuer {
		t.Errorf("answer %s", u)
	}
	return u.Query().Get("code")
}

func grant(code string) url.Values {
	return url.Values{"grant_type": {"authorization_code"}, "code": {code}, "redirect_uri": {callback}, "code_verifier": {verifier}}
}

func TestWholeFlow(t *testing.T) {
	t.Parallel()
	issuer, _ := start(t)
	p, err := oidc.NewProvider(t.Context(), issuer)
	if err != nil {
		t.Fatalf("discovery: %v", err)
	}
	for _, auth := range []func(url.Values, *http.Request){
		func(_ url.Values, r *http.Request) { basic(r) },
		func(url.Values, *http.Request) {},
	} {
		form := grant(code(t, issuer, "p-olivia"))
		form.Set("client_id", "desk")
		form.Set("client_secret", "s3cret value")
		res, body := post(t, issuer+"/token", form, func(r *http.Request) { auth(form, r) })
		var tok struct {
			Access string `json:"access_token"`
			ID     string `json:"id_token"`
			Type   string `json:"token_type"`
		}
		if err := json.Unmarshal([]byte(body), &tok); err != nil || res.StatusCode != 200 || tok.Type != "Bearer" || res.Header.Get("Cache-Control") != "no-store" {
			t.Fatalf("token: %d %s", res.StatusCode, body)
		}
		id, err := p.Verifier(&oidc.Config{ClientID: "desk"}).Verify(t.Context(), tok.ID)
		if err != nil {
			t.Fatalf("id token: %v", err)
		}
		if err := id.VerifyAccessToken(tok.Access); err != nil {
			t.Errorf("at_hash: %v", err)
		}
		var c struct {
			Name     string
			Groups   []string
			AuthTime int64 `json:"auth_time"`
		}
		if err := id.Claims(&c); err != nil || id.Subject != "p-olivia" || id.Nonce != "n0nce" || c.Name != "Olivia Marsh" || c.AuthTime == 0 || len(c.Groups) != 1 || c.Groups[0] != idp.GroupOperators {
			t.Errorf("claims %+v of %+v, %v", c, id, err)
		}
	}
}

func TestPickingPage(t *testing.T) {
	t.Parallel()
	issuer, _ := start(t)
	res, body := get(t, issuer+"/authorize?"+with("state", `"><script>alert(1)</script>`).Encode())
	doc, err := goquery.NewDocumentFromReader(strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	var roles []string
	doc.Find("button.person").Each(func(_ int, b *goquery.Selection) { roles = append(roles, b.Find(".role").Text()) })
	if got := strings.Join(roles, " "); got != "Operator Operator Approver Auditor Viewer" {
		t.Errorf("people %q", got)
	}
	if n := doc.Find("script, style, [style], [onclick]").Length(); n != 0 {
		t.Errorf("%d elements that the policy blocks", n)
	}
	if v := doc.Find("input[name=state]").AttrOr("value", ""); v != `"><script>alert(1)</script>` {
		t.Errorf("state came back as %q", v)
	}
	if doc.Find(`meta[name=viewport]`).Length() != 1 || doc.Find("html").AttrOr("lang", "") != "en" {
		t.Error("no viewport or language")
	}
	csp := res.Header.Get("Content-Security-Policy")
	if csp != "default-src 'none'; style-src 'self'; form-action 'self' http://127.0.0.1:8080; base-uri 'none'; frame-ancestors 'none'" {
		t.Errorf("CSP %q", csp)
	}
	href := doc.Find("link[rel=stylesheet]").AttrOr("href", "")
	css, text := get(t, strings.TrimSuffix(issuer, "/idp")+href)
	if css.StatusCode != 200 || !strings.HasPrefix(css.Header.Get("Content-Type"), "text/css") || !strings.Contains(text, "prefers-color-scheme: dark") {
		t.Errorf("style sheet %s: %d", href, css.StatusCode)
	}
}

func TestAuthorizeRefuses(t *testing.T) {
	t.Parallel()
	issuer, _ := start(t)
	for _, c := range []struct {
		name  string
		query url.Values
		want  string // error sent to the client; "" = a page, no redirect
	}{
		{"unknown client", with("client_id", "other"), ""},
		{"foreign redirect", with("redirect_uri", "https://evil.test/"), ""},
		{"redirect with a suffix", with("redirect_uri", callback+"/x"), ""},
		{"implicit flow", with("response_type", "id_token"), "unsupported_response_type"},
		{"no openid", with("scope", "profile"), "invalid_scope"},
		{"no PKCE", with("code_challenge", ""), "invalid_request"},
		{"plain PKCE", with("code_challenge_method", "plain"), "invalid_request"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			asked, _ := get(t, issuer+"/authorize?"+c.query.Encode())
			form := url.Values{"person": {"p-olivia"}}
			for k, v := range c.query {
				form[k] = v
			}
			picked, _ := post(t, issuer+"/authorize", form, nil)
			for _, res := range []*http.Response{asked, picked} {
				u, err := res.Location()
				switch {
				case c.want == "" && (res.StatusCode != http.StatusBadRequest || err == nil):
					t.Errorf("%d to %v", res.StatusCode, u)
				case c.want != "" && (err != nil || u.Query().Get("error") != c.want || u.Query().Get("code") != ""):
					t.Errorf("%d to %v, want %s", res.StatusCode, u, c.want)
				}
			}
		})
	}
	form := params()
	form.Set("person", "p-olivia")
	if res, _ := post(t, issuer+"/authorize", form, func(r *http.Request) { r.Header.Set("Sec-Fetch-Site", "cross-site") }); res.StatusCode != http.StatusForbidden {
		t.Errorf("a form on another site picks a person: %d", res.StatusCode)
	}
	for _, nobody := range []string{"", "p-nobody"} {
		form.Set("person", nobody)
		res, _ := post(t, issuer+"/authorize", form, nil)
		if u, err := res.Location(); err != nil || u.Query().Get("error") != "access_denied" {
			t.Errorf("picking %q: %v", nobody, u)
		}
	}
}

func TestTokenRefuses(t *testing.T) {
	t.Parallel()
	issuer, k := start(t)
	change := func(key, v string) func(url.Values) { return func(f url.Values) { f.Set(key, v) } }
	for _, c := range []struct {
		name string
		form func(url.Values)
		auth func(*http.Request)
		want string
	}{
		{"no secret", nil, func(*http.Request) {}, "invalid_client"},
		{"wrong secret", nil, func(r *http.Request) { r.SetBasicAuth("desk", "wrong") }, "invalid_client"},
		{"wrong verifier", change("code_verifier", verifier[1:]+"x"), basic, "invalid_grant"},
		{"no verifier", change("code_verifier", ""), basic, "invalid_grant"},
		{"other redirect", change("redirect_uri", callback+"x"), basic, "invalid_grant"},
		{"invented code", change("code", "x"), basic, "invalid_grant"},
		{"password grant", change("grant_type", "password"), basic, "unsupported_grant_type"},
	} {
		form := grant(code(t, issuer, "p-olivia"))
		if c.form != nil {
			c.form(form)
		}
		if res, body := post(t, issuer+"/token", form, c.auth); res.StatusCode < 400 || !strings.Contains(body, `"`+c.want+`"`) {
			t.Errorf("%s: %d %s, want %s", c.name, res.StatusCode, body, c.want)
		}
	}
	form := grant(code(t, issuer, "p-olivia"))
	for i, want := range []int{200, 400} {
		if res, body := post(t, issuer+"/token", form, basic); res.StatusCode != want {
			t.Errorf("use %d of a code: %d %s", i+1, res.StatusCode, body)
		}
	}
	form = grant(code(t, issuer, "p-olivia"))
	k.add(time.Minute + time.Second)
	if res, body := post(t, issuer+"/token", form, basic); res.StatusCode != 400 {
		t.Errorf("an old code: %d %s", res.StatusCode, body)
	}
}

func TestOnlyLoopbackUnlessAsked(t *testing.T) {
	t.Parallel()
	good := idp.Config{Issuer: "http://127.0.0.1:9", ClientID: "a", ClientSecret: "b", RedirectURI: callback}
	for _, c := range []struct {
		name   string
		change func(*idp.Config)
		ok     bool
	}{
		{"loopback", func(*idp.Config) {}, true},
		{"localhost", func(c *idp.Config) { c.Issuer = "http://localhost:9/idp" }, true},
		{"public", func(c *idp.Config) { c.Issuer = "https://id.example.com" }, false},
		{"public, asked for", func(c *idp.Config) { c.Issuer, c.AnyHost = "https://id.example.com", true }, true},
		{"name that looks like loopback", func(c *idp.Config) { c.Issuer = "http://127.0.0.1.evil.test" }, false},
		{"slash at the end", func(c *idp.Config) { c.Issuer += "/" }, false},
		{"no scheme", func(c *idp.Config) { c.Issuer = "127.0.0.1:9" }, false},
		{"no client", func(c *idp.Config) { c.ClientID = "" }, false},
		{"no redirect", func(c *idp.Config) { c.RedirectURI = "" }, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			cfg := good
			c.change(&cfg)
			if _, err := idp.New(cfg); (err == nil) != c.ok {
				t.Errorf("got %v", err)
			}
		})
	}
}
