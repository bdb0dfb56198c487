package e2e_test

import (
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
)

// badPage breaks what the road checks on every page: the content policy, the
// console, and what a screen reader needs.
const badPage = `<!DOCTYPE html><html><head><title>x</title><script src="/bad.js"></script></head>
<body><script>document.title = "inline ran"</script><img src="/icon.png"><div style="width: 3000px">wide</div></body></html>`

// TestHarnessSeesFaults: a check that can't fail proves nothing.
func TestHarnessSeesFaults(t *testing.T) {
	t.Parallel()
	readAxe(t)
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/bad.js":
			w.Header().Set("Content-Type", "text/javascript")
			_, _ = io.WriteString(w, `console.error("said aloud"); setTimeout(() => { throw new Error("thrown") });`)
		case "/":
			w.Header().Set("Content-Type", "text/html")
			w.Header().Set("Content-Security-Policy", "default-src 'none'; script-src 'self'; img-src 'self'")
			_, _ = io.WriteString(w, badPage)
		default:
			http.NotFound(w, r)
		}
	}))
	t.Cleanup(srv.Close)
	b := newTab(t, startBrowser(t), srv.URL, desktop(), "harness")
	b.open(srv.URL)
	b.until(patience, "the page", `document.readyState === "complete"`)
	barriers := strings.Join(b.barriers(), "\n")
	for _, want := range []string{"image-alt", "html-has-lang"} {
		if !strings.Contains(barriers, want) {
			t.Errorf("axe did not report %s:\n%s", want, barriers)
		}
	}
	faults := strings.Join(b.complaints(), "\n")
	for _, want := range []string{"CSP violation: script-src-elem", "CSP violation: style-src", "said aloud", "thrown", "status of 404"} {
		if !strings.Contains(faults, want) {
			t.Errorf("%q went unnoticed:\n%s", want, faults)
		}
	}
}
