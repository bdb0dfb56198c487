package handlers

import (
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/labstack/echo/v4"

	"github.com/landedhq/landed/journal"
	"github.com/landedhq/landed/web"
)

// How much of each list one page holds.
const (
	maxWaiting  = 200
	settledPage = 50
)

// reviews lists what waits for a second person or a review, and what policy settled.
func (s *server) reviews(c echo.Context) error {
	var note *web.Notice
	if c.QueryParam(web.ParamNote) == noteReviewed {
		note = &web.Notice{Tone: web.ToneGood, Title: "Your review is recorded", Lines: []string{"It stands in the audit trail beside the decision."}}
	}
	return s.renderReviews(c, http.StatusOK, reviewForm{}, note)
}

// reviewForm is a review's form as a person sent it.
type reviewForm struct{ id, reason, err string }

func (s *server) renderReviews(c echo.Context, status int, f reviewForm, note *web.Notice) error {
	who, err := s.viewer(c)
	if err != nil {
		return err
	}
	before, err := strconv.ParseInt(c.QueryParam(web.ParamBefore), 10, 64)
	if err != nil || before < 0 {
		before = 0
	}
	ctx := c.Request().Context()
	waiting, err := s.cfg.Journal.Proposals(ctx, maxWaiting)
	if err != nil {
		return fmt.Errorf("listing proposals: %w", err)
	}
	open, err := s.cfg.Journal.Reviews(ctx, maxWaiting)
	if err != nil {
		return fmt.Errorf("listing reviews: %w", err)
	}
	settled, err := s.cfg.Journal.SettledByPolicy(ctx, before, settledPage+1)
	if err != nil {
		return fmt.Errorf("listing what policy settled: %w", err)
	}
	if err := s.logView(c, who, ""); err != nil {
		return err
	}
	sh := s.shell(c, "Reviews", nil)
	sh.Note = note
	p := web.ReviewsPage{Shell: sh}
	now := clock{time.Now()}
	for _, x := range waiting {
		p.Proposals = append(p.Proposals, web.ProposalRow{URL: web.EffectURL(x.Effect.ID) + "#" + web.AnchorProposal, Effect: effectLine(x.Effect),
			What: verbTitle(x.Decision.Verb, x.Decision.Mode), By: line(firstOf(x.Decision.Actor.Name, x.Decision.Actor.Subject)), At: now.ago(x.CreatedAt),
			Expires: now.ago(x.ExpiresAt), Overrides: passedOver(x.Decision.Overrides), Mine: who.Same(x.Decision.Actor)})
	}
	for _, x := range open {
		p.Reviews = append(p.Reviews, reviewRow(now, x, who, f))
	}
	fillSettled(&p, now, settled, before)
	return render(c, status, web.Reviews(p))
}

func effectLine(e journal.Sibling) web.EffectLine {
	return web.EffectLine{Subject: line(firstOf(strings.TrimSpace(e.Subject), e.Operation, e.Tool, "the effect")), Tool: line(e.Tool), Operation: line(e.Operation), Money: money(e.Amount, e.Currency)}
}

func reviewRow(now clock, x journal.ReviewItem, who journal.Actor, f reviewForm) web.ReviewRow {
	r := web.ReviewRow{ID: x.ID, URL: web.EffectURL(x.EffectID), Effect: effectLine(x.Effect), What: verbTitle(x.Decision.Verb, x.Decision.Mode),
		By: line(firstOf(x.Decision.Actor.Name, x.Decision.Actor.Subject)), At: now.ago(x.OpenedAt), Due: now.ago(x.DueAt), Late: !x.DueAt.After(now.now),
		Reason: web.Visible(x.Decision.Reason, journal.MaxReasonBytes)}
	switch {
	case who.Same(x.Decision.Actor):
		r.Why = "You took this decision: another approver has to review it."
	case !who.Has(journal.RoleApprover):
		r.Why = "An approver has to review it."
	default:
		r.Open = true
	}
	if f.id == x.ID {
		r.Draft, r.Error = f.reason, f.err
	}
	return r
}

func fillSettled(p *web.ReviewsPage, now clock, rows []journal.PolicySettled, before int64) {
	if len(rows) > settledPage {
		rows = rows[:settledPage]
		p.Older = web.ReviewsURL(rows[settledPage-1].Cursor)
	}
	if before > 0 {
		p.First = web.ReviewsURL(0)
	}
	for _, x := range rows {
		r := web.SettledRow{URL: web.EffectURL(x.Effect.ID), Effect: effectLine(x.Effect), At: now.ago(x.At), State: siblingState(x.Effect.State), ID: line(x.ProviderID)}
		if x.SettledBy != "policy" {
			r.Now = "no longer by policy"
		}
		p.Settled = append(p.Settled, r)
	}
}

// reviewWord takes a reviewer's word.
func (s *server) reviewWord(c echo.Context) error {
	who, err := s.viewer(c)
	if err != nil {
		return err
	}
	get := func(name string) string { return c.Request().PostForm.Get(name) }
	f := reviewForm{id: get(web.FieldReview), reason: strings.ReplaceAll(get(web.FieldReason), "\r\n", "\n")}
	word := get(web.FieldWord)
	if word != web.WordApprove && word != web.WordReject {
		return &journal.InvalidError{Field: "word", Detail: "is missing: press one of the two buttons"}
	}
	err = s.cfg.Journal.CloseReview(c.Request().Context(), journal.ReviewClose{ID: f.id, Actor: who, Agreed: word == web.WordApprove, Reason: strings.TrimSpace(f.reason)})
	var (
		ie *journal.InvalidError
		pe *journal.PolicyError
	)
	switch {
	case err == nil:
		return c.Redirect(http.StatusSeeOther, web.ReviewsNoteURL(noteReviewed))
	case errors.As(err, &ie):
		f.err = sentence(ie)
		n := &web.Notice{Tone: web.ToneStop, Title: "Nothing is recorded yet", Lines: []string{f.err}}
		return s.renderReviews(c, http.StatusUnprocessableEntity, f, n)
	case errors.As(err, &pe):
		n := &web.Notice{Tone: web.ToneStop, Title: "Not recorded", Lines: []string{upper(pe.Detail) + "."}}
		return s.renderReviews(c, http.StatusForbidden, f, n)
	case errors.Is(err, journal.ErrConflict):
		n := &web.Notice{Tone: web.ToneInfo, Title: "Somebody was faster", Lines: []string{"The review is closed already."}, Kept: f.reason}
		return s.renderReviews(c, http.StatusConflict, f, n)
	}
	return fmt.Errorf("closing review %s: %w", f.id, err)
}
