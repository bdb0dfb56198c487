-- name: RaiseAlerts :execrows
-- One row per effect and occasion, however many replicas run this: the unique
-- constraint is the claim. Only what is stuck with an exposed attempt or parked
-- raises one, or what nobody came back to retry; giving up without exposure
-- does not. Plan: one of the effects_open indexes, never the table.
insert into alerts (id, effect_id, occasion, tool, provider)
select gen_random_uuid(), e.id,
    case when e.state = 'PARKED' then 'parked:' || e.attempt || ':' || extract(epoch from e.state_at)::bigint else 'stuck:' || e.attempt end,
    e.tool, e.provider
from effects e
where e.attention_at is not null and (e.state = 'PARKED' or e.state = 'INTENT' and e.fenced_at is not null and not e.gave_up
        and (e.retry_at is null or e.retry_at < clock_timestamp() - sqlc.arg(grace_ms)::bigint * interval '1 ms'))
    and e.id not in (select z.effect_id from snoozes z where z.until > clock_timestamp())
    and not exists (select from alerts a where a.effect_id = e.id and a.occasion =
        case when e.state = 'PARKED' then 'parked:' || e.attempt || ':' || extract(epoch from e.state_at)::bigint else 'stuck:' || e.attempt end)
on conflict (effect_id, occasion) do nothing;

-- name: UnsentAlertGroups :many
-- A group that got a message a moment ago waits: what comes up meanwhile goes
-- into the next one.
select kind, tool, provider, count(*)::integer as count, min(created_at)::timestamptz as oldest from alerts a where message_id is null
    and not exists (select from alert_messages m where m.kind = a.kind and m.tool = a.tool and m.provider = a.provider
        and m.created_at > clock_timestamp() - sqlc.arg(interval_ms)::bigint * interval '1 ms')
group by kind, tool, provider order by min(created_at) limit @max_rows;

-- name: GroupAlerts :many
-- Binds the group's waiting alerts to one message; a replica that comes second
-- binds none.
update alerts set message_id = @message_id
where id in (select a.id from alerts a where a.message_id is null and a.kind = @kind and a.tool = @tool and a.provider = @provider order by a.created_at for update skip locked)
returning effect_id;

-- name: AddAlertMessage :exec
insert into alert_messages (id, sink, kind, tool, provider, count, first_effect) values (@id, @sink, @kind, @tool, @provider, @count, @first_effect);

-- name: ClaimAlertMessages :many
update alert_messages set claimed_until = clock_timestamp() + interval '30 seconds', tries = tries + 1,
    next_try_at = clock_timestamp() + interval '30 seconds'
where id in (select m.id from alert_messages m where m.sent_at is null and m.gave_up_at is null and m.next_try_at <= clock_timestamp()
    order by m.next_try_at limit @max_rows for update skip locked)
returning *;

-- name: AlertSent :exec
update alert_messages set sent_at = clock_timestamp(), last_error = '' where id = @id and sent_at is null;

-- name: AlertFailed :exec
update alert_messages set last_error = @last_error, next_try_at = clock_timestamp() + sqlc.arg(wait_ms)::bigint * interval '1 ms',
    gave_up_at = case when sqlc.arg(give_up)::boolean then clock_timestamp() end
where id = @id and sent_at is null;

-- name: AlertTrouble :one
-- What the desk shows of failing notifications.
select count(*)::integer as failing, coalesce(max(last_error), '')::text as last_error from alert_messages
where last_error <> '' and sent_at is null;
