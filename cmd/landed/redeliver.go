package main

import (
	"context"
	"fmt"
	"log/slog"
	"time"

	"github.com/landedhq/landed/journal"
	"github.com/landedhq/landed/journal/postgres"
)

// outcomeLine is a resolution and its way to the runtime, as data.
type outcomeLine struct {
	ID         string     `json:"id"`
	Resolution string     `json:"resolution"`
	By         string     `json:"by"`
	At         time.Time  `json:"at"`
	Delivery   string     `json:"delivery"` // pull, pending, sent, refused, expired or acknowledged
	Target     string     `json:"target,omitempty"`
	Tries      int        `json:"tries,omitempty"`
	NextAt     *time.Time `json:"next_at,omitempty"`
	Why        string     `json:"why,omitempty"` // the newest failure
	AckedAt    *time.Time `json:"acked_at,omitempty"`
	AckedBy    string     `json:"acked_by,omitempty"`
}

// outcomeLines are the effect's resolutions, oldest first.
func outcomeLines(k *journal.Case) []outcomeLine {
	var out []outcomeLine
	for _, r := range k.Resolutions {
		h := k.Handovers[r.ID]
		o := outcomeLine{ID: r.ID, Resolution: string(r.Kind), By: r.By, At: r.At, Delivery: string(h.State), Target: h.Target, Tries: h.Tries,
			Why: h.Reason, AckedAt: r.AckedAt, AckedBy: r.AckedBy}
		if r.AckedAt != nil {
			o.Delivery, o.Why = "acknowledged", ""
		} else if h.State == journal.HandoverPending && !h.NextAt.IsZero() {
			o.NextAt = &h.NextAt
		}
		out = append(out, o)
	}
	return out
}

type effectsRedeliverCmd struct {
	Config string `required:"" type:"existingfile" help:"The configuration, YAML."`
	ID     string `arg:"" help:"The effect's id."`
}

// Run has the effect's newest outcome handed over once more: a server does it in
// its next round.
func (c *effectsRedeliverCmd) Run(ctx context.Context, io stdio, log *slog.Logger) error {
	return withStore(ctx, c.Config, log, func(s *postgres.Store) error {
		k, err := s.Case(ctx, c.ID)
		if err != nil {
			return err
		}
		if len(k.Resolutions) == 0 {
			return fmt.Errorf("effect %s has no outcome yet: decide it first", c.ID)
		}
		newest := k.Resolutions[len(k.Resolutions)-1]
		if err := s.Redeliver(ctx, c.ID, journal.Redelivery{ResolutionID: newest.ID, Actor: osUser(), Source: "cli"}); err != nil {
			return err
		}
		fmt.Fprintf(io.out, "outcome %s (%s) is handed over again; 'landed effects show %s' says what came of it\n", newest.ID, newest.Kind, c.ID)
		return nil
	})
}
