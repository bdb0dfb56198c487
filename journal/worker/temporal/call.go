package temporal

import (
	"strconv"
	"time"

	commonpb "go.temporal.io/api/common/v1"
	"go.temporal.io/sdk/converter"
	"go.temporal.io/sdk/workflow"

	"github.com/landedhq/landed/journal"
)

// Call says more of one activity call than its arguments do. All of it is
// optional; WithCall attaches it.
type Call struct {
	// Step names the business step, the same on every replay. "" = the activity's
	// ActivityID, if its options set one, else the how manyth call of that activity
	// type in its run this is. Name the step where calls run concurrently and their
	// order depends on what comes from outside.
	Step string
	// Item names the business object, when one step acts on several.
	Item string
	// Key replaces the derived key.
	Key string
	// Turn is what the journal's retry budget is counted per; "" = the step.
	Turn string
	// Supersedes is the id of a closed effect that this one replaces.
	Supersedes string
}

type (
	callKey      struct{}
	executionKey struct{}
	presentKey   struct{}
)

// WithCall returns a context whose next activity calls are those of c. One step
// and item is one effect: give each call its own.
func WithCall(ctx workflow.Context, c Call) workflow.Context {
	return workflow.WithValue(ctx, callKey{}, c)
}

// wireCall is what the workflow's side tells the activity's side of a call.
type wireCall struct {
	Key        string    `json:"key,omitempty"` // the caller's own
	Root       string    `json:"root"`
	Started    time.Time `json:"started,omitzero"`
	Run        string    `json:"run"`
	Step       string    `json:"step"`
	Item       string    `json:"item,omitempty"`
	Turn       string    `json:"turn,omitempty"`
	Supersedes string    `json:"supersedes,omitempty"`
}

// newCall gives the next call of an activity type its place. It is called in the
// workflow's own order, which is the same on every replay.
func (r *run) newCall(ctx workflow.Context, activityType string) (wireCall, error) {
	if r.misused != nil {
		return wireCall{}, r.misused
	}
	c, _ := ctx.Value(callKey{}).(Call)
	step := c.Step
	if step == "" {
		step = workflow.GetActivityOptions(ctx).ActivityID
	}
	if step == "" {
		r.calls[activityType]++
		step = strconv.Itoa(r.calls[activityType])
	}
	if p := r.lineage.prefix(); p != "" {
		step = p + "." + step
	}
	if c.Key != "" {
		if err := journal.ValidateKey(c.Key); err != nil {
			return wireCall{}, misuse("%v", err)
		}
	}
	turn := c.Turn
	if turn == "" {
		turn = activityType + "/" + step
	}
	return wireCall{
		Key: c.Key, Root: r.lineage.Root, Started: r.lineage.Started, Run: r.name, Step: step, Item: c.Item,
		Turn: turn, Supersedes: c.Supersedes,
	}, nil
}

// write puts v into a header; plain JSON, whatever the user's converter is.
func write(h map[string]*commonpb.Payload, v any) error {
	p, err := converter.GetDefaultDataConverter().ToPayload(v)
	if err != nil {
		return err
	}
	h[header] = p
	return nil
}

// read reads a header into v; false if there is none.
func read(h map[string]*commonpb.Payload, v any) (bool, error) {
	p, ok := h[header]
	if !ok {
		return false, nil
	}
	return true, converter.GetDefaultDataConverter().FromPayload(p, v)
}
