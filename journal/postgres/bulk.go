package postgres

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/landedhq/landed/journal"
	"github.com/landedhq/landed/journal/audit"
	"github.com/landedhq/landed/journal/postgres/internal/sqlc"
)

// FreezeBulk keeps which effects a filter shows a person now, and at which
// version and evidence. It orders nothing. More than the policy's BulkMax are
// cut, in the list's order. A *journal.InvalidError says that nothing matches.
func (s *Store) FreezeBulk(ctx context.Context, who journal.Actor, filter string, f journal.ListFilter) (journal.Bulk, error) {
	f.After = ""
	rows, head, err := s.attention(ctx, f, journal.MaxGrouped)
	if err != nil {
		return journal.Bulk{}, err
	}
	if len(rows) == 0 {
		return journal.Bulk{}, &journal.InvalidError{Field: "filter", Detail: "matches no effect any more"}
	}
	b := journal.Bulk{ID: journal.NewID(head.Now), Actor: who, Filter: clean(filter, 4000), Matched: len(rows), CreatedAt: head.Now, State: journal.BulkFrozen, Now: head.Now}
	rows = rows[:min(len(rows), s.policy.BulkMax)]
	b.Count = len(rows)
	p := sqlc.AddBulkItemsParams{BulkID: b.ID}
	for i := range rows {
		r := &rows[i]
		l, _ := r.LastLook()
		p.Ids, p.Versions = append(p.Ids, r.Effect.ID), append(p.Versions, r.Effect.Version)
		p.Digests, p.States = append(p.Digests, r.EvidenceDigest()), append(p.States, string(r.Effect.State))
		p.Verdicts = append(p.Verdicts, string(l.Verdict))
	}
	actor, err := person(who)
	if err != nil {
		return b, err
	}
	return b, mapError("freezing a set of effects", pgx.BeginFunc(ctx, s.pool, func(tx pgx.Tx) error {
		if err := s.q.AddBulk(ctx, tx, sqlc.AddBulkParams{ID: b.ID, Actor: actor, Filter: b.Filter, Count: int32(b.Count), Matched: int32(b.Matched)}); err != nil {
			return err
		}
		return s.q.AddBulkItems(ctx, tx, p)
	}))
}

// Bulk reads a bulk with its items.
func (s *Store) Bulk(ctx context.Context, id string) (journal.Bulk, error) {
	if !journal.ValidID(id) {
		return journal.Bulk{}, journal.ErrNotFound
	}
	r, err := s.q.BulkByID(ctx, s.pool, id)
	if err != nil {
		return journal.Bulk{}, mapError("loading bulk "+id, err)
	}
	b, err := toBulk(r)
	if err != nil {
		return b, err
	}
	items, err := s.q.BulkItems(ctx, s.pool, id)
	if err != nil {
		return b, mapError("loading the items of bulk "+id, err)
	}
	for _, it := range items {
		b.Items = append(b.Items, toBulkItem(it, b.State))
	}
	return b, nil
}

// BulkNow reads the effects of a bulk as they are now, by id; purged ones are
// missing. Enough for an assessment.
func (s *Store) BulkNow(ctx context.Context, b journal.Bulk) (map[string]*journal.Snapshot, error) {
	ids := make([]string, len(b.Items))
	for i, it := range b.Items {
		ids[i] = it.EffectID
	}
	var head journal.ListPage
	var effects []listedRow
	err := pipeline(ctx, s.pool, clock(ctx, &head), readListed(ctx,
		withTeam("select "+rowColumns+" from effects e where e.id = any ($1::text[]::uuid[])", false), []any{ids}, &effects))
	if err != nil {
		return nil, mapError("loading the effects of bulk "+b.ID, err)
	}
	rows, err := s.shown(ctx, effects, head.Now)
	if err != nil {
		return nil, err
	}
	meta, err := s.q.Meta(ctx, s.pool, ms(clockMargin))
	if err != nil {
		return nil, mapError("loading the journal's state", err)
	}
	out := make(map[string]*journal.Snapshot, len(rows))
	for i := range rows {
		rows[i].ClockSuspect = meta.ClockSuspect
		out[rows[i].Effect.ID] = &rows[i]
	}
	return out, nil
}

// OrderBulk turns a frozen set into an order, with its audit row. aside are the
// items that it does not reach. An order that was given already is
// journal.ErrConflict.
func (s *Store) OrderBulk(ctx context.Context, o journal.BulkOrder, aside []journal.BulkItem) error {
	if err := o.Validate(); err != nil {
		return err
	}
	b, err := s.Bulk(ctx, o.BulkID)
	if err != nil {
		return err
	}
	if err := o.Permits(&b); err != nil {
		return err
	}
	who, err := person(o.Actor)
	if err != nil {
		return err
	}
	skip := sqlc.SetBulkItemsAsideParams{BulkID: b.ID}
	for _, it := range aside {
		skip.Nos, skip.Outcomes = append(skip.Nos, int32(it.No)), append(skip.Outcomes, string(it.Outcome))
		skip.Codes, skip.Whys = append(skip.Codes, clean(it.Code, 200)), append(skip.Whys, clean(it.Why, 1000))
	}
	lost := false
	err = pgx.BeginFunc(ctx, s.pool, func(tx pgx.Tx) error {
		seq, err := s.audit(ctx, tx, s.bulkEntry(&b, o))
		if err != nil {
			return err
		}
		n, err := s.q.OrderBulk(ctx, tx, sqlc.OrderBulkParams{ID: b.ID, Verb: string(o.Verb), Mode: string(o.Mode), ReasonCode: string(o.ReasonCode),
			Reason: clean(o.Reason, journal.MaxReasonBytes), Eligible: int32(o.Eligible), OrderedBy: who, AuthAt: timePtr(o.Actor.AuthAt),
			OrderedAt: b.Now, AuditSeq: seq})
		if lost = err == nil && n == 0; lost {
			return pgx.ErrTxCommitRollback
		}
		if err != nil || len(aside) == 0 {
			return err
		}
		return s.q.SetBulkItemsAside(ctx, tx, skip)
	})
	if lost {
		return journal.ErrConflict
	}
	return mapError("ordering bulk "+b.ID, err)
}

// bulkEntry is the audit row of an order: who, over what, how many and why.
func (s *Store) bulkEntry(b *journal.Bulk, o journal.BulkOrder) audit.Entry {
	return audit.Entry{At: b.Now, Kind: "bulk:" + string(o.Verb), Actor: "operator:" + o.Actor.Subject, Issuer: o.Actor.Issuer, Name: o.Actor.Name,
		Source: "page", Code: string(o.ReasonCode), Reason: clean(o.Reason, journal.MaxReasonBytes), Policy: s.policy.Version, Result: audit.Done,
		Detail: map[string]string{"bulk": b.ID, "filter": b.Filter, "count": strconv.Itoa(b.Count), "eligible": strconv.Itoa(o.Eligible),
			"mode": string(o.Mode), "frozen_at": b.CreatedAt.UTC().Format(time.RFC3339Nano)}}
}

// StopBulk ends a running bulk, with an audit row; what was not reached stays
// undecided. One that is over is journal.ErrConflict.
func (s *Store) StopBulk(ctx context.Context, id string, who journal.Actor) error {
	b, err := s.Bulk(ctx, id)
	if err != nil {
		return err
	}
	if !who.MayDecide() {
		return &journal.PolicyError{Code: journal.PolicyRole, Detail: "your role may not stop it: an operator or approver can"}
	}
	by, err := person(who)
	if err != nil {
		return err
	}
	lost := false
	err = pgx.BeginFunc(ctx, s.pool, func(tx pgx.Tx) error {
		n, err := s.q.StopBulk(ctx, tx, sqlc.StopBulkParams{ID: id, StoppedBy: by})
		if lost = err == nil && n == 0; lost {
			return pgx.ErrTxCommitRollback
		}
		if err != nil {
			return err
		}
		_, err = s.audit(ctx, tx, audit.Entry{At: b.Now, Kind: "bulk_stopped", Actor: "operator:" + who.Subject, Issuer: who.Issuer, Name: who.Name,
			Source: "page", Policy: s.policy.Version, Result: audit.Done, Detail: map[string]string{"bulk": id, "count": strconv.Itoa(b.Count)}})
		return err
	})
	if lost {
		return journal.ErrConflict
	}
	return mapError("stopping bulk "+id, err)
}

// DropOldBulks forgets sets that nobody ordered within a day.
func (s *Store) DropOldBulks(ctx context.Context) error {
	return mapError("removing old sets", s.q.DropOldBulks(ctx, s.pool))
}

func toBulk(row sqlc.BulkByIDRow) (journal.Bulk, error) {
	r := row.Bulk
	b := journal.Bulk{ID: r.ID, Filter: r.Filter, Count: int(r.Count), Matched: int(r.Matched), CreatedAt: r.CreatedAt,
		State: journal.BulkState(r.State), EndedAt: timeOf(r.EndedAt), Now: row.DbNow}
	o := journal.BulkOrder{BulkID: r.ID, Verb: journal.Verb(r.Verb), Mode: journal.ReissueMode(r.Mode), ReasonCode: journal.ReasonCode(r.ReasonCode),
		Reason: r.Reason, Eligible: int(r.Eligible), At: timeOf(r.OrderedAt)}
	for _, f := range []struct {
		from []byte
		to   *journal.Actor
	}{{r.Actor, &b.Actor}, {r.OrderedBy, &o.Actor}, {r.StoppedBy, &b.StoppedBy}} {
		if len(f.from) == 0 {
			continue
		}
		if err := json.Unmarshal(f.from, f.to); err != nil {
			return b, fmt.Errorf("reading bulk %s: %w", r.ID, err)
		}
	}
	if r.OrderedAt != nil {
		o.Actor.AuthAt = timeOf(r.AuthAt)
		if r.AuditSeq != nil {
			o.AuditSeq = *r.AuditSeq
		}
		b.Order = &o
	}
	return b, nil
}

// toBulkItem: where a runner died between a decision and the item's row, the
// decision says what became of it.
func toBulkItem(row sqlc.BulkItemsRow, st journal.BulkState) journal.BulkItem {
	it := bulkItem(row.BulkItem)
	if row.Effect != nil {
		it.Effect = journal.Sibling{ID: *row.Effect, Tool: row.Tool, Operation: row.Operation, Subject: row.Subject, Amount: row.Amount,
			Currency: row.Currency, State: journal.State(row.StateNow)}
	}
	switch {
	case it.Outcome != "":
	case row.ProposedID != nil:
		it.Outcome, it.ProposalID = journal.BulkProposed, *row.ProposedID
	case row.DecidedID != nil:
		it.Outcome, it.DecisionID = journal.BulkDecided, *row.DecidedID
	case st == journal.BulkStopped:
		it.Outcome, it.Code = journal.BulkSkipped, journal.BulkCodeStopped
	}
	return it
}

func bulkItem(r sqlc.BulkItem) journal.BulkItem {
	return journal.BulkItem{No: int(r.No), EffectID: r.EffectID, Version: r.EffectVersion, Digest: r.EvidenceDigest, State: journal.State(r.State),
		Verdict: journal.Verdict(r.Verdict), Outcome: journal.BulkOutcome(r.Outcome), Code: r.Code, Why: r.Why, DecisionID: strOf(r.DecisionID),
		ProposalID: strOf(r.ProposalID), At: timeOf(r.At), Tries: int(r.Tries)}
}

// ClaimBulk hands out a running bulk that nobody works on, for as long as the
// lease; nil if there is none. claim is the runner's own.
func (s *Store) ClaimBulk(ctx context.Context, claim string, lease time.Duration) (*journal.Bulk, error) {
	id, err := s.q.ClaimBulk(ctx, s.pool, sqlc.ClaimBulkParams{Claim: claim, LeaseMs: ms(lease)})
	if errors.Is(err, pgx.ErrNoRows) {
		return nil, nil
	}
	if err != nil {
		return nil, mapError("claiming a bulk", err)
	}
	r, err := s.q.BulkByID(ctx, s.pool, id)
	if err != nil {
		return nil, mapError("loading bulk "+id, err)
	}
	b, err := toBulk(r)
	return &b, err
}

// KeepBulk renews the lease; false: the bulk was stopped, or is another
// runner's by now.
func (s *Store) KeepBulk(ctx context.Context, id, claim string, lease time.Duration) (bool, error) {
	n, err := s.q.KeepBulk(ctx, s.pool, sqlc.KeepBulkParams{ID: id, Claim: claim, LeaseMs: ms(lease)})
	return n == 1, mapError("keeping bulk "+id, err)
}

// ReleaseBulk lets another runner have it at once.
func (s *Store) ReleaseBulk(ctx context.Context, id, claim string) error {
	return mapError("releasing bulk "+id, s.q.ReleaseBulk(ctx, s.pool, sqlc.ReleaseBulkParams{ID: id, Claim: claim}))
}

// NextBulkItem is the next one to decide; nil if none is due.
func (s *Store) NextBulkItem(ctx context.Context, id string) (*journal.BulkItem, error) {
	r, err := s.q.NextBulkItem(ctx, s.pool, id)
	if errors.Is(err, pgx.ErrNoRows) {
		return nil, nil
	}
	it := bulkItem(r)
	return &it, mapError("reading the next item of bulk "+id, err)
}

// EndBulkItem records what became of an item; the first word stays.
func (s *Store) EndBulkItem(ctx context.Context, id string, it journal.BulkItem) error {
	_, err := s.q.EndBulkItem(ctx, s.pool, sqlc.EndBulkItemParams{BulkID: id, No: int32(it.No), Outcome: string(it.Outcome), Code: clean(it.Code, 200),
		Why: clean(it.Why, 1000), DecisionID: strPtr(it.DecisionID), ProposalID: strPtr(it.ProposalID)})
	return mapError("recording an item of bulk "+id, err)
}

// DeferBulkItem lets an item that could not be tried wait.
func (s *Store) DeferBulkItem(ctx context.Context, id string, no int, wait time.Duration) error {
	return mapError("deferring an item of bulk "+id, s.q.DeferBulkItem(ctx, s.pool, sqlc.DeferBulkItemParams{BulkID: id, No: int32(no), WaitMs: ms(wait)}))
}

// EndBulk ends a bulk that has nothing left to decide.
func (s *Store) EndBulk(ctx context.Context, id string) error {
	_, err := s.q.EndBulk(ctx, s.pool, id)
	return mapError("ending bulk "+id, err)
}
