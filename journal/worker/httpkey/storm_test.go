package httpkey_test

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/landedhq/landed/journal/worker"
)

// TestJ05_Storm: retries of twenty keys all at once, through two proxies, while
// the upstream now and then can't be had (429): one effect per key, counted at the
// upstream, and every client ends with its key's one answer.
func TestJ05_Storm(t *testing.T) {
	t.Parallel()
	const retries, keys = 300, 20
	var mu sync.Mutex
	done, limited := map[string]int{}, map[string]bool{}
	u := newUpstream(t, func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		mu.Lock()
		defer mu.Unlock()
		if k, _ := strconv.Atoi(string(body)); k%5 == 0 && !limited[string(body)] {
			limited[string(body)] = true
			status(429, `{}`)(w, r)
			return
		}
		done[string(body)]++
		_, _ = fmt.Fprintf(w, "%s: %d", body, done[string(body)])
	})
	s := openStore(t)
	c := config(s)
	c.Worker = worker.Options{Logger: c.Worker.Logger} // as in production
	fronts := []string{proxy(t, c, u.URL).URL, proxy(t, c, u.URL).URL}
	ctx := context.WithoutCancel(t.Context())
	start := make(chan struct{})
	var wg sync.WaitGroup
	for i := range retries {
		wg.Go(func() {
			<-start
			k := strconv.Itoa(i % keys)
			for tries := 0; ; tries++ {
				g, err := postTo(ctx, fronts[i%2]+"/jobs", "key-"+k, k)
				switch {
				case err != nil || tries > 2000:
					t.Errorf("key %s after %d tries: %+v, %v", k, tries, g, err)
					return
				case g.status == 200:
					if g.body != k+": 1" {
						t.Errorf("key %s: answered %q", k, g.body)
					}
					return
				case g.status == 503 && strings.Contains(g.body, "journal_unavailable"): // too busy to ask: nothing was executed
				case g.status != 409 && g.status != 429:
					t.Errorf("key %s: answered %d %s", k, g.status, g.body)
					return
				}
				<-time.After(10 * time.Millisecond) // sooner than it was told
			}
		})
	}
	close(start)
	wg.Wait()
	if len(done) != keys || u.count() != keys+keys/5 {
		t.Errorf("%d keys, %d requests", len(done), u.count())
	}
}
