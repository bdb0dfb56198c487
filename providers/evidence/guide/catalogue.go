package guide

import (
	"fmt"
	"slices"
	"strings"

	"github.com/landedhq/landed/providers/evidence"
	"github.com/landedhq/landed/providers/evidence/declared"
	"github.com/landedhq/landed/providers/evidence/gmail"
	"github.com/landedhq/landed/providers/evidence/graph"
	"github.com/landedhq/landed/providers/evidence/imap"
	"github.com/landedhq/landed/providers/evidence/jira"
	"github.com/landedhq/landed/providers/evidence/jmap"
	"github.com/landedhq/landed/providers/evidence/packs"
	"github.com/landedhq/landed/providers/evidence/rt"
	"github.com/landedhq/landed/providers/evidence/sql"
	"github.com/landedhq/landed/providers/evidence/stripe"
	"github.com/landedhq/landed/providers/evidence/zendesk"
)

// UnknownError is a name that no guide has.
type UnknownError struct{ Name string }

func (e *UnknownError) Error() string {
	return fmt.Sprintf("there is no guide %.60q, there are %s", e.Name, strings.Join(Names(), ", "))
}

// Names lists the guides that come with Landed, in alphabetical order.
func Names() []string {
	out := packs.Names()
	for _, n := range natives() {
		out = append(out, n.name)
	}
	slices.Sort(out)
	return out
}

// Of makes the guide of a provider that Landed knows, with an account that stands
// for anybody's. The error is an *UnknownError if there is none.
func Of(name string) (Guide, error) {
	a, err := open(name)
	if err != nil {
		return Guide{}, err
	}
	g, ok, err := For(a)
	if err != nil || !ok {
		return Guide{}, fmt.Errorf("guide: %s gives no instruction: %w", name, err)
	}
	return g, nil
}

// open opens an adapter that is never asked anything: all it is for is its sheet and
// its instruction.
func open(name string) (evidence.Adapter, error) {
	for _, n := range natives() {
		if n.name == name {
			return n.open()
		}
	}
	if !slices.Contains(packs.Names(), name) {
		return nil, &UnknownError{name}
	}
	d, err := packs.Load(name)
	if err != nil {
		return nil, err
	}
	c := declared.Config{Definition: d, Params: map[string]string{}, Secrets: map[string]evidence.Secret{}}
	given := accounts()[name]
	for _, p := range d.Params() {
		switch {
		case p.Secret:
			c.Secrets[p.Name] = nobody
		case given[p.Name] != "":
			c.Params[p.Name] = given[p.Name]
		}
	}
	return c.Open()
}

// nobody is the secret of an account that is never used.
func nobody() (string, error) { return "", fmt.Errorf("a guide asks no provider") }

// accounts are values for the parameters that a definition has no default for.
func accounts() map[string]map[string]string {
	return map[string]map[string]string{
		"adyen.transfer":        {"environment": "test", "balance_platform": "Acme"},
		"braintree.transaction": {"public_key": "v4ndq314c2s5c28r"},
		"freshdesk.ticket":      {"domain": "acme"},
		"github.comment":        {"owner": "acme", "repo": "desk"},
		"github.issue":          {"owner": "acme", "repo": "desk", "creator": "desk-bot"},
		"gitlab.issue":          {"project": "acme/desk", "author": "desk-bot"},
		"mailgun.message":       {"domain": "mail.example.com"},
		"paypal.transaction":    {"client_id": "app"},
		"redmine.issue":         {"url": "https://redmine.example.com", "field": "9"},
		"salesforce.record":     {"domain": "acme", "client_id": "app"},
		"servicenow.record":     {"instance": "acme", "user": "reader"},
		"slack.message":         {"channel": "C0123456789"},
		"status.endpoint":       {"url": "https://billing.example.com/effects"},
		"twilio.message":        {"account_sid": "AC" + strings.Repeat("0", 32), "key_sid": "SK" + strings.Repeat("0", 32)},
	}
}

// native is an adapter that is a package of its own.
type native struct {
	name, title string
	open        func() (evidence.Adapter, error)
	unconfirmed string // as its package documentation says
}

func natives() []native {
	return []native{
		{"gmail", "Gmail", gmail.Config{Mailbox: "desk@example.com", ClientID: "app", ClientSecret: nobody, RefreshToken: nobody, RefInBody: true}.Open,
			"how soon the search shows a new message; that the API replaces a Message-ID, which users report."},
		{"graph", "Microsoft Graph mail", graph.Config{Tenant: "example.com", ClientID: "app", ClientSecret: nobody, Mailbox: "desk@example.com", CopyKept: true}.Open,
			"how soon the copy is in Sent Items."},
		{"imap", "a Sent folder over IMAP", imap.Config{Address: "imap.example.com:993", Username: "desk@example.com", Password: nobody, SentSaved: true}.Open,
			"how soon a clustered server shows a message that was appended."},
		{"jira", "Jira Cloud", jira.Config{Site: "https://acme.atlassian.net", Email: "reader@example.com", Token: nobody, Project: "DESK"}.Open,
			"a bound for how far the search lags, and for how long Jira may work on a request."},
		{"jmap", "a mail account over JMAP", jmap.Config{Token: nobody, CopyKept: true}.Open,
			"how soon a search shows a new message."},
		{"rt", "Request Tracker", rt.Config{BaseURL: "https://rt.example.com", Token: nobody, Queue: "Support"}.Open, ""},
		{"sql", "a table in PostgreSQL", sql.Config{DSN: func() (string, error) { return "postgres://reader@db.example.com/app", nil },
			Statement: "SELECT id, landed_ref FROM app.payouts WHERE landed_ref = $1"}.Open, ""},
		{"stripe", "Stripe", stripe.Config{Key: nobody, Mode: stripe.Live, Object: stripe.PaymentIntents}.Open,
			"for how long Stripe may work on a request after its client gave up."},
		{"zendesk", "Zendesk", zendesk.Config{Subdomain: "acme", ClientID: "app", ClientSecret: nobody}.Open,
			"how soon the list of tickets shows a new one, and for how long Zendesk may work on a request."},
	}
}

func title(name string) string {
	for _, n := range natives() {
		if n.name == name {
			return n.title
		}
	}
	if slices.Contains(packs.Names(), name) {
		if d, err := packs.Load(name); err == nil {
			return d.Title()
		}
	}
	return name
}

// unconfirmed is what the vendor's documents do not say.
func unconfirmed(name string) string {
	for _, n := range natives() {
		if n.name == name {
			return n.unconfirmed
		}
	}
	return packs.Unconfirmed(name)
}
