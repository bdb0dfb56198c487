package httpkey

import (
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/textproto"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/landedhq/landed/journal"
	"github.com/landedhq/landed/journal/worker"
)

// Limits of what is journaled of a request and its answer.
const (
	DefaultMaxBody   = 256 << 10
	DefaultMaxAnswer = 1 << 20
	// LargestBody fits the journal's args in any encoding, LargestAnswer its
	// results.
	LargestBody   = 700 << 10
	LargestAnswer = 5 << 20
)

// Config says what is guarded and how. Journal and Tool.Name are required.
type Config struct {
	Journal worker.Journal
	// Tool is what the handler is to the journal: its name, its class (default
	// at_most_once), the provider that evidence is pulled from, the key window of a
	// provider_idempotent one, and how long one request may take (ClientTimeout,
	// default 30 s). The fields that say how args are read are set here.
	Tool      journal.Tool
	Namespace string
	// Routes are the patterns of net/http.ServeMux that are guarded, each with a
	// method; nil = every POST and PATCH. Other requests go past the guard.
	Routes []string
	// Client tells clients apart; nil = Credential(nil).
	Client ClientFunc
	// Identity returns what of a body makes two requests the same; nil = all of it.
	// For bodies that no retry can repeat, such as multipart with a random boundary.
	Identity func(r *http.Request, body []byte) []byte
	// Describe adds what people and searches need: subject, amount, labels, the run.
	// What makes the key and the fingerprint can't be changed by it.
	Describe func(r *http.Request, body []byte, call *worker.Call)

	// Tracked: the handler reaches its upstream by worker.Transport only, as Forward
	// does. What that proves as not sent may then be tried again. For any other
	// handler the effect counts as sent from its first line on.
	Tracked bool
	// KeyHeader takes the provider key to the upstream of a provider_idempotent tool;
	// "" = Idempotency-Key. The upstream never sees the client's key.
	KeyHeader string
	// RefHeader takes the effect's reference to the handler; "" = Landed-Reference.
	// An upstream that keeps it can be searched for it.
	RefHeader string

	// MaxBody bounds the request's body, default 256 KiB, at most LargestBody;
	// MaxAnswer what is kept of an answer, default 1 MiB, at most LargestAnswer.
	MaxBody, MaxAnswer int64
	// KeepHeaders are recorded and replayed beside those that always are.
	KeepHeaders []string
	// Retryable are refusals after which the same key may be tried again; nil = 401,
	// 407 and 429, where nothing was begun. Any other 4xx but 408, 421 and 425 is
	// final.
	Retryable []int
	// Classifier reads answers. Without a Parse, a 2xx confirms once it is whole,
	// unless it is JSON that says that it failed.
	Classifier worker.Classifier

	// Wait is how long a request may wait for what resolves by itself (another one
	// runs under the same key, the next try is not due) before it is told to come
	// back; default not at all.
	Wait time.Duration
	// Stall is how long a client may take none of an answer that streams before it
	// gets no more of it; default 10 s. The outcome is recorded all the same.
	Stall time.Duration
	// Lease is how long a request keeps its effect without a sign of life of this
	// process; 0 = the journal's default.
	Lease time.Duration
	// Retention is how long the journal keeps what is settled. Answers state it; it
	// is not enforced here. 0 = for ever, or nobody says.
	Retention time.Duration
	DeskURL   string // where people decide: problems link there
	DocsURL   string // where the convention is explained: problems link there
	Worker    worker.Options
}

// New returns a middleware. It calls nobody: the tool is registered with the
// journal by the first guarded request.
func New(c Config) (func(http.Handler) http.Handler, error) {
	c = c.withDefaults()
	if err := c.check(); err != nil {
		return nil, fmt.Errorf("configuring the HTTP guard: %w", err)
	}
	routes, err := mux(c.Routes)
	if err != nil {
		return nil, fmt.Errorf("configuring the HTTP guard: %w", err)
	}
	g := &guard{
		tool: c.Tool, journal: c.Journal, registry: worker.NewRegistry(), routes: routes, client: c.Client, identity: c.Identity,
		describe: c.Describe, classifier: c.Classifier, retryable: c.Retryable, namespace: c.Namespace, refHeader: c.RefHeader,
		deskURL: c.DeskURL, docsURL: c.DocsURL, tracked: c.Tracked, maxBody: c.MaxBody, maxAnswer: c.MaxAnswer,
		lease: c.Lease, wait: c.Wait, stall: c.Stall, retention: c.Retention, log: c.Worker.Logger, keep: keptHeaders(),
	}
	for _, h := range c.KeepHeaders {
		g.keep = append(g.keep, textproto.CanonicalMIMEHeaderKey(h))
	}
	spec := worker.ToolSpec{Tool: c.Tool, Run: g.run, Tracked: c.Tracked}
	if c.Tool.Class == journal.ClassProviderIdempotent {
		spec.KeyHeader = c.KeyHeader
	}
	if err := g.registry.Register(spec); err != nil {
		return nil, fmt.Errorf("configuring the HTTP guard: %w", err)
	}
	g.worker = worker.New(c.Journal, g.registry, c.Worker)
	return g.around, nil
}

// settleWithin lets a call pick up an outcome that was settled while it ran.
const settleWithin = 20 * time.Millisecond

func (c Config) withDefaults() Config {
	if c.Tool.Class == "" {
		c.Tool.Class = journal.ClassAtMostOnce
	}
	if c.Tool.ClientTimeout == 0 {
		c.Tool.ClientTimeout = 30 * time.Second
	}
	c.Tool.IdentityFields, c.Tool.DisplayFields, c.Tool.ArgsSchema = identityFields(), displayFields(), nil
	if c.Routes == nil {
		c.Routes = []string{"POST /", "PATCH /"}
	}
	if c.Client == nil {
		c.Client = Credential(nil)
	}
	if c.KeyHeader == "" {
		c.KeyHeader = HeaderName
	}
	if c.RefHeader == "" {
		c.RefHeader = "Landed-Reference"
	}
	if c.MaxBody == 0 {
		c.MaxBody = DefaultMaxBody
	}
	if c.MaxAnswer == 0 {
		c.MaxAnswer = DefaultMaxAnswer
	}
	if c.Stall == 0 {
		c.Stall = 10 * time.Second
	}
	if c.Retryable == nil {
		c.Retryable = []int{http.StatusUnauthorized, http.StatusProxyAuthRequired, http.StatusTooManyRequests}
	}
	if c.Classifier.Parse == nil {
		c.Classifier.Parse = parseAnswer
	}
	if c.Worker.Logger == nil {
		c.Worker.Logger = slog.Default()
	}
	if c.Worker.BeginWithin == 0 {
		c.Worker.BeginWithin = 3 * time.Second // somebody waits
	}
	c.Worker.Patience = settleWithin
	return c
}

func (c Config) check() error {
	switch {
	case c.Journal == nil:
		return errors.New("a journal is needed: a store or a client")
	case c.Tool.Class == journal.ClassReadOnly:
		return errors.New("a read_only tool needs no guard")
	case c.MaxBody < 0 || c.MaxBody > LargestBody:
		return fmt.Errorf("the largest body must lie between 1 and %d bytes: all of it is journaled", LargestBody)
	case c.MaxAnswer < 0 || c.MaxAnswer > LargestAnswer:
		return fmt.Errorf("the largest answer to keep must lie between 1 and %d bytes", LargestAnswer)
	case c.Wait < 0 || c.Stall < 0 || c.Lease < 0 || c.Retention < 0:
		return errors.New("wait, stall, lease and retention can't be negative")
	}
	for _, s := range c.Retryable {
		if s < 400 || s > 499 {
			return fmt.Errorf("%d is no refusal: only a 4xx says that nothing was done", s)
		}
	}
	if c.Namespace != "" {
		if err := journal.ValidateName("namespace", c.Namespace); err != nil {
			return err
		}
	}
	for name, raw := range map[string]string{"the desk's": c.DeskURL, "the documentation's": c.DocsURL} {
		if u, err := url.Parse(raw); raw != "" && (err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" || strings.ContainsAny(raw, "<> \"")) {
			return fmt.Errorf("%s address %q must be an http or https URL", name, raw)
		}
	}
	return c.Tool.Validate()
}

// mux holds the guarded routes. ServeMux panics over a pattern that it can't use.
func mux(patterns []string) (m *http.ServeMux, err error) {
	m = http.NewServeMux()
	defer func() {
		if v := recover(); v != nil {
			err = fmt.Errorf("a guarded route can't be used: %v", v)
		}
	}()
	safe := []string{http.MethodGet, http.MethodHead, http.MethodOptions, http.MethodTrace, http.MethodConnect}
	for _, p := range patterns {
		method, _, ok := strings.Cut(p, " ")
		if !ok || strings.Contains(method, "/") || slices.Contains(safe, method) {
			return nil, fmt.Errorf("the guarded route %q must begin with a method that changes things, like POST /refunds", p)
		}
		m.Handle(p, http.NotFoundHandler())
	}
	return m, nil
}
