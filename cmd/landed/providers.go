package main

import (
	"context"
	"fmt"
	"log/slog"
	"net/http"
	"net/url"

	"github.com/landedhq/landed/cmd/landed/config"
	"github.com/landedhq/landed/handlers"
	"github.com/landedhq/landed/handlers/login"
	"github.com/landedhq/landed/journal"
	"github.com/landedhq/landed/journal/postgres"
	"github.com/landedhq/landed/providers/alert"
	"github.com/landedhq/landed/providers/alert/webhook"
	"github.com/landedhq/landed/providers/evidence"
	"github.com/landedhq/landed/providers/evidence/egress"
	"github.com/landedhq/landed/providers/evidence/imap"
	"github.com/landedhq/landed/providers/evidence/rt"
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
	if m := p.IMAP; m != nil {
		return imap.Config{Address: m.Address, TLS: imap.TLSMode(m.TLS), Username: m.Username, Password: m.Password.Value,
			Mailbox: m.Mailbox, SentAppended: m.SentAppended, Carrier: imap.Carrier{RefHeader: m.Header, Domain: m.Domain},
			IndexLag: m.IndexLag.D(), ProcessingHorizon: m.Horizon.D()}.Open()
	}
	r := p.RT
	return rt.Config{BaseURL: r.URL, Token: r.Token.Value, Queue: r.Queue, Field: r.Field, IndexLag: r.IndexLag.D(),
		ProcessingHorizon: r.Horizon.D(), AllowPrivate: r.AllowPrivate, AllowPlainHTTP: r.AllowPlainHTTP}.Open()
}

// openSinks opens every configured alert sink.
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
		AllowInsecureIssuer: l.AllowInsecureIssuer, HTTPClient: hc, SignedOut: signedOut,
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
