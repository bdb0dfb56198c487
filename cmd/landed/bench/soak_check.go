package bench

import (
	"context"
	"fmt"

	"github.com/jackc/pgx/v5"

	"github.com/landedhq/landed/journal"
)

// check compares what the workers were told and what the provider did with what
// the journal holds.
func (s *soak) check(ctx context.Context, r *SoakReport) error {
	c, err := s.direct(ctx)
	if err != nil {
		return fmt.Errorf("connecting for the check: %w", err)
	}
	defer func() { _ = c.Close(ctx) }()
	seen := make([]bool, r.Effects)
	r.States = map[string]int{}
	rows, err := c.Query(ctx, `select e.key, e.ref, e.state, e.attempt, e.open_delivery, e.contradicted or e.probably_double,
		(select count(*) from orders o where o.effect_id = e.id and o.attempt > 0) from effects e where e.key like 'soak-%'`)
	if err != nil {
		return fmt.Errorf("reading the journal: %w", err)
	}
	var x soakRow
	_, err = pgx.ForEachRow(rows, []any{&x.key, &x.ref, &x.state, &x.attempt, &x.open, &x.flagged, &x.orders}, func() error {
		if i, ok := soakIndex(x.key); ok && i < len(seen) {
			seen[i] = true
			s.judge(r, i, x)
		}
		return nil
	})
	if err != nil {
		return fmt.Errorf("reading the journal: %w", err)
	}
	for i, there := range seen {
		if !there {
			r.Unsettled++
			if s.facts[i].Load()&factAttempts > 0 {
				r.LostIntents++
			}
		}
	}
	r.Lost = r.LostIntents + r.LostCommits
	if r.Unsettled > 0 {
		if err := s.tellOpen(ctx, c, r); err != nil {
			return err
		}
	}
	return s.checkDesk(ctx, c, r)
}

// tellOpen says how some of the unsettled effects stand.
func (s *soak) tellOpen(ctx context.Context, c *pgx.Conn, r *SoakReport) error {
	for i := range s.said {
		if text := s.said[i].Load(); text != nil {
			r.Rounds = append(r.Rounds, fmt.Sprintf("round %d took %s", i+1, *text))
		}
	}
	rows, err := c.Query(ctx, `select concat_ws(' ', e.key, e.tool, e.state, e.parked_reason, 'gave up', e.gave_up, 'attempt', e.attempt, 'looks', e.looks,
		'next in', e.next_look_at - now(), 'attention in', e.attention_at - now(), 'since', now() - e.state_at, '|', v.verdict, v.reason, 'again in', v.look_again_at - now(), '|',
		(select string_agg(concat_ws(' ', a.number, a.phase, a.final, a.error), ', ' order by a.number) from attempts a where a.effect_id = e.id))
		from effects e left join lateral (select * from evidence v where v.effect_id = e.id order by v.seq desc limit 1) v on true
		where e.key like 'soak-%' and e.state not in ('COMMITTED', 'REJECTED', 'ABANDONED') order by e.created_at limit 10`)
	if err != nil {
		return fmt.Errorf("reading what is open: %w", err)
	}
	r.Open, err = pgx.CollectRows(rows, pgx.RowTo[string])
	return err
}

// soakRow is what the journal holds of one effect.
type soakRow struct {
	key, ref      string
	state         string
	attempt       int
	open, flagged bool
	orders        int
}

func (s *soak) judge(r *SoakReport, i int, x soakRow) {
	f, landed := s.facts[i].Load(), s.provider.of(x.ref)
	state := journal.State(x.state)
	r.States[x.state]++
	r.Attempts += x.attempt
	if x.flagged {
		r.Flagged++
	}
	if x.open {
		r.Undelivered++
	}
	if int(f&factAttempts) > x.attempt {
		r.LostIntents++
	}
	if f&factCommitted != 0 && state != journal.StateCommitted {
		r.LostCommits++
	}
	if landed.total() > 1 {
		r.Duplicates++
	}
	if landed.free > 1 || int(landed.ordered) > x.orders {
		r.UnorderedDuplicates++
	}
	switch {
	case !state.Closed():
		r.Unsettled++
	case (state == journal.StateCommitted) != (landed.total() > 0):
		r.Untrue++
	}
}

// checkDesk counts what the desk did: a decision without its audit row or its
// delivery is a broken trail.
func (s *soak) checkDesk(ctx context.Context, c *pgx.Conn, r *SoakReport) error {
	var audited, delivered int
	err := c.QueryRow(ctx, `select (select count(*) from decisions), (select count(*) from audit where kind like 'decided:%'),
		(select count(*) from decisions d join deliveries l on l.audit_seq = d.audit_seq),
		(select count(*) from orders), (select count(*) from evidence)`).Scan(&r.Decisions, &audited, &delivered, &r.Orders, &r.Evidence)
	if err != nil {
		return fmt.Errorf("counting decisions: %w", err)
	}
	if audited != r.Decisions || delivered != r.Decisions {
		r.BrokenAudit = fmt.Sprintf("%d decisions have %d audit rows and %d deliveries", r.Decisions, audited, delivered)
	}
	var verr error
	for range 10 { // the pool may still hold broken connections
		if r.AuditRows, verr = s.store.VerifyAudit(ctx); verr == nil {
			return nil
		}
	}
	r.BrokenAudit = verr.Error()
	return nil
}
