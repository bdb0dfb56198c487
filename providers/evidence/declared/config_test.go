package declared_test

import (
	"strings"
	"testing"
	"time"

	"github.com/landedhq/landed/providers/evidence"
	"github.com/landedhq/landed/providers/evidence/declared"
)

func TestOpenRefuses(t *testing.T) {
	t.Parallel()
	for _, row := range []struct {
		name string
		edit func(*declared.Config)
		want string
	}{
		{"no definition", func(c *declared.Config) { c.Definition = nil }, "names no definition"},
		{"no address", func(c *declared.Config) { delete(c.Params, "url") }, "params.url is not set: the address"},
		{"no secret", func(c *declared.Config) { c.Secrets = nil }, "secrets.token is not set: the token"},
		{"a secret among the parameters", func(c *declared.Config) { c.Params["token"] = "x" }, "is a secret"},
		{"an unknown parameter", func(c *declared.Config) { c.Params["plcae"] = "x" }, "has place, url"},
		{"an unknown secret", func(c *declared.Config) { c.Secrets["tokne"] = evidence.Fixed("x") }, "has token"},
		{"plain HTTP", func(c *declared.Config) { c.Params["url"] = "http://desk.example.com" }, "in the clear"},
		{"a private address", func(c *declared.Config) { c.Params["url"], c.AllowPrivate = "https://10.0.0.1", false }, "private address"},
		{"credentials in the address", func(c *declared.Config) { c.Params["url"] = "https://u:p@desk.example.com" }, "credentials"},
		{"a query in the address", func(c *declared.Config) { c.Params["url"] = "https://desk.example.com/?x=1" }, "query"},
		{"a line break in a parameter", func(c *declared.Config) { c.Params["place"] = "a\r\nb" }, "control characters"},
		{"a shorter lag", func(c *declared.Config) { c.IndexLag = time.Second }, "only be made longer"},
		{"a shorter horizon", func(c *declared.Config) { c.ProcessingHorizon = time.Second }, "only be made longer"},
	} {
		t.Run(row.name, func(t *testing.T) {
			t.Parallel()
			c := config(t, base, nil)
			row.edit(&c)
			if _, err := c.Open(); err == nil || !strings.Contains(err.Error(), row.want) {
				t.Errorf("error %v, want %q", err, row.want)
			}
		})
	}
}

func TestConfiguredTimesShowOnTheSheet(t *testing.T) {
	t.Parallel()
	c := config(t, base, nil)
	c.IndexLag, c.ProcessingHorizon, c.Retention, c.TestMode = time.Hour, 2*time.Hour, 24*time.Hour, true
	a, err := c.Open()
	if err != nil {
		t.Fatal(err)
	}
	s := a.Sheet()
	if s.IndexLag != time.Hour || s.ProcessingHorizon != 2*time.Hour || s.Retention != 24*time.Hour || s.Mode != "test" {
		t.Errorf("%+v", s)
	}
	if len(s.Scopes) != 1 || s.Scopes[0] != "things in main" {
		t.Errorf("scopes %q", s.Scopes)
	}
}
