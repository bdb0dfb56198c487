package config

import (
	"errors"
	"fmt"

	"github.com/landedhq/landed/providers/evidence"
)

// Provider is one account at one provider: exactly one adapter.
type Provider struct {
	IMAP   *IMAP   `yaml:"imap"`
	RT     *RT     `yaml:"rt"`
	SQL    *SQL    `yaml:"sql"`
	Stripe *Stripe `yaml:"stripe"`
	JMAP   *JMAP   `yaml:"jmap"`
	Pack   *Pack   `yaml:"pack"`
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
	for _, given := range []bool{p.IMAP != nil, p.RT != nil, p.SQL != nil, p.Stripe != nil, p.JMAP != nil, p.Pack != nil} {
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
		return errors.New("name exactly one adapter: imap, jmap, pack, rt, sql or stripe")
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
