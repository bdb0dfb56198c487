package main

import (
	"fmt"
	"net/url"

	"github.com/landedhq/landed/cmd/landed/config"
	"github.com/landedhq/landed/providers/evidence/egress"
	"github.com/landedhq/landed/providers/resume"
	hook "github.com/landedhq/landed/providers/resume/webhook"
	"github.com/landedhq/landed/providers/webhook"
)

// openTargets opens the runtimes that resolutions are handed over to.
func openTargets(cfg *config.Config) ([]resume.Target, error) {
	var out []resume.Target
	for _, r := range cfg.Resume {
		t, err := openTarget(cfg, r)
		if err != nil {
			return nil, fmt.Errorf("resume.%s: %w", r.Name, err)
		}
		out = append(out, t)
	}
	return out, nil
}

func openTarget(cfg *config.Config, r config.Resume) (resume.Target, error) {
	w := r.Webhook
	u, err := url.Parse(w.URL)
	if err != nil || u.Host == "" {
		return nil, fmt.Errorf("url: %q is no address", w.URL)
	}
	return hook.Config{Name: r.Name, URL: w.URL, Secret: key(w.Secret), OldSecret: key(w.OldSecret), PrivateKey: key(w.PrivateKey),
		CloudEvents: w.CloudEvents, Source: cfg.ExternalURL,
		HTTPClient: egress.Client(egress.Config{Hosts: []string{u.Host}, AllowPrivate: w.AllowPrivate, AllowPlainHTTP: w.AllowPrivate})}.Open()
}

// key reads a secret whenever it is used, so that a rotated file needs no restart;
// one that is not set is no key.
func key(s config.Secret) webhook.Key {
	if s == "" {
		return nil
	}
	return s.Value
}
