package model

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"time"
)

// grant is what a worker holds of one attempt, and what it really did with it.
type grant struct {
	key, number, issue, worker int
	tool, claim, token, id     string
	sendBy, deadline           int
	ordered                    bool
	unread                     bool   // the answer was lost: only the claim is known
	forgotten                  bool   // the worker crashed
	called                     bool   // the request left
	underWay                   bool   // ... and has not arrived yet
	answered                   bool   // the provider confirmed
	refused                    bool   // the provider said no
	landedID                   string // what the provider made of it
	reported                   string
}

// question is a look that the collector made and has not recorded yet.
type question struct {
	key     int
	look    look
	asked   time.Time     // on the database's clock
	shifted time.Duration // how much time had been let pass by then
}

// page is what an operator's page shows.
type page struct {
	version int64
	digest  string
	looks   int
}

// player plays one story on a stage, beside the model.
type player struct {
	*stage
	s       story
	w       *world
	truth   map[string]*provider
	ids     map[string]string // key → effect id
	grants  []*grant
	asked   []question
	pages   map[string]page // operator and key
	last    *dump
	lines   []string
	steps   int
	shifted time.Duration
	since   time.Time // when time was last set right
	failure string
}

// call is an act made ready: what to do, what the design answers, and what the
// actors learn of it.
type call struct {
	text  string
	run   func(context.Context) outcome
	spec  func(*world) outcome
	after func(outcome)
}

func newPlayer(ctx context.Context, st *stage, s story) (*player, error) {
	if err := st.wipe(ctx); err != nil {
		return nil, err
	}
	p := &player{stage: st, s: s, w: &world{effects: map[string]*effect{}}, truth: map[string]*provider{}, ids: map[string]string{}, pages: map[string]page{}, since: time.Now()}
	var err error
	if p.last, err = readDump(ctx, st.store.Pool()); err == nil {
		err = st.chain.follow(ctx, st.store.Pool())
	}
	return p, err
}

// drift is what the real clock added since time was last set right.
func (p *player) drift() time.Duration { return time.Since(p.since) }

// slow: the machine was too slow for the story's limits to mean anything.
func (p *player) slow() bool { return p.drift() > 1700*time.Millisecond }

// play acts once. It reports whether the act applied; p.failure says what broke.
func (p *player) play(ctx context.Context, o op) (applied bool) {
	if p.drift() > 900*time.Millisecond && o.kind != doPass {
		p.play(ctx, op{kind: doPass})
	}
	p.w.tick++
	var calls []*call
	if o.kind == doTogether {
		for _, sub := range o.with {
			if c := p.resolve(ctx, sub); c != nil {
				calls = append(calls, c)
			}
		}
	} else if c := p.resolve(ctx, o); c != nil {
		calls = append(calls, c)
	}
	if len(calls) == 0 || p.failure != "" {
		return false
	}
	p.steps++
	got := p.act(ctx, calls, o.x%ways)
	p.tell(calls, got)
	p.judge(ctx, calls, got)
	for i, c := range calls {
		if c.after != nil {
			c.after(got[i])
		}
	}
	p.countLandings()
	return true
}

// act runs the calls, several at once. Unless they run freely, the first one is
// stopped halfway until the others are done.
func (p *player) act(ctx context.Context, calls []*call, how int) []outcome {
	got := make([]outcome, len(calls))
	if len(calls) == 1 {
		got[0] = calls[0].run(ctx)
		return got
	}
	var first, others sync.WaitGroup
	g := newGate(how)
	first.Go(func() {
		defer g.reach()
		got[0] = calls[0].run(context.WithValue(ctx, gateKey{}, g))
	})
	if how != freely {
		<-g.reached
	}
	for i, c := range calls[1:] {
		others.Go(func() { got[i+1] = c.run(ctx) })
	}
	g.releaseAfter(&others)
	others.Wait()
	first.Wait()
	return got
}

func (p *player) tell(calls []*call, got []outcome) {
	var parts []string
	for i, c := range calls {
		s := c.text
		if got[i].Word != "" {
			s += " → " + got[i].String()
		}
		parts = append(parts, s)
	}
	line := strings.Join(parts, "\n      and at once: ")
	p.lines = append(p.lines, fmt.Sprintf("%3d. [%d s] %s", len(p.lines)+1, p.w.now, line))
}

func (o outcome) String() string {
	s := o.Word
	if o.Attempt > 0 {
		s += fmt.Sprintf(", attempt %d (issue %d)", o.Attempt, o.Issue)
	}
	for _, f := range []struct {
		is   bool
		name string
	}{{o.Late, "late"}, {o.Contra, "contradicted"}, {o.Dble, "probably double"}} {
		if f.is {
			s += ", " + f.name
		}
	}
	return s
}

// judge compares what happened with the design, and the rows with the
// invariants.
func (p *player) judge(ctx context.Context, calls []*call, got []outcome) {
	after, err := readDump(ctx, p.store.Pool())
	if err != nil {
		p.failure = err.Error()
		return
	}
	p.explain(calls, got, after)
	if p.failure == "" {
		p.failure = breaks(p.last, after, len(calls) > 1)
	}
	if p.failure == "" {
		if err := p.chain.follow(ctx, p.store.Pool()); err != nil {
			p.failure = "the audit trail is broken: " + err.Error()
		}
	}
	p.last = after
	for _, r := range after.Effects {
		p.ids[r.Key] = r.ID
		if e := p.w.effects[r.Key]; e != nil {
			e.version, e.lookPlanned = r.Version, r.NextLookAt != nil
		}
	}
	if p.failure == "" {
		p.failure = p.read(ctx)
	}
}

// explain finds an order of the calls in which the design gives these answers
// and these rows, and takes its world over.
func (p *player) explain(calls []*call, got []outcome, after *dump) {
	first := ""
	for _, perm := range permutations(len(calls)) {
		w := p.w.clone()
		why := ""
		for _, i := range perm {
			w.tick++
			if want := calls[i].spec(w); want != got[i] && why == "" {
				why = fmt.Sprintf("%s: the journal answered %q, the design says %q", calls[i].text, got[i], want)
			}
		}
		if why == "" {
			why = w.differs(after)
		}
		if why == "" {
			p.w = w
			return
		}
		if first == "" {
			first = why
		}
	}
	p.failure = first
	if len(calls) > 1 {
		p.failure = "no order of what happened at once explains the outcome; in the order told: " + first
	}
}

func permutations(n int) [][]int {
	if n == 1 {
		return [][]int{{0}}
	}
	var out [][]int
	for _, rest := range permutations(n - 1) {
		for at := n - 1; at >= 0; at-- {
			one := append(append(append([]int{}, rest[:at]...), n-1), rest[at:]...)
			out = append(out, one)
		}
	}
	return out
}

// countLandings asks the provider how often it really happened.
func (p *player) countLandings() {
	for key, t := range p.truth {
		if t.tooMany() && p.failure == "" {
			p.failure = fmt.Sprintf("effect %s happened %d times at the provider; operators ordered %d repeats", key, len(t.landings), len(t.ordered))
		}
	}
}
