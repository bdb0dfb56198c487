package model

// beginIn is what a worker asks for.
type beginIn struct {
	key, claim, tool, identity, words string
}

func (w *world) newAttempt(e *effect, r beginIn, issue int) attempt {
	n := len(e.attempts) + 1
	return attempt{number: n, issue: issue, claim: r.claim, granted: w.now, lease: w.now + lease, sendBy: w.now + lease,
		deadline: w.now + lease + clientTimeout, grantedTick: w.tick}
}

// begin answers with a directive. Other words under the same identity change
// none; the first are recorded.
func (w *world) begin(r beginIn, tools map[string]toolSpec) outcome {
	e := w.effects[r.key]
	if e == nil {
		t := tools[r.tool]
		e = &effect{tool: r.tool, class: t.class, canLook: t.canLook, identity: r.identity, words: r.words, state: intent, version: 1, issue: 1}
		e.attempts = []attempt{w.newAttempt(e, r, 1)}
		w.effects[r.key] = e
		return outcome{Word: "execute", Attempt: 1, Issue: 1}
	}
	if e.tool != r.tool || e.identity != r.identity {
		e.version++ // both fingerprints are recorded
		return outcome{Word: "key_reused"}
	}
	version := e.version
	out := w.beginKnown(e, r)
	if e.words != r.words && !e.drifted && out.Word != "claim_used" {
		e.drifted, e.version = true, version+1
	}
	return out
}

// beginKnown is the begin table, top to bottom.
func (w *world) beginKnown(e *effect, r beginIn) outcome {
	switch e.state {
	case committed, rejected:
		e.version++
		e.ackAll()
		return outcome{Word: "return"}
	case abandoned:
		e.version++
		e.ackAll()
		return outcome{Word: "abandoned"}
	case parked:
		return outcome{Word: "parked"}
	}
	for i := range e.attempts {
		if e.attempts[i].claim == r.claim && (i < len(e.attempts)-1 || !e.live(w.now)) {
			return outcome{Word: "claim_used"}
		}
	}
	if e.state == reissue {
		return w.beginOrdered(e, r)
	}
	if e.live(w.now) {
		if a := e.current(); a.claim == r.claim {
			return outcome{Word: "execute", Attempt: a.number, Issue: a.issue}
		}
		return outcome{Word: "in_progress"}
	}
	return w.stuck(e, &r)
}

// orderValid: unexpired, and nothing came up since that the operator did not
// know.
func (w *world) orderValid(e *effect) bool {
	o := e.order()
	if o == nil || o.ended != "" || o.attempt != 0 || w.now >= o.expires || e.anyConfirmed() != nil {
		return false
	}
	for i := range e.attempts { // it came back unsent, and a later report says otherwise
		if a := &e.attempts[i]; a.order == len(e.orders) && a.unknown() {
			return false
		}
	}
	for _, l := range e.looks[o.known:] {
		if hit(l.verdict) {
			return false
		}
	}
	return true
}

func (w *world) voidOrder(e *effect) outcome {
	e.version++
	how := "void"
	if w.now >= e.order().expires {
		how = "expired"
	}
	e.endOrder(how)
	w.park(e)
	return outcome{Word: "parked"}
}

func (w *world) beginOrdered(e *effect, r beginIn) outcome {
	if !w.orderValid(e) {
		return w.voidOrder(e)
	}
	o := e.order()
	a := w.newAttempt(e, r, o.issue)
	a.order = len(e.orders)
	if a.sendBy > o.expires { // never past its order's expiry
		a.sendBy = o.expires
		a.deadline = a.sendBy + clientTimeout
		a.lease = min(a.lease, a.deadline)
	}
	o.attempt = a.number
	e.ackAll()
	return w.grant(e, a)
}

func (w *world) grant(e *effect, a attempt) outcome {
	w.fence(e)
	e.version++
	e.state, e.issue, e.retryAt, e.gaveUp, e.asked = intent, a.issue, 0, false, 0
	e.attempts = append(e.attempts, a)
	return outcome{Word: "execute", Attempt: a.number, Issue: a.issue}
}

// ended is what comes before every table when an attempt is over: another one
// is confirmed, or a hit exists that the class does not exempt. The empty word
// means that the table follows.
func (w *world) ended(e *effect) string {
	if won := e.anyConfirmed(); won != nil {
		w.settle(e, "late_commit")
		e.providerID = won.providerID
		e.deliver("committed")
		return "return"
	}
	h := e.newestHit()
	if h == nil || e.exempt(w.now+lease) {
		return ""
	}
	if e.class == deduped && e.state == intent {
		if h.verdict == found && !e.double {
			w.settle(e, "policy")
			e.deliver("found")
			return "return"
		}
		if h.verdict == pending && h.again > 0 && e.blocking() {
			return "" // verifying goes on
		}
	}
	w.park(e)
	return "parked"
}

// stuck is an INTENT that nobody owns. r is nil for the sweeper, which fences
// and moves but never grants.
func (w *world) stuck(e *effect, r *beginIn) outcome {
	if word := w.ended(e); word != "" {
		e.version++
		if word == "return" && r != nil {
			e.ackAll() // this begin returns the outcome
		}
		return outcome{Word: word}
	}
	if w.now < e.retryAt {
		return outcome{Word: "retry_later"}
	}
	budget := w.spent < retryBudget || e.underOrder()
	if !e.blocking() {
		if !budget {
			w.fenceCounted(e)
			if !e.gaveUp {
				e.version++
			}
			e.gaveUp = true
			return outcome{Word: "hard_stop"}
		}
		return w.again(e, r)
	}
	e.spend()
	switch {
	case e.class == deduped:
		return w.verify(e)
	case e.class == idempotent && budget && e.covers(w.now+lease):
		return w.again(e, r)
	}
	e.version++
	w.park(e)
	return outcome{Word: "parked"}
}

// again hands out attempt n+1 under the same issue, unless a sweeper asks.
func (w *world) again(e *effect, r *beginIn) outcome {
	if r == nil {
		w.fenceCounted(e)
		return outcome{Word: "retry_later"}
	}
	return w.grant(e, w.newAttempt(e, *r, e.issue))
}

// fenceCounted raises the version if there is anything to write.
func (w *world) fenceCounted(e *effect) {
	if !e.current().fenced {
		e.version++
	}
	w.fence(e)
}

// verify: Landed's collector asks the provider, as long as that can help.
func (w *world) verify(e *effect) outcome {
	if e.useless() {
		e.version++
		w.park(e)
		return outcome{Word: "parked"}
	}
	if e.current().fenced && !e.lookPlanned {
		e.version++
	}
	e.lookPlanned = true
	w.fenceCounted(e)
	return outcome{Word: "verifying"}
}

// useless: no look can settle the effect any more.
func (e *effect) useless() bool {
	if !e.canLook || e.asked >= verifyLimit {
		return true
	}
	a := e.current()
	if len(e.looks) == 0 || !a.fenced {
		return false
	}
	l := e.looks[len(e.looks)-1]
	if l.askedTick < a.fencedTick {
		return false
	}
	switch l.verdict {
	case duplicate, notEffective:
		return true
	case cannot, pending:
		return l.again == 0
	}
	return false
}

// sweep fences every stuck attempt and applies its row without the grant; an
// order that is over becomes PARKED.
func (w *world) sweep() outcome {
	for _, e := range w.effects {
		switch {
		case e.state == reissue && w.now >= e.order().expires:
			w.voidOrder(e)
		case e.state == intent && !e.current().fenced && !e.live(w.now):
			w.stuck(e, nil)
		}
	}
	return outcome{Word: "swept"}
}
