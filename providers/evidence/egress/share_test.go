package egress

import (
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
)

func TestShare(t *testing.T) {
	t.Parallel()
	var hits atomic.Int64
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		hits.Add(1)
		if r.URL.Path == "/bad" {
			w.WriteHeader(http.StatusTooManyRequests)
		}
		_, _ = io.WriteString(w, r.URL.String()+" "+r.Header.Get("Authorization")+" "+strings.Repeat("x", 3000))
	}))
	t.Cleanup(srv.Close)
	c := Client(Config{Hosts: []string{strings.TrimPrefix(srv.URL, "http://")}, AllowPrivate: true, AllowPlainHTTP: true})
	get := func(ctx context.Context, method, path, auth string) string {
		t.Helper()
		req, err := http.NewRequestWithContext(ctx, method, srv.URL+path, nil)
		if err != nil {
			t.Fatal(err)
		}
		req.Header.Set("Authorization", auth)
		resp, err := c.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		defer resp.Body.Close() //nolint:errcheck // read to its end
		b, err := io.ReadAll(resp.Body)
		if err != nil {
			t.Fatal(err)
		}
		return string(b)
	}
	shared := Share(t.Context())
	tests := []struct {
		name         string
		ctx          context.Context
		method, path string
		auth         string
		sent         int64 // by now
	}{
		{"first", shared, "GET", "/a?p=1", "one", 1},
		{"again", shared, "GET", "/a?p=1", "one", 1},
		{"another page", shared, "GET", "/a?p=2", "one", 2},
		{"another account", shared, "GET", "/a?p=1", "two", 3},
		{"another round", Share(t.Context()), "GET", "/a?p=1", "one", 4},
		{"not shared", t.Context(), "GET", "/a?p=1", "one", 5},
		{"no GET", shared, "POST", "/a?p=1", "one", 6},
		{"no GET again", shared, "POST", "/a?p=1", "one", 7},
		{"a refusal", shared, "GET", "/bad", "one", 8},
		{"a refusal again", shared, "GET", "/bad", "one", 9},
	}
	for _, tt := range tests {
		got := get(tt.ctx, tt.method, tt.path, tt.auth)
		if !strings.HasPrefix(got, tt.path+" "+tt.auth+" x") || len(got) < 3000 {
			t.Errorf("%s: %.40s", tt.name, got)
		}
		if n := hits.Load(); n != tt.sent {
			t.Errorf("%s: %d requests were sent, want %d", tt.name, n, tt.sent)
		}
	}
	if Sharing(t.Context()) || !Sharing(shared) {
		t.Error("Sharing is wrong")
	}
}
