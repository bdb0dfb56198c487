-- name: ClaimOf :one
select * from claims where effect_id = @effect_id;

-- name: PutClaim :execrows
-- A compare-and-set: nothing is written unless the row is still the one that was
-- read, or there is still none.
insert into claims (effect_id, id, issuer, subject, name, by_issuer, by_subject, by_name, since, until)
values (@effect_id, @id, @issuer, @subject, @name, @by_issuer, @by_subject, @by_name, @since, @until)
on conflict (effect_id) do update set id = excluded.id, issuer = excluded.issuer, subject = excluded.subject, name = excluded.name,
    by_issuer = excluded.by_issuer, by_subject = excluded.by_subject, by_name = excluded.by_name, since = excluded.since, until = excluded.until
where claims.id = sqlc.narg(was_id)::uuid and claims.until = sqlc.narg(was_until)::timestamptz;

-- name: DropClaim :execrows
delete from claims where effect_id = @effect_id and id = @id and until = @until;

-- name: RenewClaim :exec
-- While its holder acts; not on every act, and never one that is over.
update claims set until = clock_timestamp() + sqlc.arg(lease_ms)::bigint * interval '1 ms'
where effect_id = @effect_id and issuer = @issuer and subject = @subject and until > clock_timestamp()
    and until < clock_timestamp() + (sqlc.arg(lease_ms)::bigint - 60000) * interval '1 ms';

-- name: DropOldClaims :exec
-- Who held it last is in the timeline.
delete from claims where until <= clock_timestamp() - interval '1 day';

-- name: AddComment :execrows
insert into comments (id, audit_seq, effect_id, issuer, subject, name, body, at)
values (@id, @audit_seq, @effect_id, @issuer, @subject, @name, @body, @at) on conflict (id) do nothing;

-- name: CommentByID :one
select * from comments where id = @id;

-- name: CommentsOf :many
-- The newest, oldest first.
select * from (select c.* from comments c where c.effect_id = @effect_id order by c.at desc, c.id desc limit @max_rows) c order by c.at, c.id;

-- name: HoldEffect :exec
-- Whatever moves the effect waits until this transaction ends, and then sees what
-- it wrote.
select id from effects where id = @id for share;

-- name: PutSnooze :exec
insert into snoozes (effect_id, until, issuer, subject, name, reason, at) values (@effect_id, @until, @issuer, @subject, @name, @reason, @at)
on conflict (effect_id) do update set until = excluded.until, issuer = excluded.issuer, subject = excluded.subject, name = excluded.name,
    reason = excluded.reason, at = excluded.at;

-- name: DropSnooze :execrows
-- One that is over stays nobody's news.
with gone as (delete from snoozes where effect_id = @effect_id returning until)
select until from gone where until > clock_timestamp();

-- name: DropOldSnoozes :exec
delete from snoozes where until <= clock_timestamp();

-- name: SnoozeOf :one
select * from snoozes where effect_id = @effect_id and until > clock_timestamp();

-- name: SeePerson :exec
insert into people (issuer, subject, name, roles, seen_at) values (@issuer, @subject, @name, @roles, @seen_at)
on conflict (issuer, subject) do update set name = excluded.name, roles = excluded.roles, seen_at = excluded.seen_at
where people.seen_at <= excluded.seen_at;

-- name: People :many
select * from people order by seen_at desc limit @max_rows;

-- name: PersonBySubject :one
select * from people where issuer = @issuer and subject = @subject;

-- name: PutPresence :exec
-- A person's windows on one effect are bounded: a page that reloads itself for
-- ever fills nothing.
insert into presence (effect_id, issuer, subject, window_id, name, typing, seen_at)
select @effect_id, @issuer, @subject, @window_id, @name, @typing, clock_timestamp()
where (select count(*) from presence p where p.effect_id = @effect_id and p.issuer = @issuer and p.subject = @subject and p.window_id <> @window_id) < 20
    and exists (select from effects e where e.id = @effect_id)
on conflict (effect_id, issuer, subject, window_id) do update set name = excluded.name, typing = excluded.typing, seen_at = excluded.seen_at;

-- name: DropPresence :exec
delete from presence where effect_id = @effect_id and issuer = @issuer and subject = @subject and window_id = @window_id;

-- name: DropOldPresence :exec
delete from presence where seen_at <= clock_timestamp() - sqlc.arg(life_ms)::bigint * interval '1 ms';

-- name: PresenceOf :many
select * from presence where effect_id = @effect_id and seen_at > clock_timestamp() - sqlc.arg(life_ms)::bigint * interval '1 ms'
order by name, subject, window_id limit 100;
