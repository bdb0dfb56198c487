package model

import "slices"

// The numbers of the modelled installation, in seconds. Time passes in steps of
// ten seconds, and no limit falls on a multiple of ten: what the real clock adds
// while a story is played never moves anything over a limit.
const (
	lease         = 24
	clientTimeout = 10
	keyWindow     = 3608
	windowMargin  = 300
	evidenceAge   = 300
	orderAge      = 3605
	pickup        = 7205
	retryGrace    = 120
	shortWait     = 12
	longWait      = 62
	lookAgain     = 65
	retryBudget   = 3
	verifyLimit   = 3
)

// The states, classes, phases and verdicts as the design writes them. They are
// spelled out here on purpose: the model shares no code with the journal.
const (
	intent, parked, reissue        = "INTENT", "PARKED", "REISSUE"
	committed, rejected, abandoned = "COMMITTED", "REJECTED", "ABANDONED"

	atMostOnce, deduped, idempotent = "at_most_once", "journal_deduped", "provider_idempotent"

	notSent, sent, refused, confirmed = "not_sent", "sent", "refused", "confirmed"

	found, pending, notEffective = "FOUND", "FOUND_PENDING", "FOUND_NOT_EFFECTIVE"
	duplicate, notFound, cannot  = "DUPLICATE", "NOT_FOUND", "CANNOT_TELL"
)

// world is what the design says the journal must hold.
type world struct {
	now     int // seconds since the story began
	tick    int // counts the acts: what happened before what
	spent   int // of the retry budget that all effects of a story share
	effects map[string]*effect
}

// effect is one effect of the model.
type effect struct {
	tool, class, identity string
	words                 string // of the fields that are no identity
	drifted               bool
	canLook               bool

	state        string
	version      int64
	issue        int
	attempts     []attempt // the last is the current one
	looks        []look
	orders       []order
	deliveries   []delivery
	decisions    int
	cleared      int // a NOT_FOUND covers up to this attempt (journal_deduped)
	retryAt      int // 0 = none
	asked        int // looks since the current attempt was granted
	settledBy    string
	providerID   string
	contradicted bool
	double       bool
	gaveUp       bool
	lookOwed     bool // a settlement left an attempt of unknown outcome
	lookPlanned  bool // the database says when the collector asks next
}

type attempt struct {
	number, issue           int
	claim                   string
	order                   int // the number of the order that it consumed, 0 = none
	granted, lease          int
	sendBy, deadline        int
	grantedTick, fencedTick int
	fenced                  bool
	phase                   string
	final                   bool
	providerID              string
}

type look struct {
	verdict   string
	reason    string // of CANNOT_TELL
	covers    int
	askedAt   int
	askedTick int
	again     int // when asking again makes sense, 0 = never
}

type order struct {
	issue, expires, known int // known: how many looks the operator saw
	attempt               int
	ended                 string
}

type delivery struct {
	kind  string
	acked bool
}

// outcome is what an act answered, as far as the design fixes it.
type outcome struct {
	Word               string // a directive, a state, or the name of an error
	Attempt, Issue     int
	Late, Contra, Dble bool
}

func (w *world) clone() *world {
	c := *w
	c.effects = map[string]*effect{}
	for k, e := range w.effects {
		x := *e
		x.attempts, x.looks = slices.Clone(e.attempts), slices.Clone(e.looks)
		x.orders, x.deliveries = slices.Clone(e.orders), slices.Clone(e.deliveries)
		c.effects[k] = &x
	}
	return &c
}

func hit(verdict string) bool {
	return verdict == found || verdict == pending || verdict == duplicate
}

func (e *effect) current() *attempt {
	if len(e.attempts) == 0 {
		return nil
	}
	return &e.attempts[len(e.attempts)-1]
}

func (e *effect) order() *order {
	if len(e.orders) == 0 {
		return nil
	}
	return &e.orders[len(e.orders)-1]
}

func (e *effect) closed() bool {
	return e.state == committed || e.state == rejected || e.state == abandoned
}

// live: an attempt owns the effect.
func (e *effect) live(now int) bool {
	a := e.current()
	return e.state == intent && !a.fenced && now < a.lease && now < a.deadline
}

// unknown: neither proved not_sent, nor refused, nor confirmed.
func (a *attempt) unknown() bool { return a.phase == "" || a.phase == sent }

func (e *effect) anyConfirmed() *attempt {
	for i := range e.attempts {
		if e.attempts[i].phase == confirmed {
			return &e.attempts[i]
		}
	}
	return nil
}

func (e *effect) newestHit() *look {
	for i := len(e.looks) - 1; i >= 0; i-- {
		if hit(e.looks[i].verdict) {
			return &e.looks[i]
		}
	}
	return nil
}

// blocking reports whether automatic grants must fear that something landed: a
// NOT_FOUND lifts that for journal_deduped only, and no longer once there is a
// hit.
func (e *effect) blocking() bool {
	for _, a := range e.attempts {
		covered := e.class == deduped && a.number <= e.cleared && e.newestHit() == nil
		if a.unknown() && !covered {
			return true
		}
	}
	return false
}

// exposedToPeople: a NOT_FOUND without a later hit lifts it for every class.
func (e *effect) exposedToPeople() bool {
	covered := 0
	for _, l := range e.looks {
		switch {
		case l.verdict == notFound:
			covered = max(covered, l.covers)
		case hit(l.verdict):
			covered = 0
		}
	}
	for _, a := range e.attempts {
		if a.unknown() && a.number > covered {
			return true
		}
	}
	return false
}

// windowEnd is when the provider forgets the key of the present issue; 0 = no
// attempt of it may have landed.
func (e *effect) windowEnd() int {
	for _, a := range e.attempts {
		if e.class == idempotent && a.issue == e.issue && a.unknown() {
			return a.granted + keyWindow
		}
	}
	return 0
}

func (e *effect) covers(sendBy int) bool { return e.windowEnd() == 0 || sendBy < e.windowEnd() }

// exempt: inside its window the provider drops a repeat under issue number 1 by itself.
func (e *effect) exempt(sendBy int) bool {
	return e.class == idempotent && e.issue == 1 && e.covers(sendBy)
}

// underOrder: the current attempt consumed an order.
func (e *effect) underOrder() bool { return e.current() != nil && e.current().order > 0 }

func (e *effect) openDelivery() bool {
	return slices.ContainsFunc(e.deliveries, func(d delivery) bool { return !d.acked })
}

// attention is what the list shows; lookDue is told by the database.
func (e *effect) attention(now int, lookDue bool) bool {
	switch {
	case e.closed():
		return e.openDelivery() || e.contradicted || e.double || lookDue
	case e.live(now):
		return false
	case e.state == intent && !e.gaveUp && e.retryAt > 0 && now < e.retryAt+retryGrace:
		return false
	}
	return true
}

func (w *world) fence(e *effect) {
	if a := e.current(); a != nil && !a.fenced {
		a.fenced, a.fencedTick = true, w.tick
	}
}

// move changes the state. Every move out of INTENT fences.
func (w *world) move(e *effect, state string) {
	w.fence(e)
	e.state = state
	if state != intent {
		e.retryAt = 0
	}
}

func (w *world) park(e *effect) { w.move(e, parked) }

func (w *world) settle(e *effect, by string) {
	w.move(e, committed)
	e.settledBy, e.gaveUp = by, false
	e.endOrder("void")
	e.oweLook()
}

// oweLook: a settlement leaves another attempt of unknown outcome.
func (e *effect) oweLook() {
	n := 0
	for i := range e.attempts {
		if e.attempts[i].unknown() {
			n++
		}
	}
	e.lookOwed = e.canLook && (n > 1 || n == 1 && e.anyConfirmed() != nil)
}

func (e *effect) endOrder(how string) {
	if o := e.order(); o != nil && o.ended == "" {
		o.ended = how
	}
}

// spend ends the order of an attempt that may have been sent.
func (e *effect) spend() {
	if o := e.order(); e.underOrder() && o != nil && o.attempt == e.current().number {
		e.endOrder("spent")
	}
}

func (e *effect) deliver(kind string) { e.deliveries = append(e.deliveries, delivery{kind: kind}) }

func (e *effect) ackAll() {
	for i := range e.deliveries {
		e.deliveries[i].acked = true
	}
}
