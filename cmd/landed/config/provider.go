package config

import (
	"errors"
	"fmt"

	"github.com/landedhq/landed/providers/evidence"
)

// Provider is one account at one provider: exactly one adapter.
type Provider struct {
	IMAP    *IMAP    `yaml:"imap"`
	RT      *RT      `yaml:"rt"`
	SQL     *SQL     `yaml:"sql"`
	Stripe  *Stripe  `yaml:"stripe"`
	JMAP    *JMAP    `yaml:"jmap"`
	Gmail   *Gmail   `yaml:"gmail"`
	Graph   *Graph   `yaml:"graph"`
	Zendesk *Zendesk `yaml:"zendesk"`
	Jira    *Jira    `yaml:"jira"`
	Pack    *Pack    `yaml:"pack"`
	// Concurrency is how many looks one process does there at a time, 0 = 2;
	// LooksPerMinute how many it begins, 0 = as many as there are. One look is
	// several requests.
	Concurrency    int `yaml:"concurrency"`
	LooksPerMinute int `yaml:"looks_per_minute"`
}

// Limits are the providers' limits, by name.
func (c *Config) Limits() map[string]evidence.Limits {
	out := map[string]evidence.Limits{}
	for name, p := range c.Providers {
		out[name] = evidence.Limits{Concurrency: p.Concurrency, LooksPerMinute: p.LooksPerMinute}
	}
	return out
}

func (p Provider) check() error {
	n := 0
	for _, given := range []bool{p.IMAP != nil, p.RT != nil, p.SQL != nil, p.Stripe != nil, p.JMAP != nil, p.Gmail != nil, p.Graph != nil, p.Zendesk != nil, p.Jira != nil, p.Pack != nil} {
		if given {
			n++
		}
	}
	switch {
	case p.Concurrency < 0 || p.Concurrency > 32:
		return fmt.Errorf("concurrency is %d, allowed are 1 to 32", p.Concurrency)
	case p.LooksPerMinute < 0:
		return fmt.Errorf("looks_per_minute is %d: leave it out for no limit", p.LooksPerMinute)
	case n != 1:
		return errors.New("name exactly one adapter: gmail, graph, imap, jira, jmap, pack, rt, sql, stripe or zendesk")
	case p.Pack != nil && (p.Pack.Name == "") == (p.Pack.File == ""):
		return errors.New("pack: give either the name of a built-in definition or the file of your own")
	}
	return nil
}

// IMAP is a Sent folder.
type IMAP struct {
	Address      string   `yaml:"address"` // host:port
	TLS          string   `yaml:"tls"`     // implicit, starttls or none
	Username     string   `yaml:"username"`
	Password     Secret   `yaml:"password"`
	Mailbox      string   `yaml:"mailbox"`       // "" = by special use
	SentAppended bool     `yaml:"sent_appended"` // the sending path files its own copy
	SentSaved    bool     `yaml:"sent_saved"`    // the server that sends files it, as Gmail and Microsoft 365 do
	Domain       string   `yaml:"domain"`        // of the Message-IDs that workers write
	Header       string   `yaml:"header"`
	IndexLag     Duration `yaml:"index_lag"`
	Horizon      Duration `yaml:"processing_horizon"`
}

// RT is a queue of a Request Tracker.
type RT struct {
	URL            string   `yaml:"url"`
	Token          Secret   `yaml:"token"`
	Queue          string   `yaml:"queue"`
	Field          string   `yaml:"field"`
	IndexLag       Duration `yaml:"index_lag"`
	Horizon        Duration `yaml:"processing_horizon"`
	AllowPrivate   bool     `yaml:"allow_private"`
	AllowPlainHTTP bool     `yaml:"allow_plain_http"`
}

// SQL is one look-up in the application's own database.
type SQL struct {
	DSN       Secret `yaml:"dsn"`       // of a role that may only read
	Statement string `yaml:"statement"` // one SELECT; $1 is the reference
	Columns   struct {
		Ref    string   `yaml:"ref"`
		ID     string   `yaml:"id"`
		At     string   `yaml:"at"`
		Status string   `yaml:"status"`
		Title  string   `yaml:"title"`
		Facts  []string `yaml:"facts"`
	} `yaml:"columns"`
	Dashed          bool     `yaml:"dashed"`        // the reference is stored as a dashed text
	Pending         []string `yaml:"pending"`       // values of the status column
	NotEffective    []string `yaml:"not_effective"` // values of the status column
	Link            string   `yaml:"link"`          // https address of a row, with {id}
	Timeout         Duration `yaml:"timeout"`
	WriterWait      Duration `yaml:"writer_wait"`
	Horizon         Duration `yaml:"processing_horizon"`
	Retention       Duration `yaml:"retention"`
	AllowUnverified bool     `yaml:"allow_unverified"`
	TestMode        bool     `yaml:"test_mode"`
}

// Stripe is one kind of object in one mode of one account.
type Stripe struct {
	Key         Secret   `yaml:"key"`    // a restricted key that may only read
	Mode        string   `yaml:"mode"`   // live or test
	Object      string   `yaml:"object"` // payment_intents, charges, refunds, transfers or checkout_sessions
	MetadataKey string   `yaml:"metadata_key"`
	Account     string   `yaml:"account"` // acct_…, if the tool acts for a connected account
	MaxPages    int      `yaml:"max_pages"`
	Timeout     Duration `yaml:"timeout"`
	IndexLag    Duration `yaml:"index_lag"`
	Horizon     Duration `yaml:"processing_horizon"`
}

// JMAP is a mail account that speaks JMAP.
type JMAP struct {
	SessionURL   string   `yaml:"session_url"`
	APIHost      string   `yaml:"api_host"` // where it is another one than the session's
	Token        Secret   `yaml:"token"`    // read-only
	AccountID    string   `yaml:"account_id"`
	Header       string   `yaml:"header"`
	Domain       string   `yaml:"domain"`
	CopyKept     bool     `yaml:"copy_kept"` // the sending path keeps the message in the account
	MaxPages     int      `yaml:"max_pages"`
	Timeout      Duration `yaml:"timeout"`
	IndexLag     Duration `yaml:"index_lag"`
	Horizon      Duration `yaml:"processing_horizon"`
	AllowPrivate bool     `yaml:"allow_private"`
	TestMode     bool     `yaml:"test_mode"`
}

// Gmail is a Gmail mailbox. It takes either a service account, or a client with a
// refresh token.
type Gmail struct {
	Mailbox        string   `yaml:"mailbox"`
	ServiceAccount Secret   `yaml:"service_account"` // the whole key file, with domain-wide delegation for gmail.readonly
	ClientID       string   `yaml:"client_id"`
	ClientSecret   Secret   `yaml:"client_secret"`
	RefreshToken   Secret   `yaml:"refresh_token"` // of a consent to gmail.readonly
	Header         string   `yaml:"header"`
	Domain         string   `yaml:"domain"`
	MessageIDKept  bool     `yaml:"message_id_kept"` // a trial showed that the sending path keeps it; the API does not
	RefInBody      bool     `yaml:"ref_in_body"`     // workers write the reference into the text
	MaxPages       int      `yaml:"max_pages"`
	Timeout        Duration `yaml:"timeout"`
	IndexLag       Duration `yaml:"index_lag"`
	Horizon        Duration `yaml:"processing_horizon"`
	Retention      Duration `yaml:"retention"` // after which the organisation's rules delete sent mail
	TestMode       bool     `yaml:"test_mode"`
}

// Graph is an Exchange Online mailbox, read over Microsoft Graph.
type Graph struct {
	Tenant       string   `yaml:"tenant"`
	ClientID     string   `yaml:"client_id"`
	ClientSecret Secret   `yaml:"client_secret"` // of an application that has Mail.Read only
	Mailbox      string   `yaml:"mailbox"`
	Cloud        string   `yaml:"cloud"` // global, us_gov, us_gov_dod or china
	Header       string   `yaml:"header"`
	Domain       string   `yaml:"domain"`
	CopyKept     bool     `yaml:"copy_kept"` // the sending path keeps its copy in the mailbox
	MaxPages     int      `yaml:"max_pages"`
	Timeout      Duration `yaml:"timeout"`
	IndexLag     Duration `yaml:"index_lag"`
	Horizon      Duration `yaml:"processing_horizon"`
	Retention    Duration `yaml:"retention"` // after which the organisation's rules archive or delete sent mail
	TestMode     bool     `yaml:"test_mode"`
}

// Zendesk is the tickets of one Zendesk account.
type Zendesk struct {
	Subdomain       string   `yaml:"subdomain"` // acme of acme.zendesk.com
	ClientID        string   `yaml:"client_id"` // of a confidential OAuth client that is allowed the scope read
	ClientSecret    Secret   `yaml:"client_secret"`
	Token           Secret   `yaml:"token"`            // instead: an OAuth access token with the scope read, or, with email, an API token
	Email           string   `yaml:"email"`            // the user of an API token
	AllowUnverified bool     `yaml:"allow_unverified"` // takes a token that could write
	Sandbox         bool     `yaml:"sandbox"`
	NotEffective    []string `yaml:"not_effective"` // statuses
	MaxPages        int      `yaml:"max_pages"`
	Timeout         Duration `yaml:"timeout"`
	IndexLag        Duration `yaml:"index_lag"`
	Horizon         Duration `yaml:"processing_horizon"`
}

// Jira is the issues of one project of a Jira Cloud site.
type Jira struct {
	Site            string   `yaml:"site"`     // https://acme.atlassian.net
	CloudID         string   `yaml:"cloud_id"` // for tokens with scopes and OAuth tokens
	Email           string   `yaml:"email"`    // the account of an API token
	Token           Secret   `yaml:"token"`
	Project         string   `yaml:"project"` // its key
	Carrier         string   `yaml:"carrier"` // label or property
	LabelPrefix     string   `yaml:"label_prefix"`
	PropertyKey     string   `yaml:"property_key"`
	NotEffective    []string `yaml:"not_effective"`    // names of statuses
	AllowUnverified bool     `yaml:"allow_unverified"` // takes an account that could write
	MaxPages        int      `yaml:"max_pages"`
	Timeout         Duration `yaml:"timeout"`
	IndexLag        Duration `yaml:"index_lag"`
	Horizon         Duration `yaml:"processing_horizon"`
	TestMode        bool     `yaml:"test_mode"`
}

// Pack is a provider that a definition in a file describes: a built-in one by
// name, or a team's own.
type Pack struct {
	Name           string            `yaml:"name"` // e.g. redmine.issue
	File           string            `yaml:"file"`
	Params         map[string]string `yaml:"params"`
	Secrets        map[string]Secret `yaml:"secrets"`
	BaseURL        string            `yaml:"base_url"` // instead of the definition's: a sandbox, a gateway, a region
	Timeout        Duration          `yaml:"timeout"`
	IndexLag       Duration          `yaml:"index_lag"`          // longer than declared
	Horizon        Duration          `yaml:"processing_horizon"` // longer than declared
	Retention      Duration          `yaml:"retention"`          // shorter than declared
	AllowPrivate   bool              `yaml:"allow_private"`
	AllowPlainHTTP bool              `yaml:"allow_plain_http"`
	TestMode       bool              `yaml:"test_mode"`
}
