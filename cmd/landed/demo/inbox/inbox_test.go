package inbox_test

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/PuerkitoBio/goquery"
	"github.com/google/go-cmp/cmp"

	"github.com/landedhq/landed/cmd/landed/demo/inbox"
	"github.com/landedhq/landed/providers/alert"
	"github.com/landedhq/landed/providers/alert/webhook"
)

const (
	secret = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"
	desk   = "http://127.0.0.1:8080"
)

// start runs an inbox and a sink that is pointed at it.
func start(t *testing.T) (string, *webhook.Sink) {
	t.Helper()
	b, err := inbox.New(inbox.Config{Keys: []string{secret}, Desk: desk})
	if err != nil {
		t.Fatal(err)
	}
	srv := httptest.NewServer(b)
	t.Cleanup(srv.Close)
	s, err := webhook.Config{URL: srv.URL + "/hook", Secret: secret}.Open()
	if err != nil {
		t.Fatal(err)
	}
	return srv.URL, s
}

func message(id string, count int) alert.Message {
	m := alert.Message{ID: id, Type: alert.TypeEffectAlert, At: time.Now(), Tool: "mail.send", Provider: "imap", Count: count,
		FirstEffectID: "e1", URL: desk + "/e/e1", OldestURL: desk + "/e/e1"}
	if count > 1 {
		m.URL = desk + "/?provider=imap&tool=mail.send"
	}
	return m
}

func page(t *testing.T, url string) (*http.Response, *goquery.Document) {
	t.Helper()
	res, err := http.Get(url)
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	doc, err := goquery.NewDocumentFromReader(res.Body)
	if err != nil {
		t.Fatal(err)
	}
	return res, doc
}

func send(t *testing.T, s *webhook.Sink, m alert.Message) {
	t.Helper()
	if err := s.Send(context.Background(), m); err != nil {
		t.Fatalf("sending %s: %v", m.ID, err)
	}
}

func TestInboxShowsNewestFirstWithLinks(t *testing.T) {
	t.Parallel()
	url, s := start(t)
	if _, doc := page(t, url); doc.Find(".empty").Length() != 1 || doc.Find(".alerts").Length() != 0 {
		t.Error("an empty inbox says so")
	}
	send(t, s, message("m1", 1))
	send(t, s, message("m2", 3000))
	send(t, s, message("m1", 1))              // a retry of what came already
	res, doc := page(t, url+"/sandbox/inbox") // wherever it is mounted
	var got []string
	doc.Find(".alerts li").Each(func(_ int, li *goquery.Selection) {
		line := li.Find("h2").Text() + " | " + li.Find(".what").Text()
		li.Find("a").Each(func(_ int, a *goquery.Selection) { line += " | " + a.Text() + " " + a.AttrOr("href", "") })
		got = append(got, line+" | "+strings.Join(strings.Fields(li.Find(".proof").Text()), " "))
	})
	want := []string{
		"3000 effects need a decision | mail.send at imap | Open the list " + desk + "/?provider=imap&tool=mail.send | Oldest effect " + desk + "/e/e1 | Signature checked m2",
		"1 effect needs a decision | mail.send at imap | Open the effect " + desk + "/e/e1 | Signature checked m1 received 1 more time",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("page (-want +got):\n%s", diff)
	}
	if res.Header.Get("Refresh") != "5" || res.Header.Get("Cache-Control") != "no-store" {
		t.Errorf("headers %v", res.Header)
	}
	csp := res.Header.Get("Content-Security-Policy")
	if !strings.HasPrefix(csp, "default-src 'none'; style-src 'self'") || strings.Contains(csp, "unsafe") {
		t.Errorf("CSP %q", csp)
	}
	if n := doc.Find("script, [style], [onclick], style, img").Length(); n != 0 {
		t.Errorf("%d elements that the policy blocks", n)
	}
}

func TestInboxSaysWhatReachedNobody(t *testing.T) {
	t.Parallel()
	url, s := start(t)
	for _, n := range []int{1, 2} {
		m := message(fmt.Sprint("m", n), n)
		m.Type = alert.TypeUndelivered
		send(t, s, m)
	}
	_, doc := page(t, url)
	if got := doc.Find(".alerts h2").Text(); got != "2 decisions reached no runtime1 decision reached no runtime" {
		t.Errorf("headlines: %s", got)
	}
}

func TestInboxRefuses(t *testing.T) {
	t.Parallel()
	url, _ := start(t)
	other, err := webhook.Config{URL: url, Secret: "whsec_AAECAwQFBgcICQoLDA0ODxAREhMUFRYX"}.Open()
	if err != nil {
		t.Fatal(err)
	}
	if err := other.Send(context.Background(), message("m1", 1)); err == nil || !strings.Contains(err.Error(), "401") {
		t.Errorf("another key: %v", err)
	}
	res, err := http.Post(url, "application/json", strings.NewReader(`{"type":"effect.alert.v1"}`))
	if err != nil || res.StatusCode != http.StatusUnauthorized {
		t.Errorf("unsigned: %v %v", res.StatusCode, err)
	}
	res, err = http.Post(url, "application/json", io.LimitReader(zeros{}, 1<<20))
	if err != nil || res.StatusCode != http.StatusBadRequest {
		t.Errorf("too large: %v %v", res.StatusCode, err)
	}
	_, doc := page(t, url)
	if doc.Find(".alerts").Length() != 0 || !strings.HasPrefix(doc.Find(".refused").Text(), "2 requests refused") {
		t.Errorf("page says %q", doc.Find("main").Text())
	}
}

type zeros struct{}

func (zeros) Read(b []byte) (int, error) { clear(b); return len(b), nil }

// V-01 and N-03: a signed message may still carry hostile names and links.
func TestV01_HostileNamesAndLinks(t *testing.T) {
	t.Parallel()
	url, s := start(t)
	m := message("m1", 1)
	m.Tool, m.Provider = `<img src=x onerror=alert(1)>`, "<!channel>\u202e"
	m.URL, m.OldestURL = "javascript:alert(1)", desk+".evil.test/e/1"
	send(t, s, m)
	_, doc := page(t, url)
	if doc.Find("img").Length() != 0 || doc.Find(".what bdi").First().Text() != m.Tool {
		t.Errorf("markup came through: %q", doc.Find(".what").Text())
	}
	if n := doc.Find(".alerts a").Length(); n != 0 || doc.Find(".odd").Length() != 1 {
		t.Errorf("%d links lead off the desk", n)
	}
}

func TestInboxKeepsTheLastHundred(t *testing.T) {
	t.Parallel()
	url, s := start(t)
	for i := range 105 {
		send(t, s, message(fmt.Sprintf("m%d", i), 1))
	}
	_, doc := page(t, url)
	if n := doc.Find(".alerts li").Length(); n != 100 || !strings.Contains(doc.Find(".alerts li").First().Text(), "m104") {
		t.Errorf("%d alerts", n)
	}
	res, err := http.Get(url + "/inbox" + doc.Find("link[rel=stylesheet]").AttrOr("href", ""))
	if err != nil || res.StatusCode != 200 || !strings.HasPrefix(res.Header.Get("Content-Type"), "text/css") {
		t.Errorf("style sheet: %v %v", res, err)
	}
}

func TestNewInboxRefuses(t *testing.T) {
	t.Parallel()
	for _, c := range []inbox.Config{{Desk: desk}, {Keys: []string{"x"}, Desk: desk}, {Keys: []string{secret}}} {
		if _, err := inbox.New(c); err == nil {
			t.Errorf("%+v was taken", c)
		}
	}
}
