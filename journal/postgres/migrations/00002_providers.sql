-- +goose Up
-- What is known of providers. Reason: any replica may look, and each must know
-- of a pause, of a lag and of a fault that another one met.
create table provider_states (
    provider      text primary key,
    last_ok_at    timestamptz,
    last_fault_at timestamptz,
    last_fault    text not null default '',
    paused_until  timestamptz,
    control_at    timestamptz,
    control_ok    boolean not null default false,
    control_why   text not null default ''
);

-- One committed effect per provider that is looked for until it shows.
create table lag_probes (
    provider     text primary key,
    effect_id    uuid not null,
    ref          text not null,
    begun_at     timestamptz not null,
    committed_at timestamptz not null,
    next_at      timestamptz not null,
    tries        integer not null default 0
);
create table lag_samples (
    id           bigint generated always as identity primary key,
    provider     text not null,
    effect_id    uuid not null,
    committed_at timestamptz not null,
    lag_ms       bigint not null check (lag_ms >= 0),
    lost         boolean not null default false -- looked for that long and never found
);
create index lag_samples_provider on lag_samples (provider, id);

-- Looks are claimed provider by provider: a slow one holds up no other.
drop index effects_look;
create index effects_look on effects (provider, next_look_at) where next_look_at is not null;

-- +goose Down
drop index effects_look;
create index effects_look on effects (next_look_at) where next_look_at is not null;
drop table lag_samples, lag_probes, provider_states;
