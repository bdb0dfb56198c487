package handlers

import (
	"encoding/json"
	"fmt"

	"github.com/labstack/echo/v4"

	"github.com/landedhq/landed/journal"
	"github.com/landedhq/landed/web"
)

// draft is what a person typed and could not have recorded yet, because a fresh
// login was asked for. It is kept for them until they decide, or a day.
type draft struct {
	Choice     string                `json:"choice,omitempty"`
	Code       string                `json:"code,omitempty"`
	Reason     string                `json:"reason,omitempty"`
	ProviderID string                `json:"provider_id,omitempty"`
	Overrides  []string              `json:"overrides,omitempty"`
	BreakGlass bool                  `json:"break_glass,omitempty"`
	Correction *web.CorrectionFields `json:"correction,omitempty"`
	Word       string                `json:"word,omitempty"` // the second person's
}

func (s *server) keep(c echo.Context, who journal.Actor, k *journal.Case, d draft) error {
	b, err := json.Marshal(d)
	if err != nil {
		return fmt.Errorf("keeping a text: %w", err)
	}
	if err := s.cfg.Journal.SaveDraft(c.Request().Context(), who, k.Effect.ID, b); err != nil {
		return fmt.Errorf("keeping a text: %w", err)
	}
	return nil
}

// kept puts what was kept for the person back into the forms. What the page was
// made from is not kept: they decide on what it shows now.
func (s *server) kept(c echo.Context, who journal.Actor, k *journal.Case, v *effectView) error {
	b, err := s.cfg.Journal.Draft(c.Request().Context(), who, k.Effect.ID)
	if err != nil {
		return fmt.Errorf("reading a kept text: %w", err)
	}
	var d draft
	if len(b) == 0 || json.Unmarshal(b, &d) != nil {
		return nil
	}
	if d.Word != "" {
		v.Word.reason = d.Word
		return nil
	}
	v.Form = &formState{choice: d.Choice, code: d.Code, reason: d.Reason, providerID: d.ProviderID, overrides: d.Overrides, breakGlass: d.BreakGlass, correction: d.Correction}
	return nil
}

// drop forgets what was kept: it is recorded. A failure is no harm to that.
func (s *server) drop(c echo.Context, who journal.Actor, id string) {
	if err := s.cfg.Journal.DropDraft(c.Request().Context(), who, id); err != nil {
		s.log.WarnContext(c.Request().Context(), "a kept text could not be dropped", "effect", id, "err", err)
	}
}
