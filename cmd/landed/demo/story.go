package demo

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/landedhq/landed/cmd/landed/config"
	"github.com/landedhq/landed/cmd/landed/demo/idp"
	"github.com/landedhq/landed/cmd/landed/demo/inbox"
	"github.com/landedhq/landed/journal"
	"github.com/landedhq/landed/journal/postgres"
	"github.com/landedhq/landed/providers/evidence/rt/rtdesk"
	hook "github.com/landedhq/landed/providers/resume/webhook"
)

// story is one run of the demo.
type story struct {
	o               Options
	dir             string
	external, local string
	secrets         secrets
	sandbox         *sandbox
	store           *postgres.Store
	agent           agentConfig
	woken           chan struct{} // something was decided
}

// secrets are made at the start and kept beside the data.
type secrets struct{ client, mail, agentAtProviders, deskRead, webhook string }

// run serves the desk, tells the story, says when there is something to
// decide, and goes on until ctx is done.
func (s *story) run(ctx context.Context, l net.Listener, dsn string) error {
	s.woken = make(chan struct{}, 1)
	cfg, err := s.configure(dsn)
	if err != nil {
		return err
	}
	defer s.sandbox.close()
	if err := s.o.Migrate(ctx, cfg, quiet(s.o.Log)); err != nil {
		return err
	}
	if s.store, err = postgres.Open(ctx, dsn, postgres.Options{Policy: cfg.JournalPolicy(), MaxConns: 4}); err != nil {
		return err
	}
	defer s.store.Close()
	extras, err := s.extras()
	if err != nil {
		return err
	}
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	served := make(chan error, 1)
	go func() { served <- s.o.Serve(ctx, cfg, l, extras, quiet(s.o.Log)) }()
	told := make(chan error, 1)
	go func() { told <- s.tell(ctx) }()
	for {
		select {
		case err := <-served:
			return err
		case err := <-told:
			if err != nil {
				stop()
				return errors.Join(err, <-served)
			}
			told = nil // the agent goes on by itself
		case <-ctx.Done():
			return <-served
		}
	}
}

// configure opens the sandbox and writes the configuration that a newcomer
// would write by hand.
func (s *story) configure(dsn string) (*config.Config, error) {
	var err error
	if s.secrets, err = s.openSecrets(); err != nil {
		return nil, err
	}
	keep := ""
	if s.o.Data != "" {
		keep = s.dir
	}
	if s.sandbox, err = newSandbox(keep, s.secrets.agentAtProviders, s.secrets.deskRead, s.secrets.mail); err != nil {
		return nil, err
	}
	dsnFile, err := s.keep("database", dsn)
	if err != nil {
		return nil, err
	}
	short := config.Duration(time.Second)
	cfg := &config.Config{
		ExternalURL: s.external, Database: config.Secret("file:" + dsnFile), Every: config.Duration(500 * time.Millisecond),
		Login: config.Login{Issuer: s.external + prefix + "/idp", ClientID: "landed", ClientSecret: s.secretFile("client"), GroupsClaim: "groups",
			AllowInsecureIssuer: true, Roles: map[string][]string{"viewer": {idp.GroupViewers}, "operator": {idp.GroupOperators},
				"approver": {idp.GroupApprovers}, "auditor": {idp.GroupAuditors}}},
		Providers: map[string]config.Provider{
			"mail": {IMAP: &config.IMAP{Address: s.sandbox.imap.Addr().String(), TLS: "none", Username: mailUser, Password: s.secretFile("mail"),
				Mailbox: sentFolder, SentAppended: true, IndexLag: short, Horizon: short}},
			"desk": {RT: &config.RT{URL: s.local + prefix + "/desk", Token: s.secretFile("deskread"), Queue: deskQueue, Field: deskField,
				IndexLag: short, Horizon: short, AllowPrivate: true, AllowPlainHTTP: true}},
		},
		Alerts: []config.Alert{{Name: "inbox", Webhook: &config.Webhook{URL: s.local + prefix + "/inbox", Secret: s.secretFile("webhook"), AllowPrivate: true}}},
		Resume: []config.Resume{{Name: flowName, Webhook: &config.ResumeWebhook{URL: s.local + prefix + "/flow", Secret: s.secretFile("webhook"), AllowPrivate: true}}},
		Policy: config.Policy{Version: "demo/1", AlertInterval: config.Duration(15 * time.Second), RetryGrace: config.Duration(10 * time.Second), RetryBudget: 3,
			Rules: []config.Rule{{Name: "payouts from 1,000 EUR", Tools: []string{"bank.*"}, AmountFrom: "1000", Currency: "EUR",
				Verbs: []string{"reissue", "close_not_landed"}, FourEyes: true, StepUp: true}},
			Overrides: []string{journal.WhyFound, journal.WhyTooEarly}, BreakGlass: []string{idp.GroupOperators}},
	}
	return cfg, nil
}

// openSecrets makes the demo's secrets, or finds those of an earlier run.
func (s *story) openSecrets() (secrets, error) {
	var out secrets
	for _, f := range []struct {
		name string
		to   *string
		make func() string
	}{
		{"client", &out.client, func() string { return journal.NewToken() }},
		{"mail", &out.mail, func() string { return journal.NewToken() }},
		{"agent", &out.agentAtProviders, func() string { return journal.NewToken() }},
		{"deskread", &out.deskRead, func() string { return "1-23-" + journal.NewToken() }},
		{"webhook", &out.webhook, newWebhookSecret},
	} {
		path := filepath.Join(s.dir, "secrets", f.name)
		if b, err := os.ReadFile(path); err == nil {
			*f.to = strings.TrimSpace(string(b))
			continue
		}
		*f.to = f.make()
		if _, err := s.keep(f.name, *f.to); err != nil {
			return out, err
		}
	}
	return out, nil
}

func (s *story) secretFile(name string) config.Secret {
	return config.Secret("file:" + filepath.Join(s.dir, "secrets", name))
}

// keep writes a secret where only we read it.
func (s *story) keep(name, value string) (string, error) {
	dir := filepath.Join(s.dir, "secrets")
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return "", fmt.Errorf("keeping the demo's secrets: %w", err)
	}
	path := filepath.Join(dir, name)
	if err := os.WriteFile(path, []byte(value), 0o600); err != nil {
		return "", fmt.Errorf("keeping the demo's secrets: %w", err)
	}
	return path, nil
}

// extras put the sandbox in front of the desk.
func (s *story) extras() (Extras, error) {
	people, err := idp.New(idp.Config{Issuer: s.external + prefix + "/idp", ClientID: "landed", ClientSecret: s.secrets.client,
		RedirectURI: s.external + "/login/callback", AnyHost: true})
	if err != nil {
		return Extras{}, err
	}
	box, err := inbox.New(inbox.Config{Keys: []string{s.secrets.webhook}, Desk: s.external})
	if err != nil {
		return Extras{}, err
	}
	flow, err := hook.NewReceiver(s.wake, s.secrets.webhook)
	if err != nil {
		return Extras{}, err
	}
	mux := http.NewServeMux()
	mux.Handle(prefix+"/idp/", people)
	mux.Handle(prefix+"/flow", flow)
	mux.Handle(prefix+"/inbox", box)
	s.sandbox.routes(mux)
	return Extras{
		Wrap: func(desk http.Handler) http.Handler {
			return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				if strings.HasPrefix(r.URL.Path, prefix+"/") {
					mux.ServeHTTP(w, r)
					return
				}
				desk.ServeHTTP(w, r)
			})
		},
		LoginClient: &http.Client{Timeout: 10 * time.Second, Transport: inProcess{mux}},
	}, nil
}

// wake tells the agent that something was decided. That it may wake for nothing,
// or twice, is the same to it.
func (s *story) wake(context.Context, hook.Woken) error {
	select {
	case s.woken <- struct{}{}:
	default: // it is being woken
	}
	return nil
}

// tell runs the script, then waits until the desk has something to decide.
func (s *story) tell(ctx context.Context) error {
	_, secret, err := s.store.CreateToken(ctx, "demo-agent", nil, "demo")
	if err != nil {
		return err
	}
	run, fresh, err := s.runID()
	if err != nil {
		return err
	}
	s.agent = agentConfig{URL: s.local, Token: secret, ProviderToken: s.secrets.agentAtProviders, Run: run}
	if fresh {
		fmt.Fprintln(s.o.Out, "landed: an agent sends mails, opens tickets and moves money; it is killed while doing so …")
		if err := s.perform(ctx); err != nil {
			return err
		}
	}
	go s.keepAgent(ctx)
	if err := s.awaitDesk(ctx, fresh); err != nil {
		return err
	}
	fmt.Fprintf(s.o.Out, "landed: ready at %s\n", s.external)
	fmt.Fprintf(s.o.Out, "  alerts that a person on call would get: %s%s/inbox\n  what the providers really did:          %s%s/books\n", s.external, prefix, s.external, prefix)
	fmt.Fprintln(s.o.Out, "  sign in as Olivia (operator) and decide something; Ctrl-C ends the demo")
	return nil
}

// runID names the agent's run; with --data it is the same at every start.
func (s *story) runID() (run string, fresh bool, err error) {
	path := filepath.Join(s.dir, "run")
	if b, err := os.ReadFile(path); err == nil {
		return strings.TrimSpace(string(b)), false, nil
	}
	run = journal.NewID(time.Now())
	if err := os.WriteFile(path, []byte(run), 0o600); err != nil {
		return "", false, fmt.Errorf("naming the agent's run: %w", err)
	}
	return run, true, nil
}

// perform runs every step in an agent process of its own; deadly ones end with
// SIGKILL.
func (s *story) perform(ctx context.Context) error {
	for _, st := range script() {
		if st.mishap == twice {
			s.sandbox.desk.SetFaults(rtdesk.Faults{DuplicateOnCreate: true})
		}
		if err := s.agent.perform(ctx, s.o.Executable, st); err != nil {
			return fmt.Errorf("the agent at %s: %w", st.id, err)
		}
		s.sandbox.desk.SetFaults(rtdesk.Faults{})
	}
	return nil
}

// keepAgent runs the agent that waits for decisions, and starts it again should
// it end.
func (s *story) keepAgent(ctx context.Context) {
	for ctx.Err() == nil {
		if err := s.agent.resume(ctx, s.o.Executable, s.woken); err != nil && ctx.Err() == nil {
			s.o.Log.Warn("the agent ended and is started again", "error", err)
		}
		select {
		case <-ctx.Done():
		case <-time.After(time.Second):
		}
	}
}

// enough is how many effects with evidence make the desk ready.
const enough = 8

func (s *story) awaitDesk(ctx context.Context, fresh bool) error {
	deadline := time.Now().Add(readyWithin)
	for {
		page, err := s.store.List(ctx, journal.ListFilter{Limit: 100})
		if err != nil {
			return err
		}
		seen := 0
		for i := range page.Rows {
			if _, ok := page.Rows[i].LastLook(); ok {
				seen++
			}
		}
		if seen >= enough || !fresh {
			return nil
		}
		if time.Now().After(deadline) {
			return fmt.Errorf("only %d of %d effects got evidence within %s", seen, enough, readyWithin)
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(250 * time.Millisecond):
		}
	}
}
