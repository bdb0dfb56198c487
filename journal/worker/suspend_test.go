package worker

import (
	"errors"
	"testing"
	"time"

	"github.com/landedhq/landed/journal"
)

// The larger of wall and monotonic time counts: a suspend stops the monotonic
// clock, and somebody may set the wall clock back.
func TestSending_WallClockSuspend(t *testing.T) {
	t.Parallel()
	for _, row := range []struct {
		name       string
		wall, mono time.Duration
		want       error
	}{
		{"in time", 29 * time.Second, 29 * time.Second, nil},
		{"suspended: only the wall clock went on", 2 * time.Hour, time.Second, ErrTooLate},
		{"the wall clock was set back", -time.Hour, 31 * time.Second, ErrTooLate},
		{"the wall clock was set back, in time", -time.Hour, time.Second, nil},
	} {
		t.Run(row.name, func(t *testing.T) {
			t.Parallel()
			base := time.Date(2026, 11, 30, 12, 0, 0, 0, time.UTC)
			wall, mono := base, time.Duration(0)
			c := clock{wall: func() time.Time { return wall }, mono: func() time.Duration { return mono }}
			g := &Grant{
				tool: &tool{ToolSpec: ToolSpec{Tool: journal.Tool{Class: journal.ClassAtMostOnce}}}, clock: c,
				start: c.mark(), sendBy: 30 * time.Second, lease: c.mark(), leaseFor: 30 * time.Second,
			}
			wall, mono = base.Add(row.wall), row.mono
			if err := g.sending(); !errors.Is(err, row.want) || (err == nil) != g.sent {
				t.Errorf("sending() = %v with sent %v, want %v", err, g.sent, row.want)
			}
			// A heartbeat renews the lease, but never send_by.
			wall, mono = base.Add(31*time.Second), 31*time.Second
			g.renew(c.mark(), 30*time.Second)
			if err := g.sending(); !errors.Is(err, ErrTooLate) {
				t.Errorf("after a heartbeat past send_by: %v, want ErrTooLate", err)
			}
		})
	}
}

func TestSending_NeedsTheLeaseToo(t *testing.T) {
	t.Parallel()
	now := time.Duration(0)
	base := time.Date(2026, 11, 30, 12, 0, 0, 0, time.UTC)
	c := clock{wall: func() time.Time { return base.Add(now) }, mono: func() time.Duration { return now }}
	g := &Grant{tool: &tool{}, clock: c, start: c.mark(), sendBy: time.Minute, lease: c.mark(), leaseFor: 30 * time.Second}
	now = 31 * time.Second
	if err := g.sending(); !errors.Is(err, ErrTooLate) {
		t.Errorf("after the lease, before send_by: %v, want ErrTooLate", err)
	}
	g.renew(c.mark(), 30*time.Second)
	if err := g.sending(); err != nil {
		t.Errorf("after a heartbeat: %v, want nil", err)
	}
}
