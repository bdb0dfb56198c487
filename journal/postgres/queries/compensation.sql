-- name: BeginCompensation :one
-- BeginEffect for an effect that undoes one: that one must be completed, of the
-- same root run, and no compensation itself. A statement of its own, so that the
-- happy path joins nothing for it.
insert into effects (
    id, namespace, key, ref, tool, class, provider, key_window_ms, client_timeout_ms,
    root_run, root_run_started_at, turn, run, step, operation, subject, amount, currency, labels,
    args, fingerprint, fingerprint_rule, resume, compensates, traceparent,
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
    and x.id = @compensates and x.namespace = @namespace and x.root_run = @root_run and x.state = 'COMMITTED' and x.compensates is null
on conflict (namespace, key) do nothing
returning key_window_ms, attempt_timeout_ms;

-- name: Undoable :many
-- What a root run has completed and not undone, what was completed last first.
-- Plan: effects_root_run for the whole run, since completion has an order of its
-- own, then tools and effects_compensation per row; args and results are measured
-- without being read, and fetched for the page alone.
select e.id, e.tool, p.compensated_by, e.operation, e.subject, e.amount, e.currency, e.provider_id, e.probably_double, e.state_at,
    p.undo_state, p.undo_id,
    case when sqlc.arg(bodies)::boolean then e.args end::bytea as args,
    case when sqlc.arg(bodies)::boolean then e.result end::bytea as result
from (select q.*, sum(q.bytes) over (order by q.state_at desc, q.id desc) - q.bytes as bytes_before
    from (select c.id, c.state_at, t.compensated_by, coalesce(u.state, '')::text as undo_state, coalesce(u.id::text, '')::text as undo_id,
            case when sqlc.arg(bodies)::boolean then coalesce(octet_length(c.args), 0) + coalesce(octet_length(c.result), 0) else 0 end as bytes
        from effects c join tools t on t.name = c.tool left join effects u on u.compensates = c.id
        where c.root_run = @root_run and c.namespace = @namespace and c.state = 'COMMITTED' and c.compensates is null
            and t.compensated_by <> '' and coalesce(u.state, '') <> 'COMMITTED'
            and (sqlc.narg(after_at)::timestamptz is null or (c.state_at, c.id) < (sqlc.narg(after_at)::timestamptz, sqlc.arg(after_id)::uuid))
        order by c.state_at desc, c.id desc limit @max_rows) q) p
    join effects e on e.id = p.id
where p.bytes_before < sqlc.arg(max_bytes)::bigint
order by e.state_at desc, e.id desc;

-- name: CompensationOf :one
-- Plan: effects_compensation.
select id, tool, operation, subject, state, created_at, amount, currency, class from effects where compensates = sqlc.arg(id)::uuid;

-- name: CompensatesRun :one
select coalesce((select t.compensate_run from tools t where t.name = @name), false)::boolean as compensate_run;
