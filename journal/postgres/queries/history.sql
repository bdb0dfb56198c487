-- name: Attempts :many
select * from attempts where effect_id = @effect_id order by number;

-- name: PutAttempt :exec
-- A fenced attempt is written once and then only gains reports.
insert into attempts (effect_id, number, issue, claim_id, lease_token, order_id, worker, granted_at, lease_until, send_by,
    attempt_deadline, attempt_timeout_ms, fenced_at, phase, final, reported_at, error, status, replayed, provider_id)
values (@effect_id, @number, @issue, @claim_id, @lease_token, sqlc.narg(order_id), @worker, @granted_at, @lease_until, @send_by,
    @attempt_deadline, @attempt_timeout_ms, @fenced_at, @phase, @final, sqlc.narg(reported_at), @error, @status, @replayed, @provider_id)
on conflict (effect_id, number) do update set phase = excluded.phase, final = excluded.final, reported_at = excluded.reported_at,
    error = excluded.error, status = excluded.status, replayed = excluded.replayed, provider_id = excluded.provider_id;

-- name: Handles :many
select attempt, kind, value, at from handles where effect_id = @effect_id order by attempt, at;

-- name: PutHandle :exec
insert into handles (effect_id, attempt, kind, value) values (@effect_id, @attempt, @kind, @value)
on conflict (effect_id, attempt, kind) do update set value = excluded.value, at = clock_timestamp();

-- name: NewestOrder :one
select * from orders where effect_id = @effect_id order by created_at desc, id desc limit 1;

-- name: PutOrder :exec
insert into orders (id, effect_id, decision_id, mode, issue, known_up_to, created_at, expires_at, attempt, ended)
values (@id, @effect_id, @decision_id, @mode, @issue, @known_up_to, @created_at, @expires_at, @attempt, @ended)
on conflict (id) do update set attempt = excluded.attempt, ended = excluded.ended;

-- name: AddEvent :exec
insert into events (effect_id, at, kind, attempt, actor, detail) values (@effect_id, @at, @kind, @attempt, @actor, sqlc.narg(detail));

-- name: Events :many
select * from events where effect_id = @effect_id order by seq limit 500;

-- name: Looks :many
select id, seq, verdict, reason, covers_attempt, started_at, look_again_at, digest from evidence where effect_id = @effect_id order by seq;

-- name: AddEvidence :one
insert into evidence (id, effect_id, adapter, verdict, reason, covers_attempt, started_at, finished_at, look_again_at, digest, requested_by, body)
values (@id, @effect_id, @adapter, @verdict, @reason, @covers_attempt, @started_at, @finished_at, sqlc.narg(look_again_at), @digest, @requested_by, @body)
returning seq;

-- name: EvidenceBodies :many
select seq, body from evidence where effect_id = @effect_id order by seq desc limit @max_rows;

-- name: BudgetSpent :one
select coalesce((select spent from budgets where namespace = @namespace and root_run = @root_run and turn = @turn), 0)::integer as spent;

-- name: SpendBudget :exec
insert into budgets (namespace, root_run, turn, spent) values (@namespace, @root_run, @turn, 1)
on conflict (namespace, root_run, turn) do update set spent = budgets.spent + 1;
