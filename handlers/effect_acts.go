package handlers

import (
	"errors"
	"fmt"
	"net/http"
	"strings"
	"unicode/utf8"

	"github.com/labstack/echo/v4"

	"github.com/landedhq/landed/journal"
	"github.com/landedhq/landed/web"
)

// look has the provider asked again.
func (s *server) look(c echo.Context) error {
	who, k, err := s.decider(c, "have the provider asked")
	if err != nil {
		return err
	}
	if b := lookBox(clock{k.Now}, k, who); !b.Allowed {
		n := &web.Notice{Tone: web.ToneWarn, Title: "The provider was not asked", Lines: []string{b.Why}}
		return s.renderEffect(c, http.StatusConflict, k, effectView{Who: who, Hosts: s.cfg.EvidenceHosts}, n)
	}
	if err := s.cfg.Looker.LookNow(c.Request().Context(), k.Effect.ID, who.Subject); err != nil {
		return fmt.Errorf("asking the provider: %w", err)
	}
	return c.Redirect(http.StatusSeeOther, web.EffectNoteURL(k.Effect.ID, noteAsked))
}

// decider reads the effect for whoever may act on it.
func (s *server) decider(c echo.Context, what string) (journal.Actor, *journal.Case, error) {
	who, err := s.viewer(c)
	if err != nil {
		return who, nil, err
	}
	if !who.MayDecide() {
		return who, nil, &roleError{what: what, need: []journal.Role{journal.RoleOperator, journal.RoleApprover}}
	}
	k, err := s.loadCase(c)
	if err == nil {
		s.keepClaim(c, who, k)
	}
	return who, k, err
}

// ackState is the acknowledgement form as a person sent it.
type ackState struct{ reason, err string }

// acknowledge clears a flag without changing the state.
func (s *server) acknowledge(c echo.Context) error {
	who, k, err := s.decider(c, "acknowledge")
	if err != nil {
		return err
	}
	f := ackState{reason: strings.ReplaceAll(c.Request().PostForm.Get(web.FieldReason), "\r\n", "\n")}
	f.err = reasonError(f.reason)
	if f.err == "" {
		err := s.cfg.Journal.Acknowledge(c.Request().Context(), k.Effect.ID, who, strings.TrimSpace(f.reason))
		var ie *journal.InvalidError
		if err == nil {
			return c.Redirect(http.StatusSeeOther, web.EffectNoteURL(k.Effect.ID, noteAcknowledged))
		}
		if !errors.As(err, &ie) {
			return fmt.Errorf("acknowledging effect %s: %w", k.Effect.ID, err)
		}
		f.err = sentence(ie)
	}
	n := &web.Notice{Tone: web.ToneStop, Title: "Nothing is recorded yet", Fields: []web.Link{{Text: f.err, URL: "#f-ack"}}}
	return s.renderEffect(c, http.StatusUnprocessableEntity, k, effectView{Who: who, Hosts: s.cfg.EvidenceHosts, Ack: f}, n)
}

// reasonError asks of an acknowledgement what a decision's reason must meet.
func reasonError(reason string) string {
	n := utf8.RuneCountInString(strings.TrimSpace(reason))
	switch {
	case n < journal.MinReasonRunes:
		return fmt.Sprintf("Your text has %s: say in at least %d why nothing more is needed.", web.Count(n, "character", "characters"), journal.MinReasonRunes)
	case len(reason) > journal.MaxReasonBytes || !utf8.ValidString(reason) || strings.ContainsRune(reason, 0):
		return fmt.Sprintf("Your text must be valid text of at most %d bytes.", journal.MaxReasonBytes)
	}
	return ""
}

// newAckBox offers to clear what outlived the state; nil if there is nothing, or
// the person may not.
func newAckBox(k *journal.Case, v effectView) *web.AckBox {
	e := &k.Effect
	if !v.Who.MayDecide() {
		return nil
	}
	b := &web.AckBox{URL: web.AcknowledgeURL(e.ID), Reason: v.Ack.reason, Error: v.Ack.err}
	switch {
	case e.Contradicted:
		b.What = "Acknowledge the contradiction"
	case e.ProbablyDouble:
		b.What = "Acknowledge the probable double"
	case e.Orphan:
		b.What = "Acknowledge the orphan"
	default:
		return nil
	}
	return b
}
