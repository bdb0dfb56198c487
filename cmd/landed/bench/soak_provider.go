package bench

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/landedhq/landed/journal"
	"github.com/landedhq/landed/journal/worker"
	"github.com/landedhq/landed/providers/evidence"
)

// soakProvider is the truth: it counts what happened, by reference. It tells the
// truth when asked, and loses requests and answers where it is told to.
type soakProvider struct {
	faults *counter

	mu      sync.Mutex
	landed  map[string]landings   // by reference
	ordered map[orderedGrant]bool // the attempts that were granted under an order
	keys    map[string]bool       // provider keys that were seen, of tools that honour them
	next    []string              // faults for the coming requests
}

// landings counts how often an effect happened.
type landings struct{ free, ordered uint16 }

func (l landings) total() int { return int(l.free) + int(l.ordered) }

type orderedGrant struct {
	ref     string
	attempt int
}

func newSoakProvider(faults *counter) *soakProvider {
	return &soakProvider{faults: faults, landed: map[string]landings{}, ordered: map[orderedGrant]bool{}, keys: map[string]bool{}}
}

// The provider's faults.
const (
	faultAnswerDropped  = "provider_answer_dropped"  // it happened, and nobody is told
	faultAnswerLate     = "provider_answer_late"     // it happens after the caller gave up
	faultRequestDropped = "provider_request_dropped" // it does not happen, and nobody is told
	faultNotSent        = "provider_unreachable"     // no byte left
)

// soakTools lists the tools, one per class that is journaled.
func soakTools() []journal.Tool {
	return []journal.Tool{
		{Name: "mail.send", Class: journal.ClassAtMostOnce, Provider: "truth", ClientTimeout: soakTimeout},
		{Name: "ticket.create", Class: journal.ClassJournalDeduped, Provider: "truth", ClientTimeout: soakTimeout},
		{Name: "pay", Class: journal.ClassProviderIdempotent, Provider: "truth", ClientTimeout: soakTimeout, KeyWindow: 24 * time.Hour},
	}
}

func (p *soakProvider) registry() (*worker.Registry, error) {
	r := worker.NewRegistry()
	for _, t := range soakTools() {
		if err := r.Register(worker.ToolSpec{Tool: t, Tracked: true, Run: p.run}); err != nil {
			return nil, err
		}
	}
	return r, nil
}

// tools makes the tools known, and one committed effect that proves each search
// for another.
func (p *soakProvider) tools(ctx context.Context, j worker.Journal) error {
	r, err := p.registry()
	if err != nil {
		return err
	}
	if err := r.Sync(ctx, j); err != nil {
		return err
	}
	_, err = worker.New(j, r, worker.Options{}).Do(ctx, worker.Call{Run: worker.Run{RootRun: "canary"}, Tool: "mail.send", Step: "s", Args: []byte(`{}`)})
	return err
}

// fail makes one of the coming requests fail.
func (p *soakProvider) fail(kind string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.next = append(p.next, kind)
}

func (p *soakProvider) fault() string {
	p.mu.Lock()
	defer p.mu.Unlock()
	if len(p.next) == 0 {
		return ""
	}
	k := p.next[0]
	p.next = p.next[1:]
	p.faults.add(k)
	return k
}

var errNoAnswer = errors.New("the provider did not answer")

// run is the tool.
func (p *soakProvider) run(ctx context.Context, call worker.Call) (worker.Outcome, error) {
	g, err := worker.Effect(ctx)
	if err != nil {
		return worker.Outcome{}, err
	}
	kind := p.fault()
	if kind == faultNotSent {
		return worker.Outcome{}, worker.NotSent(errors.New("no connection to the provider"))
	}
	if err := worker.Sending(ctx); err != nil {
		return worker.Outcome{}, err
	}
	key := ""
	if call.Tool == "pay" {
		key = g.ProviderKey()
	}
	switch kind {
	case faultRequestDropped:
		return worker.Outcome{}, worker.Unknown(errNoAnswer)
	case faultAnswerLate:
		time.AfterFunc(soakLateness, func() { p.land(g.Ref(), g.Attempt(), key) })
		return worker.Outcome{}, worker.Unknown(errNoAnswer)
	}
	if string(call.Args) == soakRefused {
		return worker.Outcome{}, worker.Refused(errors.New("the provider refused"), true)
	}
	p.land(g.Ref(), g.Attempt(), key)
	if kind == faultAnswerDropped {
		return worker.Outcome{}, worker.Unknown(errNoAnswer)
	}
	return worker.Outcome{ProviderID: "p-" + g.Ref(), Result: []byte(`{"ok":true}`)}, nil
}

// soakRefused are args that the provider refuses for good.
const soakRefused = `{"to":"nobody"}`

// underOrder notes that an attempt was granted by an operator's order.
func (p *soakProvider) underOrder(ref string, attempt int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.ordered[orderedGrant{ref, attempt}] = true
}

func (p *soakProvider) land(ref string, attempt int, key string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if key != "" {
		if p.keys[key] {
			return
		}
		p.keys[key] = true
	}
	l := p.landed[ref]
	if p.ordered[orderedGrant{ref, attempt}] {
		l.ordered++
	} else {
		l.free++
	}
	p.landed[ref] = l
}

func (p *soakProvider) of(ref string) landings {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.landed[ref]
}

// Sheet declares what is true of this provider.
func (p *soakProvider) Sheet() evidence.Sheet {
	return evidence.Sheet{Kind: "soak", Version: "1", Class: evidence.L1, ProcessingHorizon: soakHorizon, Conclusive: true, Mode: "test"}
}

// Session opens a session that can't fail.
func (p *soakProvider) Session(context.Context) (evidence.Session, error) { return p, nil }

// Close ends nothing.
func (p *soakProvider) Close() error { return nil }

// Find tells what happened.
func (p *soakProvider) Find(_ context.Context, q evidence.Query) (evidence.Answer, error) {
	a := evidence.Answer{AllPagesRead: true, Scopes: []journal.Scope{{Name: "all", Seen: true}}}
	for range p.of(q.Ref).total() {
		a.Matches = append(a.Matches, journal.Match{ID: "p-" + q.Ref, State: journal.MatchEffective})
	}
	return a, nil
}
