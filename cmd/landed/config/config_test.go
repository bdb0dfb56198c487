package config

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

const good = `
external_url: https://landed.example.com
database: env:LANDED_TEST_DATABASE
login:
  issuer: https://id.example.com
  client_id: landed
  client_secret: env:LANDED_TEST_SECRET
  roles:
    operator: [oncall]
providers:
  mail:
    imap: {address: "imap.example.com:993", username: sent, password: "file:/run/secrets/imap", sent_appended: true}
tools:
  - {name: mail.send, class: at_most_once, provider: mail, client_timeout: 30s, compensated_by: mail.recall, compensate_run: true}
policy:
  evidence_max_age: 2m
`

func TestParse(t *testing.T) {
	t.Parallel()
	c, err := Parse([]byte(good))
	if err != nil {
		t.Fatal(err)
	}
	if got := c.Policy.Journal().BulkMax; got != 500 {
		t.Errorf("%d may be decided together, want 500", got)
	}
	if c.Listen != "127.0.0.1:8080" || c.Policy.Journal().EvidenceMaxAge != 2*time.Minute || c.Tools[0].Journal().ClientTimeout != 30*time.Second ||
		c.Tools[0].Journal().CompensatedBy != "mail.recall" || !c.Tools[0].Journal().CompensateRun {
		t.Errorf("%+v", c)
	}
}

func TestParse_Refuses(t *testing.T) {
	t.Parallel()
	tests := []struct{ name, was, now, want string }{
		{"unknown key, with its line", "external_url:", "external_uri:", "[2:1]"},
		{"secret written out", "env:LANDED_TEST_SECRET", "hunter2", "name it by env:NAME or file:/path"},
		{"unknown role", "operator: [oncall]", "root: [oncall]", "none of viewer"},
		{"no adapter", "imap: {address", "rt: {url: x}\n    imap: {address", "exactly one adapter"},
		{"unclassified tool", "class: at_most_once, ", "", "class is missing"},
		{"a tool that undoes itself", "mail.recall", "mail.send", "compensated_by names the tool itself"},
		{"bad duration", "2m", "two minutes", "write it like 30s"},
		{"external URL with a path", "landed.example.com", "example.com/landed", "external_url"},
		{"more at once than a grouping reads", "evidence_max_age: 2m", "bulk_max: 2001", "between 1 and 2000"},
		{"a rule for fewer than none", "evidence_max_age: 2m", "version: v1\n  rules: [{name: many, bulk_from: -1, four_eyes: true}]", "less than none"},
		{"no issuer", "  issuer: https://id.example.com\n", "", "issuer, client_id and client_secret"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			if !strings.Contains(good, tt.was) {
				t.Fatalf("the test changes nothing: %q", tt.was)
			}
			_, err := Parse([]byte(strings.Replace(good, tt.was, tt.now, 1)))
			if err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Fatalf("got %v, want an error with %q", err, tt.want)
			}
		})
	}
}

func TestSecret(t *testing.T) {
	t.Setenv("LANDED_TEST_SECRET", "s3cret")
	file := filepath.Join(t.TempDir(), "s")
	if err := os.WriteFile(file, []byte("from file\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	for s, want := range map[Secret]string{"env:LANDED_TEST_SECRET": "s3cret", Secret("file:" + file): "from file"} {
		if got, err := s.Value(); err != nil || got != want {
			t.Errorf("%s: got %q, %v", s, got, err)
		}
	}
	if _, err := Secret("env:LANDED_TEST_MISSING").Value(); err == nil {
		t.Error("an empty variable must be an error")
	}
}

// FuzzParse: whatever the file holds, the answer is a configuration or an error.
func FuzzParse(f *testing.F) {
	f.Add([]byte(good))
	f.Add([]byte("providers: {x: {pack: {params: {a: [}}}}"))
	f.Add([]byte("a: &a [*a]"))
	f.Add([]byte("policy: {evidence_max_age: 99999999999h}"))
	f.Fuzz(func(t *testing.T, b []byte) {
		c, err := Parse(b)
		if (c == nil) == (err == nil) && err == nil {
			t.Error("neither a configuration nor an error")
		}
	})
}
