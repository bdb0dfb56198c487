package model

import (
	"context"
	"fmt"
	"time"

	"github.com/landedhq/landed/journal"
)

// resolve makes an act ready; nil if it does not apply where the story stands.
func (p *player) resolve(ctx context.Context, o op) *call {
	e := p.w.effects[keyName(o.key)]
	g := p.held(o.key, o.n)
	switch o.kind {
	case doBegin:
		return p.begin(o, journal.NewToken(), `{"order":"A1","note":"x"}`, "A1")
	case doPass:
		return p.passing(passes()[o.x%len(passes())])
	case doSweep:
		return &call{text: "The sweeper runs", spec: (*world).sweep, run: func(ctx context.Context) outcome {
			_, err := p.store.Sweep(ctx, 100)
			return done("swept", err)
		}}
	}
	if e == nil {
		return nil
	}
	switch o.kind {
	case doStranger:
		return p.begin(o, journal.NewToken(), `{"order":"B2"}`, "B2")
	case doDrift:
		return p.begin(o, journal.NewToken(), `{"order":"A1","note":"y"}`, "A1")
	case doAsk:
		return p.ask(o, e)
	case doRecord:
		return p.record(o)
	case doOpen:
		return p.open(ctx, o)
	case doDecide:
		return p.decide(ctx, o)
	case doAckFlags:
		return p.ackFlags(o)
	case doAck:
		return p.ack(o, e)
	case doRepeat:
		return p.repeat(o, e)
	case doArrive:
		return p.arrive(o)
	}
	if g == nil || g.unread && o.kind != doCrash {
		return nil
	}
	switch o.kind {
	case doHeartbeat:
		return p.heartbeat(g)
	case doCall:
		return p.callProvider(g, o.x)
	case doCommit:
		return p.commit(g, o.x)
	case doFail:
		return p.failTruly(g, o.x)
	case doLie:
		return p.lie(g, o.x)
	case doCrash:
		return p.crash(g.worker)
	}
	return nil
}

// held finds what a worker holds of an attempt.
func (p *player) held(key, number int) *grant {
	for _, g := range p.grants {
		if g.key == key && g.number == number && !g.forgotten {
			return g
		}
	}
	return nil
}

func worker(i int) string {
	if overHTTP(i) {
		return fmt.Sprintf("Worker %d (over HTTP)", i)
	}
	return fmt.Sprintf("Worker %d", i)
}

func (p *player) begin(o op, claim, args, identity string) *call {
	tool := toolNames()[p.s.tools[o.key]]
	in := beginIn{key: keyName(o.key), claim: claim, tool: tool, identity: identity, words: args}
	req := journal.BeginRequest{Key: in.key, ClaimID: claim, Tool: tool, RootRun: "run", Operation: "do", Args: []byte(args),
		Lease: lease * time.Second, Worker: workerName(o.who)}
	var a journal.BeginAnswer
	c := &call{text: fmt.Sprintf("%s begins %s (%s)", worker(o.who), in.key, tool)}
	switch {
	case o.kind == doStranger:
		c.text += " with another identity"
	case o.kind == doDrift:
		c.text += " in other words"
	}
	c.spec = func(w *world) outcome { return w.begin(in, tools()) }
	c.run = func(ctx context.Context) outcome {
		var err error
		if a, err = p.workers[o.who].Begin(ctx, req); err != nil {
			return failed(err)
		}
		out := outcome{Word: string(a.Directive)}
		if a.Directive == journal.DirectiveExecute {
			out.Attempt, out.Issue = a.Attempt, a.Issue
			if a.ProviderKey != journal.ProviderKey(journal.Ref("", in.key), a.Issue) {
				out.Word += " under another provider key"
			}
		}
		return out
	}
	unread := o.kind == doBegin && o.x%9 == 8
	if unread {
		c.text += " and does not get the answer"
	}
	c.after = func(out outcome) { p.take(o, tool, claim, a, unread, out) }
	return c
}

// take keeps what an execute answer gave.
func (p *player) take(o op, tool, claim string, a journal.BeginAnswer, unread bool, out outcome) {
	if out.Word != "execute" {
		return
	}
	key := keyName(o.key)
	if p.truth[key] == nil {
		p.truth[key] = &provider{ordered: map[string]bool{}}
	}
	for _, g := range p.grants {
		if g.key == o.key && g.number == a.Attempt { // the repeated answer
			g.unread, g.token = false, a.LeaseToken
			return
		}
	}
	if a.OrderID != "" {
		p.truth[key].ordered[a.OrderID] = true
	}
	p.grants = append(p.grants, &grant{key: o.key, number: a.Attempt, issue: a.Issue, worker: o.who, tool: tool, claim: claim, token: a.LeaseToken,
		id: a.EffectID, ordered: a.OrderID != "", unread: unread,
		sendBy: p.w.now + int(a.SendBy.Seconds()+0.5), deadline: p.w.now + int(a.Deadline.Seconds()+0.5)})
}

// repeat asks again with the claim of an attempt.
func (p *player) repeat(o op, e *effect) *call {
	for _, g := range p.grants {
		if g.key == o.key && g.number == o.n && !g.forgotten {
			o.who = g.worker
			c := p.begin(o, g.claim, `{"order":"A1","note":"x"}`, "A1")
			c.text += fmt.Sprintf(" with the claim of attempt %d", g.number)
			return c
		}
	}
	return nil
}

func (p *player) passing(seconds int) *call {
	return &call{
		text: fmt.Sprintf("%d seconds go by", seconds),
		spec: func(w *world) outcome { w.now += seconds; return outcome{} },
		run: func(ctx context.Context) outcome {
			by := time.Duration(seconds)*time.Second - p.drift()
			if err := p.stage.pass(ctx, by); err != nil {
				return failed(err)
			}
			p.since = time.Now()
			p.shifted += by
			return outcome{}
		},
	}
}

func (p *player) crash(who int) *call {
	return &call{text: worker(who) + " crashes and forgets everything", spec: nothing, run: silent, after: func(outcome) {
		for _, g := range p.grants {
			g.forgotten = g.forgotten || g.worker == who
		}
	}}
}

func nothing(*world) outcome { return outcome{} }

func silent(context.Context) outcome { return outcome{} }
