package handlers

import (
	"context"
	"fmt"
	"log/slog"
	"net/http"
	"strings"
	"time"

	"github.com/labstack/echo/v4"

	"github.com/landedhq/landed/journal"
	"github.com/landedhq/landed/providers/evidence"
	"github.com/landedhq/landed/providers/evidence/guide"
	"github.com/landedhq/landed/providers/resume"
	"github.com/landedhq/landed/static"
	"github.com/landedhq/landed/web"
)

// Journal is what the pages read, and the two small things that they write.
type Journal interface {
	List(ctx context.Context, f journal.ListFilter) (journal.ListPage, error)
	// Case returns journal.ErrNotFound if no effect has that id.
	Case(ctx context.Context, id string) (journal.Case, error)
	// AuditRows returns rows with numbers below before, newest first; 0 = from the end.
	AuditRows(ctx context.Context, before int64, limit int) ([]journal.AuditRecord, error)
	// LogView records that a person was shown a page; effectID may be empty.
	LogView(ctx context.Context, who journal.Actor, path, effectID string) error
	Acknowledge(ctx context.Context, id string, who journal.Actor, reason string) error
	// TargetStates is what is on its way to the targets.
	TargetStates(ctx context.Context) (map[string]journal.TargetState, error)
	// Redeliver has a resolution of the effect handed over once more.
	Redeliver(ctx context.Context, id string, r journal.Redelivery) error
	// A draft is a person's text on an effect, kept while they sign in again.
	SaveDraft(ctx context.Context, who journal.Actor, effectID string, form []byte) error
	Draft(ctx context.Context, who journal.Actor, effectID string) ([]byte, error)
	DropDraft(ctx context.Context, who journal.Actor, effectID string) error
	// Outcomes lists what was decided or settled and is not done yet, and the
	// journal's clock.
	Outcomes(ctx context.Context, limit int) ([]journal.Outcome, time.Time, error)
	Proposals(ctx context.Context, limit int) ([]journal.ProposalItem, error)
	Reviews(ctx context.Context, limit int) ([]journal.ReviewItem, error)
	CloseReview(ctx context.Context, r journal.ReviewClose) error
	// SettledByPolicy lists newest first, before an audit row; 0 = from the end.
	SettledByPolicy(ctx context.Context, before int64, limit int) ([]journal.PolicySettled, error)
	Team
	Bulks
	// ProviderState is what the looks at a provider told of it; of one that was
	// never asked nothing, which is no error.
	ProviderState(ctx context.Context, provider string) (journal.ProviderState, error)
}

// Decider is the decision use case. Its errors are *journal.InvalidError,
// *journal.StaleError, *journal.BlockedError, *journal.PolicyError and
// journal.ErrNotFound.
type Decider interface {
	Decide(ctx context.Context, d journal.Decision) (DecideResult, error)
	Approve(ctx context.Context, a journal.Approval) (DecideResult, error)
	Reject(ctx context.Context, a journal.Approval) error
}

// DecideResult is the decision that counts, or the proposal that waits. Repeated: the same one was recorded
// before, by an earlier click of the same person.
type DecideResult struct {
	Decision journal.Decision
	Proposal *journal.Proposal
	Repeated bool
}

// Looker asks the provider now, or as soon as the collector can.
type Looker interface {
	LookNow(ctx context.Context, effectID, requestedBy string) error
}

// Providers are the configured providers.
type Providers interface {
	Providers() []string // their names, in any order
	Sheet(provider string) (evidence.Sheet, bool)
	Use(provider string) (evidence.Use, bool)
	// Try looks a reference up with both controls and records no evidence. A fault
	// of the provider is in the facts; an error says that it was not asked.
	Try(ctx context.Context, provider, ref string, since time.Duration) (evidence.Facts, evidence.Question, error)
}

// Login lets nobody past without a session and serves its own routes.
type Login interface {
	Middleware() echo.MiddlewareFunc
	Register(e *echo.Echo)
}

// API mounts the worker API below /v1.
type API interface{ Register(g *echo.Group) }

// Config is everything that the pages need.
type Config struct {
	Journal Journal
	Decider Decider
	Looker  Looker
	// Targets are the runtimes that outcomes are handed over to, by name; nil = none.
	Targets map[string]resume.Sheet
	// WebhookKeys are the public keys (whpk_…) that receivers of signed calls check
	// with, read for every request; nil = there are none.
	WebhookKeys func() ([]string, error)
	// Providers may be none, but not nil.
	Providers Providers
	// Guides say what workers must set, by provider; one that is not there gives none.
	Guides map[string]guide.Guide
	Login  Login
	API    API // nil = no worker API here
	// Actor and FormToken read the session that the login middleware found.
	Actor     func(echo.Context) (journal.Actor, bool)
	FormToken func(echo.Context) string
	// FreshLogin is where a person proves anew who they are, and comes back to a path.
	FreshLogin func(to string) string
	// ExternalURL is how browsers reach this server, e.g. https://landed.example.org.
	ExternalURL string
	// EvidenceHosts are the hosts that links in evidence may lead to; empty = any,
	// over https.
	EvidenceHosts []string
	// Ready reports why the server can't serve; nil = always ready.
	Ready func(context.Context) error
	Log   *slog.Logger // nil = silent
}

// server holds what the handlers share.
type server struct {
	cfg   Config
	log   *slog.Logger
	files *static.Files
	urls  assetURLs
	// lastResort is the 500 page, rendered at start: it is sent when nothing else
	// can be.
	lastResort []byte
}

// assetURLs are the static files under their checksums.
type assetURLs struct{ css, js, icon string }

// New builds the server's routes. The error is one of the embedded files or the
// configuration; nothing is called.
func New(cfg Config) (*echo.Echo, error) {
	s, err := newServer(cfg)
	if err != nil {
		return nil, err
	}
	same, err := s.sameSite()
	if err != nil {
		return nil, err
	}
	e := echo.New()
	e.HideBanner, e.HidePort = true, true
	// The peer's address only: X-Forwarded-For is whatever a caller writes.
	e.IPExtractor = echo.ExtractIPDirect()
	e.HTTPErrorHandler = s.handleError
	e.Use(requestID, recoverPanics, s.headers, same, cfg.Login.Middleware())
	cfg.Login.Register(e)
	if cfg.API != nil {
		cfg.API.Register(e.Group(web.RouteAPI))
	}
	s.routes(e)
	return e, nil
}

func newServer(cfg Config) (*server, error) {
	files, err := static.Load()
	if err != nil {
		return nil, fmt.Errorf("handlers: %w", err)
	}
	if cfg.Journal == nil || cfg.Decider == nil || cfg.Looker == nil || cfg.Providers == nil || cfg.Login == nil || cfg.Actor == nil || cfg.FormToken == nil || cfg.FreshLogin == nil {
		return nil, fmt.Errorf("handlers: journal, decider, looker, providers, login, actor, form token and fresh login are needed")
	}
	s := &server{cfg: cfg, log: cfg.Log, files: files, urls: newAssetURLs(files)}
	if s.log == nil {
		s.log = slog.New(slog.DiscardHandler)
	}
	if s.lastResort, err = s.renderLastResort(); err != nil {
		return nil, err
	}
	return s, nil
}

func (s *server) routes(e *echo.Echo) {
	get := func(path string, h echo.HandlerFunc) {
		e.GET(path, h)
		e.HEAD(path, h) // link previews ask so first
	}
	get(web.RouteHealth, s.health)
	get(web.RouteReady, s.ready)
	get(web.RouteKeys, s.webhookKeys)
	get(web.RouteStatic, s.static)
	get(web.RouteList, s.effectList)
	get(web.RouteEffect, s.effect)
	get(web.RouteVersion, s.effectVersion)
	get(web.RouteAudit, s.auditTrail)
	get(web.RouteProviders, s.providerList)
	post := func(path string, h echo.HandlerFunc) { e.POST(path, h, limitBody, s.checkToken) }
	post(web.RouteLook, s.look)
	post(web.RouteAcknowledge, s.acknowledge)
	post(web.RouteRedeliver, s.redeliver)
	post(web.RouteConfirm, s.confirm)
	post(web.RouteDecide, s.decide)
	post(web.RouteProposal, s.proposalWord)
	get(web.RouteCorrect, s.correctForm)
	post(web.RouteCorrect, s.correct)
	get(web.RouteReviews, s.reviews)
	post(web.RouteReviews, s.reviewWord)
	post(web.RouteBulks, s.bulkFreeze)
	get(web.RouteBulk, s.bulk)
	post(web.RouteBulkConfirm, s.bulkConfirm)
	post(web.RouteBulk, s.bulkOrder)
	post(web.RouteBulkStop, s.bulkStop)
	get(web.RouteOutcomes, s.outcomes)
	post(web.RouteProviders, s.providerTry)
	post(web.RouteClaim, s.claim)
	post(web.RouteComment, s.comment)
	post(web.RouteSnooze, s.snooze)
	post(web.RoutePresence, s.presence)
}

func newAssetURLs(files *static.Files) assetURLs {
	at := func(name string) string {
		f, _ := files.Get(name)
		return web.StaticURL(f.Sum, f.Name)
	}
	return assetURLs{css: at(static.CSS), js: at(static.JS), icon: at(static.Icon)}
}

// health says that the process answers.
func (s *server) health(c echo.Context) error { return c.String(http.StatusOK, "ok\n") }

// ready says whether the server can serve.
func (s *server) ready(c echo.Context) error {
	if s.cfg.Ready == nil {
		return c.String(http.StatusOK, "ready\n")
	}
	if err := s.cfg.Ready(c.Request().Context()); err != nil {
		s.log.WarnContext(c.Request().Context(), "not ready", "err", err)
		return c.String(http.StatusServiceUnavailable, "not ready\n")
	}
	return c.String(http.StatusOK, "ready\n")
}

// webhookKeys lists the public keys for anybody: a receiver that changes over reads
// the new one here. Shared secrets have no public half and are never here.
func (s *server) webhookKeys(c echo.Context) error {
	out := struct {
		Keys []string `json:"keys"`
	}{Keys: []string{}}
	if s.cfg.WebhookKeys != nil {
		keys, err := s.cfg.WebhookKeys()
		if err != nil {
			return fmt.Errorf("reading the webhooks' keys: %w", err)
		}
		out.Keys = append(out.Keys, keys...)
	}
	return c.JSON(http.StatusOK, out)
}

// static serves one embedded file under its checksum; a browser keeps it for good.
func (s *server) static(c echo.Context) error {
	f, ok := s.files.Get(c.Param("name"))
	if !ok || f.Sum != c.Param("sum") {
		return echo.ErrNotFound
	}
	h := c.Response().Header()
	h.Set("Cache-Control", "public, max-age=31536000, immutable")
	h.Set("Vary", "Accept-Encoding")
	if strings.Contains(c.Request().Header.Get("Accept-Encoding"), "gzip") {
		h.Set("Content-Encoding", "gzip")
		return c.Blob(http.StatusOK, f.Type, f.Gzip)
	}
	return c.Blob(http.StatusOK, f.Type, f.Body)
}
