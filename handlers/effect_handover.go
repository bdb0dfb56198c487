package handlers

import (
	"errors"
	"fmt"
	"net/http"

	"github.com/labstack/echo/v4"

	"github.com/landedhq/landed/journal"
	"github.com/landedhq/landed/web"
)

// deliveredStep is how far handing over got; taken: a runtime took it.
func deliveredStep(c clock, k *journal.Case, r journal.Resolution) (s web.Step, taken bool) {
	h := k.Handovers[r.ID]
	s = web.Step{Name: "Delivered", State: web.StepNow, Detail: "waiting for the runtime to ask"}
	to := web.Visible(h.Target, 60).String()
	switch {
	case h.State == journal.HandoverSent:
		return web.Step{Name: "Delivered", State: web.StepDone, Detail: "to " + to, At: c.maybe(h.SentAt)}, true
	case r.AckedAt != nil || h.Target == "":
	case h.State == journal.HandoverPending:
		s.Detail, s.At = "next try to "+to, c.maybe(h.NextAt)
	case h.State == journal.HandoverRefused:
		s.State, s.Detail = web.StepFailed, to+" refused it"
	case h.State == journal.HandoverExpired:
		s.State, s.Detail = web.StepFailed, "not in time"
	}
	return s, false
}

// newDelivery shows how the resolution got to its runtime; nil where that asks by
// itself and always did.
func newDelivery(c clock, k *journal.Case, r journal.Resolution, may bool) *web.Delivery {
	h, ok := k.Handovers[r.ID]
	if !ok || h.Target == "" {
		return nil
	}
	d := &web.Delivery{Target: line(h.Target), State: handoverBadge(h.State, r.AckedAt != nil)}
	open := r.AckedAt == nil
	switch {
	case !open:
		d.Detail = "the runtime acted on it"
	case h.State == journal.HandoverSent:
		d.Detail = "taken, and not acted on yet"
	case h.State == journal.HandoverPending && h.NextAt.After(k.Now):
		d.Next = c.maybe(h.NextAt)
	}
	if open {
		d.Reason = web.Visible(h.Reason, web.ValueLimit)
	}
	for _, t := range k.HandoverTries {
		if t.ResolutionID != r.ID {
			continue
		}
		d.Tries = append(d.Tries, web.DeliveryTry{At: c.ago(t.At), Target: line(t.Target), Outcome: tryBadge(t.Outcome),
			Detail: web.Visible(t.Detail, web.ValueLimit), Took: tookText(t.Took)})
	}
	if may && open && (h.State != journal.HandoverPending || h.NextAt.After(k.Now)) {
		d.Again = &web.RedeliverBox{URL: web.RedeliverURL(k.Effect.ID), Resolution: r.ID, Why: redeliverWhy(h.State)}
	}
	return d
}

func redeliverWhy(s journal.HandoverState) string {
	switch s {
	case journal.HandoverSent:
		return "The runtime took it before: it has to ignore what it has seen."
	case journal.HandoverRefused:
		return "Do so once the runtime, or its address in the configuration, is mended."
	case journal.HandoverPending:
		return "Now, instead of at the time above."
	}
	return "The runtime can also ask for it at any time."
}

func handoverBadge(s journal.HandoverState, acked bool) web.Badge {
	switch {
	case acked:
		return web.Badge{Tone: web.ToneGood, Text: "Acknowledged"}
	case s == journal.HandoverSent:
		return web.Badge{Tone: web.ToneInfo, Text: "Sent"}
	case s == journal.HandoverRefused:
		return web.Badge{Tone: web.ToneStop, Text: "Refused"}
	case s == journal.HandoverExpired:
		return web.Badge{Tone: web.ToneWarn, Text: "Expired"}
	case s == journal.HandoverPull:
		return web.Badge{Tone: web.ToneQuiet, Text: "To be asked for"}
	}
	return web.Badge{Tone: web.ToneWait, Text: "Pending"}
}

// tryBadge says in words what a runtime answered.
func tryBadge(o journal.HandoverOutcome) web.Badge {
	switch o {
	case journal.HandoverAccepted:
		return web.Badge{Tone: web.ToneGood, Text: "Taken"}
	case journal.HandoverResumed:
		return web.Badge{Tone: web.ToneGood, Text: "Work goes on"}
	case journal.HandoverGone:
		return web.Badge{Tone: web.ToneStop, Text: "Nobody waits any more"}
	case journal.HandoverUnknown:
		return web.Badge{Tone: web.ToneWarn, Text: "Not known there"}
	case journal.HandoverNotWaiting:
		return web.Badge{Tone: web.ToneWait, Text: "Does not wait yet"}
	case journal.HandoverAuth:
		return web.Badge{Tone: web.ToneStop, Text: "Not let in"}
	case journal.HandoverTooLarge:
		return web.Badge{Tone: web.ToneStop, Text: "Too large"}
	case journal.HandoverBadAddress:
		return web.Badge{Tone: web.ToneStop, Text: "No such address"}
	}
	return web.Badge{Tone: web.ToneWarn, Text: "No good answer"}
}

// handoverVersion changes whenever the delivery's part of the page would.
func handoverVersion(k *journal.Case) string {
	n := 0
	for _, h := range k.Handovers {
		n += h.Tries
	}
	if len(k.Resolutions) == 0 {
		return ""
	}
	return fmt.Sprintf(".%d.%s", n, k.Handovers[k.Resolutions[len(k.Resolutions)-1].ID].State)
}

// redeliver has a resolution handed over once more.
func (s *server) redeliver(c echo.Context) error {
	who, k, err := s.decider(c, "have an outcome handed over again")
	if err != nil {
		return err
	}
	r := journal.Redelivery{ResolutionID: c.Request().PostForm.Get(web.FieldResolution), Actor: who, Source: "page"}
	err = s.cfg.Journal.Redeliver(c.Request().Context(), k.Effect.ID, r)
	var ie *journal.InvalidError
	switch {
	case err == nil:
		return c.Redirect(http.StatusSeeOther, web.EffectNoteURL(k.Effect.ID, noteRedelivered))
	case errors.As(err, &ie):
		n := &web.Notice{Tone: web.ToneInfo, Title: "Nothing was handed over again", Lines: []string{"The outcome was acknowledged, or is on its way already: see below."}}
		return s.renderEffect(c, http.StatusConflict, k, effectView{Who: who, Hosts: s.cfg.EvidenceHosts}, n)
	}
	return fmt.Errorf("handing an outcome of effect %s over again: %w", k.Effect.ID, err)
}
