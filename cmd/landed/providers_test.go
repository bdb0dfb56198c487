package main

import (
	"strings"
	"testing"

	"github.com/landedhq/landed/cmd/landed/config"
)

const everyAdapter = `
external_url: https://landed.example.com
database: env:LANDED_TEST_DATABASE
login:
  issuer: https://id.example.com
  client_id: landed
  client_secret: env:LANDED_TEST_SECRET
  roles: {operator: [oncall]}
providers:
  mail: {imap: {address: "imap.example.com:993", username: sent, password: "env:LANDED_TEST_SECRET", sent_appended: true}}
  jmail: {jmap: {token: "env:LANDED_TEST_SECRET", copy_kept: true}}
  desk: {rt: {url: "https://desk.example.com", token: "env:LANDED_TEST_SECRET", queue: General, field: Landed}}
  shop:
    sql:
      dsn: env:LANDED_TEST_DATABASE
      statement: select id, landed_ref, paid_at, state from orders where landed_ref = $1
      columns: {ref: landed_ref, at: paid_at, status: state}
      pending: [new]
      link: "https://shop.example.com/orders/{id}"
  pay: {stripe: {key: "env:LANDED_TEST_STRIPE", mode: test, object: payment_intents}}
  tracker: {pack: {name: redmine.issue, params: {url: "https://redmine.example.com", field: "9"}, secrets: {api_key: "env:LANDED_TEST_SECRET"}}}
`

func TestOpenAdapters(t *testing.T) {
	t.Setenv("LANDED_TEST_SECRET", "s3cret-that-is-long-enough")
	t.Setenv("LANDED_TEST_DATABASE", "postgres://reader@db.example.com/shop?sslmode=verify-full")
	t.Setenv("LANDED_TEST_STRIPE", "rk_test_abcdefghijklmnopqrstuvwx")
	open := func(yaml string) error {
		cfg, err := config.Parse([]byte(yaml))
		if err != nil {
			return err
		}
		adapters, err := openAdapters(cfg)
		if err == nil && len(adapters) != 6 {
			t.Errorf("%d adapters, want 6", len(adapters))
		}
		return err
	}
	if err := open(everyAdapter); err != nil {
		t.Fatal(err)
	}
	tests := []struct{ name, was, now, want string }{
		{"a pack that there is not", "redmine.issue", "redmine.isue", "there is no pack"},
		{"a pack and a file", "{name: redmine.issue,", "{name: redmine.issue, file: x.yaml,", "either the name"},
		{"a secret key instead of a restricted one", "env:LANDED_TEST_STRIPE", "env:LANDED_TEST_LIVE", "restricted"},
		{"a key that is not named", `key: "env:LANDED_TEST_STRIPE", `, "", "providers.pay"},
		{"a statement that writes", "select id, landed_ref, paid_at, state from orders", "delete from orders", "providers.shop"},
		{"a parameter that is missing", `field: "9"`, "", "field"},
		{"two adapters", "{rt: {", "{sql: {}, rt: {", "exactly one adapter"},
	}
	t.Setenv("LANDED_TEST_LIVE", "sk_live_abcdefghijklmnopqrstuvwx")
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if !strings.Contains(everyAdapter, tt.was) {
				t.Fatalf("the test changes nothing: %q", tt.was)
			}
			if err := open(strings.Replace(everyAdapter, tt.was, tt.now, 1)); err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("got %v, want an error with %q", err, tt.want)
			}
		})
	}
}
