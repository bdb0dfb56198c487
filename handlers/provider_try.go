package handlers

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/labstack/echo/v4"

	"github.com/landedhq/landed/journal"
	"github.com/landedhq/landed/providers/evidence"
	"github.com/landedhq/landed/web"
)

// tryLimit bounds a tried look-up with its wait for a turn: longer than a look.
const tryLimit = time.Minute

// trySinceDefault is how far back is looked unless somebody says otherwise.
const trySinceDefault = "24h"

// tryChoices are how far back a look-up may reach.
func tryChoices() []web.Option {
	return []web.Option{{Value: "1h", Text: "1 hour"}, {Value: "6h", Text: "6 hours"}, {Value: "24h", Text: "1 day"},
		{Value: "168h", Text: "7 days"}, {Value: "720h", Text: "30 days"}, {Value: "2160h", Text: "90 days"}}
}

// tryView is the try-it form as somebody sent it, and what became of it.
type tryView struct {
	who              journal.Actor
	provider         string
	ref, since       string
	refErr, sinceErr string
	effectID         string // an effect's id that was given as a reference
	random           bool   // the reference is one that nobody has
	asked            *asked
	hosts            []string
}

// asked is one look-up that was tried.
type asked struct {
	facts    evidence.Facts
	question evidence.Question
	since    time.Duration
	took     time.Duration
}

// providerTry looks a reference up and shows what was asked and answered. It is
// no evidence: nothing is decided by it.
func (s *server) providerTry(c echo.Context) error {
	who, err := s.viewer(c)
	if err != nil {
		return err
	}
	if !who.MayDecide() {
		return &roleError{what: "try a look-up", need: []journal.Role{journal.RoleOperator, journal.RoleApprover}}
	}
	if err := s.logView(c, who, ""); err != nil { // what can't be recorded is not asked
		return err
	}
	list, err := s.loadProviders(c.Request().Context())
	if err != nil {
		return err
	}
	v, since := parseTry(c, who)
	at := slices.IndexFunc(list, func(one providerView) bool { return one.name == v.provider })
	if at < 0 {
		return s.renderProviders(c, http.StatusNotFound, list, v, notAsked("No provider of that name is configured", "The configuration may have changed since the page was made."))
	}
	if v.refErr != "" || v.sinceErr != "" {
		return s.renderProviders(c, http.StatusUnprocessableEntity, list, v, tryMistakes(v))
	}
	if list[at].state.PausedUntil != nil {
		return s.renderProviders(c, http.StatusConflict, list, v, notAsked("The provider was not asked", "It asked to be left alone for a while: its card says until when."))
	}
	return s.tryNow(c, v, since)
}

// tryNow asks and shows the page as it is afterwards: the look counts for the
// provider's health.
func (s *server) tryNow(c echo.Context, v tryView, since time.Duration) error {
	ref := v.ref
	if v.random = ref == ""; v.random {
		ref = journal.RandomRef()
	}
	ctx, cancel := context.WithTimeout(c.Request().Context(), tryLimit)
	defer cancel()
	begun := time.Now()
	facts, question, err := s.cfg.Providers.Try(ctx, v.provider, ref, since)
	busy := errors.Is(err, context.DeadlineExceeded) && c.Request().Context().Err() == nil
	if err != nil && !busy {
		return fmt.Errorf("trying provider %s: %w", v.provider, err)
	}
	s.log.InfoContext(ctx, "a look-up was tried", "provider", v.provider, "ref", ref, "by", v.who.Subject, "asked", !busy)
	list, err := s.loadProviders(c.Request().Context())
	if err != nil {
		return err
	}
	if busy {
		n := notAsked("The provider was not asked", "Its turn did not come within "+span(tryLimit)+": other looks wait there too. Try again later.")
		return s.renderProviders(c, http.StatusServiceUnavailable, list, v, n)
	}
	v.asked = &asked{facts: facts, question: question, since: since, took: time.Since(begun)}
	return s.renderProviders(c, http.StatusOK, list, v, nil)
}

// parseTry reads the form. A reference may come as people copy it: dashed, in
// capitals, with spaces around.
func parseTry(c echo.Context, who journal.Actor) (tryView, time.Duration) {
	get := c.Request().PostForm.Get
	v := tryView{who: who, provider: get(web.FieldTryProvider), ref: strings.TrimSpace(get(web.FieldTryRef)), since: get(web.FieldTrySince)}
	plain := strings.ToLower(v.ref)
	if len(plain) == 36 {
		plain = strings.ReplaceAll(plain, "-", "")
	}
	switch {
	case v.ref == "":
	case len(plain) == 32 && plain[12] == '7' && journal.ValidRef(plain):
		v.refErr, v.effectID = "This is an effect’s id, not a reference.", journal.Dashed(plain)
	case !journal.ValidRef(plain):
		v.refErr = "A reference has exactly 32 digits and letters a–f."
	default:
		v.ref = plain
	}
	d, err := time.ParseDuration(v.since)
	if err != nil || !slices.ContainsFunc(tryChoices(), func(o web.Option) bool { return o.Value == v.since }) {
		v.sinceErr, v.since = "Choose how far back to look.", trySinceDefault
	}
	return v, d
}

func notAsked(title, why string) *web.Notice {
	return &web.Notice{Tone: web.ToneStop, Title: title, Lines: []string{why}}
}

func tryMistakes(v tryView) *web.Notice {
	n := &web.Notice{Tone: web.ToneStop, Title: "The provider was not asked"}
	if v.refErr != "" {
		n.Fields = append(n.Fields, web.Link{Text: v.refErr, URL: "#ref-" + v.provider})
	}
	if v.sinceErr != "" {
		n.Fields = append(n.Fields, web.Link{Text: v.sinceErr, URL: "#since-" + v.provider})
	}
	return n
}
