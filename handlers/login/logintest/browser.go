package logintest

import (
	"io"
	"net/http"
	"net/http/cookiejar"
	"net/url"
	"strings"
	"testing"

	"github.com/PuerkitoBio/goquery"
)

// Browser keeps cookies and follows redirects only when told to.
type Browser struct {
	t      testing.TB
	Client *http.Client
	Header http.Header // sent with every request
}

// NewBrowser returns a browser without cookies.
func NewBrowser(t testing.TB) *Browser {
	t.Helper()
	jar, err := cookiejar.New(nil)
	if err != nil {
		t.Fatal(err)
	}
	return &Browser{t: t, Header: http.Header{}, Client: &http.Client{Jar: jar,
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}}
}

// Page is one answer.
type Page struct {
	Status   int
	Header   http.Header
	Body     string
	Location string // absolute, "" if none
	URL      *url.URL
}

// Get fetches an address without following redirects.
func (b *Browser) Get(address string) Page {
	b.t.Helper()
	return b.Do(http.MethodGet, address, nil)
}

// Post sends a form as the page at the same site would.
func (b *Browser) Post(address string, form url.Values) Page {
	b.t.Helper()
	return b.Do(http.MethodPost, address, form)
}

// Do sends a request; a form makes it carry the headers of a same-origin post
// unless Header says otherwise.
func (b *Browser) Do(method, address string, form url.Values) Page {
	b.t.Helper()
	req, err := http.NewRequestWithContext(b.t.Context(), method, address, strings.NewReader(form.Encode()))
	if err != nil {
		b.t.Fatal(err)
	}
	if form != nil {
		req.Header.Set("Content-Type", "application/x-www-form-urlencoded")
		req.Header.Set("Sec-Fetch-Site", "same-origin")
	}
	for k, v := range b.Header {
		req.Header[k] = v
	}
	res, err := b.Client.Do(req)
	if err != nil {
		b.t.Fatal(err)
	}
	defer res.Body.Close()
	body, err := io.ReadAll(res.Body)
	if err != nil {
		b.t.Fatal(err)
	}
	p := Page{Status: res.StatusCode, Header: res.Header, Body: string(body), URL: res.Request.URL}
	if u, err := res.Location(); err == nil {
		p.Location = u.String()
	}
	return p
}

// Follow goes on from a redirect until something else answers.
func (b *Browser) Follow(p Page) Page {
	b.t.Helper()
	for range 10 {
		if p.Location == "" || p.Status < 300 || p.Status > 399 {
			return p
		}
		p = b.Get(p.Location)
	}
	b.t.Fatalf("ten redirects in a row, the last one to %s", p.Location)
	return p
}

// Pick chooses a person on the provider's page ("" cancels) and returns the
// redirect back to the desk, not yet followed.
func (b *Browser) Pick(p Page, subject string) Page {
	b.t.Helper()
	doc, err := goquery.NewDocumentFromReader(strings.NewReader(p.Body))
	if err != nil {
		b.t.Fatal(err)
	}
	form := doc.Find("form")
	if form.Length() != 1 {
		b.t.Fatalf("the page at %s (status %d) has %d forms: %s", p.URL, p.Status, form.Length(), p.Body)
	}
	values := url.Values{"person": {subject}}
	form.Find("input").Each(func(_ int, in *goquery.Selection) {
		values.Set(in.AttrOr("name", ""), in.AttrOr("value", ""))
	})
	action, err := p.URL.Parse(form.AttrOr("action", ""))
	if err != nil {
		b.t.Fatal(err)
	}
	return b.Post(action.String(), values)
}

// SignIn opens a page of the desk, signs in as the person and returns where the
// desk led in the end.
func (b *Browser) SignIn(address, subject string) Page {
	b.t.Helper()
	page := b.Follow(b.Get(address))
	return b.Follow(b.Pick(page, subject))
}
