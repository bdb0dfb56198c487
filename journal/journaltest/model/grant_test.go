package model

import (
	"fmt"
	"time"
)

// granted is invariant 2, judged on the rows before the grant and the grant.
// Among acts at once only facts that nothing can lift count.
func granted(before, after *dump, was, is effectRow, together bool) string {
	attempts := before.attempts(was)
	for _, a := range attempts {
		if a.Phase == confirmed {
			return fmt.Sprintf("attempt %d was handed out although attempt %d is confirmed (invariant 2)", is.Attempt, a.Number)
		}
	}
	order, byOrder := after.orderOf(is)
	exempt := was.Class == idempotent && was.Issue == 1 && is.Issue == 1 && inWindow(attempts, is)
	for _, v := range before.Evidence {
		if v.EffectID == is.ID && hit(v.Verdict) && !exempt && (!byOrder || v.Seq > order.KnownUpTo) {
			return fmt.Sprintf("attempt %d was handed out although a look found it (invariant 2)", is.Attempt)
		}
	}
	if s := orderHolds(before, is, order, byOrder); s != "" || byOrder {
		return s
	}
	if together || !exposed(before, attempts, was) || was.Class == idempotent && inWindow(attempts, is) {
		return ""
	}
	return fmt.Sprintf("attempt %d was handed out by itself although an earlier one may have landed (invariant 2)", is.Attempt)
}

func (d *dump) orderOf(r effectRow) (orderRow, bool) {
	for _, o := range d.Orders {
		if r.OrderID != nil && o.ID == *r.OrderID {
			return o, true
		}
	}
	return orderRow{}, false
}

// orderHolds: an order is for one attempt, spent once that may have been sent,
// and no request leaves after its expiry.
func orderHolds(before *dump, is effectRow, o orderRow, byOrder bool) string {
	if !byOrder {
		if is.OrderID != nil {
			return "an attempt names an order that is not there"
		}
		return ""
	}
	switch {
	case !is.GrantedAt.Before(o.ExpiresAt):
		return "an expired order was consumed (invariant 2)"
	case is.SendBy.After(o.ExpiresAt.Add(time.Millisecond)):
		return "send_by lies past the order's expiry (invariant 2)"
	}
	for _, a := range before.Attempts {
		if a.OrderID != nil && *a.OrderID == o.ID && a.Number != is.Attempt && (a.Phase == "" || a.Phase == sent || a.Phase == confirmed) {
			return fmt.Sprintf("attempts %d and %d come from one order, and the first may have been sent (invariant 2)", a.Number, is.Attempt)
		}
	}
	return ""
}

// exposed: an attempt that no report and, for journal_deduped, no NOT_FOUND
// clears.
func exposed(d *dump, attempts []attemptRow, r effectRow) bool {
	covered := 0
	for _, v := range d.Evidence {
		switch {
		case v.EffectID != r.ID || r.Class != deduped:
		case v.Verdict == notFound:
			covered = max(covered, v.Covers)
		case hit(v.Verdict):
			covered = 0
		}
	}
	for _, a := range attempts {
		if (a.Phase == "" || a.Phase == sent) && a.Number > covered {
			return true
		}
	}
	return false
}

// inWindow: the provider still drops a repeat that leaves as late as send_by.
func inWindow(attempts []attemptRow, is effectRow) bool {
	for _, a := range attempts {
		if a.Issue == is.Issue && (a.Phase == "" || a.Phase == sent) {
			return is.SendBy.Before(a.GrantedAt.Add(keyWindow * time.Second))
		}
	}
	return true
}
