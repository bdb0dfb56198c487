package alert

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"

	"github.com/landedhq/landed/providers/outbox"
)

// Config is what a notifier needs.
type Config struct {
	Store Store
	Sinks []Sink
	// External is the desk's address: links begin with it.
	External string
	Logger   *slog.Logger   // nil = silent
	Jitter   func() float64 // in [0,1); nil = random
}

// Notifier carries alerts from the journal to the sinks.
type Notifier struct {
	store    Store
	sinks    map[string]Sink
	names    []string
	external string
	log      *slog.Logger
	jitter   func() float64

	mu   sync.Mutex
	gone map[string]string // sinks that want no more messages, and why
}

// New checks the configuration.
func New(c Config) (*Notifier, error) {
	external, err := checkExternal(c.External)
	if err != nil {
		return nil, fmt.Errorf("alert: %w", err)
	}
	n := &Notifier{store: c.Store, sinks: map[string]Sink{}, external: external, log: c.Logger, jitter: c.Jitter, gone: map[string]string{}}
	if n.log == nil {
		n.log = slog.New(slog.DiscardHandler)
	}
	if n.jitter == nil {
		n.jitter = outbox.RandomJitter
	}
	for _, s := range c.Sinks {
		if _, twice := n.sinks[s.Name()]; twice || s.Name() == "" {
			return nil, fmt.Errorf("alert: the sink name %q is empty or given twice: each sink needs its own", s.Name())
		}
		n.sinks[s.Name()] = s
		n.names = append(n.names, s.Name())
	}
	return n, nil
}

// Run does one round: raises, binds and sends what is due, and returns when every
// delivery has ended. The error is the store's; what sinks answer is recorded
// with the message and logged, and is no error of the round.
func (n *Notifier) Run(ctx context.Context) error {
	if _, err := n.store.RaiseAlerts(ctx); err != nil {
		return fmt.Errorf("alert: raising: %w", err)
	}
	if len(n.names) > 0 {
		if _, err := n.store.BindAlertMessages(ctx, n.names); err != nil {
			return fmt.Errorf("alert: binding: %w", err)
		}
	}
	if err := outbox.Round(ctx, n.store.ClaimAlertMessages, n.deliver); err != nil {
		return fmt.Errorf("alert: %w", err)
	}
	return nil
}

// deliver sends one message and records what came of it, also when the round is
// being cancelled: the message may have arrived.
func (n *Notifier) deliver(ctx context.Context, o Outgoing) error {
	err := n.send(ctx, o)
	record, cancel := context.WithTimeout(context.WithoutCancel(ctx), outbox.RecordWait)
	defer cancel()
	if err == nil {
		if err := n.store.AlertSent(record, o.ID); err != nil {
			return fmt.Errorf("recording that message %s was sent: %w", o.ID, err)
		}
		return nil
	}
	var se *SendError
	errors.As(err, &se)
	wait, giveUp := nextTry(o.Tries, se, n.jitter())
	cause := outbox.Text(err.Error())
	if giveUp {
		n.log.ErrorContext(ctx, "alert given up", "sink", o.Sink, "message", o.ID, "tries", o.Tries, "cause", cause)
	} else {
		n.log.WarnContext(ctx, "alert failed", "sink", o.Sink, "message", o.ID, "tries", o.Tries, "retry_in", wait, "cause", cause)
	}
	if se != nil && se.Gone {
		n.disable(o.Sink, cause)
	}
	if err := n.store.AlertFailed(record, o.ID, cause, wait, giveUp); err != nil {
		return fmt.Errorf("recording that message %s failed: %w", o.ID, err)
	}
	return nil
}

// send hands the message to its sink. A sink that panics has failed, no more.
func (n *Notifier) send(ctx context.Context, o Outgoing) (err error) {
	sink, ok := n.sinks[o.Sink]
	if !ok { // another replica may know it: this is no reason to give up
		return fmt.Errorf("no sink is called %q in this configuration", o.Sink)
	}
	if why := n.Disabled()[o.Sink]; why != "" {
		return &SendError{Gone: true, Err: fmt.Errorf("the sink is disabled until a restart: %s", why)}
	}
	ctx, cancel := context.WithTimeout(ctx, SendTimeout)
	defer cancel()
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("the sink panicked: %v", p)
		}
	}()
	return sink.Send(ctx, newMessage(n.external, o))
}

func (n *Notifier) disable(sink, why string) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.gone[sink] == "" {
		n.gone[sink] = why
	}
}

// Disabled returns the sinks that want no more messages, with the reason, for the
// page that shows what is wrong. A restart asks them again.
func (n *Notifier) Disabled() map[string]string {
	n.mu.Lock()
	defer n.mu.Unlock()
	out := make(map[string]string, len(n.gone))
	for k, v := range n.gone {
		out[k] = v
	}
	return out
}
