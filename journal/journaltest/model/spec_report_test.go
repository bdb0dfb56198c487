package model

func (w *world) heartbeat(key string, n int) outcome {
	e := w.effects[key]
	a := e.current()
	if !e.live(w.now) || a.number != n {
		return outcome{Word: "lease_lost"}
	}
	a.lease = min(a.deadline, w.now+a.sendBy-a.granted)
	return outcome{Word: "renewed"}
}

// commit: a confirmation counts whenever it comes.
func (w *world) commit(key string, n int, providerID string) outcome {
	e := w.effects[key]
	a := &e.attempts[n-1]
	if a.phase == confirmed {
		word := e.state
		if providerID != "" && providerID != a.providerID {
			e.version++
			word = "commit_conflict"
		}
		return outcome{Word: word, Late: true, Contra: e.contradicted, Dble: e.double}
	}
	e.version++
	late := a.fenced || e.state != intent || n != len(e.attempts)
	a.phase, a.providerID = confirmed, providerID
	if w.isDouble(e, a) {
		e.double = true
	}
	w.commitMoves(e, a, late)
	if e.providerID == "" {
		e.providerID = providerID
	}
	return outcome{Word: e.state, Late: late, Contra: e.contradicted, Dble: e.double}
}

// isDouble: two landings are known or likely.
func (w *world) isDouble(e *effect, a *attempt) bool {
	protected := func(o *attempt) bool { return e.class == idempotent && o.issue == a.issue }
	for i := range e.attempts {
		o := &e.attempts[i]
		sameID := o.providerID != "" && o.providerID == a.providerID
		if o.number != a.number && o.phase == confirmed && !sameID && !protected(o) {
			return true
		}
	}
	c := e.current()
	return e.live(w.now) && c.number > a.number && !protected(c)
}

func (w *world) commitMoves(e *effect, a *attempt, late bool) {
	was := e.state
	switch was {
	case intent:
		if e.live(w.now) && a.number < len(e.attempts) {
			return // the live attempt's end settles it
		}
		if a.number == len(e.attempts) {
			e.spend()
		}
		by := "worker"
		if late {
			by = "late_commit"
		}
		w.settle(e, by)
		if late { // whoever waits is the one that commits
			e.deliver("committed")
			e.ackAll()
		}
	case parked, reissue:
		w.settle(e, "late_commit")
		e.deliver("committed")
	case abandoned, rejected:
		w.settle(e, "late_commit")
		e.contradicted = true
		e.deliver("contradicted")
	case committed:
		e.oweLook()
	}
}

// failIn is a report that an attempt ended without a confirmation.
type failIn struct {
	key      string
	n        int
	phase    string
	final    bool
	wait     int
	replayed bool
}

func rank(phase string) int {
	return map[string]int{"": 0, notSent: 1, sent: 2, refused: 3, confirmed: 4}[phase]
}

// fail never grants.
func (w *world) fail(r failIn) outcome {
	e := w.effects[r.key]
	a := &e.attempts[r.n-1]
	e.version++
	owns := !a.fenced && e.state == intent && r.n == len(e.attempts)
	rises := rank(r.phase) > rank(a.phase)
	if rises {
		a.phase, a.final = r.phase, r.final
	}
	if !owns {
		if rises {
			w.lateRefusal(e, a)
			if e.state == reissue && a.unknown() && a.order == len(e.orders) {
				e.endOrder("spent") // it came back as not sent, and was sent after all
				w.park(e)
			}
		}
		return w.whereItStands(e)
	}
	if word := w.ended(e); word != "" {
		return outcome{Word: word}
	}
	switch {
	case r.phase == sent:
		return w.failSent(e, r)
	case r.phase == refused && r.final:
		// REJECTED says that it did not happen: never beside a hit.
		if e.blocking() || e.newestHit() != nil {
			e.spend()
			w.park(e)
			return outcome{Word: "parked"}
		}
		w.move(e, rejected)
		e.spend()
		e.settledBy, e.gaveUp = "worker", false
		e.oweLookRejected()
		return outcome{Word: "rejected"}
	}
	return w.failRetryable(e, r)
}

// oweLookRejected: a refusal settled the effect while another attempt is only
// covered by a look.
func (e *effect) oweLookRejected() {
	for i := range e.attempts {
		e.lookOwed = e.lookOwed || e.canLook && e.attempts[i].unknown()
	}
}

func (w *world) failRetryable(e *effect, r failIn) outcome {
	if e.underOrder() {
		e.order().attempt = 0
		w.move(e, reissue)
		return outcome{Word: "retry"}
	}
	w.spent++
	if w.spent >= retryBudget {
		if e.blocking() {
			return w.failClass(e)
		}
		w.fence(e)
		e.gaveUp = true
		return outcome{Word: "hard_stop"}
	}
	w.fence(e)
	e.retryAt = w.now + r.wait
	return outcome{Word: "retry"}
}

// failClass: no repeat may be handed out; journal_deduped verifies first.
func (w *world) failClass(e *effect) outcome {
	if e.class == deduped && !e.useless() {
		w.fence(e)
		return outcome{Word: "verifying"}
	}
	w.park(e)
	return outcome{Word: "parked"}
}

func (w *world) failSent(e *effect, r failIn) outcome {
	e.spend()
	if e.class != idempotent || r.replayed || !e.covers(w.now+r.wait+lease) {
		return w.failClass(e)
	}
	if !e.underOrder() {
		w.spent++
		if w.spent >= retryBudget {
			return w.failClass(e)
		}
	}
	w.fence(e)
	e.retryAt = w.now + r.wait
	return outcome{Word: "retry"}
}

// lateRefusal: a final refusal of a fenced attempt may be the last word.
func (w *world) lateRefusal(e *effect, a *attempt) {
	open := e.state == parked || e.state == intent && !e.live(w.now)
	if a.phase == refused && a.final && open && !e.blocking() && e.newestHit() == nil && e.anyConfirmed() == nil {
		w.move(e, rejected)
		e.spend()
		e.settledBy, e.gaveUp = "late_refusal", false
		e.deliver("rejected")
		e.oweLookRejected()
	}
}

// whereItStands answers a report that no longer owns the effect.
func (w *world) whereItStands(e *effect) outcome {
	switch e.state {
	case parked:
		return outcome{Word: "parked"}
	case reissue:
		return outcome{Word: "retry"}
	case committed:
		return outcome{Word: "return"}
	case rejected:
		return outcome{Word: "rejected"}
	case abandoned:
		return outcome{Word: "abandoned"}
	}
	if e.class == deduped && e.blocking() {
		return outcome{Word: "verifying"}
	}
	return outcome{Word: "retry"}
}
