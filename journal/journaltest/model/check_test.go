package model

import (
	"fmt"
	"math"
	"strings"
	"time"

	"github.com/google/go-cmp/cmp"
)

// view is one effect as model and database can both show it.
type view struct {
	State                            string
	Attempt, Issue, Cleared          int
	Contradicted, Double, GaveUp     bool
	OpenDelivery, RetryAt            bool
	SettledBy, ProviderID            string
	Decisions                        int
	Attempts, Orders, DeliveryStates []string
	Looks                            []string // verdicts, in the order that counts
}

func (e *effect) view() view {
	v := view{State: e.state, Attempt: len(e.attempts), Issue: e.issue, Cleared: e.cleared, Contradicted: e.contradicted, Double: e.double,
		GaveUp: e.gaveUp, OpenDelivery: e.openDelivery(), RetryAt: e.retryAt > 0, ProviderID: e.providerID,
		Decisions: e.decisions}
	if e.closed() {
		v.SettledBy = e.settledBy
	}
	for _, a := range e.attempts {
		v.Attempts = append(v.Attempts, attemptLine(a.number, a.issue, a.order > 0, a.fenced, a.phase, a.final, a.providerID))
	}
	for _, o := range e.orders {
		v.Orders = append(v.Orders, fmt.Sprintf("issue %d, attempt %d, over %v", o.issue, o.attempt, o.ended != ""))
	}
	for _, l := range e.looks {
		v.Looks = append(v.Looks, l.verdict+" "+l.reason)
	}
	for _, d := range e.deliveries {
		v.DeliveryStates = append(v.DeliveryStates, fmt.Sprintf("%s %v", d.kind, d.acked))
	}
	return v
}

func attemptLine(n, issue int, ordered, fenced bool, phase string, final bool, id string) string {
	return fmt.Sprintf("%d: issue %d, ordered %v, fenced %v, phase %q final %v id %q", n, issue, ordered, fenced, phase, final, id)
}

// of reads one effect of the dump; ok is false if it is not there.
func (d *dump) of(key string) (r effectRow, ok bool) {
	for _, e := range d.Effects {
		if e.Key == key {
			return e, true
		}
	}
	return effectRow{}, false
}

func (d *dump) view(r effectRow) view {
	v := view{State: r.State, Attempt: r.Attempt, Issue: r.Issue, Cleared: r.Cleared, Contradicted: r.Contradicted, Double: r.ProbablyDouble,
		GaveUp: r.GaveUp, OpenDelivery: r.OpenDelivery, RetryAt: r.RetryAt != nil, ProviderID: r.ProviderID}
	if by, _, _ := strings.Cut(r.SettledBy, ":"); r.State != intent && r.State != parked && r.State != reissue {
		v.SettledBy = by
	}
	for _, a := range d.attempts(r) {
		v.Attempts = append(v.Attempts, attemptLine(a.Number, a.Issue, a.OrderID != nil, a.FencedAt != nil, a.Phase, a.Final, a.ProviderID))
	}
	for _, o := range d.Orders {
		if o.EffectID == r.ID {
			v.Orders = append(v.Orders, fmt.Sprintf("issue %d, attempt %d, over %v", o.Issue, o.Attempt, o.Ended != ""))
		}
	}
	for _, x := range d.Deliveries {
		if x.EffectID == r.ID {
			v.DeliveryStates = append(v.DeliveryStates, fmt.Sprintf("%s %v", x.Kind, x.AckedAt != nil))
		}
	}
	for _, x := range d.Decisions {
		if x.EffectID == r.ID {
			v.Decisions++
		}
	}
	for _, x := range d.Evidence {
		if x.EffectID == r.ID {
			v.Looks = append(v.Looks, x.Verdict+" "+x.Reason)
		}
	}
	return v
}

// attempts lists those with a row of their own and the one that the effect's
// row holds alone: the live one, or one committed in time.
func (d *dump) attempts(r effectRow) []attemptRow {
	var out []attemptRow
	seen := false
	for _, a := range d.Attempts {
		if a.EffectID == r.ID {
			out = append(out, a)
			seen = seen || a.Number == r.Attempt
		}
	}
	if !seen {
		a := attemptRow{EffectID: r.ID, Number: r.Attempt, Issue: r.Issue, OrderID: r.OrderID, GrantedAt: r.GrantedAt, SendBy: r.SendBy, FencedAt: r.FencedAt}
		if r.State == committed && r.SettledBy == "worker" {
			a.Phase, a.ProviderID = confirmed, r.ProviderID
		}
		out = append(out, a)
	}
	return out
}

// differs says where the database is not what the model is; "" = nowhere.
func (w *world) differs(d *dump) string {
	if len(d.Effects) != len(w.effects) {
		return fmt.Sprintf("the journal holds %d effects, not %d", len(d.Effects), len(w.effects))
	}
	for key, e := range w.effects {
		r, ok := d.of(key)
		if !ok {
			return "effect " + key + " is missing"
		}
		if diff := cmp.Diff(e.view(), d.view(r)); diff != "" {
			return fmt.Sprintf("effect %s is not what the design says (- design, + journal):\n%s", key, diff)
		}
		if s := w.timesDiffer(e, r, d); s != "" {
			return fmt.Sprintf("effect %s: %s", key, s)
		}
		if e.lookOwed && r.NextLookAt == nil {
			return "effect " + key + " was settled while another attempt may have landed, or closed as not landed, and no look is scheduled"
		}
	}
	spent := 0
	for _, b := range d.Budgets {
		spent += b.Spent
	}
	if spent != w.spent {
		return fmt.Sprintf("the retry budget spent is %d, not %d", spent, w.spent)
	}
	return ""
}

// timesDiffer compares the limits, as seconds from now.
func (w *world) timesDiffer(e *effect, r effectRow, d *dump) string {
	off := func(what string, row time.Time, model int) string {
		if got := row.Sub(d.now).Seconds(); math.Abs(got-float64(model-w.now)) > 2 {
			return fmt.Sprintf("%s lies %.0f s from now, not %d s; ", what, got, model-w.now)
		}
		return ""
	}
	a := e.current()
	out := off("send_by", r.SendBy, a.sendBy) + off("the deadline", r.Deadline, a.deadline)
	if !a.fenced {
		out += off("the end of the lease", r.LeaseUntil, a.lease)
	}
	if e.retryAt > 0 && r.RetryAt != nil {
		out += off("retry_at", *r.RetryAt, e.retryAt)
	}
	i := 0
	for _, o := range d.Orders {
		if o.EffectID == r.ID && i < len(e.orders) {
			out += off("the order's expiry", o.ExpiresAt, e.orders[i].expires)
			i++
		}
	}
	return out
}

// breaks checks the invariants that need no model: what two dumps, one act
// apart, show by themselves. together: several acts lie between them.
func breaks(before, after *dump, together bool) string {
	for _, r := range after.Effects {
		was, existed := before.of(r.Key)
		checks := []string{after.unfenced(r), after.auditedWhole(r)}
		if existed {
			checks = append(checks, versionRose(before, after, was, r), nothingLost(before, after, was, r), left(after, was, r))
			if r.Attempt > was.Attempt {
				checks = append(checks, granted(before, after, was, r, together))
			}
		}
		for _, c := range checks {
			if c != "" {
				return "effect " + r.Key + ": " + c
			}
		}
	}
	return ""
}

// unfenced is invariant 1.
func (d *dump) unfenced(r effectRow) string {
	n := 0
	for i, a := range d.attempts(r) {
		if a.Number != i+1 {
			return fmt.Sprintf("attempt %d is lost", i+1)
		}
		if a.FencedAt == nil {
			n++
		}
	}
	switch {
	case n > 1:
		return fmt.Sprintf("%d attempts are unfenced (invariant 1)", n)
	case n == 1 && r.State != intent:
		return "an attempt is unfenced although the effect is " + r.State
	}
	return ""
}

// auditedWhole is invariant 4: decision, delivery and audit row are together.
func (d *dump) auditedWhole(r effectRow) string {
	kinds := map[int64]string{}
	for _, a := range d.Audit {
		if a.EffectID == r.ID {
			kinds[a.Seq] = a.Kind
		}
	}
	delivered := map[int64]bool{}
	for _, x := range d.Deliveries {
		if x.EffectID == r.ID {
			delivered[x.AuditSeq] = true
			if kinds[x.AuditSeq] == "" {
				return "a delivery has no audit row (invariant 4)"
			}
		}
	}
	versions := map[int64]bool{}
	for _, x := range d.Decisions {
		if x.EffectID != r.ID {
			continue
		}
		if kinds[x.AuditSeq] != "decided:"+x.Verb || !delivered[x.AuditSeq] || versions[x.Version] {
			return "a decision stands without its audit row, without its delivery, or beside another on one version (invariant 4)"
		}
		versions[x.Version] = true
	}
	decided := 0
	for seq, kind := range kinds {
		resolved := strings.HasPrefix(kind, "resolved:")
		if strings.HasPrefix(kind, "decided:") {
			decided++
			resolved = true
		}
		if resolved && !delivered[seq] {
			return "an audit row says " + kind + " and nothing is delivered (invariant 4)"
		}
	}
	if decided != len(versions) {
		return "an audit row tells of a decision that is not there (invariant 4)"
	}
	return ""
}

// versionRose is the version's part of invariant 3.
func versionRose(before, after *dump, was, is effectRow) string {
	facts := func(d *dump, r effectRow) string {
		s := fmt.Sprint(r.State, r.Attempt, r.Issue, r.Contradicted, r.ProbablyDouble, r.GaveUp, r.Cleared, r.ProviderID)
		for _, a := range d.Attempts {
			if a.EffectID == r.ID {
				s += fmt.Sprint(a.Number, a.Phase, a.Final, a.ProviderID)
			}
		}
		for _, v := range d.Evidence {
			if v.EffectID == r.ID {
				s += v.ID
			}
		}
		for _, v := range d.Events {
			if v.EffectID == r.ID && v.Kind == "reported" {
				s += fmt.Sprint(v.Seq)
			}
		}
		return s
	}
	switch changed := facts(before, was) != facts(after, is); {
	case is.Version < was.Version:
		return "its version fell (invariant 3)"
	case changed && is.Version == was.Version:
		return fmt.Sprintf("it changed and its version stayed %d (invariant 3)", is.Version)
	}
	return ""
}

// nothingLost: what was recorded stays (invariant 5).
func nothingLost(before, after *dump, was, is effectRow) string {
	now := map[int]attemptRow{}
	for _, a := range after.attempts(is) {
		now[a.Number] = a
	}
	for _, a := range before.attempts(was) {
		b := now[a.Number]
		switch {
		case rank(b.Phase) < rank(a.Phase):
			return fmt.Sprintf("the phase of attempt %d fell from %s to %q", a.Number, a.Phase, b.Phase)
		case a.Phase == confirmed && a.ProviderID != b.ProviderID:
			return fmt.Sprintf("the provider id of attempt %d changed", a.Number)
		case a.FencedAt != nil && b.FencedAt == nil:
			return fmt.Sprintf("attempt %d is unfenced again", a.Number)
		}
	}
	kept := map[string]bool{}
	for _, v := range after.Evidence {
		kept[v.ID+v.Verdict+v.Digest] = true
	}
	for _, v := range before.Evidence {
		if !kept[v.ID+v.Verdict+v.Digest] {
			return "evidence was lost or changed"
		}
	}
	for _, o := range before.Orders {
		for _, p := range after.Orders {
			if o.ID == p.ID && o.Ended != "" && o.Ended != p.Ended {
				return fmt.Sprintf("an order that was %s is %q now", o.Ended, p.Ended)
			}
		}
	}
	if len(after.Events) < len(before.Events) || len(after.Deliveries) < len(before.Deliveries) || len(after.Decisions) < len(before.Decisions) {
		return "events, deliveries or decisions were lost"
	}
	return ""
}

// left: a settled effect leaves its state only by contradiction.
func left(after *dump, was, is effectRow) string {
	settled := was.State == committed || was.State == rejected || was.State == abandoned
	if !settled || is.State == was.State {
		return ""
	}
	corrected := false
	for _, d := range after.Deliveries {
		corrected = corrected || d.EffectID == is.ID && d.Kind == "contradicted"
	}
	if was.State == committed || !is.Contradicted || !corrected {
		return fmt.Sprintf("it left %s for %s without being contradicted and corrected (invariant 5)", was.State, is.State)
	}
	return ""
}
