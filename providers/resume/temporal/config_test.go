package temporal

import (
	"crypto/tls"
	"strings"
	"testing"
	"time"
)

func TestConfigSaysWhatIsWrong(t *testing.T) {
	t.Parallel()
	good := Config{Name: "temporal", URL: "https://temporal.example.com:7243", Namespace: "default"}
	for _, row := range []struct {
		name string
		edit func(*Config)
		want []string // "" = it opens
	}{
		{"good", func(*Config) {}, nil},
		{"a proxy's path", func(c *Config) { c.URL += "/temporal/" }, nil},
		{"nothing", func(c *Config) { *c = Config{} }, []string{"name is not set", "url is not set", "namespace is not set"}},
		{"credentials in the url", func(c *Config) { c.URL = "https://u:p@temporal.example.com" }, []string{"holds credentials"}},
		{"no host", func(c *Config) { c.URL = "https://:7243" }, []string{"no host"}},
		{"with a query", func(c *Config) { c.URL += "?x=1" }, []string{"query"}},
		{"with the API's path", func(c *Config) { c.URL += "/api/v1/" }, []string{"path of the API"}},
		{"gRPC scheme", func(c *Config) { c.URL = "grpc://temporal.example.com:7233" }, []string{`scheme "grpc"`}},
		{"plain", func(c *Config) { c.URL = "http://temporal.example.com" }, []string{"http://"}},
		{"plain, allowed without private", func(c *Config) { c.URL, c.AllowPlainHTTP = "http://127.0.0.1:1", true }, []string{"http://"}},
		{"plain, allowed", func(c *Config) { c.URL, c.AllowPlainHTTP, c.AllowPrivate = "http://127.0.0.1:1", true, true }, nil},
		{"plain with a certificate", func(c *Config) {
			c.URL, c.AllowPlainHTTP, c.AllowPrivate, c.Certificate = "http://127.0.0.1:1", true, true, &tls.Certificate{}
		}, []string{"no client certificates"}},
		{"private", func(c *Config) { c.URL = "https://10.0.0.1" }, []string{"private address 10.0.0.1"}},
		{"too patient", func(c *Config) { c.Timeout = time.Minute }, []string{"at most 20s"}},
		{"odd namespace", func(c *Config) { c.Namespace = "a\nb" }, []string{"namespace", "control characters"}},
		{"long name", func(c *Config) { c.Name = strings.Repeat("n", 1001) }, []string{"1001 bytes"}},
	} {
		t.Run(row.name, func(t *testing.T) {
			t.Parallel()
			c := good
			row.edit(&c)
			_, err := c.Open()
			if (err == nil) != (len(row.want) == 0) {
				t.Fatalf("Open() = %v, want %q", err, row.want)
			}
			for _, w := range row.want {
				if !strings.Contains(err.Error(), w) {
					t.Errorf("Open() = %v, want it to say %q", err, w)
				}
			}
		})
	}
}
