-- name: LockAuditHead :one
-- The head row orders the log: held until the transaction ends, so that
-- numbers have no gaps and a reader never misses a late one.
update audit_head set seq = seq + 1 returning seq, hash;

-- name: SetAuditHash :exec
update audit_head set hash = @hash;

-- name: AddAudit :exec
insert into audit (seq, at, kind, effect_id, actor, salt, body, hash) values (@seq, @at, @kind, sqlc.narg(effect_id), @actor, @salt, @body, @hash);

-- name: AuditCursor :one
select seq from audit_head;

-- name: AuditRows :many
select * from audit where (sqlc.arg(before)::bigint = 0 or seq < @before) order by seq desc limit @max_rows;

-- name: AuditForEffect :many
select * from audit where effect_id = @effect_id order by seq;

-- name: AuditAfter :many
select * from audit where seq > @after order by seq limit @max_rows;

-- name: AddDecision :exec
insert into decisions (id, audit_seq, effect_id, effect_version, verb, mode, issuer, subject, name, source, reason_code, reason,
    provider_id, evidence_digest, recommended, policy_version, order_id, at, proposal_id, approver_issuer, approver_subject, approver_name,
    approver_reason, overrides, break_glass, rules, successor_id, bulk_id, bulk)
values (@id, @audit_seq, @effect_id, @effect_version, @verb, @mode, @issuer, @subject, @name, @source, @reason_code, @reason,
    @provider_id, @evidence_digest, @recommended, @policy_version, sqlc.narg(order_id), @at, sqlc.narg(proposal_id), @approver_issuer, @approver_subject,
    @approver_name, @approver_reason, @overrides, @break_glass, @rules, sqlc.narg(successor_id), sqlc.narg(bulk_id), @bulk);

-- name: DecisionsOf :many
select * from decisions where effect_id = @effect_id order by audit_seq;

-- name: DecisionByID :one
select * from decisions where id = @id;

-- name: AddDelivery :exec
insert into deliveries (id, audit_seq, effect_id, namespace, effect_version, kind, by_whom, reason, order_id, order_expires_at, at, acked_at, acked_by, successor_id, successor_key, compensate)
values (@id, @audit_seq, @effect_id, (select e.namespace from effects e where e.id = @effect_id), @effect_version, @kind, @by_whom, @reason,
    sqlc.narg(order_id), sqlc.narg(order_expires_at), @at, sqlc.narg(acked_at), @acked_by, sqlc.narg(successor_id), @successor_key, @compensate);

-- name: AckDeliveries :exec
update deliveries set acked_at = clock_timestamp(), acked_by = @acked_by where effect_id = @effect_id and acked_at is null;

-- name: LockDeliveryEffect :one
-- The effect before its deliveries, as every transition does: two that come at
-- once wait for each other instead of dying in a deadlock.
select e.id from deliveries d join effects e on e.id = d.effect_id
where d.id = @id and (cardinality(sqlc.arg(namespaces)::text[]) = 0 or e.namespace = any (sqlc.arg(namespaces)::text[]))
for no key update of e;

-- name: AckDelivery :exec
-- Repeatable: the first acknowledgement stays.
update deliveries set acked_at = clock_timestamp(), acked_by = @acked_by where id = @id and acked_at is null;

-- name: CloseDeliveryFlag :exec
-- Raises the version: a transition that read the flag before must not write it back.
update effects set open_delivery = false, version = version + 1
where effects.id = @effect_id and effects.open_delivery and not exists (select from deliveries d where d.effect_id = @effect_id and d.acked_at is null);

-- name: DeliveriesOf :many
select sqlc.embed(deliveries), e.namespace, e.key from deliveries join effects e on e.id = deliveries.effect_id where deliveries.effect_id = @effect_id order by deliveries.audit_seq;

-- name: NextResolution :one
-- The long poll: the first resolution of one effect after the cursor.
select sqlc.embed(deliveries), e.namespace, e.key from deliveries join effects e on e.id = deliveries.effect_id
where deliveries.effect_id = @effect_id and deliveries.audit_seq > @after order by deliveries.audit_seq limit 1;

-- name: ResolutionTail :many
-- Whose resolutions follow a place in the audit log. Plan: the unique index on
-- audit_seq, from its end.
select effect_id, audit_seq from deliveries where audit_seq > @after order by audit_seq limit @max_rows;

-- name: LastResolution :one
select coalesce(max(audit_seq), 0)::bigint from deliveries;

-- name: EffectExists :one
select exists (select from effects where id = @id);

-- name: ResolutionsAfter :many
-- The feed, of all namespaces (an empty array) or of some. Plan: for each
-- namespace deliveries_namespace from the cursor on, so that a quiet namespace
-- does not read through what happened in the others.
select sqlc.embed(deliveries), e.namespace, e.key from deliveries join effects e on e.id = deliveries.effect_id
where deliveries.audit_seq = any (array(
    select u.audit_seq from (
        (select a.audit_seq from deliveries a
         where cardinality(sqlc.arg(namespaces)::text[]) = 0 and a.audit_seq > @after order by a.audit_seq limit @max_rows)
        union all
        (select b.audit_seq from unnest(sqlc.arg(namespaces)::text[]) as n (name) cross join lateral (
            select d.audit_seq from deliveries d where d.namespace = n.name and d.audit_seq > @after order by d.audit_seq limit @max_rows) b)
    ) u order by u.audit_seq limit @max_rows))
order by deliveries.audit_seq;

-- name: AddToken :exec
insert into tokens (id, name, hash, namespaces, created_by) values (@id, @name, @hash, @namespaces, @created_by);

-- name: TokenByHash :one
select id, name, namespaces from tokens where hash = @hash and revoked_at is null;

-- name: ListTokens :many
select id, name, namespaces, created_at, created_by, last_used_at, revoked_at from tokens order by created_at;

-- name: RevokeToken :execrows
update tokens set revoked_at = clock_timestamp() where (id::text = @id_or_name or name = @id_or_name) and revoked_at is null;

-- name: AddView :exec
insert into view_log (issuer, subject, path, effect_id) values (@issuer, @subject, @path, sqlc.narg(effect_id));

-- name: AddSession :exec
insert into sessions (token_hash, data, expires_at) values (@token_hash, @data, @expires_at);

-- name: SessionByHash :one
select data, created_at, seen_at, expires_at from sessions where token_hash = @token_hash and expires_at > clock_timestamp();

-- name: TouchSession :exec
update sessions set seen_at = greatest(seen_at, @seen_at) where token_hash = @token_hash;

-- name: DropSession :exec
delete from sessions where token_hash = @token_hash;

-- name: DropExpiredSessions :exec
delete from sessions where expires_at <= clock_timestamp();

-- name: AuditHead :one
select seq, hash from audit_head;
