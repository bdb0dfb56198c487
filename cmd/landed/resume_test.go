package main

import (
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/riverqueue/river/riverdriver/riverpgxv5"
	"github.com/riverqueue/river/rivermigrate"

	"github.com/landedhq/landed/cmd/landed/config"
	"github.com/landedhq/landed/cmd/landed/demo"
	"github.com/landedhq/landed/journal"
	"github.com/landedhq/landed/journal/journaltest"
	"github.com/landedhq/landed/journal/postgres"
	"github.com/landedhq/landed/providers/webhook"
)

const resumeHead = `
external_url: https://landed.example.com
database: env:LANDED_TEST_DATABASE
login: {issuer: "https://id.example.com", client_id: landed, client_secret: env:LANDED_TEST_SECRET, roles: {operator: [oncall]}}
resume:
`

const hookSecret = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"

// hookServer is an endpoint that proves itself and counts what it is handed.
func hookServer(t *testing.T) (url string, got *atomic.Int64) {
	t.Helper()
	got = &atomic.Int64{}
	v, err := webhook.NewVerifier(hookSecret)
	if err != nil {
		t.Fatal(err)
	}
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		b, _ := io.ReadAll(r.Body)
		if _, err := v.Verify(time.Now(), r.Header, b); err != nil {
			http.Error(w, err.Error(), http.StatusUnauthorized)
			return
		}
		var m struct {
			Data struct {
				Challenge string `json:"challenge"`
			} `json:"data"`
		}
		if json.Unmarshal(b, &m) == nil && m.Data.Challenge != "" {
			fmt.Fprintf(w, `{"challenge":%q}`, m.Data.Challenge)
			return
		}
		got.Add(1)
	}))
	t.Cleanup(s.Close)
	return s.URL, got
}

// TestResumeWired: one configuration, a runtime whose tables are in the journal's
// database, and one that is called: the first is handed the resolution with the
// decision, the second by the round.
func TestResumeWired(t *testing.T) {
	dsn := journaltest.Database(t, postgres.Migrate)
	t.Setenv("LANDED_TEST_DATABASE", dsn)
	t.Setenv("LANDED_TEST_SECRET", "s3cret-that-is-long-enough")
	t.Setenv("LANDED_TEST_HOOK", hookSecret)
	t.Setenv("LANDED_TEST_PRIVATE", "whsk_AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8=")
	hook, got := hookServer(t)
	cfg, err := config.Parse([]byte(resumeHead + `
  - {name: jobs, river: {}}
  - {name: hook, webhook: {url: "` + hook + `", secret: env:LANDED_TEST_HOOK, allow_private: true}, tools: [mail.send]}
  - {name: signed, webhook: {url: "` + hook + `", private_key: env:LANDED_TEST_PRIVATE, allow_private: true}}
`))
	if err != nil {
		t.Fatal(err)
	}
	d, err := newDesk(t.Context(), cfg, demo.Extras{}, slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(d.close)
	if keys, err := d.webhookKeys(); err != nil || !slices.Equal(keys, []string{"whpk_A6EHv/POEL4dcN0Y50vAmWfk1jCbpQ1fHdyGZBJVMbg="}) {
		t.Errorf("public keys: %v (%v)", keys, err)
	}
	m, err := rivermigrate.New(riverpgxv5.New(d.store.Pool()), &rivermigrate.Config{Logger: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := m.Migrate(t.Context(), rivermigrate.DirectionUp, nil); err != nil {
		t.Fatal(err)
	}
	if err := d.store.RegisterTool(t.Context(), journal.Tool{Name: "mail.send", Class: journal.ClassAtMostOnce, Provider: "none", ClientTimeout: time.Second}); err != nil {
		t.Fatal(err)
	}
	job := closedEffect(t, d.store, "k-1", `{"to":"jobs","kind":"resume_order"}`)
	if h := job.Handovers[job.Resolutions[0].ID]; h.State != journal.HandoverSent || h.Target != "jobs" {
		t.Errorf("by the decision itself: %+v", h)
	}
	var kind, id string
	if err := d.store.Pool().QueryRow(t.Context(), "select kind, args->'landed'->'data'->>'resolution_id' from river_job").Scan(&kind, &id); err != nil || kind != "resume_order" || id != job.Resolutions[0].ID {
		t.Errorf("the job: %s, of %s (%v)", kind, id, err)
	}
	pulled := closedEffect(t, d.store, "k-3", `{"kind":"pull"}`)
	called := closedEffect(t, d.store, "k-2", "")
	for range 2 {
		if err := d.resumer.Round(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	k, err := d.store.Case(t.Context(), called.Effect.ID)
	if err != nil {
		t.Fatal(err)
	}
	if p, err := d.store.Case(t.Context(), pulled.Effect.ID); err != nil || p.Handovers[p.Resolutions[0].ID].State != journal.HandoverPull {
		t.Errorf("an effect that pulls, of a tool with a default: %+v (%v)", p.Handovers, err)
	}
	if h := k.Handovers[k.Resolutions[0].ID]; h.State != journal.HandoverSent || h.Target != "hook" || got.Load() != 1 {
		t.Errorf("by the round, as the tool's default: %+v, %d requests", h, got.Load())
	}
}

// closedEffect parks an effect and closes it.
func closedEffect(t *testing.T, s *postgres.Store, key, resume string) journal.Case {
	t.Helper()
	ctx := t.Context()
	r := journal.BeginRequest{Key: key, ClaimID: journal.NewToken(), Tool: "mail.send", RootRun: key, Operation: "send", Lease: time.Minute}
	if resume != "" {
		r.Resume = []byte(resume)
	}
	a, err := s.Begin(ctx, r)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := s.Fail(ctx, journal.FailRequest{Report: journal.Report{EffectID: a.EffectID, Attempt: 1, LeaseToken: a.LeaseToken, Key: key, Tool: "mail.send"}, Phase: journal.PhaseSent, Error: "lost"}); err != nil {
		t.Fatal(err)
	}
	sn, err := s.Snapshot(ctx, a.EffectID)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := s.Decide(ctx, journal.Decision{EffectID: a.EffectID, Verb: journal.VerbCloseNotLanded, Expected: sn.Effect.Version, Digest: sn.EvidenceDigest(),
		Actor: journal.Actor{Issuer: "https://idp.test", Subject: "olga", Roles: []journal.Role{journal.RoleOperator}}, Source: "page", ReasonCode: "other", Reason: "asked the customer"}); err != nil {
		t.Fatal(err)
	}
	k, err := s.Case(ctx, a.EffectID)
	if err != nil {
		t.Fatal(err)
	}
	return k
}

func TestResumeConfiguration(t *testing.T) {
	t.Setenv("LANDED_TEST_DATABASE", "postgres://x@db.example.com/x")
	t.Setenv("LANDED_TEST_SECRET", "s3cret-that-is-long-enough")
	t.Setenv("LANDED_TEST_HOOK", hookSecret)
	for _, c := range []struct{ name, yaml, want string }{
		{"all kinds", `
  - {name: flow, temporal: {url: "https://temporal.example.com:7243", namespace: default, api_key: env:LANDED_TEST_SECRET}}
  - {name: steps, dbos: {database: env:LANDED_TEST_DATABASE}}
  - {name: jobs, river: {database: env:LANDED_TEST_DATABASE, schema: river}}
  - {name: hook, webhook: {url: "https://hooks.example.com/landed", secret: env:LANDED_TEST_HOOK, cloud_events: true}, tools: [mail.send]}
  - {name: events, recipe: {name: inngest.event, secrets: {event_key: env:LANDED_TEST_SECRET}}}`, ""},
		{"no such recipe", "\n  - {name: a, recipe: {name: inngets}}", "inngest.event"},
		{"a recipe and a file", "\n  - {name: a, recipe: {name: inngest.event, file: x.yaml}}", "either the name"},
		{"a recipe without its secret", "\n  - {name: a, recipe: {name: inngest.event}}", "event_key"},
		{"no kind", "\n  - {name: flow}", "name exactly one kind of [dbos"},
		{"two kinds", "\n  - {name: flow, dbos: {}, river: {}}", "here are 2"},
		{"no name", "\n  - {dbos: {}}", "needs a name"},
		{"a name twice", "\n  - {name: a, dbos: {}}\n  - {name: a, river: {}}", "the name a is given twice"},
		{"a tool twice", "\n  - {name: a, dbos: {}, tools: [pay]}\n  - {name: b, river: {}, tools: [pay]}", "tool pay goes to a already"},
		{"half a certificate", "\n  - {name: a, temporal: {client_cert: x.pem}}", "belong together"},
		{"an unknown key", "\n  - {name: a, temporal: {uri: x}}", "uri"},
		{"Landed's own jobs", "\n  - {name: a, river: {schema: river}}", "holds Landed's own jobs"},
		{"plain http", "\n  - {name: a, temporal: {url: \"http://temporal.example.com:7243\", namespace: default}}", "http"},
		{"no secret", "\n  - {name: a, webhook: {url: \"https://hooks.example.com/landed\"}}", "neither secret nor private_key"},
	} {
		t.Run(c.name, func(t *testing.T) {
			cfg, err := config.Parse([]byte(resumeHead + c.yaml + "\n"))
			if err == nil {
				pool := journaltest.Database(t, postgres.Migrate)
				s, oerr := postgres.Open(t.Context(), pool, postgres.Options{})
				if oerr != nil {
					t.Fatal(oerr)
				}
				defer s.Close()
				_, err = openTargets(cfg, s.Pool())
			}
			if (err == nil) != (c.want == "") || err != nil && !strings.Contains(err.Error(), c.want) {
				t.Errorf("got %v, want %q", err, c.want)
			}
		})
	}
}
