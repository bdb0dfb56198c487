package handlers

import (
	"fmt"
	"net/http"

	"github.com/labstack/echo/v4"

	"github.com/landedhq/landed/journal"
	"github.com/landedhq/landed/web"
)

// maxOutcomes is how many the page holds, the oldest: who works them off sees the
// rest come up.
const maxOutcomes = 200

// outcomes lists what was decided or settled and is not done yet.
func (s *server) outcomes(c echo.Context) error {
	who, err := s.viewer(c)
	if err != nil {
		return err
	}
	list, now, err := s.cfg.Journal.Outcomes(c.Request().Context(), maxOutcomes+1)
	if err != nil {
		return fmt.Errorf("listing outcomes: %w", err)
	}
	states, err := s.cfg.Journal.TargetStates(c.Request().Context())
	if err != nil {
		return fmt.Errorf("listing the runtimes: %w", err)
	}
	if err := s.logView(c, who, ""); err != nil {
		return err
	}
	made := clock{now}.ago(now)
	p := newOutcomesPage(s.shell(c, "Outcomes", &made), clock{now}, list)
	p.Runtimes = runtimeLines(clock{now}, s.cfg.Targets, states)
	return render(c, http.StatusOK, web.Outcomes(p))
}

func newOutcomesPage(sh web.Shell, c clock, list []journal.Outcome) web.OutcomesPage {
	p := web.OutcomesPage{Shell: sh}
	if len(list) > maxOutcomes {
		list = list[:maxOutcomes]
		p.Cut = fmt.Sprintf("There are more than %d: the oldest are shown.", maxOutcomes)
	}
	for _, o := range list {
		r := web.OutcomeLine{URL: web.EffectURL(o.Effect.ID) + "#" + web.AnchorOutcome, Effect: effectLine(o.Effect), What: web.ResolutionText(o.Newest.Kind),
			By: people{o.Decider.Subject: o.Decider.Name}.who(o.Newest.By), At: c.ago(o.DeliveryAt)}
		switch o.Stage {
		case journal.OutcomeOrdered:
			r.Stage, r.Detail, r.Until = web.Badge{Tone: web.ToneWait, Text: "Waits for a worker"}, "the order expires", c.maybe(o.ExpiresAt)
		case journal.OutcomeUnderWay:
			r.Stage, r.Detail = web.Badge{Tone: web.ToneInfo, Text: "Under way"}, "a worker began the ordered attempt"
		case journal.OutcomeUndelivered:
			r.Stage, r.Detail = web.Badge{Tone: web.ToneWait, Text: "Not picked up"}, "no runtime has asked for the outcome"
			if o.Newest.AckedAt != nil { // an earlier resolution is open
				r.Detail = "an earlier outcome was never picked up"
			}
		case journal.OutcomeUnknownAgain:
			r.Stage, r.Detail = web.Badge{Tone: web.ToneWarn, Text: "Open again"}, "it waits for a decision once more"
		}
		if o.Newest.AckedAt == nil && (o.Stage == journal.OutcomeOrdered || o.Stage == journal.OutcomeUndelivered) {
			onItsWay(c, o, &r)
		}
		p.Rows = append(p.Rows, r)
	}
	return p
}

// onItsWay says what keeps an outcome that is handed over from its runtime.
func onItsWay(c clock, o journal.Outcome, r *web.OutcomeLine) {
	h := o.Handover
	if h.Target == "" {
		return
	}
	r.Target = line(h.Target)
	if o.Stage == journal.OutcomeUndelivered {
		r.Detail = "the runtime has not acted on it yet"
	}
	r.Way = &web.OutcomeWay{State: handoverBadge(h.State, false), Reason: web.Visible(h.Reason, web.ValueLimit)}
	switch {
	case h.State == journal.HandoverSent:
		r.Way.Detail, r.Way.At = "taken", c.maybe(h.SentAt)
	case h.State == journal.HandoverPending && h.Tries > 0:
		r.Way.Detail, r.Way.At = "next try", c.maybe(h.NextAt)
	}
}
