-- +goose Up
-- Handing resolutions over to the runtimes that parked the work. Reason: the
-- delivery's row is the queue, as the alerts' messages are theirs.
alter table deliveries
    add column handover text not null default 'pull'
        check (handover in ('pull', 'pending', 'sent', 'refused', 'expired')),
    add column target     text not null default '', -- where it went last
    add column tries      integer not null default 0,
    add column next_at    timestamptz, -- null = not due
    add column retry_from timestamptz, -- where the schedule starts
    add column sent_at    timestamptz,
    add column handover_reason text not null default '';
-- What is on its way from now on is due at once; what was recorded before has
-- been pulled, or will be.
alter table deliveries alter column handover set default 'pending';
alter table deliveries alter column next_at set default clock_timestamp();
alter table deliveries alter column retry_from set default clock_timestamp();
create index deliveries_due on deliveries (next_at) where next_at is not null and acked_at is null;

-- Every try, for people.
create table handover_tries (
    delivery_id uuid not null references deliveries (id) on delete cascade,
    number  integer not null,
    at      timestamptz not null default clock_timestamp(),
    took_ms bigint not null,
    target  text not null,
    outcome text not null,
    detail  text not null default '',
    primary key (delivery_id, number)
);

-- What is known of a configured runtime's endpoint beyond its configuration.
create table resume_targets (
    name        text primary key,
    endpoint    text not null default '', -- hash of its address
    verified_at timestamptz,
    stopped_at  timestamptz,
    stopped_why text not null default '',
    taken_at    timestamptz -- the newest good answer
);

-- An alert says of what it is: of effects to decide, or of resolutions that reach
-- nobody. They are not counted together.
alter table alerts add column kind text not null default 'attention' check (kind in ('attention', 'undelivered'));
alter table alert_messages add column kind text not null default 'attention' check (kind in ('attention', 'undelivered'));

-- +goose Down
alter table alert_messages drop column kind;
alter table alerts drop column kind;
drop table resume_targets, handover_tries;
drop index deliveries_due;
alter table deliveries drop column handover, drop column target, drop column tries, drop column next_at,
    drop column retry_from, drop column sent_at, drop column handover_reason;
