-- name: Outcomes :many
-- Effects that somebody or something resolved or ordered, and that are not done
-- with it: nobody picked the outcome up, the order is out, or it is open again.
-- Plan: deliveries_open, orders_out, effects_open_state; never the table.
select sqlc.embed(effects), sqlc.embed(deliveries), coalesce(o.id::text, '')::text as order_id, o.expires_at as order_expires_at, coalesce(o.attempt, 0)::integer as order_attempt,
    coalesce(dd.name, '')::text as decider, coalesce(dd.subject, '')::text as decider_subject, clock_timestamp()::timestamptz as db_now
from (select x.effect_id from deliveries x where x.acked_at is null
    union select y.effect_id from orders y where y.ended = ''
    union select z.id from effects z where z.attention_at is not null and z.state = 'PARKED' and exists (select from deliveries p where p.effect_id = z.id)) n
join effects on effects.id = n.effect_id
join deliveries on deliveries.audit_seq = (select max(r.audit_seq) from deliveries r where r.effect_id = n.effect_id)
left join decisions dd on dd.audit_seq = deliveries.audit_seq
left join orders o on o.effect_id = n.effect_id and o.ended = ''
order by deliveries.audit_seq limit @max_rows;
