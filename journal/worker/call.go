package worker

import (
	"time"

	"github.com/landedhq/landed/journal"
)

// Run says where in a workflow a call stands. The root run is the one that a
// person or a schedule started: a replay, a resume and every sub-agent share it.
type Run struct {
	RootRun          string
	RootRunStartedAt time.Time // zero = unknown
	Turn             string    // what the retry budget is counted per; "" = the root run
	Run              string    // this run, if it is not the root
}

// Child is the run of a spawned sub-agent. Its effects are keyed to the root
// run: a respawned sub-agent finds what its predecessor did. Name steps after
// the business step, as siblings with equal step, operation and item share
// their effect.
func (r Run) Child(id string) Run {
	r.Run = id
	return r
}

// Call is one request to execute a tool. Run, Step, Operation and Item make the
// key; arguments, time, attempts and model output never do.
type Call struct {
	Run       Run
	Tool      string
	Step      string // the workflow's name for this step, the same on every replay
	Operation string // "" = the tool's name
	Item      string // the business object, when one step acts on several
	// Key, if set, is minted by the caller, outside every retry, and replaces the
	// derived one.
	Key       string
	Namespace string

	Subject          string // one line for people
	Amount, Currency string
	Labels           map[string]string
	Args             []byte // raw JSON; carried byte for byte

	Lease         time.Duration // 0 = the journal's default
	ClientTimeout time.Duration // 0 = the tool's
	Resume        []byte        // raw JSON: how the runtime wants to hear of a decision
	Supersedes    string        // effect id of the closed effect that this one replaces
	Compensates   string        // effect id of the completed effect that this one undoes; Compensate sets it
	Traceparent   string
}

// DeriveKey returns the key of the call: the caller's own, else the one made
// from root run, step, operation and item. The error is a *journal.InvalidError.
func (c Call) DeriveKey() (string, error) {
	if c.Key != "" {
		return c.Key, journal.ValidateKey(c.Key)
	}
	return journal.DeriveKey(c.Run.RootRun, c.Step, c.operation(), c.Item)
}

func (c Call) operation() string {
	if c.Operation == "" {
		return c.Tool
	}
	return c.Operation
}

func (c Call) beginRequest(key string) journal.BeginRequest {
	return journal.BeginRequest{
		Namespace: c.Namespace, Key: key, Tool: c.Tool,
		RootRun: c.Run.RootRun, RootRunStartedAt: c.Run.RootRunStartedAt,
		Turn: c.Run.Turn, Run: c.Run.Run, Step: c.Step, Operation: c.operation(),
		Subject: c.Subject, Amount: c.Amount, Currency: c.Currency, Labels: c.Labels,
		Args: c.Args, Lease: c.Lease, ClientTimeout: c.ClientTimeout,
		Resume: c.Resume, Supersedes: c.Supersedes, Compensates: c.Compensates, Traceparent: c.Traceparent,
	}
}
