package temporal

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"time"

	"go.temporal.io/sdk/activity"
	"go.temporal.io/sdk/converter"
	"go.temporal.io/sdk/interceptor"

	"github.com/landedhq/landed/journal"
	"github.com/landedhq/landed/journal/worker"
)

// The values that hold where Config leaves them zero.
const (
	DefaultChannel  = "landed"
	DefaultPollMin  = time.Minute
	DefaultPollMax  = time.Hour
	pollGrowth      = 2
	keyWindowMargin = time.Minute // kept between the last attempt and the end of a provider's key window
)

// Config says which activities have side effects and where they are journaled.
// Every worker of a workflow and of its activities needs the same one.
type Config struct {
	// Journal is the client of the effect journal, or its store.
	Journal worker.Journal
	// Activities are those with side effects, by activity type. All others run as
	// if there were no interceptor.
	Activities map[string]Activity
	// Namespace is the journal's; "" = the default one. Temporal's is no part of it.
	Namespace string
	// ResumeTo is the name under which Landed's configuration knows this Temporal
	// namespace. begin's resume then names the workflow, so that a decision is sent
	// to it. "" = decisions are found by asking (PollMin).
	ResumeTo string
	// ByUpdate asks for an update instead of a signal: Landed then learns that the
	// work goes on, but needs a running worker for it.
	ByUpdate bool
	// Channel is the name of the signal and of the update; "" = DefaultChannel.
	Channel string
	// PollMin and PollMax bound how often parked work asks the journal, in case
	// that nothing reached the workflow: after PollMin, then after twice as long, up
	// to PollMax.
	PollMin, PollMax time.Duration
	// AcceptUnkeyed runs activities that come without a key, because they were
	// scheduled before their workflow's worker had the interceptor: for the time of a
	// roll-out. Their key is made of the run and the activity id, so that a retry finds
	// what was done, but a reset does it again. Without it they are refused.
	AcceptUnkeyed bool
	// Converter writes arguments and results for the journal; nil = the SDK's
	// default. Operators read what it writes: give one with a codec only if they
	// must not.
	Converter converter.DataConverter
	// Options go to the journal's worker. Patience is ignored: Temporal waits.
	Options worker.Options
}

// Activity is an activity with a side effect.
type Activity struct {
	// Tool is how it is registered with the journal; an empty name is the activity
	// type's. A provider_idempotent tool's ScheduleToCloseTimeout is kept below its
	// key window.
	journal.Tool
	// KeyHeader, KeyDashed and Tracked are those of worker.ToolSpec.
	KeyHeader string
	KeyDashed bool
	Tracked   bool
	// Describe says what a call is about, for people and for the key's item. It must
	// give the same for the same arguments. nil = nothing.
	Describe func(args []any) Description
	// Settled makes the activity's result for an effect that was settled without one:
	// an operator, or evidence, found that it landed. nil = the error TypeNoResult.
	// NoResult is right for an activity that returns only an error.
	Settled func(s Settlement) (any, error)
}

// Description is what a call is about.
type Description struct {
	Item             string // the business object; becomes part of the key
	Subject          string // one line for people
	Amount, Currency string
	Labels           map[string]string
}

// Settlement is an effect that landed and whose result nobody recorded.
type Settlement struct {
	EffectID   string
	ProviderID string // what the provider calls it; "" = unknown
	SettledBy  string
}

// NoResult is the Activity.Settled of activities without a result.
func NoResult(Settlement) (any, error) { return nil, nil }

// Interceptor is a worker interceptor that journals side-effecting activities.
// NewInterceptor makes it; give it to worker.Options.Interceptors, and to
// WorkflowReplayerOptions.
type Interceptor struct {
	interceptor.WorkerInterceptorBase
	cfg      Config
	registry *worker.Registry
	worker   *worker.Worker
	log      *slog.Logger
}

var _ interceptor.WorkerInterceptor = (*Interceptor)(nil)

// NewInterceptor checks the configuration. It does no I/O.
func NewInterceptor(c Config) (*Interceptor, error) {
	if c.Channel == "" {
		c.Channel = DefaultChannel
	}
	if c.PollMin == 0 {
		c.PollMin = DefaultPollMin
	}
	if c.PollMax == 0 {
		c.PollMax = max(DefaultPollMax, c.PollMin)
	}
	if c.Converter == nil {
		c.Converter = converter.GetDefaultDataConverter()
	}
	if c.Options.Logger == nil {
		c.Options.Logger = slog.Default()
	}
	c.Options.Patience = -1
	if err := c.check(); err != nil {
		return nil, fmt.Errorf("landed's Temporal interceptor: %w", err)
	}
	i := &Interceptor{cfg: c, registry: worker.NewRegistry(), log: c.Options.Logger}
	i.cfg.Activities = make(map[string]Activity, len(c.Activities))
	for _, name := range slices.Sorted(maps.Keys(c.Activities)) {
		a := c.Activities[name]
		if a.Name == "" {
			a.Name = name
		}
		i.cfg.Activities[name] = a
		spec := worker.ToolSpec{Tool: a.Tool, Run: runActivity, KeyHeader: a.KeyHeader, KeyDashed: a.KeyDashed, Tracked: a.Tracked}
		if err := i.registry.Register(spec); err != nil {
			return nil, fmt.Errorf("landed's Temporal interceptor: activity %q: %w", name, err)
		}
	}
	i.worker = worker.New(c.Journal, i.registry, c.Options)
	return i, nil
}

func (c Config) check() error {
	var errs []error
	if c.Journal == nil {
		errs = append(errs, errors.New("it has no journal"))
	}
	if len(c.Activities) == 0 {
		errs = append(errs, errors.New("no activity is declared to have side effects"))
	}
	if c.PollMin < 0 || c.PollMax < c.PollMin {
		errs = append(errs, fmt.Errorf("PollMin %v and PollMax %v are no range", c.PollMin, c.PollMax))
	}
	if c.ByUpdate && c.ResumeTo == "" {
		errs = append(errs, errors.New("ByUpdate needs ResumeTo: the name of the target that sends the update"))
	}
	for name, a := range c.Activities {
		if a.Class == journal.ClassReadOnly {
			errs = append(errs, fmt.Errorf("activity %q is read_only: leave it out, it is not journaled", name))
		}
		if a.Class == journal.ClassProviderIdempotent && a.KeyWindow > 0 && a.keyWindowLimit() <= 0 {
			errs = append(errs, fmt.Errorf("activity %q: its key window of %v leaves no time after a client time-out of %v and a margin of %v", name, a.KeyWindow, a.ClientTimeout, keyWindowMargin))
		}
	}
	return errors.Join(errs...)
}

// keyWindowLimit is how long attempts may be made under one provider key; only
// for provider_idempotent tools.
func (a Activity) keyWindowLimit() time.Duration {
	return a.KeyWindow - a.ClientTimeout - keyWindowMargin
}

// Sync makes the activities' tools known to the journal. Call it once before the
// worker starts.
func (i *Interceptor) Sync(ctx context.Context) error { return i.registry.Sync(ctx, i.cfg.Journal) }

// ActivityRegistry is the part of a Temporal worker that Register needs.
type ActivityRegistry interface {
	RegisterActivityWithOptions(a any, options activity.RegisterOptions)
}

// Register registers the activity by which parked work asks for a decision
// (DecisionActivity). Without it only what reaches the workflow wakes it.
func (i *Interceptor) Register(w ActivityRegistry) {
	w.RegisterActivityWithOptions(i.decision, activity.RegisterOptions{Name: DecisionActivity})
}
