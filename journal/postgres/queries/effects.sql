-- name: BeginEffect :one
-- The first half of the happy path: one statement decides that the key is new,
-- that the tool is known and journaled, that nothing was purged under the key
-- and that the journal is not quarantined.
-- Times are the statement's own, which is before any wait for a lock: a lease
-- may come out shorter, never longer. Zero rows: the caller reads what stood in the way and answers from that.
-- Plan: tools and journal_meta by primary key, tombstones by primary key,
-- arbiter index effects_key. No condition falls away when its parameter is
-- known: the server would take the plan that keeps it for the dearer one and
-- plan each call anew, which costs half of the insert again.
insert into effects (
    id, namespace, key, ref, tool, class, provider, key_window_ms, client_timeout_ms,
    root_run, root_run_started_at, turn, run, step, operation, subject, amount, currency, labels,
    args, fingerprint, fingerprint_rule, resume, traceparent,
    state, created_at, state_at,
    claim_id, lease_token, worker, granted_at, lease_until, send_by, attempt_deadline, attempt_timeout_ms)
select @id, @namespace, @key, @ref, t.name, t.class, t.provider, t.key_window_ms,
    greatest(t.client_timeout_ms, sqlc.arg(client_timeout_ms)::bigint),
    @root_run, sqlc.narg(root_run_started_at), @turn, @run, @step, @operation, @subject, @amount, @currency, sqlc.narg(labels)::jsonb,
    sqlc.narg(args), @fingerprint, @fingerprint_rule, sqlc.narg(resume), @traceparent,
    'INTENT', statement_timestamp(), statement_timestamp(),
    @claim_id, @lease_token, @worker, statement_timestamp(), statement_timestamp() + sqlc.arg(lease_ms)::bigint * interval '1 ms', statement_timestamp() + sqlc.arg(lease_ms)::bigint * interval '1 ms',
    statement_timestamp() + (sqlc.arg(lease_ms)::bigint + greatest(t.client_timeout_ms, sqlc.arg(client_timeout_ms)::bigint)) * interval '1 ms',
    greatest(t.client_timeout_ms, sqlc.arg(client_timeout_ms)::bigint)
from tools t, journal_meta m
where t.name = @tool and t.class <> 'read_only' and t.version = sqlc.arg(tool_version)::integer and not m.quarantined
    and (m.recovered_at is null or sqlc.narg(root_run_started_at)::timestamptz > m.recovered_at)
    and not exists (select from tombstones d where d.key_hash = @key_hash)
on conflict (namespace, key) do nothing
returning key_window_ms, attempt_timeout_ms;

-- name: BeginEffects :many
-- BeginEffect for several: the cost of a statement on a table with many indexes
-- is paid once. Nullable texts come empty. A key that comes twice is inserted once.
-- A column may be shorter than the ids: what it lacks is null. Rows of no tool
-- only lengthen the batch. A key whose effect was purged reads tombstones by index,
-- row by row: a join would be planned while that table is empty.
insert into effects (
    id, namespace, key, ref, tool, class, provider, key_window_ms, client_timeout_ms,
    root_run, root_run_started_at, turn, run, step, operation, subject, amount, currency, labels,
    args, fingerprint, fingerprint_rule, resume, traceparent,
    state, created_at, state_at,
    claim_id, lease_token, worker, granted_at, lease_until, send_by, attempt_deadline, attempt_timeout_ms)
select v.id, v.namespace, v.key, v.ref, t.name, t.class, t.provider, t.key_window_ms, greatest(t.client_timeout_ms, v.client_timeout_ms),
    v.root_run, nullif(v.root_run_started_at, '')::timestamptz, v.turn, v.run, v.step, v.operation, v.subject, v.amount, v.currency, nullif(v.labels, '')::jsonb,
    v.args, v.fingerprint, @fingerprint_rule, v.resume, v.traceparent,
    'INTENT', statement_timestamp(), statement_timestamp(),
    v.claim_id, v.lease_token, v.worker, statement_timestamp(), statement_timestamp() + v.lease_ms * interval '1 ms', statement_timestamp() + v.lease_ms * interval '1 ms',
    statement_timestamp() + (v.lease_ms + greatest(t.client_timeout_ms, v.client_timeout_ms)) * interval '1 ms', greatest(t.client_timeout_ms, v.client_timeout_ms)
from (select unnest(cast(sqlc.arg(ids)::text[] as uuid[])) as id, unnest(sqlc.arg(namespaces)::text[]) as namespace,
        unnest(sqlc.arg(keys)::text[]) as key, unnest(sqlc.arg(refs)::text[]) as ref,
        unnest(sqlc.arg(client_timeouts)::bigint[]) as client_timeout_ms, unnest(sqlc.arg(root_runs)::text[]) as root_run,
        unnest(sqlc.arg(root_runs_started)::text[]) as root_run_started_at, unnest(sqlc.arg(turns)::text[]) as turn,
        unnest(sqlc.arg(runs)::text[]) as run, unnest(sqlc.arg(steps)::text[]) as step,
        unnest(sqlc.arg(operations)::text[]) as operation, unnest(sqlc.arg(subjects)::text[]) as subject,
        unnest(sqlc.arg(amounts)::text[]) as amount, unnest(sqlc.arg(currencies)::text[]) as currency,
        unnest(sqlc.arg(label_sets)::text[]) as labels, unnest(sqlc.arg(payloads)::bytea[]) as args,
        unnest(sqlc.arg(fingerprints)::text[]) as fingerprint, unnest(sqlc.arg(resumes)::bytea[]) as resume,
        unnest(sqlc.arg(traceparents)::text[]) as traceparent, unnest(sqlc.arg(claim_ids)::text[]) as claim_id,
        unnest(sqlc.arg(lease_tokens)::text[]) as lease_token, unnest(sqlc.arg(workers)::text[]) as worker,
        unnest(sqlc.arg(leases)::bigint[]) as lease_ms, unnest(sqlc.arg(tools)::text[]) as tool,
        unnest(sqlc.arg(tool_versions)::integer[]) as tool_version, unnest(sqlc.arg(key_hashes)::bytea[]) as key_hash) v
    join tools t on t.name = v.tool, journal_meta m
where t.class <> 'read_only' and t.version = v.tool_version and not m.quarantined
    and (m.recovered_at is null or nullif(v.root_run_started_at, '')::timestamptz > m.recovered_at)
    and (select d.at from tombstones d where d.key_hash = v.key_hash) is null
on conflict (namespace, key) do nothing
returning id, key_window_ms, attempt_timeout_ms;

-- name: BeginSuccessor :one
-- BeginEffect for an effect that supersedes one: that one must be closed.
insert into effects (
    id, namespace, key, ref, tool, class, provider, key_window_ms, client_timeout_ms,
    root_run, root_run_started_at, turn, run, step, operation, subject, amount, currency, labels,
    args, fingerprint, fingerprint_rule, resume, supersedes, traceparent,
    state, created_at, state_at,
    claim_id, lease_token, worker, granted_at, lease_until, send_by, attempt_deadline, attempt_timeout_ms)
select @id, @namespace, @key, @ref, t.name, t.class, t.provider, t.key_window_ms,
    greatest(t.client_timeout_ms, sqlc.arg(client_timeout_ms)::bigint),
    @root_run, sqlc.narg(root_run_started_at), @turn, @run, @step, @operation, @subject, @amount, @currency, sqlc.narg(labels)::jsonb,
    sqlc.narg(args), @fingerprint, @fingerprint_rule, sqlc.narg(resume), x.id, @traceparent,
    'INTENT', statement_timestamp(), statement_timestamp(),
    @claim_id, @lease_token, @worker, statement_timestamp(), statement_timestamp() + sqlc.arg(lease_ms)::bigint * interval '1 ms', statement_timestamp() + sqlc.arg(lease_ms)::bigint * interval '1 ms',
    statement_timestamp() + (sqlc.arg(lease_ms)::bigint + greatest(t.client_timeout_ms, sqlc.arg(client_timeout_ms)::bigint)) * interval '1 ms',
    greatest(t.client_timeout_ms, sqlc.arg(client_timeout_ms)::bigint)
from tools t, journal_meta m, effects x
where t.name = @tool and t.class <> 'read_only' and t.version = sqlc.arg(tool_version)::integer and not m.quarantined
    and (m.recovered_at is null or sqlc.narg(root_run_started_at)::timestamptz > m.recovered_at)
    and not exists (select from tombstones d where d.key_hash = @key_hash)
    and x.id = @supersedes and x.namespace = @namespace and x.state in ('ABANDONED', 'REJECTED') and not x.contradicted
on conflict (namespace, key) do nothing
returning key_window_ms, attempt_timeout_ms;

-- name: CommitEffect :one
-- The second half of the happy path: the first attempt, in time. Everything
-- else takes the slow path. Addressed by primary key; the token is the fence.
update effects set state = 'COMMITTED', version = version + 1, result = sqlc.narg(result), provider_id = @provider_id,
    settled_by = 'worker', fenced_at = clock_timestamp(), state_at = clock_timestamp(), next_look_at = null, gave_up = false
where id = @id and attempt = @attempt and lease_token = @lease_token and state = 'INTENT' and attempt = 1
    and fenced_at is null and not probably_double
returning version;

-- name: CommitEffects :many
-- CommitEffect for several.
update effects e set state = 'COMMITTED', version = e.version + 1, result = v.result, provider_id = v.provider_id,
    settled_by = 'worker', fenced_at = clock_timestamp(), state_at = clock_timestamp(), next_look_at = null, gave_up = false
from (select unnest(cast(sqlc.arg(ids)::text[] as uuid[])) as id, unnest(sqlc.arg(attempts)::integer[]) as attempt, unnest(sqlc.arg(lease_tokens)::text[]) as lease_token,
        unnest(sqlc.arg(results)::bytea[]) as result, unnest(sqlc.arg(provider_ids)::text[]) as provider_id) v
where e.id = v.id and e.attempt = v.attempt and e.lease_token = v.lease_token and e.state = 'INTENT' and e.attempt = 1
    and e.fenced_at is null and not e.probably_double
returning e.id, e.version;

-- name: Heartbeat :one
-- Needs an unfenced attempt and an unexpired lease; never past the deadline.
-- Does not raise the version: it changes nothing that a decision stands on.
update effects set lease_until = least(attempt_deadline, clock_timestamp() + (send_by - granted_at))
where id = @id and attempt = @attempt and lease_token = @lease_token and state = 'INTENT'
    and fenced_at is null and lease_until > clock_timestamp() and attempt_deadline > clock_timestamp()
returning (extract(epoch from lease_until - clock_timestamp()) * 1000)::bigint as lease_for_ms;

-- name: EffectByID :one
select sqlc.embed(effects), clock_timestamp()::timestamptz as db_now from effects where id = @id;

-- name: EffectByKey :one
select sqlc.embed(effects), clock_timestamp()::timestamptz as db_now from effects where namespace = @namespace and key = @key;

-- name: SaveEffect :execrows
-- Every slow transition is this one statement: its WHERE repeats state,
-- attempt, lease token and version, and the guard on the database's clock.
update effects set
    state = @state, version = sqlc.arg(version)::bigint + 1, issue = @issue, parked_reason = @parked_reason, retry_at = sqlc.narg(retry_at),
    cleared_attempt = @cleared_attempt, result = sqlc.narg(result), provider_id = @provider_id, settled_by = @settled_by,
    refusal = @refusal, contradicted = @contradicted, probably_double = @probably_double, orphan = @orphan,
    gave_up = @gave_up, drifted = @drifted, policy_off = @policy_off, open_delivery = @open_delivery, next_look_at = sqlc.narg(next_look_at),
    looks = @looks, state_at = @state_at, client_timeout_ms = @client_timeout_ms,
    attempt = @attempt, claim_id = @claim_id, lease_token = @lease_token, order_id = sqlc.narg(order_id), worker = @worker,
    granted_at = sqlc.narg(granted_at),
    -- A heartbeat renews the lease without raising the version: only a grant sets it.
    lease_until = case when attempt = @attempt then lease_until else sqlc.narg(lease_until)::timestamptz end, send_by = sqlc.narg(send_by),
    attempt_deadline = sqlc.narg(attempt_deadline), attempt_timeout_ms = @attempt_timeout_ms, fenced_at = sqlc.narg(fenced_at)
where id = @id and version = @version and state = @was_state and attempt = @was_attempt and lease_token = @was_token
    and case sqlc.arg(guard)::int
        when 1 then fenced_at is not null or lease_until <= clock_timestamp() or attempt_deadline <= clock_timestamp()
        when 2 then fenced_at is null and lease_until > clock_timestamp()
        else true end;

-- name: InsertEffectRow :exec
-- An orphan, or an effect parked at birth after a recovery.
insert into effects (
    id, namespace, key, ref, tool, class, provider, key_window_ms, client_timeout_ms, root_run, root_run_started_at,
    turn, run, step, operation, subject, amount, currency, labels, args, fingerprint, fingerprint_rule, resume, traceparent,
    state, parked_reason, result, provider_id, settled_by, orphan, open_delivery, next_look_at, created_at, state_at,
    attempt, lease_token, worker, granted_at, lease_until, send_by, attempt_deadline, fenced_at, compensates)
values (@id, @namespace, @key, @ref, @tool, @class, @provider, @key_window_ms, @client_timeout_ms, @root_run, sqlc.narg(root_run_started_at),
    @turn, @run, @step, @operation, @subject, @amount, @currency, sqlc.narg(labels), sqlc.narg(args), @fingerprint, @fingerprint_rule, sqlc.narg(resume), @traceparent,
    @state, @parked_reason, sqlc.narg(result), @provider_id, @settled_by, @orphan, false, sqlc.narg(next_look_at), @at, @at,
    @attempt, @lease_token, @worker, @at, @at, @at, @at, @at, sqlc.narg(compensates));

-- name: StuckEffects :many
-- What the sweeper has to fence: unowned INTENTs that no write closed yet, in no
-- useful order. Plan: effects_owned in its own order, which also drops the dead
-- entries that it meets; a bitmap or a sort would not. The send_by is hidden from
-- the index, so that it meets those whose lease would still run as well: settled
-- long ago, they are most of the index, and the list reads past them.
select id from effects
where (state = 'INTENT' and fenced_at is null) is true and coalesce(send_by, 'infinity') <= (select clock_timestamp())
    and (lease_until <= clock_timestamp() or attempt_deadline <= clock_timestamp())
order by left(lease_token, 4), send_by limit @max_rows;

-- name: OverdueOrders :many
-- Plan: orders_due. The sub-select makes the clock a bound of the index.
select effect_id from orders where ended = '' and attempt = 0 and expires_at <= (select clock_timestamp())
order by expires_at limit @max_rows;

-- name: ClaimLooks :many
-- The collector's work at one provider: due looks, oldest first, each claimed by
-- moving its time; a claim that is not followed by evidence comes due again.
update effects set next_look_at = clock_timestamp() + sqlc.arg(claim_ms)::bigint * interval '1 ms'
-- Plan: effects_look up to the clock, then the primary key.
where id = any (array(select e.id from effects e where e.provider = @provider and e.next_look_at <= (select clock_timestamp())
    order by e.next_look_at limit @max_rows for update skip locked))
returning id;

-- name: ScheduleLook :execrows
update effects set next_look_at = clock_timestamp() where id = @id and (next_look_at is null or next_look_at > clock_timestamp());

-- name: PostponeLook :exec
update effects set next_look_at = sqlc.arg(until)::timestamptz where id = @id and next_look_at is not null;

-- name: Canary :one
-- A recently committed effect of the provider: the positive control. Settled by
-- its worker, old enough for the index lag, young enough for the retention.
-- Plan: effects_canary backwards between the two times, first match wins; a
-- provider without commits in between costs one probe. Ordered by state_at, not
-- by id: the planner would walk the primary key for it.
select id, ref, provider_id, created_at, state_at from effects
where provider = @provider and state = 'COMMITTED' and settled_by = 'worker' and not probably_double
    and state_at > @begun_after and state_at <= @committed_before and created_at > @begun_after
order by state_at desc limit 1;

-- name: RootRunSiblings :many
-- Plan: effects_root_run in its order; a run of a million effects stops at 50.
select id, tool, operation, subject, state, created_at, amount, currency, class from effects
where root_run = @root_run and namespace = @namespace and id <> @id order by id limit 50;

-- name: ToolByName :one
select * from tools where name = @name;

-- name: ListTools :many
select * from tools order by name;

-- name: PutTool :one
-- Idempotent: the version rises only if something changed.
insert into tools (name, class, provider, key_window_ms, client_timeout_ms, identity_fields, display_fields, args_schema, compensated_by, compensate_run, updated_by)
values (@name, @class, @provider, @key_window_ms, @client_timeout_ms, @identity_fields, @display_fields, sqlc.narg(args_schema), @compensated_by, @compensate_run, @updated_by)
on conflict (name) do update set class = excluded.class, provider = excluded.provider, key_window_ms = excluded.key_window_ms,
    client_timeout_ms = excluded.client_timeout_ms, identity_fields = excluded.identity_fields, display_fields = excluded.display_fields,
    args_schema = excluded.args_schema, compensated_by = excluded.compensated_by, compensate_run = excluded.compensate_run, version = tools.version + 1, updated_at = clock_timestamp(), updated_by = excluded.updated_by
where (tools.class, tools.provider, tools.key_window_ms, tools.client_timeout_ms, tools.identity_fields, tools.display_fields, tools.args_schema, tools.compensated_by, tools.compensate_run)
    is distinct from (excluded.class, excluded.provider, excluded.key_window_ms, excluded.client_timeout_ms, excluded.identity_fields, excluded.display_fields, excluded.args_schema, excluded.compensated_by, excluded.compensate_run)
returning version, (xmax = 0)::boolean as inserted;

-- name: Meta :one
select quarantined, quarantine_why, system_id, timeline, recovered_at, clock_high,
    (coalesce(clock_suspect_until > clock_timestamp(), false) or clock_high > clock_timestamp() + sqlc.arg(margin_ms)::bigint * interval '1 ms')::boolean as clock_suspect,
    clock_timestamp()::timestamptz as db_now
from journal_meta;

-- name: Identity :one
-- The timeline is read off the current WAL file: the control file learns of a
-- promotion only at the next checkpoint.
select (select system_identifier::text from pg_control_system())::text as system_id,
    ('x' || substr(pg_walfile_name(pg_current_wal_lsn()), 1, 8))::bit(32)::bigint as timeline;

-- name: AdoptIdentity :exec
update journal_meta set system_id = @system_id, timeline = @timeline where system_id = '';

-- name: Quarantine :execrows
update journal_meta set quarantined = true, quarantine_why = @why where not quarantined;

-- name: Recover :execrows
update journal_meta set quarantined = false, quarantine_why = '', system_id = @system_id, timeline = @timeline, recovered_at = @recovered_at
where quarantined;

-- name: RestoredEffects :many
select id from effects where state in ('INTENT', 'REISSUE') order by id limit @max_rows;

-- name: RaiseClock :one
-- The high-water mark only rises; what it was is returned.
update journal_meta m set clock_high = greatest(m.clock_high, clock_timestamp())
from (select clock_high from journal_meta) was
returning was.clock_high::timestamptz as was, clock_timestamp()::timestamptz as db_now;

-- name: SuspectClock :exec
update journal_meta set clock_suspect_until = clock_timestamp() + sqlc.arg(for_ms)::bigint * interval '1 ms';

-- name: TombstoneExists :one
select exists (select from tombstones where key_hash = @key_hash);

-- name: InsertTombstone :exec
insert into tombstones (key_hash, fingerprint, state, at) values (@key_hash, @fingerprint, @state, clock_timestamp()) on conflict do nothing;

-- name: AttemptsOf :many
-- For the list: without the fence, which is the worker's alone.
select effect_id, number, issue, ''::text as claim_id, ''::text as lease_token, order_id, ''::text as worker, granted_at, lease_until, send_by, attempt_deadline,
    attempt_timeout_ms, fenced_at, phase, final, reported_at, ''::text as error, status, replayed, provider_id
from attempts where effect_id = any (cast(sqlc.arg(ids)::text[] as uuid[])) order by effect_id, number;

-- name: LooksOf :many
select id, seq, effect_id, verdict, reason, covers_attempt, started_at, look_again_at, digest from evidence
where effect_id = any (cast(sqlc.arg(ids)::text[] as uuid[])) order by seq;

-- name: OrdersOf :many
select * from orders where effect_id = any (cast(sqlc.arg(ids)::text[] as uuid[])) order by created_at, id;

-- name: PurgeCandidates :many
-- Settled, quiet, old: never anything that needs attention. Plan: primary key,
-- up to the first effect that began too late; if the oldest did, that is all.
select id, namespace, key, fingerprint, state from effects e
where e.state in ('COMMITTED', 'REJECTED', 'ABANDONED') and not (e.open_delivery or e.contradicted or e.probably_double or e.orphan)
    and e.next_look_at is null and e.id < @before_id
    and not exists (select from reviews r where r.effect_id = e.id and r.closed_at is null)
    and e.id < coalesce((select x.id from effects x where x.created_at >= clock_timestamp() - sqlc.arg(keep_ms)::bigint * interval '1 ms'
        order by x.id limit 1), 'ffffffff-ffff-ffff-ffff-ffffffffffff'::uuid)
    and e.state_at < clock_timestamp() - sqlc.arg(keep_ms)::bigint * interval '1 ms'
order by e.id limit @max_rows for update skip locked;

-- name: AllowPurge :exec
-- For this transaction only.
select set_config('landed.purging', 'on', true);

-- name: PurgeBeside :exec
with a as (delete from attempts where attempts.effect_id = any (cast(sqlc.arg(ids)::text[] as uuid[]))), h as (delete from handles where handles.effect_id = any (cast(sqlc.arg(ids)::text[] as uuid[]))),
    v as (delete from events where events.effect_id = any (cast(sqlc.arg(ids)::text[] as uuid[]))), al as (delete from alerts where alerts.effect_id = any (cast(sqlc.arg(ids)::text[] as uuid[]))),
    o as (delete from orders where orders.effect_id = any (cast(sqlc.arg(ids)::text[] as uuid[]))), dl as (delete from deliveries where deliveries.effect_id = any (cast(sqlc.arg(ids)::text[] as uuid[])))
delete from evidence where evidence.effect_id = any (cast(sqlc.arg(ids)::text[] as uuid[]));

-- name: PurgeEffects :exec
delete from effects where id = any (cast(sqlc.arg(ids)::text[] as uuid[]));
