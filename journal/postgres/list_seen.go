package postgres

import (
	"context"
	"slices"
	"sync"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/landedhq/landed/journal"
	"github.com/landedhq/landed/journal/postgres/internal/sqlc"
)

// shown returns the snapshots of a page's rows, in their order, as of now. Rows
// that a page showed a moment ago are not read again. A snapshot is one effect at
// one time, though it is put together from several statements: an effect that
// moves on meanwhile is read again, and one that was purged is left out.
func (s *Store) shown(ctx context.Context, rows []listedRow, now time.Time) ([]journal.Snapshot, error) {
	seen, want := s.seen.get(rows)
	for range maxTries {
		if len(want) == 0 {
			break
		}
		read, err := s.readSeen(ctx, want)
		if err != nil {
			return nil, err
		}
		s.seen.put(read, want)
		next := map[string]rowID{}
		for id, e := range read {
			if seen[id] = e; e.row != want[id] {
				next[id] = e.row
			}
		}
		want = next
	}
	out := make([]journal.Snapshot, 0, len(rows))
	for _, r := range rows {
		if e := seen[r.id]; e != nil {
			out = append(out, s.snapshotOf(e, now))
		}
	}
	return out, nil
}

// snapshotOf is the snapshot of what was read, for one reader alone.
func (s *Store) snapshotOf(e *seenEffect, now time.Time) journal.Snapshot {
	out := e.snapshot
	out.Now, out.Policy, out.CanLook = now, s.policy, s.look(out.Effect.Provider)
	out.Attempts, out.Looks = slices.Clone(out.Attempts), slices.Clone(out.Looks)
	return out
}

// seenEffect is an effect as the list shows it and an assessment needs it: with
// neither key, step, labels, args nor result. It is never written to.
type seenEffect struct {
	row      rowID
	snapshot journal.Snapshot
}

// listedColumns are what readEffects takes: those of sqlc.Effect without what
// only the effect page shows (args and results may be long).
const listedColumns = `e.id, e.namespace, e.ref, e.tool, e.class, e.provider, e.key_window_ms, e.client_timeout_ms, e.root_run,
	e.root_run_started_at, e.operation, e.subject, e.amount, e.currency, e.supersedes, e.state, e.version, e.issue, e.parked_reason,
	e.retry_at, e.cleared_attempt, e.provider_id, e.settled_by, e.refusal, e.contradicted, e.probably_double, e.orphan, e.gave_up,
	e.drifted, e.policy_off, e.open_delivery, e.next_look_at, e.looks, e.created_at, e.state_at, e.attempt, e.order_id, e.worker,
	e.granted_at, e.lease_until, e.send_by, e.attempt_deadline, e.attempt_timeout_ms, e.fenced_at, e.xmin`

// readEffects reads listedColumns. By hand: reading fifty rows by reflection
// would cost a page a third of its time.
func readEffects(ctx context.Context, ids []string, into func(sqlc.Effect, rowID) error) func(sqlc.DBTX) error {
	return func(db sqlc.DBTX) error {
		rows, err := db.Query(ctx, "select "+listedColumns+" from effects e where e.id = any ($1::text[]::uuid[])", ids)
		if err != nil {
			return err
		}
		var e sqlc.Effect
		var xmin uint32
		_, err = pgx.ForEachRow(rows, []any{&e.ID, &e.Namespace, &e.Ref, &e.Tool, &e.Class, &e.Provider, &e.KeyWindowMs, &e.ClientTimeoutMs, &e.RootRun,
			&e.RootRunStartedAt, &e.Operation, &e.Subject, &e.Amount, &e.Currency, &e.Supersedes, &e.State, &e.Version, &e.Issue, &e.ParkedReason,
			&e.RetryAt, &e.ClearedAttempt, &e.ProviderID, &e.SettledBy, &e.Refusal, &e.Contradicted, &e.ProbablyDouble, &e.Orphan, &e.GaveUp,
			&e.Drifted, &e.PolicyOff, &e.OpenDelivery, &e.NextLookAt, &e.Looks, &e.CreatedAt, &e.StateAt, &e.Attempt, &e.OrderID, &e.Worker,
			&e.GrantedAt, &e.LeaseUntil, &e.SendBy, &e.AttemptDeadline, &e.AttemptTimeoutMs, &e.FencedAt, &xmin}, func() error {
			return into(e, rowID{e.Version, xmin})
		})
		return err
	}
}

// readSeen reads the effects of want with what lies beside them, in one round
// trip. The effects come last: one whose row is still the wanted one did not
// change while the rest was read.
func (s *Store) readSeen(ctx context.Context, want map[string]rowID) (map[string]*seenEffect, error) {
	ids := make([]string, 0, len(want))
	for id := range want {
		ids = append(ids, id)
	}
	var looks []sqlc.LooksOfRow
	var orders []sqlc.Order
	var proposals []sqlc.Proposal
	attempts := map[string][]sqlc.Attempt{}
	out := make(map[string]*seenEffect, len(want))
	err := pipeline(ctx, s.pool,
		func(db sqlc.DBTX) error {
			rows, err := s.q.AttemptsOf(ctx, db, ids)
			for _, a := range rows {
				attempts[a.EffectID] = append(attempts[a.EffectID], sqlc.Attempt(a))
			}
			return err
		},
		func(db sqlc.DBTX) (err error) { looks, err = s.q.LooksOf(ctx, db, ids); return err },
		func(db sqlc.DBTX) (err error) { orders, err = s.q.OrdersOf(ctx, db, ids); return err },
		func(db sqlc.DBTX) (err error) { proposals, err = s.q.OpenProposalsOf(ctx, db, ids); return err },
		readEffects(ctx, ids, func(r sqlc.Effect, row rowID) error {
			e, err := toEffect(r)
			out[r.ID] = &seenEffect{row: row, snapshot: journal.Snapshot{Effect: e, Attempts: joinAttempts(r, attempts[r.ID])}}
			return err
		}))
	if err != nil {
		return nil, mapError("reading the list", err)
	}
	return out, addBeside(out, looks, orders, proposals)
}

// addBeside adds looks, the newest order and the open proposal.
func addBeside(to map[string]*seenEffect, looks []sqlc.LooksOfRow, orders []sqlc.Order, proposals []sqlc.Proposal) error {
	for _, l := range looks {
		if e := to[l.EffectID]; e != nil {
			e.snapshot.Looks = append(e.snapshot.Looks, journal.Look{ID: l.ID, Seq: l.Seq, Verdict: journal.Verdict(l.Verdict), Reason: l.Reason,
				CoversAttempt: int(l.CoversAttempt), StartedAt: l.StartedAt, LookAgainAt: timeOf(l.LookAgainAt), Digest: l.Digest})
		}
	}
	for _, o := range orders { // oldest first: the newest stays
		if e := to[o.EffectID]; e != nil {
			e.snapshot.Order = toOrder(o)
		}
	}
	for _, r := range proposals {
		p, err := toProposal(r)
		if err != nil {
			return err
		}
		if e := to[r.EffectID]; e != nil {
			e.snapshot.Proposal = p
		}
	}
	return nil
}

const (
	// maxSeen bounds the effects of one generation, seenFor how long it takes new
	// ones: a list that everybody has open is some hundred effects, a bad day's
	// thousands. An effect takes a kilobyte or two.
	maxSeen = 10_000
	seenFor = 30 * time.Second
)

// seenEffects keeps what pages showed a moment ago, for twice seenFor at most:
// every open window asks for the same few effects again every few seconds, and
// most when the database has the least to spare. What is kept is shown only while
// the effect's row is still the same one, so it is never old; after a restore or
// a failover that lost transactions their numbers come again, and a mistake is
// forgotten within that time. The zero value works.
type seenEffects struct {
	mu         sync.Mutex
	young, old map[string]*seenEffect
	since      time.Time // when young began
}

// get returns what is kept of the rows, and what has to be read. Of nil, nothing
// is kept.
func (c *seenEffects) get(rows []listedRow) (have map[string]*seenEffect, want map[string]rowID) {
	have, want = make(map[string]*seenEffect, len(rows)), map[string]rowID{}
	for _, r := range rows {
		want[r.id] = r.row
	}
	if c == nil {
		return have, want
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.age(time.Now())
	for _, r := range rows {
		for _, kept := range []map[string]*seenEffect{c.young, c.old} {
			if e := kept[r.id]; e != nil && e.row == r.row {
				have[r.id] = e
				delete(want, r.id)
				break
			}
		}
	}
	return have, want
}

// put keeps what was read, if its row is the wanted one.
func (c *seenEffects) put(read map[string]*seenEffect, want map[string]rowID) {
	if c == nil {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.age(time.Now())
	for id, e := range read {
		if e.row == want[id] {
			c.young[id] = e
		}
	}
}

// age begins a new generation where the last one is full or has had its time.
func (c *seenEffects) age(now time.Time) {
	switch passed := now.Sub(c.since); {
	case passed >= 2*seenFor:
		c.young, c.old, c.since = map[string]*seenEffect{}, nil, now
	case passed >= seenFor || len(c.young) >= maxSeen:
		c.young, c.old, c.since = map[string]*seenEffect{}, c.young, now
	}
}
