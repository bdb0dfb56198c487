package fault_test

import (
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/landedhq/landed/journal/journaltest/fault"
)

func TestGateway(t *testing.T) {
	t.Parallel()
	var served atomic.Int32
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		served.Add(1)
		w.Header().Set("X-Said", "yes")
		w.WriteHeader(http.StatusAccepted)
		_, _ = w.Write(append([]byte("heard "), body...))
	}))
	t.Cleanup(s.Close)
	g, err := fault.NewGateway(s.URL)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(g.Close)
	for _, row := range []struct {
		name   string
		after  bool
		served int32
	}{{"request lost", false, 0}, {"answer lost", true, 1}} {
		served.Store(0)
		f := g.Lose("/commit", 2, row.after)
		for i, path := range []string{"/a/commit", "/a/fail", "/b/commit", "/b/commit"} {
			res, err := http.Post(g.URL()+path, "text/plain", strings.NewReader("hello"))
			if lost := i == 2; lost != (err != nil) {
				t.Fatalf("%s, %s: %v", row.name, path, err)
			}
			if err != nil {
				<-f.Sprung()
				continue
			}
			body, _ := io.ReadAll(res.Body)
			_ = res.Body.Close()
			if res.StatusCode != http.StatusAccepted || res.Header.Get("X-Said") != "yes" || string(body) != "heard hello" {
				t.Errorf("%s: %d %q", row.name, res.StatusCode, body)
			}
		}
		if n := served.Load(); n != 3+row.served {
			t.Errorf("%s: the server saw %d requests", row.name, n)
		}
	}
}
