package bench

import (
	"context"
	"fmt"
	"runtime"
	"sync"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/landedhq/landed/journal"
	"github.com/landedhq/landed/journal/postgres"
	"github.com/landedhq/landed/journal/postgres/cluster"
)

// fillChunk is how many effects one statement writes.
const fillChunk = 50_000

// fillEffects writes effects $1 to $2 of $3, spread evenly over the thirty days
// before $5; every $4th is open, in a mix of states. Widths are those of real
// use: about 680 bytes a row. Keys begin with the root run's id, and that with
// its time.
const fillEffects = `
insert into effects (id, namespace, key, ref, tool, class, provider, client_timeout_ms, root_run, step, operation, subject, amount, currency, labels, args,
	fingerprint, fingerprint_rule, state, version, parked_reason, retry_at, result, provider_id, settled_by, contradicted, probably_double, gave_up, open_delivery,
	created_at, state_at, claim_id, lease_token, worker, granted_at, lease_until, send_by, attempt_deadline, attempt_timeout_ms, fenced_at)
select (substr(r.at_hex, 1, 12) || '7' || substr(h, 1, 3) || '8' || substr(h, 4, 15))::uuid,
	case when n % 10 < 6 then '' else 'tenant-' || n / 10 % 20 end, r.run || '/step-' || i % 4 || '/send', md5('ref' || i),
	'tool-' || n % 37, case n % 37 % 3 when 0 then 'at_most_once' when 1 then 'journal_deduped' else 'provider_idempotent' end, 'provider-' || n % 37 % 7,
	30000, r.run, 'step-' || i % 4, 'send', 'Refund of order A-' || i || ' to customer ' || substr(h, 1, 8), (i % 900)::text || '.50', 'EUR',
	case when i % 4 = 0 then jsonb_build_object('order', 'A-' || i) end,
	convert_to('{"to":"' || h || '@example.com","body":"' || h || md5(h) || md5('b' || h) || md5('c' || h) || md5('d' || h) || md5('e' || h) || md5('f' || h) || '"}', 'UTF8'),
	h || h, 1, k.state, case when k.kind < 0 then 2 else 4 end, case when k.state = 'PARKED' then 'at_most_once' else '' end,
	case when k.kind = 16 then a.at end, case when k.state = 'COMMITTED' then '\x7b226f6b223a747275657d'::bytea end,
	case when k.state = 'COMMITTED' then 'provider-id-' || i else '' end,
	case when k.state = 'COMMITTED' then 'worker' when k.state = 'ABANDONED' then 'operator:bench' else '' end,
	k.kind = 17, k.kind = 18, k.kind = 19, k.kind in (14, 15), a.at, a.at + interval '1 s', h, md5('token' || i), 'bench',
	a.at, a.at + interval '1 min', a.at + interval '1 min', a.at + interval '90 s', 30000, a.at + interval '1 s'
from generate_series($1::bigint, $2::bigint) i
cross join lateral (select $5::timestamptz - interval '30 days' * (1 - i::float8 / $3::bigint) as at, md5(i::text) as h, ('x' || substr(md5(i::text), 20, 6))::bit(24)::int as n) a
cross join lateral (select lpad(to_hex((extract(epoch from a.at) * 1000)::bigint), 12, '0') as at_hex,
	lpad(to_hex((extract(epoch from $5::timestamptz - interval '30 days' * (1 - (i / 4 * 4)::float8 / $3::bigint)) * 1000)::bigint), 12, '0') || '-7' || substr(md5('run' || i / 4), 1, 19) as run) r
cross join lateral (select kind, case when kind in (-1, 14, 15, 18) then 'COMMITTED' when kind in (16, 19) then 'INTENT' when kind = 17 then 'ABANDONED'
	when kind in (11, 12, 13) then 'REISSUE' else 'PARKED' end as state
	from (select case when i % $4::bigint = $4::bigint / 2 then i / $4::bigint % 20 else -1 end as kind) x) k`

// fillBeside writes what an open effect has beside it, and some in flight.
var fillBeside = []string{
	`insert into tools (name, class, provider, key_window_ms, client_timeout_ms) select distinct tool, class, provider, 3600000, 30000 from effects where attention_at is not null
		on conflict do nothing`,
	`insert into attempts (effect_id, number, issue, claim_id, lease_token, granted_at, lease_until, send_by, attempt_deadline, fenced_at, phase)
		select id, 1, 1, claim_id, lease_token, granted_at, lease_until, send_by, attempt_deadline, fenced_at, 'sent' from effects where attention_at is not null`,
	`insert into evidence (id, effect_id, adapter, verdict, reason, covers_attempt, started_at, finished_at, digest, body)
		select gen_random_uuid(), id, 'bench', 'CANNOT_TELL', 'too_early', 1, created_at + interval '2 s', created_at + interval '3 s', md5(id::text), '{}' from effects where attention_at is not null`,
	`insert into orders (id, effect_id, decision_id, mode, issue, known_up_to, created_at, expires_at)
		select gen_random_uuid(), id, gen_random_uuid(), 'new_key', 2, 0, created_at, now() + interval '1 day' from effects where attention_at is not null and state = 'REISSUE'`,
	// Some of the open effects are claimed; those snoozed are none that is read by name.
	`insert into claims (effect_id, id, issuer, subject, name, by_issuer, by_subject, since, until)
		select id, id, 'bench', 'person-' || get_byte(decode(md5(id::text), 'hex'), 0) % 5, 'Person', 'bench', 'person', now(), now() + interval '7 days'
		from effects where attention_at is not null and get_byte(decode(md5(id::text), 'hex'), 1) % 3 = 0 order by md5(id::text) limit 300`,
	`insert into snoozes (effect_id, until, issuer, subject, at)
		select id, now() + interval '7 days', 'bench', 'person-0', now() from effects where attention_at is not null order by md5(id::text) offset 300 limit 200`,
	`insert into effects (id, key, ref, tool, class, provider, client_timeout_ms, root_run, operation, fingerprint, fingerprint_rule, state, created_at, state_at,
		lease_token, granted_at, lease_until, send_by, attempt_deadline)
		select gen_random_uuid(), 'in-flight/' || i, md5('in-flight' || i), 'tool-0', 'at_most_once', 'provider-0', 30000, 'in-flight', 'send', 'f', 1, 'INTENT', now(), now(),
		md5(i::text), now(), now() + interval '1 day', now() + interval '1 day', now() + interval '25 hours' from generate_series(1, 200) i`,
}

// listJournal is one filled database with a store on it.
type listJournal struct {
	effects, open int
	store         *postgres.Store
	forgetful     *postgres.Store // which reads every page's effects anew
	pool          *pgxpool.Pool
	samples       []listSample // committed effects, at random
	openSamples   []listSample
}

type listSample struct{ id, namespace, key, ref, run, subject string }

// fillJournal makes a database of its own with n effects, open of them open; one
// of that name that an earlier run left is taken as it is.
func fillJournal(ctx context.Context, pg *cluster.Cluster, name string, n, open int) (*listJournal, error) {
	admin, err := pgx.Connect(ctx, pg.DSN("postgres"))
	if err != nil {
		return nil, fmt.Errorf("connecting: %w", err)
	}
	defer admin.Close(ctx) //nolint:errcheck // nothing was left to write
	var kept bool
	if err := admin.QueryRow(ctx, "select exists (select from pg_database where datname = $1)", name).Scan(&kept); err != nil {
		return nil, fmt.Errorf("looking for database %s: %w", name, err)
	}
	if kept && n == 0 {
		_, err = admin.Exec(ctx, "drop database "+pgx.Identifier{name}.Sanitize())
		kept = false
	}
	if !kept && err == nil {
		_, err = admin.Exec(ctx, "create database "+pgx.Identifier{name}.Sanitize())
	}
	if err != nil {
		return nil, fmt.Errorf("making database %s: %w", name, err)
	}
	dsn := pg.DSN(name)
	if err := postgres.Migrate(ctx, dsn); err != nil {
		return nil, err
	}
	j := &listJournal{effects: n, open: open}
	if j.pool, err = pgxpool.New(ctx, dsn); err != nil {
		return nil, fmt.Errorf("connecting: %w", err)
	}
	o := postgres.Options{CanLook: func(string) bool { return true }}
	j.store = postgres.New(j.pool, o)
	o.Forgetful = true
	j.forgetful = postgres.New(j.pool, o)
	tool := journal.Tool{Name: "bench", Class: journal.ClassAtMostOnce, Provider: "bench", ClientTimeout: 30 * time.Second}
	if err := j.store.RegisterTool(ctx, tool); err != nil {
		return nil, err
	}
	if n == 0 {
		return j, nil
	}
	if !kept {
		if err := j.fill(ctx); err != nil {
			return nil, fmt.Errorf("filling database %s: %w", name, err)
		}
	}
	return j, j.sample(ctx)
}

func (j *listJournal) close() {
	if j != nil && j.pool != nil {
		j.pool.Close()
	}
}

// fill writes the effects without their secondary indexes and builds those
// afterwards: a tenth of the time.
func (j *listJournal) fill(ctx context.Context) error {
	rows, err := j.pool.Query(ctx, "select indexname, indexdef from pg_indexes where tablename = 'effects' and indexname <> 'effects_pkey'")
	if err != nil {
		return err
	}
	type index struct{ Name, Def string }
	indexes, err := pgx.CollectRows(rows, pgx.RowToStructByPos[index])
	if err != nil {
		return err
	}
	for _, x := range indexes {
		if _, err := j.pool.Exec(ctx, "drop index "+pgx.Identifier{x.Name}.Sanitize()); err != nil {
			return err
		}
	}
	if err := j.writeChunks(ctx); err != nil {
		return err
	}
	for _, x := range indexes {
		if _, err := j.pool.Exec(ctx, x.Def); err != nil {
			return err
		}
	}
	for _, sql := range append(fillBeside, "vacuum analyze") {
		if _, err := j.pool.Exec(ctx, sql); err != nil {
			return err
		}
	}
	return nil
}

func (j *listJournal) writeChunks(ctx context.Context) error {
	every, until := max(j.effects/max(j.open, 1), 1), time.Now().Add(-time.Hour)
	chunks := make(chan int)
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	var wg sync.WaitGroup
	for range runtime.GOMAXPROCS(0) {
		wg.Go(func() {
			for from := range chunks {
				to := min(from+fillChunk-1, j.effects)
				if _, err := j.pool.Exec(ctx, fillEffects, from, to, j.effects, every, until); err != nil {
					cancel(err)
				}
			}
		})
	}
	for from := 1; from <= j.effects && ctx.Err() == nil; from += fillChunk {
		chunks <- from
	}
	close(chunks)
	wg.Wait()
	return context.Cause(ctx)
}

// sample picks the effects that the reads ask for.
func (j *listJournal) sample(ctx context.Context) error {
	columns := "select id, namespace, key, ref, root_run, subject from effects"
	rows, err := j.pool.Query(ctx, columns+" where attention_at is not null order by md5(id::text) limit 300")
	if err != nil {
		return err
	}
	pick := func(r pgx.CollectableRow) (s listSample, err error) {
		err = r.Scan(&s.id, &s.namespace, &s.key, &s.ref, &s.run, &s.subject)
		return s, err
	}
	if j.openSamples, err = pgx.CollectRows(rows, pick); err != nil {
		return err
	}
	percent := min(100, 100*3000/float64(j.effects))
	sql := fmt.Sprintf("%s tablesample system (%f) where state = 'COMMITTED' and attention_at is null order by md5(id::text) limit 300", columns, percent)
	if rows, err = j.pool.Query(ctx, sql); err != nil {
		return err
	}
	if j.samples, err = pgx.CollectRows(rows, pick); err == nil && (len(j.samples) == 0 || len(j.openSamples) == 0) {
		err = fmt.Errorf("%d effects with %d open are too few to measure", j.effects, j.open)
	}
	return err
}
