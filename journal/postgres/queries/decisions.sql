-- name: NewestProposal :one
select * from proposals where effect_id = @effect_id order by created_at desc, id desc limit 1;

-- name: OpenProposalsOf :many
select * from proposals where effect_id = any (cast(sqlc.arg(ids)::text[] as uuid[])) and ended = '';

-- name: AddProposal :exec
insert into proposals (id, audit_seq, effect_id, effect_version, verb, mode, args, subject, amount, currency, actor, source, reason_code, reason, provider_id, overrides, rules,
    evidence_digest, recommended, created_at, expires_at, bulk_id, bulk)
values (@id, @audit_seq, @effect_id, @effect_version, @verb, @mode, sqlc.narg(args), @subject, @amount, @currency, @actor, @source, @reason_code, @reason, @provider_id, @overrides, @rules,
    @evidence_digest, @recommended, @created_at, @expires_at, sqlc.narg(bulk_id), @bulk);

-- name: EndProposal :execrows
update proposals set ended = @ended, ended_at = sqlc.arg(ended_at)::timestamptz, ended_by = sqlc.narg(ended_by), ended_reason = @ended_reason
where id = @id and ended = '';

-- name: ProposalByID :one
select * from proposals where id = @id;

-- name: OpenProposals :many
-- The second person's list, what ends first on top. Plan: proposals_due.
select sqlc.embed(proposals), e.tool, e.operation, e.subject, e.amount, e.currency from proposals join effects e on e.id = proposals.effect_id
where proposals.ended = '' and proposals.expires_at > (select clock_timestamp()) order by proposals.expires_at limit @max_rows;

-- name: OverdueProposals :many
select effect_id from proposals where ended = '' and expires_at <= (select clock_timestamp()) order by expires_at limit @max_rows;

-- name: AddReview :exec
insert into reviews (id, effect_id, decision_id, opened_at, due_at) values (@id, @effect_id, @decision_id, @opened_at, @due_at);

-- name: CloseReview :execrows
update reviews set closed_at = clock_timestamp(), closed_by = sqlc.arg(closed_by)::jsonb, agreed = @agreed, reason = @reason, audit_seq = sqlc.arg(audit_seq)::bigint
where id = @id and closed_at is null;

-- name: ReviewByID :one
select sqlc.embed(reviews), sqlc.embed(decisions) from reviews join decisions on decisions.id = reviews.decision_id where reviews.id = @id;

-- name: OpenReviews :many
select sqlc.embed(reviews), sqlc.embed(decisions), e.tool, e.operation, e.subject, e.amount, e.currency
from reviews join decisions on decisions.id = reviews.decision_id join effects e on e.id = reviews.effect_id
where reviews.closed_at is null order by reviews.due_at limit @max_rows;

-- name: ReviewsOf :many
select * from reviews where effect_id = @effect_id order by opened_at;

-- name: SettledByPolicy :many
-- What policy settled, newest first. Plan: audit_kind, then one effect per row.
select a.seq, a.at, e.id, e.tool, e.operation, e.subject, e.amount, e.currency, e.state, e.settled_by, e.provider_id
from (select u.seq, u.at, u.effect_id from audit u where u.kind = 'resolved:found' and (sqlc.arg(before)::bigint = 0 or u.seq < @before)
    order by u.seq desc limit @max_rows) a
join effects e on e.id = a.effect_id order by a.seq desc;

-- name: SaveDraft :exec
insert into drafts (issuer, subject, effect_id, form) values (@issuer, @subject, @effect_id, @form)
on conflict (issuer, subject, effect_id) do update set form = excluded.form, at = clock_timestamp();

-- name: Draft :one
select form from drafts where issuer = @issuer and subject = @subject and effect_id = @effect_id and at > clock_timestamp() - interval '1 day';

-- name: DropDraft :exec
delete from drafts where issuer = @issuer and subject = @subject and effect_id = @effect_id;

-- name: DropOldDrafts :exec
delete from drafts where at <= clock_timestamp() - interval '1 day';

-- name: TwinCandidates :many
-- Effects of the same root run and tool, the nearest on both sides. Plan:
-- effects_root_run in its order from the effect on; a run of a million effects
-- reads two hundred. Long args are left out: they are not compared.
select n.id, n.operation, n.subject, n.amount, n.currency, n.labels, n.state, n.created_at, n.supersedes,
    case when octet_length(n.args) <= 65536 then n.args end::bytea as args
from effects n
where n.id = any (array((select e.id from effects e where e.root_run = @root_run and e.namespace = @namespace and e.id < @id order by e.id desc limit 100)
        union all
        (select e.id from effects e where e.root_run = @root_run and e.namespace = @namespace and e.id > @id order by e.id limit 100)))
    and n.tool = @tool
order by n.id limit 100;

-- name: InsertSuccessor :exec
-- The effect that takes a corrected one's place: ordered, and never begun yet.
insert into effects (
    id, namespace, key, ref, tool, class, provider, key_window_ms, client_timeout_ms, root_run, root_run_started_at,
    turn, run, step, operation, subject, amount, currency, labels, args, fingerprint, fingerprint_rule, resume, traceparent,
    supersedes, state, corrected, created_at, state_at, attempt, lease_token)
values (@id, @namespace, @key, @ref, @tool, @class, @provider, @key_window_ms, @client_timeout_ms, @root_run, sqlc.narg(root_run_started_at),
    @turn, @run, @step, @operation, @subject, @amount, @currency, sqlc.narg(labels), @args, @fingerprint, @fingerprint_rule, sqlc.narg(resume), @traceparent,
    sqlc.arg(supersedes)::uuid, 'REISSUE', true, @at, @at, 0, '');

-- name: SuccessorOf :one
select id from effects where supersedes = sqlc.arg(effect_id)::uuid;

-- name: FlagSuccessor :many
-- What took the place of an effect that landed after all: probably a double, and
-- if nobody began it yet, it waits for a person again. Plan: effects_successor.
with o as (update orders set ended = 'void' where orders.ended = '' and orders.attempt = 0
    and orders.effect_id in (select e.id from effects e where e.supersedes = sqlc.arg(effect_id)::uuid))
update effects set probably_double = true, version = version + 1,
    parked_reason = case when state = 'REISSUE' then 'order_void' else parked_reason end,
    state_at = case when state = 'REISSUE' then sqlc.arg(at)::timestamptz else state_at end,
    state = case when state = 'REISSUE' then 'PARKED' else state end
where supersedes = sqlc.arg(effect_id)::uuid and not probably_double returning id;
