package model

import (
	"math/rand/v2"
	"slices"
)

// kind is one sort of act.
type kind string

const (
	doBegin     kind = "begin"    // a worker asks for permission, with a fresh claim
	doRepeat    kind = "repeat"   // a worker asks again with the claim of an attempt
	doStranger  kind = "stranger" // another identity under the key
	doDrift     kind = "drift"    // the same identity with other words
	doHeartbeat kind = "heartbeat"
	doCall      kind = "call"   // the request goes to the provider
	doArrive    kind = "arrive" // a request that was under way arrives
	doCommit    kind = "commit"
	doFail      kind = "fail"
	doLie       kind = "lie"   // a report that is not so
	doCrash     kind = "crash" // a worker forgets everything
	doPass      kind = "pass"  // time goes by
	doSweep     kind = "sweep"
	doAsk       kind = "ask"    // the collector asks the provider
	doRecord    kind = "record" // ... and records what it said
	doOpen      kind = "open"   // an operator opens the effect's page
	doDecide    kind = "decide" // ... and decides by what it shows
	doAckFlags  kind = "acknowledge"
	doAck       kind = "ack" // a runtime picks a delivery up
	doTogether  kind = "together"
)

// op is one act of a story. Everything it needs is in it, so that a story can be
// cut down and played again: what does not apply any more is passed over.
type op struct {
	kind kind
	key  int // which effect
	n    int // which attempt, delivery or page
	who  int // which worker, operator or collector
	x    int // which variant
	with []op
}

// story is the acts and, per effect, its tool.
type story struct {
	tools []int
	ops   []op
}

func keyName(i int) string { return string(rune('A' + i)) }

// passes lists how long time may go by, in seconds, short ones first.
func passes() []int { return []int{10, 20, 40, 70, 130, 300, 1200, 3300, 3600, 7200, 7300} }

// newStory begins a story: one effect, or two that share a retry budget.
func newStory(r *rand.Rand) story {
	s := story{tools: []int{r.IntN(len(toolNames()))}}
	if s.tools[0] == 3 && r.IntN(2) == 0 { // the tool that nobody can look up is the dullest
		s.tools[0] = r.IntN(3)
	}
	if r.IntN(3) == 0 {
		s.tools = append(s.tools, r.IntN(3))
	}
	return s
}

// weighted is a choice of the generator.
type weighted struct {
	weight int
	op     op
}

// next chooses an act that makes sense where the story stands.
func (p *player) next(r *rand.Rand) op {
	key := r.IntN(len(p.s.tools))
	c := p.choices(r, key)
	if r.IntN(6) == 0 {
		if o, ok := p.together(r, c); ok {
			return o
		}
	}
	return pick(r, c)
}

func pick(r *rand.Rand, c []weighted) op {
	total := 0
	for _, w := range c {
		total += w.weight
	}
	at := r.IntN(total)
	for _, w := range c {
		if at -= w.weight; at < 0 {
			return w.op
		}
	}
	panic("unreachable")
}

// together lets two or three acts on one effect happen at once.
func (p *player) together(r *rand.Rand, c []weighted) (op, bool) {
	c = slices.DeleteFunc(slices.Clone(c), func(w weighted) bool { return !atOnce(w.op.kind) })
	if len(c) == 0 {
		return op{}, false
	}
	o := op{kind: doTogether, key: c[0].op.key, x: r.IntN(ways)}
	for range 2 + r.IntN(2) {
		o.with = append(o.with, pick(r, c))
	}
	return o, true
}

func atOnce(k kind) bool {
	return slices.Contains([]kind{doBegin, doDrift, doHeartbeat, doCommit, doFail, doSweep, doRecord, doDecide, doAckFlags, doAck}, k)
}

// choices lists what may happen to an effect, with weights.
func (p *player) choices(r *rand.Rand, key int) []weighted {
	x, who := r.IntN(1<<16), r.IntN(workers)
	c := []weighted{{10, op{kind: doBegin, key: key, who: who, x: x}}}
	e := p.w.effects[keyName(key)]
	if e == nil {
		return c
	}
	add := func(weight int, k kind, n int) {
		c = append(c, weighted{weight, op{kind: k, key: key, n: n, who: who, x: x}})
	}
	add(1, doStranger, 0)
	add(1, doDrift, 0)
	c = append(c, weighted{9, op{kind: doPass, x: r.IntN(r.IntN(len(passes())) + 1)}})
	c = append(c, p.overLimits(e)...)
	add(4, doSweep, 0)
	add(1, doRepeat, 1+r.IntN(len(e.attempts)))
	if e.canLook && len(p.asked) < 4 {
		add(6, doAsk, 0)
		if e.class == deduped && e.state == intent && !e.live(p.w.now) {
			add(10, doAsk, 0) // the look is what goes on now
		}
	}
	for i, a := range p.asked {
		if a.key == key {
			add(9, doRecord, i)
		}
	}
	if e.state == parked || e.state == intent && !e.live(p.w.now) {
		add(5, doOpen, 0)
		add(14, doDecide, 0)
	} else {
		add(2, doDecide, 0)
	}
	if e.contradicted || e.double {
		add(3, doAckFlags, 0)
	}
	for i, d := range e.deliveries {
		if !d.acked {
			add(2, doAck, i)
		}
	}
	for _, g := range p.grants {
		if g.key == key && !g.forgotten {
			add(1, doCrash, g.number)
			p.grantChoices(g, add)
		}
		if g.key == key && g.underWay {
			add(6, doArrive, g.number)
		}
	}
	return c
}

// overLimits lets just so much time go by that an effect's next limits are over:
// left to chance, hours would be rare.
func (p *player) overLimits(e *effect) []weighted {
	var c []weighted
	add := func(weight, until int) {
		for i, s := range passes() {
			if p.w.now+s > until {
				c = append(c, weighted{weight, op{kind: doPass, x: i}})
				return
			}
		}
	}
	a := e.current()
	if e.state == intent {
		add(3, a.deadline)
		if e.class == idempotent {
			add(1, a.granted+keyWindow)
		}
	}
	if o := e.order(); o != nil && e.state == reissue {
		add(2, o.expires)
		add(1, o.expires-lease)
	}
	return c
}

// grantChoices: what the worker that holds an attempt may do.
func (p *player) grantChoices(g *grant, add func(int, kind, int)) {
	if g.unread {
		add(8, doRepeat, g.number)
		return
	}
	add(3, doHeartbeat, g.number)
	add(1, doLie, g.number)
	if !g.called && g.reported == "" && p.w.now < g.sendBy {
		add(14, doCall, g.number)
	}
	if g.answered {
		add(10, doCommit, g.number)
	}
	if g.reported == "" {
		add(6, doFail, g.number)
	} else {
		add(2, doFail, g.number)
	}
}
