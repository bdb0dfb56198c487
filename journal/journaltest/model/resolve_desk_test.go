package model

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/landedhq/landed/journal"
)

// ask lets the collector look at the provider. What it saw is recorded later,
// or never.
func (p *player) ask(o op, e *effect) *call {
	t := p.truth[keyName(o.key)]
	if t == nil {
		t = &provider{}
	}
	l := judge(t, e, p.w.now, o.x)
	l.askedAt, l.askedTick = p.w.now, p.w.tick
	q := question{key: o.key, look: l}
	return &call{
		text: fmt.Sprintf("The collector asks for %s: %s", keyName(o.key), l),
		spec: nothing,
		run: func(ctx context.Context) outcome {
			err := p.store.Pool().QueryRow(ctx, "select clock_timestamp()").Scan(&q.asked)
			q.shifted = p.shifted
			return done("", err)
		},
		after: func(outcome) { p.asked = append(p.asked, q) },
	}
}

func (l look) String() string {
	switch {
	case l.verdict == notFound:
		return fmt.Sprintf("%s up to attempt %d", l.verdict, l.covers)
	case l.reason != "":
		return l.verdict + ", " + l.reason
	}
	return l.verdict
}

// record hands the journal what a look saw, then or now.
func (p *player) record(o op) *call {
	if o.n >= len(p.asked) {
		return nil
	}
	q := p.asked[o.n]
	if q.key != o.key {
		return nil
	}
	key := keyName(q.key)
	started := q.asked.Add(q.shifted - p.shifted)
	ev := journal.Evidence{EffectID: p.ids[key], Adapter: "asked", Kind: "model", Verdict: journal.Verdict(q.look.verdict), Reason: q.look.reason,
		CoversAttempt: q.look.covers, StartedAt: started, FinishedAt: started, Digest: journal.NewToken(), RequestedBy: "schedule"}
	if q.look.again > 0 {
		ev.LookAgainAt = started.Add(lookAgain * time.Second)
	}
	return &call{
		text: fmt.Sprintf("The collector records %s, asked at %d s, for %s", q.look, q.look.askedAt, key),
		spec: func(w *world) outcome { return w.evidence(key, q.look) },
		run: func(ctx context.Context) outcome {
			_, err := p.store.RecordEvidence(ctx, ev)
			return done("recorded", err)
		},
		after: func(outcome) {
			for i := range p.asked {
				if p.asked[i] == q {
					p.asked = append(p.asked[:i:i], p.asked[i+1:]...)
					return
				}
			}
		},
	}
}

func operator(i int) journal.Actor {
	name := []string{"olga", "dario"}[i%2]
	return journal.Actor{Issuer: "https://idp.test", Subject: name, Name: name, Roles: []journal.Role{journal.RoleOperator}}
}

func pageKey(o op) string { return operator(o.who).Subject + " " + keyName(o.key) }

func (p *player) look(ctx context.Context, o op) (page, error) {
	s, err := p.store.Snapshot(ctx, p.ids[keyName(o.key)])
	return page{s.Effect.Version, s.EvidenceDigest(), len(s.Looks)}, err
}

// open keeps what an operator's page shows; it may be stale when they decide.
func (p *player) open(ctx context.Context, o op) *call {
	seen, err := p.look(ctx, o)
	return &call{text: fmt.Sprintf("Operator %s opens the page of %s", operator(o.who).Subject, keyName(o.key)), spec: nothing,
		run: func(context.Context) outcome { return done("", err) }, after: func(outcome) { p.pages[pageKey(o)] = seen }}
}

// decide carries a decision, by a page that was opened before or just now.
func (p *player) decide(ctx context.Context, o op) *call {
	seen, old := p.pages[pageKey(o)]
	how := "by the page opened before"
	if !old || o.x%3 > 0 {
		var err error
		if seen, err = p.look(ctx, o); err != nil {
			p.failure = err.Error()
			return nil
		}
		how = "by a fresh page"
	}
	delete(p.pages, pageKey(o))
	in := decideIn{key: keyName(o.key), version: seen.version, looks: seen.looks}
	if o.x%23 == 0 {
		in.looks, seen.digest, how = -1, "0000", "with another evidence set"
	}
	switch o.x / 3 % 6 {
	case 0, 1:
		in.verb, in.mode = "reissue", "new_key"
	case 2:
		in.verb, in.mode = "reissue", "same_key"
	case 3, 4:
		in.verb = "close_not_landed"
	default:
		in.verb, in.providerID = "close_landed", "known-by-phone"
	}
	d := journal.Decision{EffectID: p.ids[in.key], Verb: journal.Verb(in.verb), Mode: journal.ReissueMode(in.mode), Expected: in.version, Digest: seen.digest,
		Actor: operator(o.who), Source: "page", ReasonCode: "confirmed_by_person", Reason: "asked the customer by phone", ProviderID: in.providerID}
	return &call{
		text: fmt.Sprintf("Operator %s decides %s %s on %s, %s", operator(o.who).Subject, in.verb, in.mode, in.key, how),
		spec: func(w *world) outcome { return w.decide(in) },
		run: func(ctx context.Context) outcome {
			_, err := p.store.Decide(ctx, d)
			return done("decided", err)
		},
	}
}

func (p *player) ackFlags(o op) *call {
	key := keyName(o.key)
	return &call{
		text: fmt.Sprintf("Operator %s acknowledges what is known of %s", operator(o.who).Subject, key),
		spec: func(w *world) outcome { return w.acknowledge(key) },
		run: func(ctx context.Context) outcome {
			return done("acknowledged", p.store.Acknowledge(ctx, p.ids[key], operator(o.who), "settled with the customer"))
		},
	}
}

// ack closes the n-th delivery of an effect.
func (p *player) ack(o op, e *effect) *call {
	if o.n >= len(e.deliveries) {
		return nil
	}
	key, id, n := keyName(o.key), "", 0
	for _, d := range p.last.Deliveries {
		if d.EffectID != p.ids[key] {
			continue
		}
		if n == o.n {
			id = d.ID
		}
		n++
	}
	return &call{
		text: fmt.Sprintf("The runtime of %s picks delivery %d (%s) of %s up", worker(o.who), o.n+1, e.deliveries[o.n].kind, key),
		spec: func(w *world) outcome { return w.ack(key, o.n) },
		run:  func(ctx context.Context) outcome { return done("acked", p.workers[o.who].Ack(ctx, id)) },
	}
}

// done is the outcome of a call that answers with nothing but an error.
func done(word string, err error) outcome {
	if err != nil {
		return failed(err)
	}
	return outcome{Word: word}
}

// failed names an error as the design does.
func failed(err error) outcome {
	var (
		reused  *journal.KeyReusedError
		lost    *journal.LeaseLostError
		stale   *journal.StaleError
		blocked *journal.BlockedError
		invalid *journal.InvalidError
	)
	switch {
	case errors.Is(err, journal.ErrClaimUsed):
		return outcome{Word: "claim_used"}
	case errors.Is(err, journal.ErrCommitConflict):
		return outcome{Word: "commit_conflict"}
	case errors.As(err, &reused):
		return outcome{Word: "key_reused"}
	case errors.As(err, &lost):
		return outcome{Word: "lease_lost"}
	case errors.As(err, &stale):
		return outcome{Word: "stale"}
	case errors.As(err, &blocked):
		return outcome{Word: "blocked"}
	case errors.As(err, &invalid):
		return outcome{Word: "invalid"}
	}
	return outcome{Word: "error: " + err.Error()}
}
