package journal

import "time"

// ProviderState is what Landed remembers of one configured provider: how the
// latest look went, whether it asked for a pause, and how long it takes to show
// what landed. Times are the journal's clock's; nil = never.
type ProviderState struct {
	Provider    string
	Now         time.Time  // when this was read
	LastOKAt    *time.Time // the latest look that was answered properly
	LastFaultAt *time.Time
	LastFault   string     // one sentence for people
	PausedUntil *time.Time // it said when to come back
	ControlAt   *time.Time // the latest look whose controls ran
	ControlOK   bool
	ControlWhy  string // what failed
	Lag         Lag
	Due         int // looks that are due now, at most a thousand
}

// Healthy reports whether the latest look was answered properly and its
// controls passed; false also if nobody ever looked.
func (p ProviderState) Healthy() bool {
	if p.LastOKAt == nil || p.LastFaultAt != nil && p.LastFaultAt.After(*p.LastOKAt) {
		return false
	}
	return p.ControlAt == nil || p.ControlOK
}

// Lag is how long a provider took to show what had landed: from the commit of
// an effect to the first look that found it. Every figure is an upper bound.
type Lag struct {
	Samples       int // at most the newest thousand
	Lost          int // of them, effects that were committed and never found
	P50, P99, Max time.Duration
	Newest        *time.Time
}

// ProviderNote is what one look tells of its provider.
type ProviderNote struct {
	Provider string
	Fault    string        // one sentence; "" = it answered properly
	Pause    time.Duration // how long it asked to be left alone
	Controls bool          // both ran
	Passed   bool          // ... and passed
	Why      string        // what failed
}

// LagProbe is one committed effect that is looked for until the provider shows
// it: the sample of its lag.
type LagProbe struct {
	Provider, EffectID, Ref string
	BegunAt, CommittedAt    time.Time
	// MissedAt is when it was last looked for and not there; zero = never.
	MissedAt time.Time
	Tries    int
	Now      time.Time // the journal's clock
}

// LagSample is what a probe told: how long the provider took to show it, or that
// it never did within that time.
type LagSample struct {
	Lag  time.Duration
	Lost bool
}
