package main

import (
	"context"
	"fmt"
	"log/slog"
	"net/http"
	"net/url"
	"os"

	"github.com/landedhq/landed/cmd/landed/config"
	"github.com/landedhq/landed/handlers"
	"github.com/landedhq/landed/handlers/login"
	"github.com/landedhq/landed/journal"
	"github.com/landedhq/landed/journal/postgres"
	"github.com/landedhq/landed/providers/alert"
	"github.com/landedhq/landed/providers/alert/webhook"
	"github.com/landedhq/landed/providers/evidence"
	"github.com/landedhq/landed/providers/evidence/declared"
	"github.com/landedhq/landed/providers/evidence/egress"
	"github.com/landedhq/landed/providers/evidence/gmail"
	"github.com/landedhq/landed/providers/evidence/graph"
	"github.com/landedhq/landed/providers/evidence/imap"
	"github.com/landedhq/landed/providers/evidence/jira"
	"github.com/landedhq/landed/providers/evidence/jmap"
	"github.com/landedhq/landed/providers/evidence/mailref"
	"github.com/landedhq/landed/providers/evidence/packs"
	"github.com/landedhq/landed/providers/evidence/rt"
	"github.com/landedhq/landed/providers/evidence/sql"
	"github.com/landedhq/landed/providers/evidence/stripe"
	"github.com/landedhq/landed/providers/evidence/zendesk"
)

// openAdapters opens every configured provider. Nothing is called yet.
func openAdapters(cfg *config.Config) (map[string]evidence.Adapter, error) {
	out := map[string]evidence.Adapter{}
	for name, p := range cfg.Providers {
		a, err := openAdapter(p)
		if err != nil {
			return nil, fmt.Errorf("providers.%s: %w", name, err)
		}
		out[name] = a
	}
	return out, nil
}

func openAdapter(p config.Provider) (evidence.Adapter, error) {
	switch {
	case p.IMAP != nil:
		m := p.IMAP
		return imap.Config{Address: m.Address, TLS: imap.TLSMode(m.TLS), Username: m.Username, Password: m.Password.Value,
			Mailbox: m.Mailbox, SentAppended: m.SentAppended, SentSaved: m.SentSaved, Carrier: imap.Carrier{RefHeader: m.Header, Domain: m.Domain},
			IndexLag: m.IndexLag.D(), ProcessingHorizon: m.Horizon.D()}.Open()
	case p.JMAP != nil:
		j := p.JMAP
		return jmap.Config{SessionURL: j.SessionURL, APIHost: j.APIHost, Token: secret(j.Token), AccountID: j.AccountID, RefHeader: j.Header,
			Domain: j.Domain, CopyKept: j.CopyKept, MaxPages: j.MaxPages, Timeout: j.Timeout.D(), IndexLag: j.IndexLag.D(),
			ProcessingHorizon: j.Horizon.D(), AllowPrivate: j.AllowPrivate, TestMode: j.TestMode}.Open()
	case p.SQL != nil:
		q := p.SQL
		return sql.Config{DSN: secret(q.DSN), Statement: q.Statement, Columns: sql.Columns(q.Columns), Dashed: q.Dashed, Pending: q.Pending,
			NotEffective: q.NotEffective, Link: q.Link, Timeout: q.Timeout.D(), WriterWait: q.WriterWait.D(), ProcessingHorizon: q.Horizon.D(),
			Retention: q.Retention.D(), AllowUnverified: q.AllowUnverified, TestMode: q.TestMode}.Open()
	case p.Stripe != nil:
		t := p.Stripe
		return stripe.Config{Key: secret(t.Key), Mode: stripe.Mode(t.Mode), Object: stripe.Object(t.Object), MetadataKey: t.MetadataKey,
			Account: t.Account, MaxPages: t.MaxPages, Timeout: t.Timeout.D(), IndexLag: t.IndexLag.D(), ProcessingHorizon: t.Horizon.D()}.Open()
	case p.Gmail != nil:
		return openGmail(p.Gmail)
	case p.Graph != nil:
		return openGraph(p.Graph)
	case p.Zendesk != nil:
		return openZendesk(p.Zendesk)
	case p.Jira != nil:
		return openJira(p.Jira)
	case p.Pack != nil:
		return openPack(p.Pack)
	}
	r := p.RT
	return rt.Config{BaseURL: r.URL, Token: r.Token.Value, Queue: r.Queue, Field: r.Field, IndexLag: r.IndexLag.D(),
		ProcessingHorizon: r.Horizon.D(), AllowPrivate: r.AllowPrivate, AllowPlainHTTP: r.AllowPlainHTTP}.Open()
}

func openGmail(g *config.Gmail) (evidence.Adapter, error) {
	return gmail.Config{Mailbox: g.Mailbox, ServiceAccount: secret(g.ServiceAccount), ClientID: g.ClientID, ClientSecret: secret(g.ClientSecret),
		RefreshToken: secret(g.RefreshToken), Carrier: mailref.Carrier{Header: g.Header, Domain: g.Domain}, MessageIDKept: g.MessageIDKept,
		RefInBody: g.RefInBody, MaxPages: g.MaxPages, Timeout: g.Timeout.D(), IndexLag: g.IndexLag.D(), ProcessingHorizon: g.Horizon.D(),
		Retention: g.Retention.D(), TestMode: g.TestMode}.Open()
}

func openGraph(g *config.Graph) (evidence.Adapter, error) {
	return graph.Config{Tenant: g.Tenant, ClientID: g.ClientID, ClientSecret: secret(g.ClientSecret), Mailbox: g.Mailbox, Cloud: graph.Cloud(g.Cloud),
		Carrier: mailref.Carrier{Header: g.Header, Domain: g.Domain}, CopyKept: g.CopyKept, MaxPages: g.MaxPages, Timeout: g.Timeout.D(),
		IndexLag: g.IndexLag.D(), ProcessingHorizon: g.Horizon.D(), Retention: g.Retention.D(), TestMode: g.TestMode}.Open()
}

func openZendesk(z *config.Zendesk) (evidence.Adapter, error) {
	return zendesk.Config{Subdomain: z.Subdomain, ClientID: z.ClientID, ClientSecret: secret(z.ClientSecret), Token: secret(z.Token),
		Email: z.Email, AllowUnverified: z.AllowUnverified, Sandbox: z.Sandbox,
		NotEffective: z.NotEffective, MaxPages: z.MaxPages, Timeout: z.Timeout.D(), IndexLag: z.IndexLag.D(), ProcessingHorizon: z.Horizon.D()}.Open()
}

func openJira(j *config.Jira) (evidence.Adapter, error) {
	return jira.Config{Site: j.Site, CloudID: j.CloudID, Email: j.Email, Token: secret(j.Token), Project: j.Project, Carrier: jira.Carrier(j.Carrier),
		LabelPrefix: j.LabelPrefix, PropertyKey: j.PropertyKey, NotEffective: j.NotEffective, AllowUnverified: j.AllowUnverified, MaxPages: j.MaxPages,
		Timeout: j.Timeout.D(), IndexLag: j.IndexLag.D(), ProcessingHorizon: j.Horizon.D(), TestMode: j.TestMode}.Open()
}

// secret is nil for one that is not named, so that the adapter says what it is for.
func secret(s config.Secret) evidence.Secret {
	if s == "" {
		return nil
	}
	return s.Value
}

func openPack(p *config.Pack) (evidence.Adapter, error) {
	d, err := packDefinition(p)
	if err != nil {
		return nil, err
	}
	secrets := map[string]evidence.Secret{}
	for name, s := range p.Secrets {
		secrets[name] = s.Value
	}
	return declared.Config{Definition: d, Params: p.Params, Secrets: secrets, BaseURL: p.BaseURL, Timeout: p.Timeout.D(), IndexLag: p.IndexLag.D(),
		ProcessingHorizon: p.Horizon.D(), Retention: p.Retention.D(), AllowPrivate: p.AllowPrivate, AllowPlainHTTP: p.AllowPlainHTTP,
		TestMode: p.TestMode}.Open()
}

func packDefinition(p *config.Pack) (*declared.Definition, error) {
	if p.Name != "" {
		return packs.Load(p.Name)
	}
	b, err := os.ReadFile(p.File)
	if err != nil {
		return nil, fmt.Errorf("reading the definition: %w", err)
	}
	return declared.Parse(p.File, b)
}

func openSinks(cfg *config.Config) ([]alert.Sink, error) {
	var out []alert.Sink
	for _, a := range cfg.Alerts {
		secret, err := a.Webhook.Secret.Value()
		if err != nil {
			return nil, fmt.Errorf("alerts.%s.secret: %w", a.Name, err)
		}
		hc, err := webhookClient(a.Webhook)
		if err != nil {
			return nil, fmt.Errorf("alerts.%s: %w", a.Name, err)
		}
		s, err := webhook.Config{Name: a.Name, URL: a.Webhook.URL, Secret: secret, HTTPClient: hc}.Open()
		if err != nil {
			return nil, fmt.Errorf("alerts.%s: %w", a.Name, err)
		}
		out = append(out, s)
	}
	return out, nil
}

// webhookClient reaches the receiver's host and no other.
func webhookClient(w *config.Webhook) (*http.Client, error) {
	u, err := url.Parse(w.URL)
	if err != nil || u.Host == "" {
		return nil, fmt.Errorf("url: %q is no address", w.URL)
	}
	return egress.Client(egress.Config{Hosts: []string{u.Host}, AllowPrivate: w.AllowPrivate, AllowPlainHTTP: w.AllowPrivate}), nil
}

func openLogin(cfg *config.Config, store *postgres.Store, hc *http.Client, log *slog.Logger) (*login.Login, error) {
	secret, err := cfg.Login.ClientSecret.Value()
	if err != nil {
		return nil, fmt.Errorf("login.client_secret: %w", err)
	}
	roles := map[journal.Role][]string{}
	for role, groups := range cfg.Login.Roles {
		roles[journal.Role(role)] = groups
	}
	l := cfg.Login
	signedOut, err := handlers.SignedOut()
	if err != nil {
		return nil, err
	}
	out, err := login.New(login.Config{ExternalURL: cfg.ExternalURL, Issuer: l.Issuer, ClientID: l.ClientID, ClientSecret: secret,
		Scopes: l.Scopes, GroupsClaim: l.GroupsClaim, NameClaim: l.NameClaim, RoleGroups: roles, Idle: l.Idle.D(), Absolute: l.Absolute.D(),
		AllowInsecureIssuer: l.AllowInsecureIssuer, TrustPrompt: l.TrustPrompt, StepUpACR: l.StepUpACR, KeepGroups: cfg.Policy.Groups(), HTTPClient: hc, SignedOut: signedOut,
		OnEvent: recordAccess(store, log)}, store.Sessions(), log)
	return out, err
}

// recordAccess puts who came and went on the audit trail. Failures of nobody in
// particular only go to the log: anybody can cause them.
func recordAccess(store *postgres.Store, log *slog.Logger) func(context.Context, login.Event) {
	return func(ctx context.Context, e login.Event) {
		log.InfoContext(ctx, "access", "kind", e.Kind, "subject", e.Actor.Subject, "why", e.Why)
		if e.Actor.Subject == "" {
			return
		}
		if err := store.RecordAccess(context.WithoutCancel(ctx), e.Kind, e.Actor, e.At, e.Why); err != nil {
			log.ErrorContext(ctx, "access could not be recorded", "kind", e.Kind, "error", err)
		}
	}
}
