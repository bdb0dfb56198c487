package evidence

import (
	"context"
	"errors"
	"log/slog"
	"testing"
	"time"

	"github.com/landedhq/landed/journal"
)

// probing is a journal with one lag probe, and a provider that shows it or not.
type probing struct {
	Source
	Adapter
	probe journal.LagProbe
	shown bool
	err   error

	ended, postponed bool
	told             *journal.LagSample
	missedAt         time.Time
}

func (p *probing) ProviderState(context.Context, string) (journal.ProviderState, error) {
	return journal.ProviderState{}, nil
}
func (p *probing) NoteProvider(context.Context, journal.ProviderNote) error { return nil }
func (p *probing) ClaimLagProbe(context.Context, string, time.Duration, time.Duration, time.Duration) (*journal.LagProbe, error) {
	return &p.probe, nil
}

func (p *probing) PostponeLagProbe(_ context.Context, _ journal.LagProbe, _ time.Duration, missedAt time.Time) error {
	p.postponed, p.missedAt = true, missedAt
	return nil
}

func (p *probing) EndLagProbe(_ context.Context, _ journal.LagProbe, told *journal.LagSample) error {
	p.ended, p.told = true, told
	return nil
}
func (p *probing) Sheet() Sheet                             { return Sheet{Class: L1} }
func (p *probing) Session(context.Context) (Session, error) { return p, p.err }
func (p *probing) Close() error                             { return nil }
func (p *probing) Find(context.Context, Query) (a Answer, err error) {
	if p.shown {
		a.Matches = []journal.Match{{ID: "x"}}
	}
	return a, nil
}

// TestMeasure: a sample is how long the provider took, and never how long we took
// to ask it.
func TestMeasure(t *testing.T) {
	t.Parallel()
	down := errors.New("connection refused")
	never := time.Duration(-1)
	tests := []struct {
		name    string
		age     time.Duration // of the probe, when it is looked for
		missed  time.Duration // its age when it was last missed
		shown   bool
		err     error
		sampled bool
		ended   bool
	}{
		{"shows at once", time.Second, never, true, nil, true, true},
		{"shows after a while, looked for all the time", 40 * time.Second, 31 * time.Second, true, nil, true, true},
		{"shows after a long while, looked for all the time", 50 * time.Minute, 40 * time.Minute, true, nil, true, true},
		{"the server was killed before it could write down the first answer", 3 * time.Minute, never, true, nil, false, true},
		{"killed after a miss", 5 * time.Minute, 2 * time.Minute, true, nil, false, true},
		{"an outage after an early miss", 50 * time.Minute, time.Second, true, nil, false, true},
		{"does not show yet", 3 * time.Minute, never, false, nil, false, false},
		{"never shows", 61 * time.Minute, 50 * time.Minute, false, nil, true, true},
		{"can't be asked", 3 * time.Minute, never, false, down, false, false},
		{"can't be asked for an hour", 61 * time.Minute, never, false, down, false, true},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			now := time.Date(2026, 11, 30, 3, 0, 0, 0, time.UTC)
			p := &probing{shown: tt.shown, err: tt.err, probe: journal.LagProbe{Now: now, CommittedAt: now.Add(-tt.age)}}
			if tt.missed >= 0 {
				p.probe.MissedAt = p.probe.CommittedAt.Add(tt.missed)
			}
			c := NewCollector(p, nil, nil, slog.New(slog.DiscardHandler))
			if err := c.measure(t.Context(), "x", newDesk(p, Limits{})); err != nil {
				t.Fatal(err)
			}
			if (p.told != nil) != tt.sampled || p.ended != tt.ended || p.postponed == tt.ended {
				t.Fatalf("told %+v, ended %v, postponed %v", p.told, p.ended, p.postponed)
			}
			if p.told != nil && (p.told.Lag < tt.age || p.told.Lag > tt.age+time.Minute || p.told.Lost == tt.shown) {
				t.Errorf("told %+v at the age of %v", *p.told, tt.age)
			}
			if missed := !p.missedAt.IsZero(); missed != (p.postponed && tt.err == nil) || missed && p.missedAt.Before(now) {
				t.Errorf("missed at %v", p.missedAt)
			}
		})
	}
}
