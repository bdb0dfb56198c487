package temporal

import (
	"time"

	"github.com/landedhq/landed/journal"
)

// typeResolution is the type of the messages that Landed sends.
const typeResolution = "effect.resolution.v1"

// message is what Landed sends, as far as it is needed to wake up. What came of
// the effect is asked of the journal: a message can be late, or be overtaken.
type message struct {
	Type string `json:"type"`
	Data struct {
		ResolutionID string                 `json:"resolution_id"`
		Cursor       int64                  `json:"cursor"`
		EffectID     string                 `json:"effect_id"`
		Resolution   journal.ResolutionKind `json:"resolution"`
	} `json:"data"`
}

// Taken is a workflow's answer to an update.
type Taken struct {
	// Resumed: parked work waited for this, and goes on.
	Resumed bool `json:"resumed"`
	// Seen: this resolution, or a later one, had come before.
	Seen bool `json:"seen,omitempty"`
}

// run is the state of one workflow run. Only its own, single-threaded code
// touches it, in an order that is the same on every replay.
type run struct {
	lineage  lineage
	name     string // for people: workflow id and original run id
	misused  error  // why its effects can't be keyed
	calls    map[string]int
	children int
	// newest is the cursor of the newest resolution that came, by effect. It is kept
	// whether anybody waits or not: a decision can be quicker than the wait.
	newest  map[string]int64
	waiting map[string]int // how many wait, by effect
	since   map[string]int64
}

func newRun() *run {
	return &run{calls: map[string]int{}, newest: map[string]int64{}, waiting: map[string]int{}, since: map[string]int64{}}
}

// take notes a resolution. The same one twice, or an older one, changes nothing.
func (r *run) take(m message) Taken {
	e, at := m.Data.EffectID, m.Data.Cursor
	if at <= r.newest[e] {
		return Taken{Seen: true}
	}
	r.newest[e] = at
	return Taken{Resumed: r.waiting[e] > 0 && at > r.since[e]}
}

// wait registers interest in what comes after a cursor.
func (r *run) wait(effect string, after int64) (done func()) {
	r.waiting[effect]++
	r.since[effect] = after
	return func() { r.waiting[effect]-- }
}

// pollAfter is how long the nth look waits.
func (c Config) pollAfter(n int) time.Duration {
	d := c.PollMin
	for range n {
		if d *= pollGrowth; d >= c.PollMax {
			return c.PollMax
		}
	}
	return min(d, c.PollMax)
}
