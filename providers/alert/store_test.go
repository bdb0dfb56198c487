package alert_test

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/landedhq/landed/providers/alert"
)

// groupInterval stands for the policy's AlertInterval.
const groupInterval = 5 * time.Minute

// memStore is the queue with the semantics that Store asks of the database: each
// method is one atomic step.
type memStore struct {
	mu       sync.Mutex
	now      time.Time
	effects  []effect
	alerts   map[string]bool // effect ids that raised one
	waiting  []effect
	messages []*message
	lastBind map[string]time.Time
	err      map[string]error // by method name
	lose     map[string]error // applied, and yet reported as failed
}

type effect struct{ id, tool, provider string }

type message struct {
	alert.Outgoing
	due    time.Time
	sent   bool
	gaveUp bool
	cause  string
}

func newMemStore() *memStore {
	return &memStore{now: time.Date(2026, 11, 29, 10, 0, 0, 0, time.UTC), alerts: map[string]bool{},
		lastBind: map[string]time.Time{}, err: map[string]error{}, lose: map[string]error{}}
}

func (s *memStore) park(n int, tool, provider string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for range n {
		s.effects = append(s.effects, effect{fmt.Sprintf("0198c000-0000-7000-8000-%012d", len(s.effects)), tool, provider})
	}
}

func (s *memStore) add(d time.Duration) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.now = s.now.Add(d)
}

func (s *memStore) RaiseAlerts(context.Context) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := s.err["raise"]; err != nil {
		return 0, err
	}
	n := 0
	for _, e := range s.effects {
		if !s.alerts[e.id] {
			s.alerts[e.id] = true
			s.waiting = append(s.waiting, e)
			n++
		}
	}
	return n, s.lose["raise"]
}

func (s *memStore) BindAlertMessages(_ context.Context, sinks []string) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := s.err["bind"]; err != nil {
		return 0, err
	}
	groups, order := map[string][]effect{}, []string{}
	var rest []effect
	for _, e := range s.waiting {
		k := e.tool + "\x00" + e.provider
		if last, ok := s.lastBind[k]; ok && s.now.Sub(last) < groupInterval {
			rest = append(rest, e)
			continue
		}
		if groups[k] == nil {
			order = append(order, k)
		}
		groups[k] = append(groups[k], e)
	}
	s.waiting = rest
	n := 0
	for _, k := range order {
		s.lastBind[k] = s.now
		g := groups[k]
		for _, sink := range sinks {
			id := fmt.Sprintf("5f0c1111-0000-4000-8000-%012d", len(s.messages))
			s.messages = append(s.messages, &message{due: s.now, Outgoing: alert.Outgoing{ID: id, Sink: sink, Tool: g[0].tool,
				Provider: g[0].provider, Count: len(g), FirstEffectID: g[0].id, CreatedAt: s.now}})
			n++
		}
	}
	return n, s.lose["bind"]
}

func (s *memStore) ClaimAlertMessages(_ context.Context, limit int) ([]alert.Outgoing, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := s.err["claim"]; err != nil {
		return nil, err
	}
	var out []alert.Outgoing
	for _, m := range s.messages {
		if len(out) < limit && !m.sent && !m.gaveUp && !m.due.After(s.now) {
			m.Tries++
			m.due = s.now.Add(alert.ClaimLease)
			out = append(out, m.Outgoing)
		}
	}
	return out, nil
}

func (s *memStore) AlertSent(_ context.Context, id string) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := s.err["sent"]; err != nil {
		return err
	}
	for _, m := range s.messages {
		if m.ID == id {
			m.sent, m.cause = true, ""
		}
	}
	return s.lose["sent"]
}

func (s *memStore) AlertFailed(_ context.Context, id, cause string, retryIn time.Duration, giveUp bool) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := s.err["failed"]; err != nil {
		return err
	}
	for _, m := range s.messages {
		if m.ID == id && !m.sent {
			m.cause, m.gaveUp, m.due = cause, giveUp, s.now.Add(retryIn)
		}
	}
	return nil
}

// get returns a copy of message i.
func (s *memStore) get(i int) message {
	s.mu.Lock()
	defer s.mu.Unlock()
	return *s.messages[i]
}

// sink records what it gets; answer decides what comes of it.
type sink struct {
	name   string
	answer func(context.Context, alert.Message) error

	mu  sync.Mutex
	got []alert.Message
}

func (s *sink) Name() string { return s.name }

func (s *sink) Send(ctx context.Context, m alert.Message) error {
	s.mu.Lock()
	s.got = append(s.got, m)
	s.mu.Unlock()
	if s.answer != nil {
		return s.answer(ctx, m)
	}
	return nil
}

func (s *sink) messages() []alert.Message {
	s.mu.Lock()
	defer s.mu.Unlock()
	return append([]alert.Message(nil), s.got...)
}
