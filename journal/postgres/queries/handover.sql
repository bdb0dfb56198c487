-- name: ClaimHandovers :many
-- The claim is next_at, moved by the lease: what is neither recorded nor
-- acknowledged until then is due again. Plan: deliveries_due.
with due as (
    select d.id from deliveries d where d.next_at <= clock_timestamp() and d.acked_at is null
    order by d.next_at limit @max_rows for update skip locked),
claimed as (
    update deliveries set next_at = clock_timestamp() + sqlc.arg(lease_ms)::bigint * interval '1 ms', tries = deliveries.tries + 1
    from due where deliveries.id = due.id returning deliveries.*)
select claimed.id, claimed.audit_seq, claimed.effect_id, claimed.effect_version, claimed.kind, claimed.by_whom, claimed.reason,
    claimed.order_id, claimed.order_expires_at, claimed.at, claimed.successor_id, claimed.successor_key, claimed.compensate,
    claimed.handover, claimed.target, claimed.tries, claimed.retry_from,
    e.namespace, e.key, e.tool, e.resume,
    (not exists (select from deliveries l where l.effect_id = claimed.effect_id and l.audit_seq > claimed.audit_seq))::boolean as latest,
    (claimed.order_id is null or exists (select from orders o where o.id = claimed.order_id and o.ended = ''))::boolean as order_open,
    clock_timestamp()::timestamptz as db_now
from claimed join effects e on e.id = claimed.effect_id;

-- name: HandoverTried :execrows
-- Holds only for the newest try; an acknowledgement in between stays. What the
-- target itself acknowledged is done.
update deliveries set handover = @handover, target = @target, handover_reason = @reason,
    next_at = case when sqlc.arg(next_ms)::bigint < 0 then null else clock_timestamp() + sqlc.arg(next_ms)::bigint * interval '1 ms' end,
    sent_at = case when sqlc.arg(handover)::text = 'sent' then coalesce(deliveries.sent_at, clock_timestamp()) else deliveries.sent_at end
where id = @id and tries = @tries and acked_at is null;

-- name: AddHandoverTry :exec
-- A number that is there was recorded by a claimer that took too long: the first
-- record stays.
insert into handover_tries (delivery_id, number, took_ms, target, outcome, detail)
select d.id, sqlc.arg(number)::integer, @took_ms, @target, @outcome, @detail from deliveries d where d.id = @id
on conflict (delivery_id, number) do nothing;

-- name: HandoverTriesOf :many
select t.* from handover_tries t join deliveries d on d.id = t.delivery_id
where d.effect_id = @effect_id order by t.at desc, t.number desc limit @max_rows;

-- name: Redeliver :execrows
-- Whatever became of it: only an acknowledgement, or one that is due anyway, ends
-- the right to try again.
update deliveries set handover = 'pending', next_at = clock_timestamp(), retry_from = clock_timestamp()
where id = @id and acked_at is null and not (handover = 'pending' and next_at <= clock_timestamp());

-- name: TargetTaken :exec
-- The newest good answer, beside the mark of an endpoint that has one or not.
insert into resume_targets (name, taken_at) values (@name, clock_timestamp())
on conflict (name) do update set taken_at = excluded.taken_at;

-- name: ClearTargetStop :exec
update resume_targets set stopped_at = null, stopped_why = '' where name = @name and stopped_at is not null;

-- name: TargetMark :one
select * from resume_targets where name = @name;

-- name: TargetMarks :many
select * from resume_targets order by name;

-- name: TargetLoads :many
-- What has not been acted on, by target. Plan: deliveries_open.
select target, count(*) filter (where handover = 'pending')::integer as pending, count(*) filter (where handover = 'sent')::integer as sent,
    count(*) filter (where handover = 'refused')::integer as refused, count(*) filter (where handover = 'expired')::integer as expired,
    coalesce(min(at) filter (where handover = 'pending'), 'epoch')::timestamptz as oldest_pending
from deliveries where acked_at is null and target <> '' group by target;

-- name: SetTargetMark :exec
insert into resume_targets (name, endpoint, verified_at, stopped_at, stopped_why) values (@name, @endpoint, @verified_at, @stopped_at, @stopped_why)
on conflict (name) do update set endpoint = excluded.endpoint, verified_at = excluded.verified_at, stopped_at = excluded.stopped_at, stopped_why = excluded.stopped_why;

-- name: RaiseUndelivered :execrows
-- One row per resolution that reached nobody for too long, however it should
-- have: pulled, not taken yet, refused, expired; or taken, and nobody acted on it.
-- Plan: deliveries_open.
insert into alerts (id, effect_id, occasion, tool, provider, kind)
select gen_random_uuid(), d.effect_id, 'undelivered:' || d.id, e.tool, e.provider, 'undelivered'
from deliveries d join effects e on e.id = d.effect_id
where d.acked_at is null
    and (d.handover in ('refused', 'expired')
        or d.at < clock_timestamp() - case when d.handover = 'sent' then sqlc.arg(sent_ms)::bigint else sqlc.arg(waiting_ms)::bigint end * interval '1 ms')
    and not exists (select from deliveries l where l.effect_id = d.effect_id and l.audit_seq > d.audit_seq)
    and not (d.kind = 'reissue' and not exists (select from orders o where o.id = d.order_id and o.ended = ''))
    and not exists (select from alerts a where a.effect_id = d.effect_id and a.occasion = 'undelivered:' || d.id)
on conflict (effect_id, occasion) do nothing;
