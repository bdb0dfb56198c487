package model

// evidence records one look and what follows from it.
func (w *world) evidence(key string, l look) outcome {
	e := w.effects[key]
	e.version++
	e.looks = append(e.looks, l)
	e.asked++
	e.lookOwed = false
	switch e.state {
	case intent:
		w.evidenceOnIntent(e, l)
	case reissue:
		if hit(l.verdict) {
			e.endOrder("void")
			w.park(e)
		}
	case abandoned, rejected:
		if hit(l.verdict) {
			w.park(e)
			e.contradicted = true
			e.deliver("contradicted")
		}
	case committed:
		if l.verdict == duplicate {
			e.double = true
		}
	}
	return outcome{Word: "recorded"}
}

func (w *world) evidenceOnIntent(e *effect, l look) {
	a := e.current()
	if e.live(w.now) { // an earlier attempt landed, if the look is older than this one
		if hit(l.verdict) && a.number > 1 && l.askedTick < a.grantedTick && !e.exempt(a.sendBy) {
			e.double = true
		}
		return
	}
	if l.verdict == notFound && e.class == deduped && e.newestHit() == nil && l.covers >= a.number {
		e.cleared = a.number
		return
	}
	if e.class == idempotent && !hit(l.verdict) {
		return
	}
	if w.ended(e) == "" && e.class == deduped && e.blocking() && e.useless() {
		w.park(e)
	}
}

// decideIn is what an operator decides on a page.
type decideIn struct {
	key, verb, mode string
	version         int64 // as the page showed it
	looks           int   // how many looks the page showed; -1 = a wrong digest
	providerID      string
}

func (w *world) decide(d decideIn) outcome {
	e := w.effects[d.key]
	decidable := e.state == parked || e.state == intent && !e.live(w.now)
	if e.version != d.version || len(e.looks) != d.looks || !decidable {
		return outcome{Word: "stale"}
	}
	if why := w.blocked(e, d); why != "" {
		return outcome{Word: "blocked"}
	}
	e.version++
	e.decisions++
	e.gaveUp = false
	e.spend() // a stuck attempt's order is spent: it may have been sent
	switch d.verb {
	case "reissue":
		w.move(e, reissue)
		e.orders = append(e.orders, w.newOrder(e, d.mode))
		e.deliver("reissue")
	case "close_landed":
		w.settle(e, "operator")
		e.providerID = d.providerID
		e.deliver("close_landed")
	case "close_not_landed":
		w.move(e, abandoned)
		e.settledBy = "operator"
		e.deliver("close_not_landed")
		e.lookOwed = e.canLook
	}
	if d.verb != "close_not_landed" && d.verb != "close_landed" {
		e.lookOwed = false
	}
	return outcome{Word: "decided"}
}

// blocked: what the facts forbid.
func (w *world) blocked(e *effect, d decideIn) string {
	if d.verb == "close_landed" {
		return ""
	}
	if e.anyConfirmed() != nil {
		return "confirmed"
	}
	if e.newestHit() != nil {
		return "hit"
	}
	if d.verb == "close_not_landed" {
		return ""
	}
	if n := len(e.looks); n > 0 && e.exposedToPeople() {
		if l := e.looks[n-1]; l.verdict == cannot && l.reason == "too_early" && l.again > w.now {
			return "too early"
		}
	}
	if d.mode == "same_key" {
		if e.class != idempotent {
			return "no key"
		}
		if end := e.windowEnd(); end > 0 && w.now+windowMargin >= end {
			return "window over"
		}
	}
	return ""
}

// newOrder expires at the earliest of evidence limit, pick-up limit and, for
// same_key, the window's end less the margin.
func (w *world) newOrder(e *effect, mode string) order {
	o := order{issue: e.issue + 1, expires: w.now + pickup, known: len(e.looks)}
	if n := len(e.looks); n > 0 {
		o.expires = min(o.expires, max(e.looks[n-1].askedAt, w.now-evidenceAge)+orderAge)
	}
	if mode == "same_key" {
		o.issue = e.issue
		if end := e.windowEnd(); end > 0 {
			o.expires = min(o.expires, end-windowMargin)
		}
	}
	return o
}

// acknowledge clears the flags and nothing else.
func (w *world) acknowledge(key string) outcome {
	e := w.effects[key]
	if !e.contradicted && !e.double {
		return outcome{Word: "invalid"}
	}
	e.version++
	e.contradicted, e.double = false, false
	return outcome{Word: "acknowledged"}
}

// ack closes one delivery.
func (w *world) ack(key string, n int) outcome {
	e := w.effects[key]
	open := e.openDelivery()
	e.deliveries[n].acked = true
	if open && !e.openDelivery() {
		e.version++
	}
	return outcome{Word: "acked"}
}
