-- name: ErrorsOf :many
-- What the newest attempt of each effect reported, for grouping by cause. The
-- beginning of a text tells its kind.
select distinct on (t.effect_id) t.effect_id, left(t.error, 600)::text as error, t.status from attempts t
where t.effect_id = any (cast(sqlc.arg(ids)::text[] as uuid[])) order by t.effect_id, t.number desc;

-- name: AddBulk :exec
insert into bulks (id, actor, filter, count, matched) values (@id, @actor, @filter, @count, @matched);

-- name: AddBulkItems :exec
insert into bulk_items (bulk_id, no, effect_id, effect_version, evidence_digest, state, verdict)
select sqlc.arg(bulk_id)::uuid, generate_series(1, cardinality(sqlc.arg(ids)::text[])), unnest(sqlc.arg(ids)::text[])::uuid, unnest(sqlc.arg(versions)::bigint[]),
    unnest(sqlc.arg(digests)::text[]), unnest(sqlc.arg(states)::text[]), unnest(sqlc.arg(verdicts)::text[]);

-- name: BulkByID :one
select sqlc.embed(bulks), clock_timestamp()::timestamptz as db_now from bulks where id = @id;

-- name: BulkItems :many
-- The decision's own row is the truth where a runner died before it wrote the
-- item's. Plan: bulk_items_pkey, one effect and one decision each.
select sqlc.embed(bulk_items), d.id as decided_id, p.id as proposed_id, e.id as effect, coalesce(e.tool, '')::text as tool, coalesce(e.operation, '')::text as operation,
    coalesce(e.subject, '')::text as subject, coalesce(e.amount, '')::text as amount, coalesce(e.currency, '')::text as currency, coalesce(e.state, '')::text as state_now
from bulk_items left join effects e on e.id = bulk_items.effect_id
    left join decisions d on d.bulk_id = bulk_items.bulk_id and d.effect_id = bulk_items.effect_id
    left join proposals p on p.bulk_id = bulk_items.bulk_id and p.effect_id = bulk_items.effect_id
where bulk_items.bulk_id = @bulk_id order by bulk_items.no;

-- name: OrderBulk :execrows
update bulks set state = 'running', verb = @verb, mode = @mode, reason_code = @reason_code, reason = @reason, eligible = @eligible,
    ordered_by = sqlc.arg(ordered_by)::jsonb, auth_at = sqlc.narg(auth_at)::timestamptz, ordered_at = sqlc.arg(ordered_at)::timestamptz, audit_seq = sqlc.arg(audit_seq)::bigint
where id = @id and state = 'frozen';

-- name: SetBulkItemsAside :exec
update bulk_items i set outcome = u.outcome, code = u.code, why = u.why, at = clock_timestamp()
from (select unnest(sqlc.arg(nos)::integer[]) as no, unnest(sqlc.arg(outcomes)::text[]) as outcome, unnest(sqlc.arg(codes)::text[]) as code,
    unnest(sqlc.arg(whys)::text[]) as why) u
where i.bulk_id = @bulk_id and i.no = u.no and i.outcome = '';

-- name: StopBulk :execrows
update bulks set state = 'stopped', ended_at = clock_timestamp(), stopped_by = sqlc.arg(stopped_by)::jsonb where id = @id and state = 'running';

-- name: ClaimBulk :one
-- Plan: bulks_due.
update bulks set claim = @claim, claimed_until = clock_timestamp() + sqlc.arg(lease_ms)::bigint * interval '1 ms'
where bulks.id = (select b.id from bulks b where b.state = 'running' and (b.claimed_until is null or b.claimed_until <= clock_timestamp())
    and exists (select from bulk_items i where i.bulk_id = b.id and i.outcome = '' and i.next_at <= clock_timestamp()
        union all select where not exists (select from bulk_items i where i.bulk_id = b.id and i.outcome = ''))
    order by b.ordered_at limit 1 for update skip locked)
returning bulks.id;

-- name: KeepBulk :execrows
update bulks set claimed_until = clock_timestamp() + sqlc.arg(lease_ms)::bigint * interval '1 ms' where id = @id and claim = @claim and state = 'running';

-- name: ReleaseBulk :exec
update bulks set claimed_until = null where id = @id and claim = @claim;

-- name: NextBulkItem :one
-- Plan: bulk_items_open.
select * from bulk_items where bulk_id = @bulk_id and outcome = '' and next_at <= clock_timestamp() order by no limit 1;

-- name: EndBulkItem :execrows
update bulk_items set outcome = @outcome, code = @code, why = @why, decision_id = sqlc.narg(decision_id), proposal_id = sqlc.narg(proposal_id), at = clock_timestamp()
where bulk_id = @bulk_id and no = @no and outcome = '';

-- name: DeferBulkItem :exec
update bulk_items set tries = tries + 1, next_at = clock_timestamp() + sqlc.arg(wait_ms)::bigint * interval '1 ms' where bulk_id = @bulk_id and no = @no and outcome = '';

-- name: EndBulk :execrows
update bulks set state = 'done', ended_at = clock_timestamp() where bulks.id = @id and state = 'running'
    and not exists (select from bulk_items i where i.bulk_id = bulks.id and i.outcome = '');

-- name: DropOldBulks :exec
-- Sets that nobody ordered within a day.
with old as materialized (select b.id from bulks b where b.state = 'frozen' and b.created_at < clock_timestamp() - interval '1 day' order by b.created_at limit 100 for update skip locked),
    gone as (delete from bulk_items i using old where i.bulk_id = old.id)
delete from bulks using old where bulks.id = old.id;
