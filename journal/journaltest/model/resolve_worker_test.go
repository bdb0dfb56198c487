package model

import (
	"context"
	"fmt"
	"time"

	"github.com/landedhq/landed/journal"
)

func (g *grant) report() journal.Report {
	return journal.Report{EffectID: g.id, Attempt: g.number, LeaseToken: g.token, Key: keyName(g.key), Tool: g.tool, Worker: workerName(g.worker)}
}

func (g *grant) name() string { return fmt.Sprintf("attempt %d of %s", g.number, keyName(g.key)) }

func (p *player) heartbeat(g *grant) *call {
	return &call{
		text: fmt.Sprintf("%s renews the lease of %s", worker(g.worker), g.name()),
		spec: func(w *world) outcome { return w.heartbeat(keyName(g.key), g.number) },
		run: func(ctx context.Context) outcome {
			_, err := p.workers[g.worker].Heartbeat(ctx, g.report())
			return done("renewed", err)
		},
	}
}

// callProvider sends the request: never after send_by, and once per attempt.
func (p *player) callProvider(g *grant, x int) *call {
	if g.called || g.reported != "" || p.w.now >= g.sendBy {
		return nil
	}
	key := keyName(g.key)
	land := func() {
		g.landedID = p.truth[key].arrive(p.w.effects[key].class, g.issue, p.w.now, fmt.Sprintf("made-%d", g.number))
	}
	c := &call{spec: nothing, run: silent}
	who := fmt.Sprintf("%s sends the request of %s: ", worker(g.worker), g.name())
	switch x % 8 {
	case 0, 1:
		c.text = who + "it lands and the answer comes"
		c.after = func(outcome) { g.called, g.answered = true, true; land() }
	case 2, 3:
		c.text = who + "it lands and the answer is lost"
		c.after = func(outcome) { g.called = true; land() }
	case 4:
		c.text = who + "the provider refuses"
		c.after = func(outcome) { g.called, g.refused = true, true }
	case 5, 6:
		c.text = who + "it gets lost on its way"
		c.after = func(outcome) { g.called = true }
	default:
		c.text = who + "it is still under way"
		c.after = func(outcome) { g.called, g.underWay = true, true }
	}
	return c
}

// arrive: a request that was under way lands, unless its time is over.
func (p *player) arrive(o op) *call {
	for _, g := range p.grants {
		if g.key != o.key || g.number != o.n || !g.underWay {
			continue
		}
		key := keyName(g.key)
		if p.w.now > g.deadline {
			return &call{text: "The request of " + g.name() + " is given up", spec: nothing, run: silent, after: func(outcome) { g.underWay = false }}
		}
		return &call{text: "The request of " + g.name() + " lands", spec: nothing, run: silent, after: func(outcome) {
			g.underWay, g.answered = false, o.x%2 == 0
			g.landedID = p.truth[key].arrive(p.w.effects[key].class, g.issue, p.w.now, fmt.Sprintf("made-%d", g.number))
		}}
	}
	return nil
}

// commit reports what the provider confirmed; sometimes without its id, or, of
// a second confirmation, with another one.
func (p *player) commit(g *grant, x int) *call {
	if !g.answered {
		return nil
	}
	id := g.landedID
	switch {
	case x%10 == 8:
		id = ""
	case x%10 == 9 && g.reported == confirmed:
		id = "another-id"
	}
	return p.commitAs(g, id, "commits")
}

func (p *player) commitAs(g *grant, id, how string) *call {
	return &call{
		text: fmt.Sprintf("%s %s %s with provider id %q", worker(g.worker), how, g.name(), id),
		spec: func(w *world) outcome { return w.commit(keyName(g.key), g.number, id) },
		run: func(ctx context.Context) outcome {
			a, err := p.workers[g.worker].Commit(ctx, journal.CommitRequest{Report: g.report(), ProviderID: id, Result: []byte(`{"ok":true}`)})
			out := outcome{Word: string(a.State), Late: a.Late, Contra: a.Contradicted, Dble: a.Double}
			if err != nil {
				out.Word = failed(err).Word
			}
			return out
		},
		after: func(outcome) { g.reported = confirmed },
	}
}

// failTruly reports what the worker knows: never more than it can prove.
func (p *player) failTruly(g *grant, x int) *call {
	r := failIn{key: keyName(g.key), n: g.number, phase: sent, wait: shortWait}
	if x%5 == 4 {
		r.wait = longWait
	}
	y := x / 8
	switch {
	case g.answered:
		return nil
	case g.refused && y%4 > 0:
		r.phase, r.final = refused, y%4 != 1
	case !g.called && y%4 > 0:
		r.phase = notSent
	case g.called:
		r.replayed = y%16 == 0
	}
	return p.failAs(g, r, "reports")
}

func (p *player) failAs(g *grant, r failIn, how string) *call {
	final := ""
	if r.final {
		final = " for good"
	}
	if r.replayed {
		final = " (a replayed answer)"
	}
	return &call{
		text: fmt.Sprintf("%s %s %s as %s%s, asked to wait %d s", worker(g.worker), how, g.name(), r.phase, final, r.wait),
		spec: func(w *world) outcome { return w.fail(r) },
		run: func(ctx context.Context) outcome {
			a, err := p.workers[g.worker].Fail(ctx, journal.FailRequest{Report: g.report(), Phase: journal.Phase(r.phase), Final: r.final,
				Error: "it broke", RetryAfter: time.Duration(r.wait) * time.Second, Replayed: r.replayed})
			return done(string(a.Directive), err)
		},
		after: func(outcome) { g.reported = r.phase },
	}
}

// lie reports what is not so. The journal can't know; it must still keep its
// rules, only the provider's count proves nothing any more.
func (p *player) lie(g *grant, x int) *call {
	r := failIn{key: keyName(g.key), n: g.number, wait: shortWait}
	var c *call
	switch x % 4 {
	case 0:
		c = p.commitAs(g, fmt.Sprintf("claimed-%d", g.number), "wrongly commits")
	case 1:
		r.phase = notSent
		c = p.failAs(g, r, "wrongly reports")
	case 2:
		r.phase, r.final = refused, true
		c = p.failAs(g, r, "wrongly reports")
	default:
		r.phase = sent
		c = p.failAs(g, r, "again reports")
	}
	tell := c.after
	c.after = func(o outcome) {
		tell(o)
		p.truth[keyName(g.key)].lied = true
	}
	return c
}
