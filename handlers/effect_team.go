package handlers

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"time"

	"github.com/labstack/echo/v4"

	"github.com/landedhq/landed/journal"
	"github.com/landedhq/landed/web"
)

// Team is how people work together on one effect. Nothing of it forbids another
// person's decision.
type Team interface {
	// Claim returns nil if nobody holds the effect afterwards. A *journal.ClaimedError
	// says who was faster.
	Claim(ctx context.Context, o journal.ClaimOrder) (*journal.Claim, error)
	// RenewClaim keeps a claim that the person holds; else it does nothing.
	RenewClaim(ctx context.Context, effectID string, who journal.Actor) error
	Comment(ctx context.Context, c journal.Comment) (journal.Comment, error)
	Snooze(ctx context.Context, o journal.SnoozeOrder) (*journal.Snooze, error)
	Beat(ctx context.Context, b journal.Beat) error
	Present(ctx context.Context, effectID string) ([]journal.Presence, error)
	People(ctx context.Context) ([]journal.Person, error)
}

// teamState is what the team's parts of the page depend on.
type teamState struct {
	draft   web.TeamDraft
	present []journal.Presence
	people  []journal.Person
}

// fillTeam reads who has the effect open, and to whom it could be handed over.
func (s *server) fillTeam(c echo.Context, k *journal.Case, v *effectView) error {
	ctx := c.Request().Context()
	var err error
	if v.Team.present, err = s.cfg.Journal.Present(ctx, k.Effect.ID); err != nil {
		return fmt.Errorf("listing open windows: %w", err)
	}
	if k.Team.Claim.Open(k.Now) && k.Team.Claim.Holder.Same(v.Who) {
		if v.Team.people, err = s.cfg.Journal.People(ctx); err != nil {
			return fmt.Errorf("listing people: %w", err)
		}
	}
	return nil
}

// keepClaim renews the claim of its holder, who acts. That it can't is no reason
// to stop the act.
func (s *server) keepClaim(c echo.Context, who journal.Actor, k *journal.Case) {
	if !k.Team.Claim.Open(k.Now) || !k.Team.Claim.Holder.Same(who) {
		return
	}
	if err := s.cfg.Journal.RenewClaim(c.Request().Context(), k.Effect.ID, who); err != nil {
		s.log.WarnContext(c.Request().Context(), "a claim could not be renewed", "effect", k.Effect.ID, "err", err)
	}
}

func formText(c echo.Context, name string) string {
	return strings.ReplaceAll(c.Request().PostForm.Get(name), "\r\n", "\n")
}

// claim takes, releases, hands over or takes over.
func (s *server) claim(c echo.Context) error {
	who, k, err := s.decider(c, "be on an effect")
	if err != nil {
		return err
	}
	o := journal.ClaimOrder{EffectID: k.Effect.ID, Verb: journal.ClaimVerb(formText(c, web.FieldWord)), Actor: who,
		Seen: formText(c, web.FieldClaim), Reason: strings.TrimSpace(formText(c, web.FieldReason))}
	if issuer, subject, ok := strings.Cut(formText(c, web.FieldTo), " "); ok {
		o.To = journal.Actor{Issuer: issuer, Subject: subject}
	}
	if _, err = s.cfg.Journal.Claim(c.Request().Context(), o); err == nil {
		return c.Redirect(http.StatusSeeOther, web.EffectNoteURL(k.Effect.ID, noteClaim+string(o.Verb)))
	}
	var (
		ce *journal.ClaimedError
		ie *journal.InvalidError
	)
	d := web.TeamDraft{Reason: o.Reason}
	switch {
	case errors.As(err, &ce):
		name := personName(ce.Holder)
		n := &web.Notice{Tone: web.ToneInfo, Title: name + " has it", Lines: []string{name + " is on it until " + clockTime(ce.Until) +
			". Nothing was changed. You can decide all the same, or take it over with a reason."}}
		return s.teamRefused(c, http.StatusConflict, who, d, n)
	case errors.As(err, &ie):
		d.ClaimError = sentence(ie)
		return s.teamRefused(c, http.StatusUnprocessableEntity, who, d, teamErrors(d.ClaimError, "#"+web.AnchorForms))
	}
	return fmt.Errorf("claiming effect %s: %w", k.Effect.ID, err)
}

// teamErrors says that a form of the team has to be mended.
func teamErrors(text, anchor string) *web.Notice {
	return &web.Notice{Tone: web.ToneStop, Title: "Nothing was changed", Fields: []web.Link{{Text: text, URL: anchor}}}
}

// teamRefused shows the effect as it is now, with what the person typed.
func (s *server) teamRefused(c echo.Context, status int, who journal.Actor, d web.TeamDraft, n *web.Notice) error {
	k, err := s.loadCase(c)
	if err != nil {
		return err
	}
	return s.renderEffect(c, status, k, effectView{Who: who, Hosts: s.cfg.EvidenceHosts, Team: teamState{draft: d}}, n)
}

// comment keeps a person's words for the others.
func (s *server) comment(c echo.Context) error {
	who, k, err := s.decider(c, "comment")
	if err != nil {
		return err
	}
	com := journal.Comment{ID: formText(c, web.FieldComID), EffectID: k.Effect.ID, Actor: who, Text: strings.TrimSpace(formText(c, web.FieldComment))}
	_, err = s.cfg.Journal.Comment(c.Request().Context(), com)
	var ie *journal.InvalidError
	switch {
	case err == nil:
		return c.Redirect(http.StatusSeeOther, web.EffectNoteURL(k.Effect.ID, noteCommented))
	case errors.As(err, &ie):
		d := web.TeamDraft{Comment: com.Text, CommentError: sentence(ie)}
		return s.teamRefused(c, http.StatusUnprocessableEntity, who, d, teamErrors(d.CommentError, "#f-comment"))
	}
	return fmt.Errorf("commenting on effect %s: %w", k.Effect.ID, err)
}

// snooze puts an effect aside, or back.
func (s *server) snooze(c echo.Context) error {
	who, k, err := s.decider(c, "snooze an effect")
	if err != nil {
		return err
	}
	o := journal.SnoozeOrder{EffectID: k.Effect.ID, Actor: who, Wake: formText(c, web.FieldWord) == web.WordWake, Digest: formText(c, web.FieldDigest),
		Reason: strings.TrimSpace(formText(c, web.FieldReason))}
	d := web.TeamDraft{SnoozeReason: o.Reason, SnoozeUntil: snoozeDraft(c)}
	if !o.Wake {
		if o.Until, d.SnoozeError = snoozeUntil(formText(c, web.FieldSnooze), formText(c, web.FieldUntil)); d.SnoozeError != "" {
			return s.teamRefused(c, http.StatusUnprocessableEntity, who, d, teamErrors(d.SnoozeError, "#f-snooze"))
		}
	}
	_, err = s.cfg.Journal.Snooze(c.Request().Context(), o)
	var (
		se *journal.StaleError
		ie *journal.InvalidError
	)
	switch {
	case err == nil && o.Wake:
		return c.Redirect(http.StatusSeeOther, web.EffectNoteURL(k.Effect.ID, noteWoken))
	case err == nil:
		return c.Redirect(http.StatusSeeOther, web.EffectNoteURL(k.Effect.ID, noteSnoozed))
	case errors.As(err, &se):
		n := &web.Notice{Tone: web.ToneStop, Title: "Not snoozed: it changed since the page was made", Lines: append(se.Changed, "The page shows the effect as it is now.")}
		return s.teamRefused(c, http.StatusConflict, who, d, n)
	case errors.As(err, &ie):
		d.SnoozeError = sentence(ie)
		return s.teamRefused(c, http.StatusUnprocessableEntity, who, d, teamErrors(d.SnoozeError, "#f-snooze"))
	}
	return fmt.Errorf("snoozing effect %s: %w", k.Effect.ID, err)
}

// snoozeDraft is the person's own time, in the form in which the field takes it.
func snoozeDraft(c echo.Context) string {
	if at, err := time.Parse(web.UntilFormat, formText(c, web.FieldUntil)); err == nil {
		return at.Format(web.UntilFormat)
	}
	return ""
}

// snoozeUntil reads until when; zero = as long as nothing changes. A preset holds
// the time that the page showed.
func snoozeUntil(preset, own string) (time.Time, string) {
	switch preset {
	case "":
		return time.Time{}, "Choose until when."
	case web.SnoozeChange:
		return time.Time{}, ""
	case web.SnoozeAt:
		at, err := time.Parse(web.UntilFormat, own)
		if err != nil {
			return time.Time{}, "Give the time as 2026-11-30T08:00, in UTC."
		}
		return at, ""
	}
	at, err := time.Parse(time.RFC3339, preset)
	if err != nil {
		return time.Time{}, "Choose until when."
	}
	return at, ""
}

// presentAnswer tells the page script who else has the effect open.
type presentAnswer struct {
	Present []string `json:"present"`
}

// presence notes an open window of whoever could act, and answers with the others.
func (s *server) presence(c echo.Context) error {
	who, err := s.viewer(c)
	if err != nil {
		return err
	}
	id := strings.ToLower(c.Param("id"))
	if !journal.ValidID(id) {
		return journal.ErrNotFound
	}
	ctx := c.Request().Context()
	b := journal.Beat{EffectID: id, Gone: formText(c, web.FieldGone) != "",
		Presence: journal.Presence{Window: formText(c, web.FieldWindow), Actor: who, Typing: formText(c, web.FieldTyping) != ""}}
	if err := b.Validate(); err != nil {
		return err
	}
	if who.MayDecide() {
		if err := s.cfg.Journal.Beat(ctx, b); err != nil {
			return fmt.Errorf("noting an open window: %w", err)
		}
		if b.Typing && !b.Gone { // whoever writes is on it
			if err := s.cfg.Journal.RenewClaim(ctx, id, who); err != nil {
				return fmt.Errorf("renewing a claim: %w", err)
			}
		}
	}
	present, err := s.cfg.Journal.Present(ctx, id)
	if err != nil {
		return fmt.Errorf("listing open windows: %w", err)
	}
	return c.JSON(http.StatusOK, presentAnswer{Present: presentLines(present, who, b.Window)})
}
