package bench

import (
	"context"
	"errors"

	"github.com/landedhq/landed/journal"
	"github.com/landedhq/landed/journal/decide"
	"github.com/landedhq/landed/providers/evidence"
)

// rounds is the work beside the workers: what serve runs in the background, an
// operator at the desk, and the runtime that hears of decisions.
func (s *soak) rounds() []func(context.Context) error {
	collector := evidence.NewCollector(s.store, map[string]evidence.Adapter{"truth": s.provider}, map[string]evidence.Limits{"truth": {Concurrency: 4}}, s.log)
	operator := &soakOperator{s: s, collector: collector, decider: decide.New(s.store, collector, s.log)}
	feed := &soakFeed{s: s}
	return []func(context.Context) error{
		func(ctx context.Context) error { _, err := s.store.Sweep(ctx, 200); return err },
		func(ctx context.Context) error { _, err := collector.Round(ctx, "truth"); return err },
		func(ctx context.Context) error {
			if _, err := s.store.RaiseAlerts(ctx); err != nil {
				return err
			}
			_, err := s.store.BindAlertMessages(ctx, []string{"hook"})
			return err
		},
		operator.round,
		feed.round,
	}
}

// soakFeed is the runtime that parked the work: it follows the feed of decisions
// and starts what they concern again.
type soakFeed struct {
	s      *soak
	cursor int64
}

func (f *soakFeed) round(ctx context.Context) error {
	for {
		rs, err := f.s.store.Decisions(ctx, f.cursor, 500)
		if err != nil || len(rs) == 0 {
			return err
		}
		for _, r := range rs {
			i, ok := soakIndex(r.Key)
			if !(ok && f.s.queue.wake(i)) && r.AckedAt == nil { // nobody waits: it was settled by its own report
				if err := f.s.store.Ack(ctx, r.ID); err != nil {
					return err
				}
			}
			f.cursor = r.Cursor
		}
	}
}

// soakOperator decides what is parked or gave up, by what the provider shows,
// and as the desk recommends.
type soakOperator struct {
	s         *soak
	collector *evidence.Collector
	decider   *decide.UseCase
}

func (o *soakOperator) round(ctx context.Context) error {
	after := ""
	for {
		page, err := o.s.store.List(ctx, journal.ListFilter{Limit: 200, After: after})
		if err != nil {
			return err
		}
		var failed []error
		for i := range page.Rows {
			failed = append(failed, o.decide(ctx, page.Rows[i]))
		}
		if err := errors.Join(failed...); err != nil || page.Next == "" {
			return err
		}
		after = page.Next
	}
}

func (o *soakOperator) decide(ctx context.Context, row journal.Snapshot) error {
	if row.Stuck() && row.Effect.NextLookAt.Sub(row.Now) > soakHorizon*5 { // its look was claimed, and the claim was lost
		_, err := o.collector.LookNow(ctx, row.Effect.ID, "operator:soak")
		return err
	}
	if row.Effect.State != journal.StateParked && !row.Effect.GaveUp {
		return nil
	}
	s, err := o.s.store.Snapshot(ctx, row.Effect.ID)
	if err != nil || !s.Decidable() {
		return err
	}
	a := journal.Assess(&s)
	if last, looked := s.LastLook(); len(s.Exposed()) > 0 && (!looked || s.Now.After(last.LookAgainAt)) && a.Recommend != journal.RecommendCloseLanded {
		_, err := o.collector.LookNow(ctx, s.Effect.ID, "operator:soak")
		return err // the next round decides on what it brought
	}
	d := journal.Decision{EffectID: s.Effect.ID, Expected: s.Effect.Version, Digest: s.EvidenceDigest(), Source: "page",
		Actor:      journal.Actor{Issuer: "soak", Subject: "operator", Name: "Operator", Roles: []journal.Role{journal.RoleOperator}},
		ReasonCode: "evidence_found", Reason: "as the provider shows"}
	switch a.Recommend {
	case journal.RecommendCloseLanded:
		d.Verb = journal.VerbCloseLanded
	case journal.RecommendCloseNotLanded:
		d.Verb, d.ReasonCode = journal.VerbCloseNotLanded, "evidence_not_found"
	case journal.RecommendReissue:
		d.Verb, d.Mode, d.ReasonCode = journal.VerbReissue, a.Mode, "evidence_not_found"
		if o.s.dice.below(10) == 0 && a.BlockFor(journal.VerbCloseNotLanded, "") == nil && len(s.Exposed()) == 0 { // no longer wanted
			d.Verb, d.Mode = journal.VerbCloseNotLanded, ""
		}
	default:
		return nil // wait
	}
	_, err = o.decider.Decide(ctx, d)
	var stale *journal.StaleError
	if errors.As(err, &stale) {
		return nil // a late report was faster: the next round sees it
	}
	return err
}
