package main

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"net/url"
	"os"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/landedhq/landed/cmd/landed/config"
	"github.com/landedhq/landed/cmd/landed/jobs"
	"github.com/landedhq/landed/journal"
	"github.com/landedhq/landed/providers/evidence"
	"github.com/landedhq/landed/providers/evidence/egress"
	"github.com/landedhq/landed/providers/resume"
	"github.com/landedhq/landed/providers/resume/dbos"
	"github.com/landedhq/landed/providers/resume/recipe"
	"github.com/landedhq/landed/providers/resume/recipes"
	"github.com/landedhq/landed/providers/resume/river"
	"github.com/landedhq/landed/providers/resume/temporal"
	hook "github.com/landedhq/landed/providers/resume/webhook"
	"github.com/landedhq/landed/providers/webhook"
)

// openTargets opens the runtimes that resolutions are handed over to. pool is the
// journal's, for those whose tables are in the same database.
func openTargets(cfg *config.Config, pool *pgxpool.Pool) ([]resume.Target, error) {
	var out []resume.Target
	for _, r := range cfg.Resume {
		t, err := openTarget(cfg, r, pool)
		if err != nil {
			return nil, fmt.Errorf("resume.%s: %w", r.Name, err)
		}
		out = append(out, t)
	}
	return out, nil
}

func openTarget(cfg *config.Config, r config.Resume, pool *pgxpool.Pool) (resume.Target, error) {
	switch {
	case r.Temporal != nil:
		return openTemporal(r.Name, r.Temporal)
	case r.DBOS != nil:
		c := dbos.Config{Name: r.Name, Pool: pool, Schema: r.DBOS.Schema}
		if r.DBOS.Database != "" {
			c.Pool, c.DSN = nil, r.DBOS.Database.Value
		}
		return c.Open()
	case r.River != nil:
		c := river.Config{Name: r.Name, Pool: pool, Schema: r.River.Schema}
		if r.River.Database == "" && c.Schema == jobs.Schema {
			return nil, fmt.Errorf("river: the schema %s of the journal's database holds Landed's own jobs: your River needs another", jobs.Schema)
		}
		if r.River.Database != "" {
			c.Pool, c.DSN = nil, r.River.Database.Value
		}
		return c.Open()
	}
	if r.Recipe != nil {
		return openRecipe(r.Name, r.Recipe)
	}
	w := r.Webhook
	u, err := url.Parse(w.URL)
	if err != nil || u.Host == "" {
		return nil, fmt.Errorf("url: %q is no address", w.URL)
	}
	return hook.Config{Name: r.Name, URL: w.URL, Secret: key(w.Secret), OldSecret: key(w.OldSecret), PrivateKey: key(w.PrivateKey),
		CloudEvents: w.CloudEvents, Source: cfg.ExternalURL,
		HTTPClient: egress.Client(egress.Config{Hosts: []string{u.Host}, AllowPrivate: w.AllowPrivate, AllowPlainHTTP: w.AllowPrivate})}.Open()
}

func openTemporal(name string, c *config.ResumeTemporal) (resume.Target, error) {
	out := temporal.Config{Name: name, URL: c.URL, Namespace: c.Namespace, Timeout: c.Timeout.D(), AllowPrivate: c.AllowPrivate, AllowPlainHTTP: c.AllowPlainHTTP}
	if c.APIKey != "" {
		out.APIKey = evidence.Secret(c.APIKey.Value)
	}
	if c.ClientCert != "" {
		cert, err := tls.LoadX509KeyPair(c.ClientCert, c.ClientKey)
		if err != nil {
			return nil, fmt.Errorf("client_cert: %w", err)
		}
		out.Certificate = &cert
	}
	if c.CA != "" {
		pem, err := os.ReadFile(c.CA)
		if err != nil {
			return nil, fmt.Errorf("ca: %w", err)
		}
		out.RootCAs = x509.NewCertPool()
		if !out.RootCAs.AppendCertsFromPEM(pem) {
			return nil, fmt.Errorf("ca: %s holds no certificate in PEM form", c.CA)
		}
	}
	return out.Open()
}

func openRecipe(name string, c *config.ResumeRecipe) (resume.Target, error) {
	def, err := recipeDefinition(c)
	if err != nil {
		return nil, err
	}
	secrets := map[string]evidence.Secret{}
	for n, s := range c.Secrets {
		secrets[n] = s.Value
	}
	return recipe.Config{Name: name, Definition: def, Params: c.Params, Address: c.Address, Secrets: secrets, BaseURL: c.BaseURL,
		Timeout: c.Timeout.D(), AllowPrivate: c.AllowPrivate, AllowPlainHTTP: c.AllowPlainHTTP}.Open()
}

func recipeDefinition(c *config.ResumeRecipe) (*recipe.Definition, error) {
	if c.File == "" {
		return recipes.Load(c.Name)
	}
	b, err := os.ReadFile(c.File)
	if err != nil {
		return nil, fmt.Errorf("recipe: %w", err)
	}
	return recipe.Parse(c.File, b)
}

// key reads a secret whenever it is used, so that a rotated file needs no restart;
// one that is not set is no key.
func key(s config.Secret) webhook.Key {
	if s == "" {
		return nil
	}
	return s.Value
}

// webhookKeys are the public halves of the keys that webhooks are signed with.
func (d *desk) webhookKeys() ([]string, error) {
	var out []string
	for _, t := range d.targets {
		if h, ok := t.(*hook.Target); ok {
			k, err := h.PublicKey()
			if err != nil {
				return nil, fmt.Errorf("target %s: %w", h.Name(), err)
			}
			if k != "" {
				out = append(out, k)
			}
		}
	}
	return out, nil
}

// inTx is what a target does that keeps its tables in the journal's database.
type inTx interface {
	InTx() bool
	DeliverTx(ctx context.Context, tx pgx.Tx, m resume.Message) (resume.Receipt, error)
}

// handOver hands a resolution over within the transaction that records it, if its
// target can.
func (d *desk) handOver(ctx context.Context, tx pgx.Tx, h journal.Handover) (journal.HandoverResult, error) {
	if d.resumer == nil {
		return journal.HandoverResult{}, nil
	}
	name := d.resumer.Route(h.Tool, h.Resume)
	for _, t := range d.targets {
		to, ok := t.(inTx)
		if t.Name() != name || !ok || !to.InTx() {
			continue
		}
		start := time.Now()
		rec, err := to.DeliverTx(ctx, tx, d.resumer.Message(h))
		if err != nil {
			return journal.HandoverResult{}, err
		}
		return journal.HandoverResult{State: journal.HandoverSent, Target: name, Outcome: journal.HandoverAccepted, Detail: rec.Detail, Took: time.Since(start)}, nil
	}
	return journal.HandoverResult{}, nil
}
