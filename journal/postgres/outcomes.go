package postgres

import (
	"context"
	"time"

	"github.com/landedhq/landed/journal"
)

// Outcomes lists what was decided or settled and is not done yet, the oldest word
// first, and the journal's clock.
func (s *Store) Outcomes(ctx context.Context, limit int) ([]journal.Outcome, time.Time, error) {
	rows, err := s.q.Outcomes(ctx, s.pool, int32(limit))
	if err != nil {
		return nil, time.Time{}, mapError("listing outcomes", err)
	}
	now := time.Now()
	out := make([]journal.Outcome, 0, len(rows))
	for _, r := range rows {
		now = r.DbNow
		e := r.Effect
		res := resolutionRow{Delivery: r.Delivery, Namespace: e.Namespace}.resolution()
		out = append(out, journal.Outcome{Newest: res, Stage: journal.StageOf(journal.State(e.State), r.OrderID != "", int(r.OrderAttempt)),
			ExpiresAt: timeOf(r.OrderExpiresAt), DeliveryAt: res.At, Handover: handoverOf(r.Delivery),
			Decider: journal.Actor{Subject: r.DeciderSubject, Name: r.Decider},
			Effect: journal.Sibling{ID: e.ID, Tool: e.Tool, Operation: e.Operation, Subject: e.Subject, Amount: e.Amount, Currency: e.Currency,
				Class: journal.Class(e.Class), State: journal.State(e.State), CreatedAt: e.CreatedAt}})
	}
	return out, now, nil
}
