package handlers

import (
	"fmt"
	"time"

	"github.com/landedhq/landed/journal"
	"github.com/landedhq/landed/web"
)

// newOutcome follows the newest resolution on its way: recorded, delivered,
// picked up, settled, or unknown again. nil if there was none. may: whoever looks
// may have it handed over again.
func newOutcome(c clock, k *journal.Case, names people, may bool) *web.Outcome {
	if len(k.Resolutions) == 0 {
		return nil
	}
	r := k.Resolutions[len(k.Resolutions)-1]
	o := &web.Outcome{Title: web.ResolutionText(r.Kind), By: names.who(r.By), Reason: web.Visible(r.Reason, journal.MaxReasonBytes), At: c.ago(r.At)}
	if d := decisionOf(k, r); d != nil {
		o.Code, o.Reason = web.ReasonCodeText(d.ReasonCode), web.Visible(d.Reason, journal.MaxReasonBytes)
		o.By = line(firstOf(d.Actor.Name, d.Actor.Subject))
		if d.AssessmentSummary != "" {
			o.Advice = "recommended then: " + adviceText(d.AssessmentSummary)
		}
		o.Notes = decisionNotes(d)
	}
	if r.Kind == journal.ResolvedReissue {
		o.Steps = reissueSteps(c, k, r, names)
	} else {
		o.Steps = closeSteps(c, k, r, names)
	}
	o.Delivery = newDelivery(c, k, r, may)
	for i := len(k.Resolutions) - 2; i >= 0; i-- {
		e := k.Resolutions[i]
		o.Earlier = append(o.Earlier, web.OutcomeRow{Title: web.ResolutionText(e.Kind), By: names.who(e.By),
			Reason: web.Visible(e.Reason, journal.MaxReasonBytes), At: c.ago(e.At)})
	}
	return o
}

// decisionOf finds the decision behind a resolution: they share an audit row, or
// the order.
func decisionOf(k *journal.Case, r journal.Resolution) *journal.Decision {
	for i := range k.Decisions {
		d := &k.Decisions[i]
		sameRow := d.AuditSeq != 0 && d.AuditSeq == r.Cursor
		sameOrder := r.OrderID != "" && d.Order != nil && d.Order.ID == r.OrderID
		if sameRow || sameOrder {
			return d
		}
	}
	return nil
}

// decisionNotes is what the record says of a decision beyond who and why.
func decisionNotes(d *journal.Decision) []string {
	var out []string
	if a := d.Approval; a != nil {
		out = append(out, "Approved by "+web.Visible(firstOf(a.Actor.Name, a.Actor.Subject), 80).String()+": "+web.Visible(a.Reason, journal.MaxReasonBytes).String())
	}
	for _, o := range passedOver(d.Overrides) {
		out = append(out, "Passed over: "+o)
	}
	if d.BreakGlass {
		out = append(out, "Taken alone (break-glass); another person reviews it.")
	}
	if len(d.Rules) > 0 {
		out = append(out, upper(rulesText(d.Rules))+".")
	}
	return out
}

func adviceText(summary string) string {
	switch journal.Recommendation(summary) {
	case journal.RecommendCloseLanded:
		return "close as landed"
	case journal.RecommendCloseNotLanded:
		return "close as not landed"
	case journal.RecommendReissue:
		return "re-issue"
	case journal.RecommendWait:
		return "wait"
	case journal.RecommendInvestigate:
		return "investigate"
	}
	return web.Visible(summary, 80).String()
}

// reissueSteps: recorded → delivered → picked up → settled, or unknown again.
func reissueSteps(c clock, k *journal.Case, r journal.Resolution, names people) []web.Step {
	at, picked := orderedAttempt(k, r.OrderID)
	dead := orderDead(k, r, c.now)
	delivered, taken := deliveredStep(c, k, r)
	switch {
	case taken:
	case r.AckedAt != nil:
		delivered = web.Step{Name: "Delivered", State: web.StepDone, Detail: "to " + names.who(r.AckedBy).String(), At: c.maybe(*r.AckedAt)}
	case picked:
		delivered = web.Step{Name: "Delivered", State: web.StepDone}
	case dead != "":
		delivered = web.Step{Name: "Delivered", State: web.StepFailed, Detail: "not in time"}
	}
	pick := web.Step{Name: "Picked up", State: web.StepLater}
	switch {
	case picked:
		pick = web.Step{Name: "Picked up", State: web.StepDone, Detail: fmt.Sprintf("as attempt %d", at.Number), At: c.maybe(at.GrantedAt)}
	case dead != "":
		pick = web.Step{Name: "Picked up", State: web.StepFailed, Detail: dead}
	case r.OrderExpiresAt != nil:
		pick.Detail, pick.At = "the order expires", c.maybe(*r.OrderExpiresAt)
		if r.AckedAt != nil || taken {
			pick.State = web.StepNow
		}
	}
	return []web.Step{{Name: "Recorded", State: web.StepDone, At: c.maybe(r.At)}, delivered, pick, settledStep(c, k, picked, at)}
}

func orderedAttempt(k *journal.Case, order string) (journal.Attempt, bool) {
	for i := len(k.Attempts) - 1; i >= 0; i-- {
		if k.Attempts[i].OrderID == order && order != "" {
			return k.Attempts[i], true
		}
	}
	return journal.Attempt{}, false
}

// orderDead says why an order was never used; "" if it may still be, or was.
func orderDead(k *journal.Case, r journal.Resolution, now time.Time) string {
	o := k.Order
	if o == nil || o.ID != r.OrderID {
		return "another resolution came after it"
	}
	switch o.Ended {
	case "expired":
		return "the order expired"
	case "void":
		return "the order was voided"
	}
	if !now.Before(o.ExpiresAt) {
		return "the order expired"
	}
	return ""
}

func settledStep(c clock, k *journal.Case, picked bool, at journal.Attempt) web.Step {
	s := web.Step{Name: "Settled", State: web.StepLater}
	switch {
	case k.Effect.State.Closed() && k.CanLook && !k.Effect.NextLookAt.IsZero() && !k.Effect.NextLookAt.After(k.Now):
		s.State, s.Detail = web.StepNow, "one more look at the provider is due"
	case k.Effect.State.Closed():
		s.State, s.Detail, s.At = web.StepDone, web.StateBadge(k.Effect.State, false).Text, c.maybe(k.Effect.StateAt)
	case k.Live() && picked:
		s.State, s.Detail = web.StepNow, fmt.Sprintf("attempt %d is under way", at.Number)
	case picked && k.Decidable():
		s.Name, s.State, s.Detail = "Unknown again", web.StepFailed, "it waits for a decision once more"
	case k.Decidable():
		s.Name, s.State, s.Detail = "Not settled", web.StepFailed, "it waits for a decision once more"
	}
	return s
}

// closeSteps: recorded → picked up → settled. A runtime that asks for the outcome
// has it delivered and picked up at once.
func closeSteps(c clock, k *journal.Case, r journal.Resolution, names people) []web.Step {
	pick := web.Step{Name: "Picked up", State: web.StepNow, Detail: "waiting for the runtime to ask"}
	if r.AckedAt != nil {
		pick = web.Step{Name: "Picked up", State: web.StepDone, Detail: "by " + names.who(r.AckedBy).String(), At: c.maybe(*r.AckedAt)}
	}
	last := web.Step{Name: "Settled", State: web.StepLater}
	e := &k.Effect
	switch {
	case !e.State.Closed():
		last.Name, last.State, last.Detail = "Open again", web.StepFailed, "it waits for a decision once more"
	case e.Contradicted || e.ProbablyDouble:
		last.State, last.Detail = web.StepFailed, "contradicted: somebody has to acknowledge it"
	case r.AckedAt == nil:
	case !e.NextLookAt.IsZero() && k.CanLook:
		last.State, last.Detail, last.At = web.StepNow, "one more look at the provider", c.maybe(e.NextLookAt)
	default:
		last.State, last.Detail = web.StepDone, web.StateBadge(e.State, false).Text
	}
	recorded := web.Step{Name: "Recorded", State: web.StepDone, At: c.maybe(r.At)}
	if h := k.Handovers[r.ID]; h.Target == "" || h.State == journal.HandoverPull {
		return []web.Step{recorded, pick, last}
	}
	delivered, taken := deliveredStep(c, k, r)
	if pick.State == web.StepNow {
		pick.Detail = "the runtime has not acted on it yet"
		if !taken {
			pick = web.Step{Name: pick.Name, State: web.StepLater}
		}
	}
	return []web.Step{recorded, delivered, pick, last}
}
