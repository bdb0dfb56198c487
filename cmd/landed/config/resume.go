package config

import (
	"errors"
	"fmt"
	"slices"

	"github.com/landedhq/landed/journal"
)

// Resume is one runtime that resolutions are handed over to: exactly one kind. An
// effect names it by begin's resume, {"to": name, …}.
type Resume struct {
	Name     string          `yaml:"name"`
	Webhook  *ResumeWebhook  `yaml:"webhook"`
	Temporal *ResumeTemporal `yaml:"temporal"`
	DBOS     *ResumePostgres `yaml:"dbos"`
	River    *ResumePostgres `yaml:"river"`
	Recipe   *ResumeRecipe   `yaml:"recipe"`
	// Tools whose effects go there if begin named no target.
	Tools []string `yaml:"tools"`
}

// ResumeWebhook is a signed webhook (Standard Webhooks 1.0).
type ResumeWebhook struct {
	URL        string `yaml:"url"`
	Secret     Secret `yaml:"secret"`      // whsec_…
	OldSecret  Secret `yaml:"old_secret"`  // signs as well while the receiver changes over
	PrivateKey Secret `yaml:"private_key"` // whsk_…: ed25519
	// CloudEvents makes the body a CloudEvent 1.0.
	CloudEvents  bool `yaml:"cloud_events"`
	AllowPrivate bool `yaml:"allow_private"`
}

// ResumeTemporal is a namespace of a Temporal cluster, by its HTTP API.
type ResumeTemporal struct {
	URL       string `yaml:"url"` // of the frontend's HTTP API, port 7243 by default
	Namespace string `yaml:"namespace"`
	APIKey    Secret `yaml:"api_key"`
	// ClientCert and ClientKey are PEM files that are shown to a server that asks.
	ClientCert     string   `yaml:"client_cert"`
	ClientKey      string   `yaml:"client_key"`
	CA             string   `yaml:"ca"` // PEM file instead of the system's authorities
	Timeout        Duration `yaml:"timeout"`
	AllowPrivate   bool     `yaml:"allow_private"`
	AllowPlainHTTP bool     `yaml:"allow_plain_http"`
}

// ResumePostgres is a runtime whose tables are in PostgreSQL.
type ResumePostgres struct {
	// Database is its connection string. Without it the runtime's tables are in the
	// journal's own database, and a resolution is handed over in the transaction that
	// records it.
	Database Secret `yaml:"database"`
	Schema   string `yaml:"schema"`
}

// ResumeRecipe is a runtime that a file describes.
type ResumeRecipe struct {
	Name    string            `yaml:"name"` // a built-in one, e.g. inngest.signal
	File    string            `yaml:"file"` // or one of your own
	Params  map[string]string `yaml:"params"`
	Secrets map[string]Secret `yaml:"secrets"`
	// Address stands in for members that an effect's resume leaves out.
	Address        map[string]string `yaml:"address"`
	BaseURL        string            `yaml:"base_url"` // instead of the recipe's
	Timeout        Duration          `yaml:"timeout"`
	AllowPrivate   bool              `yaml:"allow_private"`
	AllowPlainHTTP bool              `yaml:"allow_plain_http"`
}

func (r Resume) kinds() map[string]bool {
	return map[string]bool{"webhook": r.Webhook != nil, "temporal": r.Temporal != nil, "dbos": r.DBOS != nil, "river": r.River != nil, "recipe": r.Recipe != nil}
}

func (r Resume) check() error {
	var all, given []string
	for k, on := range r.kinds() {
		all = append(all, k)
		if on {
			given = append(given, k)
		}
	}
	slices.Sort(all)
	switch {
	case r.Name == "":
		return errors.New("needs a name: begin's resume calls it by that")
	case len(given) != 1:
		return fmt.Errorf("%s: name exactly one kind of %v, here are %d", r.Name, all, len(given))
	case r.Recipe != nil && (r.Recipe.Name == "") == (r.Recipe.File == ""):
		return fmt.Errorf("%s: recipe: give either the name of a built-in recipe or the file of your own", r.Name)
	case r.Temporal != nil && (r.Temporal.ClientCert == "") != (r.Temporal.ClientKey == ""):
		return fmt.Errorf("%s: client_cert and client_key belong together", r.Name)
	}
	return journal.ValidateName("name", r.Name)
}

// checkResume checks all targets and that no tool has two.
func (c *Config) checkResume() []error {
	var errs []error
	names, tools := map[string]bool{}, map[string]string{}
	for i, r := range c.Resume {
		if err := r.check(); err != nil {
			errs = append(errs, fmt.Errorf("resume[%d]: %w", i, err))
		}
		if names[r.Name] && r.Name != "" {
			errs = append(errs, fmt.Errorf("resume[%d]: the name %s is given twice", i, r.Name))
		}
		names[r.Name] = true
		for _, t := range r.Tools {
			if first, twice := tools[t]; twice {
				errs = append(errs, fmt.Errorf("resume[%d]: tool %s goes to %s already", i, t, first))
			}
			tools[t] = r.Name
		}
	}
	return errs
}

// ResumeDefault names the target of a tool's effects that name none; "" = pulled.
func (c *Config) ResumeDefault(tool string) string {
	for _, r := range c.Resume {
		if slices.Contains(r.Tools, tool) {
			return r.Name
		}
	}
	return ""
}
