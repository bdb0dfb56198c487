package main

import (
	"context"
	"net/http"
	"net/url"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/PuerkitoBio/goquery"

	"github.com/landedhq/landed/handlers/login/logintest"
	"github.com/landedhq/landed/journal/journaltest"
	"github.com/landedhq/landed/journal/postgres/cluster"
)

// startDemo runs the demo until the test ends and returns its address.
func startDemo(t *testing.T, args ...string) (address string, out *output, stop func()) {
	t.Helper()
	if _, err := cluster.FindBinaries(t.Context(), cluster.Config{}); err != nil {
		journaltest.Missing(t, "PostgreSQL", "apt-get install --no-install-recommends postgresql")
	}
	ctx, cancel := context.WithCancel(context.WithoutCancel(t.Context()))
	out = &output{}
	done := make(chan error, 1)
	go func() {
		done <- run(ctx, append([]string{"demo", "--listen", "127.0.0.1:0"}, args...), stdio{strings.NewReader(""), out, out})
	}()
	stopped := false
	stop = func() {
		if stopped {
			return
		}
		stopped = true
		cancel()
		if err := <-done; err != nil {
			t.Errorf("the demo ended with %v\n%s", err, out)
		}
	}
	t.Cleanup(stop)
	ready := regexp.MustCompile(`landed: ready at (http://\S+)`)
	for deadline := time.Now().Add(3 * time.Minute); time.Now().Before(deadline); {
		if m := ready.FindStringSubmatch(out.String()); m != nil {
			return m[1], out, stop
		}
		select {
		case err := <-done:
			t.Fatalf("the demo ended with %v before it was ready\n%s", err, out)
		case <-time.After(100 * time.Millisecond):
		}
	}
	t.Fatalf("not ready in time\n%s", out)
	return "", nil, nil
}

func parse(t *testing.T, p logintest.Page) *goquery.Document {
	t.Helper()
	if p.Status != http.StatusOK {
		t.Fatalf("%s answers %d: %.500s", p.URL, p.Status, p.Body)
	}
	d, err := goquery.NewDocumentFromReader(strings.NewReader(p.Body))
	if err != nil {
		t.Fatal(err)
	}
	return d
}

// effects lists the links to effects, by subject.
func effects(d *goquery.Document) map[string]string {
	out := map[string]string{}
	d.Find(`a[href^="/e/"]`).Each(func(_ int, a *goquery.Selection) {
		out[strings.TrimSpace(a.Text())] = a.AttrOr("href", "")
	})
	return out
}

// submit sends the form whose button says so, with changes.
func submit(t *testing.T, b *logintest.Browser, p logintest.Page, button string, change url.Values) logintest.Page {
	t.Helper()
	var form *goquery.Selection
	parse(t, p).Find("form").Each(func(_ int, f *goquery.Selection) {
		if strings.Contains(f.Find("button").Text(), button) {
			form = f
		}
	})
	if form == nil {
		t.Fatalf("%s has no form with a button %q", p.URL, button)
	}
	v := url.Values{}
	form.Find("input, textarea, select").Each(func(_ int, in *goquery.Selection) {
		if name := in.AttrOr("name", ""); name != "" && in.AttrOr("type", "") != "radio" {
			v.Set(name, in.AttrOr("value", in.Text()))
		}
	})
	for k, vs := range change {
		v[k] = vs
	}
	to, err := p.URL.Parse(form.AttrOr("action", ""))
	if err != nil {
		t.Fatal(err)
	}
	return b.Follow(b.Post(to.String(), v))
}

// TestDemo is a newcomer's minute: the desk has something to decide, an
// operator decides, and the outcome shows.
func TestDemo(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "kept")
	address, _, stop := startDemo(t, "--data", dir)
	b := logintest.NewBrowser(t)
	b.SignIn(address+"/", "p-olivia")
	// The last agent was killed a moment ago: its lease has to end first.
	awaitText(t, b, address+"/", "Quarterly report to the board")
	all := effects(parse(t, b.Get(address+"/")))
	if len(all) < 11 {
		t.Fatalf("the list holds %d effects: %v", len(all), all)
	}
	for subject, says := range map[string]string{
		"Invoice 2031 to Anna Berg":     "Yes, it landed.",
		"Signed contract to Cleo Park":  "Yes, it landed.",
		"Ticket: refund for order 5512": "landed more than once",
		"Payout to Brightside Supplies": "Landed can’t tell.",
		"Quarterly report to the board": "too early to tell",
		"Fax to the registry office":    "",
		"Renewal for Fox & Sons":        "",
	} {
		href, ok := all[subject]
		if !ok {
			t.Errorf("%q is not on the list", subject)
			continue
		}
		awaitText(t, b, address+href, says)
	}

	// The mail that never left: wait until that is conclusive, then order it again.
	page := awaitText(t, b, address+all["Second reminder to Ben Ode"], "No, it did not land.")
	confirm := submit(t, b, page, "Review the decision", url.Values{"choice": {"reissue/new_key"}, "reason_code": {"evidence_not_found"}, "reason": {"it never left the worker"}})
	submit(t, b, confirm, "Record the decision", nil)
	awaitText(t, b, address+all["Second reminder to Ben Ode"], "Yes, it landed.")

	// Everything stays with --data, and nothing happens again at the next start.
	stop()
	address, _, _ = startDemo(t, "--data", dir)
	b = logintest.NewBrowser(t)
	again := effects(parse(t, b.SignIn(address+"/", "p-dario")))
	if _, there := again["Payout to Brightside Supplies"]; !there || len(again) >= len(all)+1 {
		t.Errorf("after a restart the list holds %v", again)
	}
	books := parse(t, b.Get(address+"/sandbox/books")).Find("tbody tr")
	seen := map[string]int{}
	books.Each(func(_ int, r *goquery.Selection) { seen[r.Find("td").Eq(3).Text()]++ })
	for ref, n := range seen {
		if n > 1 && n != 2 { // the desk opened one ticket twice, by itself
			t.Errorf("%s happened %d times", ref, n)
		}
	}
	if doc := parse(t, b.Get(address+all["Second reminder to Ben Ode"])); !strings.Contains(doc.Find("main").Text(), "Yes, it landed.") {
		t.Error("the decided effect is not settled after a restart")
	}
}

// awaitText polls a page until it says something, for as long as the demo
// promises and some more for a busy machine.
func awaitText(t *testing.T, b *logintest.Browser, address, text string) logintest.Page {
	t.Helper()
	var last logintest.Page
	for deadline := time.Now().Add(time.Minute); time.Now().Before(deadline); {
		last = b.Get(address)
		if strings.Contains(parse(t, last).Find("main").Text(), text) {
			return last
		}
		select {
		case <-t.Context().Done():
		case <-time.After(200 * time.Millisecond):
		}
	}
	t.Fatalf("%s never said %q", address, text)
	return last
}
