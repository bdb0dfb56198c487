package egress

import (
	"compress/gzip"
	"context"
	"crypto/x509"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"
)

// serve starts a TLS server and returns a config that may reach it.
func serve(t *testing.T, h http.HandlerFunc) (*httptest.Server, Config) {
	t.Helper()
	s := httptest.NewTLSServer(h)
	t.Cleanup(s.Close)
	pool := x509.NewCertPool()
	pool.AddCert(s.Certificate())
	return s, Config{Hosts: []string{strings.TrimPrefix(s.URL, "https://")}, AllowPrivate: true, RootCAs: pool}
}

// get returns the body, or the error of the request or of reading.
func get(t *testing.T, c Config, url string) (string, error) {
	t.Helper()
	cl := Client(c)
	defer cl.CloseIdleConnections()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, url, http.NoBody)
	if err != nil {
		t.Fatal(err)
	}
	resp, err := cl.Do(req)
	if err != nil {
		return "", err
	}
	defer resp.Body.Close()
	b, err := io.ReadAll(resp.Body)
	return string(b), err
}

func TestClientReachesAllowedHostOnly(t *testing.T) {
	t.Parallel()
	s, c := serve(t, func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.WriteString(w, r.Header.Get("Accept-Encoding"))
	})
	for _, row := range []struct {
		name string
		url  string
		edit func(*Config)
		want error
	}{
		{"allowed", s.URL, func(*Config) {}, nil},
		{"host compared without case", s.URL, func(c *Config) { c.Hosts = append(c.Hosts, "OTHER.example") }, nil},
		{"private refused", s.URL, func(c *Config) { c.AllowPrivate = false }, ErrAddress},
		{"other port", "https://127.0.0.1:1", func(*Config) {}, ErrHost},
		{"other name of the same machine", "https://localhost" + s.URL[strings.LastIndex(s.URL, ":"):], func(*Config) {}, ErrHost},
		{"no host allowed", s.URL, func(c *Config) { c.Hosts = nil }, ErrHost},
		{"plain HTTP", "http" + strings.TrimPrefix(s.URL, "https"), func(*Config) {}, ErrScheme},
		{"plain HTTP allowed, private not", "http" + strings.TrimPrefix(s.URL, "https"), func(c *Config) { c.AllowPlainHTTP, c.AllowPrivate = true, false }, ErrScheme},
		{"file", "file:///etc/passwd", func(*Config) {}, ErrHost},
	} {
		t.Run(row.name, func(t *testing.T) {
			t.Parallel()
			cfg := c
			row.edit(&cfg)
			body, err := get(t, cfg, row.url)
			if !errors.Is(err, row.want) {
				t.Fatalf("error %v, want %v", err, row.want)
			}
			if row.want == nil && body != "identity" {
				t.Errorf("Accept-Encoding was %q, want identity", body)
			}
		})
	}
}

func TestPlainHTTPLeadsToPrivateAddressesOnly(t *testing.T) {
	t.Parallel()
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "ok") }))
	t.Cleanup(s.Close)
	host := strings.TrimPrefix(s.URL, "http://")
	c := Config{Hosts: []string{host, "93.184.215.14"}, AllowPrivate: true, AllowPlainHTTP: true}
	if b, err := get(t, c, s.URL); err != nil || b != "ok" {
		t.Errorf("loopback: %q, %v", b, err)
	}
	if _, err := get(t, c, "http://93.184.215.14/"); !errors.Is(err, ErrAddress) {
		t.Errorf("public address over plain HTTP: %v, want ErrAddress", err)
	}
}

func TestNameThatResolvesToLoopbackIsRefusedAtDial(t *testing.T) {
	t.Parallel()
	s, c := serve(t, func(http.ResponseWriter, *http.Request) { t.Error("the request arrived") })
	c.AllowPrivate = false
	host := "localhost" + s.URL[strings.LastIndex(s.URL, ":"):]
	c.Hosts = []string{host}
	if _, err := get(t, c, "https://"+host); !errors.Is(err, ErrAddress) {
		t.Errorf("error %v, want ErrAddress", err)
	}
}

func TestRedirects(t *testing.T) {
	t.Parallel()
	other, _ := serve(t, func(http.ResponseWriter, *http.Request) { t.Error("the redirect was followed off-host") })
	hops := 0
	s, c := serve(t, func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/off":
			http.Redirect(w, r, other.URL, http.StatusFound)
		case "/down":
			http.Redirect(w, r, "http://"+r.Host+"/ok", http.StatusFound)
		case "/on":
			http.Redirect(w, r, "/ok", http.StatusFound)
		case "/loop":
			hops++
			http.Redirect(w, r, "/loop", http.StatusFound)
		case "/ok":
			_, _ = io.WriteString(w, "ok"+r.Header.Get("Referer"))
		}
	})
	c.Hosts = append(c.Hosts, strings.TrimPrefix(other.URL, "https://")) // allowed, and yet another origin
	for _, row := range []struct {
		name, path string
		want       error
	}{
		{"off-host", "/off", ErrRedirect},
		{"down to plain HTTP", "/down", ErrRedirect},
		{"within the origin", "/on", nil},
		{"for ever", "/loop", ErrRedirect},
	} {
		t.Run(row.name, func(t *testing.T) {
			body, err := get(t, c, s.URL+row.path)
			if !errors.Is(err, row.want) {
				t.Fatalf("error %v, want %v", err, row.want)
			}
			if row.want == nil && body != "ok" {
				t.Errorf("body %q", body)
			}
		})
	}
	if hops > maxRedirects+1 {
		t.Errorf("%d requests in the loop", hops)
	}
}

func TestSizeCap(t *testing.T) {
	t.Parallel()
	s, c := serve(t, func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/fits":
			_, _ = io.WriteString(w, strings.Repeat("x", 1000))
		case "/announced":
			_, _ = io.WriteString(w, strings.Repeat("x", 1001))
		case "/endless":
			w.WriteHeader(http.StatusOK)
			chunk := strings.Repeat("x", 64<<10)
			for range 1600 { // 100 MiB, cut off by the client long before
				if _, err := io.WriteString(w, chunk); err != nil {
					return
				}
			}
		case "/gzip":
			w.Header().Set("Content-Encoding", "gzip")
			z := gzip.NewWriter(w)
			_, _ = io.WriteString(z, strings.Repeat("x", 1<<20))
			_ = z.Close()
		}
	})
	c.MaxBody = 1000
	for _, row := range []struct {
		path string
		want error
		size int
	}{
		{"/fits", nil, 1000},
		{"/announced", ErrTooLarge, 0},
		{"/endless", ErrTooLarge, 1000},
		{"/gzip", ErrEncoding, 0},
	} {
		t.Run(row.path, func(t *testing.T) {
			t.Parallel()
			body, err := get(t, c, s.URL+row.path)
			if !errors.Is(err, row.want) {
				t.Fatalf("error %v, want %v", err, row.want)
			}
			if len(body) != row.size {
				t.Errorf("%d bytes, want %d", len(body), row.size)
			}
		})
	}
}

func TestTimeCap(t *testing.T) {
	t.Parallel()
	release := make(chan struct{})
	s, c := serve(t, func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/drip" {
			_, _ = io.WriteString(w, "x")
			w.(http.Flusher).Flush()
		}
		<-release
	})
	t.Cleanup(func() { close(release) }) // runs before the server's own cleanup
	c.Timeout = 100 * time.Millisecond
	for _, path := range []string{"/hang", "/drip"} {
		start := time.Now()
		_, err := get(t, c, s.URL+path)
		if !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("%s: error %v, want a deadline", path, err)
		}
		if d := time.Since(start); d > 5*time.Second {
			t.Errorf("%s: gave up after %v", path, d)
		}
	}
}

func TestEnvironmentProxyIsIgnored(t *testing.T) {
	t.Parallel()
	// net/http never sends loopback through a proxy, so only the setting tells.
	rt := Client(Config{AllowPrivate: true, AllowPlainHTTP: true}).Transport.(*roundTripper)
	if rt.secure.Proxy != nil || rt.plain.Proxy != nil {
		t.Error("a proxy would be asked")
	}
}
