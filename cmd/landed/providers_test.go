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
  gmail: {gmail: {mailbox: "orders@shop.example", client_id: app, client_secret: "env:LANDED_TEST_SECRET", refresh_token: "env:LANDED_TEST_SECRET", ref_in_body: true}}
  gmail-domain: {gmail: {mailbox: "desk@shop.example", service_account: "env:LANDED_TEST_SECRET", message_id_kept: true, retention: 720h}}
  outlook: {graph: {tenant: contoso.example, client_id: 535fb089-9ff3-47b6-9bfb-4f1264799865, client_secret: "env:LANDED_TEST_SECRET", mailbox: "orders@contoso.example", cloud: us_gov, copy_kept: true}}
  tickets: {zendesk: {subdomain: acme, client_id: landed, client_secret: "env:LANDED_TEST_SECRET", index_lag: 2m}}
  old-tickets: {zendesk: {subdomain: acme-sandbox, email: "landed@example.com", token: "env:LANDED_TEST_SECRET", allow_unverified: true, sandbox: true}}
  board: {jira: {site: "https://acme.atlassian.net", email: "landed@example.com", token: "env:LANDED_TEST_SECRET", project: OPS}}
  app-board: {jira: {site: "https://acme.atlassian.net", cloud_id: 11223344-a1b2-3b33-c444-def123456789, token: "env:LANDED_TEST_SECRET", project: OPS, carrier: property}}
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
		if err == nil && len(adapters) != 13 {
			t.Errorf("%d adapters, want 13", len(adapters))
		}
		return err
	}
	if err := open(everyAdapter); err != nil {
		t.Fatal(err)
	}
	saved, err := config.Parse([]byte(strings.Replace(everyAdapter, "sent_appended: true", "sent_saved: true", 1)))
	if err != nil {
		t.Fatal(err)
	}
	if adapters, err := openAdapters(saved); err != nil || !adapters["mail"].Sheet().Conclusive {
		t.Errorf("a server that saves what is sent: not conclusive (%v)", err)
	}
	tests := []struct{ name, was, now, want string }{
		{"a pack that there is not", "redmine.issue", "redmine.isue", "there is no pack"},
		{"a pack and a file", "{name: redmine.issue,", "{name: redmine.issue, file: x.yaml,", "either the name"},
		{"a secret key instead of a restricted one", "env:LANDED_TEST_STRIPE", "env:LANDED_TEST_LIVE", "restricted"},
		{"a key that is not named", `key: "env:LANDED_TEST_STRIPE", `, "", "providers.pay"},
		{"a statement that writes", "select id, landed_ref, paid_at, state from orders", "delete from orders", "providers.shop"},
		{"a parameter that is missing", `field: "9"`, "", "field"},
		{"a mailbox that is whoever the token is", `mailbox: "orders@shop.example"`, "mailbox: me", "providers.gmail: gmail: mailbox"},
		{"two sorts of Google's credentials", `service_account: "env:LANDED_TEST_SECRET"`, `service_account: "env:LANDED_TEST_SECRET", client_id: app`, "two sorts"},
		{"a consent without its token", `, refresh_token: "env:LANDED_TEST_SECRET"`, "", "only good together"},
		{"a domain that ends a Gmail query", "ref_in_body: true", `domain: "a OR b"`, "no domain name"},
		{"a tenant that is none", "tenant: contoso.example", "tenant: common", "names no organisation"},
		{"a cloud that there is not", "cloud: us_gov", "cloud: moon", "none of global"},
		{"an application without its secret", `client_secret: "env:LANDED_TEST_SECRET", mailbox: "orders@contoso.example"`, `mailbox: "orders@contoso.example"`, "client_secret is not set"},
		{"a key of Graph that there is not", "cloud: us_gov, copy_kept: true", "cloud: us_gov, copy_keept: true", "copy_keept"},
		{"two mail adapters", "{graph: {", "{gmail: {}, graph: {", "exactly one adapter"},
		{"Zendesk's whole host", "subdomain: acme,", "subdomain: acme.zendesk.com,", "providers.tickets: zendesk: subdomain"},
		{"an API token of Zendesk", "allow_unverified: true, sandbox", "sandbox", "30 April 2027"},
		{"Zendesk without credentials", `client_id: landed, client_secret: "env:LANDED_TEST_SECRET", index_lag`, "index_lag", "providers.tickets: zendesk: there are no credentials"},
		{"a client of Zendesk without its secret", `client_id: landed, client_secret: "env:LANDED_TEST_SECRET", index_lag`, "client_id: landed, index_lag", "only good together"},
		{"a key of Zendesk that there is not", "subdomain: acme,", "subdomian: acme,", "subdomian"},
		{"a Jira project by its name", "project: OPS}}", "project: Operations Desk}}", "providers.board: jira: project"},
		{"a Jira carrier that there is not", "carrier: property", "carrier: comment", "say label or property"},
		{"an OAuth token of Jira without its site", "cloud_id: 11223344-a1b2-3b33-c444-def123456789, ", "", "needs cloud_id"},
		{"a key of Jira that there is not", "project: OPS}}", "project: OPS, label: x}}", "label"},
		{"two ticket adapters", "{jira: {", "{zendesk: {}, jira: {", "exactly one adapter"},
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

// Evidence links to the pages of tickets: their hosts come from the configuration.
func TestPagesOfTickets(t *testing.T) {
	for want, p := range map[string]config.Provider{
		"https://acme.zendesk.com":   {Zendesk: &config.Zendesk{Subdomain: "acme"}},
		"https://acme.atlassian.net": {Jira: &config.Jira{Site: "https://acme.atlassian.net", CloudID: "x"}},
	} {
		if got := pagesOf(p); len(got) != 1 || got[0] != want {
			t.Errorf("pages %q, want %s", got, want)
		}
	}
}
