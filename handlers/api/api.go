// Package api serves the worker API: JSON over HTTP under /v1, bearer tokens
// only, problem+json errors with a stable code. openapi.yaml is its contract
// and is served at /v1/openapi.yaml.
//
// It owns the routes, the tokens' reach (a token limited to namespaces sees and
// touches nothing else, not in the feed either), the limits, and the one table
// that turns errors into answers. The forms are journal/client/wire's, the
// rules the journal's. It reads no cookie: nothing here can be done by a
// browser on a person's behalf.
//
// # Limits
//
// Body sizes per call are the Max* constants; args and results are bounded by
// the journal (1 MiB, 8 MiB). At most Config.MaxPolls long polls wait at once
// in one process; one more is 429 too_many_waiting. There is no limit of the
// rate: begin, commit and fail are a few statements each, and refusing a commit
// would lose a fact. Bound the rate in front of Landed if a worker may run
// wild.
package api

import (
	"context"
	_ "embed"
	"log/slog"
	"sync"
	"time"

	"github.com/labstack/echo/v4"

	"github.com/landedhq/landed/journal"
)

// Store is what the API needs of the journal.
type Store interface {
	RegisterTool(ctx context.Context, t journal.Tool) error
	Tools(ctx context.Context) ([]journal.Tool, error)
	Begin(ctx context.Context, r journal.BeginRequest) (journal.BeginAnswer, error)
	Commit(ctx context.Context, r journal.CommitRequest) (journal.CommitAnswer, error)
	Fail(ctx context.Context, r journal.FailRequest) (journal.FailAnswer, error)
	Heartbeat(ctx context.Context, r journal.Report) (journal.HeartbeatAnswer, error)
	Handle(ctx context.Context, r journal.HandleRequest) error
	Snapshot(ctx context.Context, effectID string) (journal.Snapshot, error)
	EffectByKey(ctx context.Context, namespace, key string) (effectID string, err error)
	Decision(ctx context.Context, effectID string, after int64, wait time.Duration) (*journal.Resolution, error)
	DecisionsIn(ctx context.Context, namespaces []string, after int64, limit int) ([]journal.Resolution, error)
	// AckIn returns journal.ErrNotFound for a resolution outside namespaces; none
	// means all.
	AckIn(ctx context.Context, namespaces []string, resolutionID, who string) error
	Undoable(ctx context.Context, q journal.UndoQuery) (journal.UndoPage, error)
}

// Tokens finds out who presents a bearer token. It compares hashes.
type Tokens interface {
	Token(ctx context.Context, secret string) (name string, namespaces []string, ok bool, err error)
}

// Defaults of Config.
const (
	DefaultMaxWait  = 55 * time.Second
	DefaultMaxPolls = 512
)

// Config wires an API. Store and Tokens are required.
type Config struct {
	Store  Store
	Tokens Tokens
	Logger *slog.Logger // nil = none
	// MaxWait bounds one long poll; 0 = 55 s, which stays below the minute after
	// which many proxies cut an idle request.
	MaxWait time.Duration
	// MaxPolls bounds the long polls that wait at once; 0 = 512.
	MaxPolls int
}

// API serves the worker API.
type API struct {
	store   Store
	tokens  Tokens
	log     *slog.Logger
	maxWait time.Duration
	polls   chan struct{} // one element per waiting poll
	quit    chan struct{}
	closing sync.Once
}

//go:embed openapi.yaml
var document []byte

// New makes an API.
func New(c Config) *API {
	a := &API{store: c.Store, tokens: c.Tokens, log: c.Logger, maxWait: c.MaxWait, quit: make(chan struct{})}
	if a.log == nil {
		a.log = slog.New(slog.DiscardHandler)
	}
	if a.maxWait <= 0 {
		a.maxWait = DefaultMaxWait
	}
	if c.MaxPolls <= 0 {
		c.MaxPolls = DefaultMaxPolls
	}
	a.polls = make(chan struct{}, c.MaxPolls)
	return a
}

// Close ends the waiting long polls with "none yet", so that a server that
// shuts down need not wait for them. Repeatable.
func (a *API) Close() { a.closing.Do(func() { close(a.quit) }) }

// Document returns the OpenAPI document that is served at /v1/openapi.yaml.
func Document() []byte { return document }

// Register adds the routes to the group that is mounted at /v1.
func (a *API) Register(g *echo.Group) {
	g.Use(a.problems)
	g.GET("/openapi.yaml", a.openapi)
	for _, r := range a.routes() {
		g.Add(r.method, r.path, r.handle, a.authenticate)
	}
}

// route is one call. path is relative to the group.
type route struct {
	method, path string
	handle       echo.HandlerFunc
}

func (a *API) routes() []route {
	return []route{
		{"PUT", "/tools/*", a.putTool},
		{"POST", "/effects", a.begin},
		{"GET", "/effects", a.effectByKey},
		{"GET", "/effects/:id", a.effect},
		{"POST", "/effects/:id/commit", a.commit},
		{"POST", "/effects/:id/fail", a.fail},
		{"POST", "/effects/:id/heartbeat", a.heartbeat},
		{"POST", "/effects/:id/handle", a.handle},
		{"GET", "/effects/:id/decision", a.decision},
		{"GET", "/decisions", a.decisions},
		{"POST", "/decisions/:id/ack", a.ack},
		{"GET", "/runs", a.undoable},
	}
}
