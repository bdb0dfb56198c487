-- +goose Up
-- The journal: effects, their attempts, orders, evidence, resolutions and the
-- audit rows. Reason: everything that one effect can be asked about commits in
-- one transaction of one database.

-- One row per installation. quarantined: the database is another one than the
-- journal last ran on (restored, or failed over); no grants until an admin names
-- the restore point. recovered_at: keys of runs from before it may have been
-- lost with the rows that knew them. clock_high: the latest time ever seen.
create table journal_meta (
    one           boolean primary key default true check (one),
    quarantined   boolean not null default false,
    quarantine_why text not null default '',
    system_id     text not null default '', -- of the cluster that the journal runs on
    timeline      bigint not null default 0,
    recovered_at  timestamptz,
    clock_high    timestamptz not null default clock_timestamp(),
    clock_suspect_until timestamptz
);
insert into journal_meta default values;

create table tools (
    name            text primary key check (length(name) between 1 and 120),
    class           text not null check (class in ('read_only', 'provider_idempotent', 'journal_deduped', 'at_most_once')),
    provider        text not null default '',
    key_window_ms   bigint not null default 0 check (key_window_ms >= 0),
    client_timeout_ms bigint not null default 0 check (client_timeout_ms >= 0),
    identity_fields text[] not null default '{}',
    display_fields  text[] not null default '{}',
    args_schema     bytea,
    version         integer not null default 1,
    updated_at      timestamptz not null default clock_timestamp(),
    updated_by      text not null default '',
    check (class <> 'provider_idempotent' or key_window_ms > 0)
);

-- The effect and its current attempt. The current attempt lives here, so that
-- the happy path is one insert and one update; once fenced it is kept in
-- attempts as well, and that row is then the authority.
create table effects (
    id              uuid primary key,
    namespace       text not null default '' check (length(namespace) <= 120),
    key             text collate "C" not null check (octet_length(key) between 1 and 255),
    ref             text collate "C" not null check (ref ~ '^[0-9a-f]{32}$'),
    tool            text not null,
    class           text not null check (class in ('provider_idempotent', 'journal_deduped', 'at_most_once')),
    provider        text not null default '',
    key_window_ms   bigint not null default 0,
    client_timeout_ms bigint not null,
    root_run        text collate "C" not null,
    root_run_started_at timestamptz,
    turn            text not null default '',
    run             text not null default '',
    step            text not null default '',
    operation       text not null,
    subject         text not null default '',
    amount          text not null default '',
    currency        text not null default '',
    labels          jsonb,
    args            bytea,
    fingerprint     text not null,
    fingerprint_rule smallint not null,
    resume          bytea,
    supersedes      uuid,
    traceparent     text not null default '',

    state           text not null check (state in ('INTENT', 'PARKED', 'REISSUE', 'COMMITTED', 'REJECTED', 'ABANDONED')),
    version         bigint not null default 1,
    issue           integer not null default 1 check (issue >= 1),
    parked_reason   text not null default '',
    retry_at        timestamptz,
    cleared_attempt integer not null default 0,
    result          bytea,
    provider_id     text not null default '',
    settled_by      text not null default '',
    refusal         text not null default '',
    contradicted    boolean not null default false,
    probably_double boolean not null default false,
    orphan          boolean not null default false,
    gave_up         boolean not null default false,
    drifted         boolean not null default false,
    open_delivery   boolean not null default false,
    next_look_at    timestamptz,
    looks           integer not null default 0,
    created_at      timestamptz not null,
    state_at        timestamptz not null,

    -- the current attempt
    attempt         integer not null default 1 check (attempt >= 0),
    claim_id        text not null default '',
    lease_token     text collate "C" not null default '',
    order_id        uuid,
    worker          text not null default '',
    granted_at      timestamptz,
    lease_until     timestamptz,
    send_by         timestamptz,
    attempt_deadline timestamptz,
    attempt_timeout_ms bigint not null default 0,
    fenced_at       timestamptz,

    -- From when on the effect needs attention, as far as its own row says; the
    -- epoch: already. Null: a worker owns it, or it is settled and nobody will
    -- look again, as on the whole happy path. The list is: attention_at reached
    -- (for an INTENT, by the grace period), or an INTENT whose lease ran out.
    attention_at    timestamptz generated always as (case
        when state = 'INTENT' and fenced_at is null then null
        when state = 'INTENT' and not gave_up then coalesce(retry_at, timestamptz 'epoch')
        when state in ('INTENT', 'PARKED', 'REISSUE') or open_delivery or contradicted or probably_double or orphan then timestamptz 'epoch'
        else next_look_at end) stored,
    -- What a search of the list looks into, in lower case; null on the happy path.
    search_text     text generated always as (case
        when state in ('PARKED', 'REISSUE') or state = 'INTENT' and fenced_at is not null or state <> 'INTENT'
            and (open_delivery or contradicted or probably_double or orphan or next_look_at is not null)
        then lower(subject || E'\n' || operation || E'\n' || tool || E'\n' || provider_id || E'\n' || coalesce(labels::text, '')) end) stored,

    -- An owned effect has its times, and its lease ends no earlier than send_by:
    -- whoever looks for expired leases starts from send_by, which never moves.
    constraint effects_owned_has_times check (state <> 'INTENT' or fenced_at is not null
        or coalesce(lease_until >= send_by and attempt_deadline >= send_by, false)),
    -- Invariant: every move out of INTENT fences in the same statement.
    constraint effects_closed_is_fenced check (state = 'INTENT' or fenced_at is not null or attempt = 0),
    -- Invariant 2: send_by never lies past the deadline.
    constraint effects_send_by check (send_by is null or send_by <= attempt_deadline),
    constraint effects_parked_has_reason check (state <> 'PARKED' or parked_reason <> ''),
    constraint effects_committed_has_author check (state not in ('COMMITTED', 'REJECTED', 'ABANDONED') or settled_by <> '')
) with (fillfactor = 70, autovacuum_vacuum_scale_factor = 0.05, autovacuum_vacuum_insert_scale_factor = 0.05,
    autovacuum_analyze_scale_factor = 0.02);

-- Indexes over every effect cost each begin and each commit, so there are few,
-- and all but one grow at their end: keys and root runs begin with a time.
-- key first: whoever searches for a key need not know its namespace.
create unique index effects_key on effects (key, namespace);
create index effects_root_run on effects (root_run, namespace, id);
-- A reference is a hash. Filed by day, new ones touch only the pages of today,
-- however large the journal is; a look-up asks each day once.
create index effects_ref on effects (((created_at at time zone 'UTC')::date), left(ref, 8));
-- The positive control of evidence: a provider's newest commit, at once.
create index effects_canary on effects (provider, state_at)
    where state = 'COMMITTED' and settled_by = 'worker' and not probably_double;
create unique index effects_successor on effects (supersedes) where supersedes is not null;
create index effects_look on effects (next_look_at) where next_look_at is not null;

-- What workers own now. Every effect passes through it once. The random first
-- column makes new entries land on the pages of dead ones, which are then
-- dropped without waiting for a vacuum; it stays as small as what is in flight.
-- send_by is checked in the index: rows within their lease are not visited.
-- "is true" hides the index from statements that do not repeat it: on a young
-- table the planner would prefer it to the primary key, for a heartbeat or a
-- commit, and walk every dead entry.
create index effects_owned on effects (left(lease_token, 4), send_by) where (state = 'INTENT' and fenced_at is null) is true;

-- What the list, the alerts and the collector read. No row of the happy path
-- ever enters these, so one per filter is free; id makes the order total.
create index effects_open on effects (created_at, id) where attention_at is not null;
create index effects_open_state on effects (state, created_at, id) where attention_at is not null;
create index effects_open_tool on effects (tool, created_at, id) where attention_at is not null;
create index effects_open_class on effects (class, created_at, id) where attention_at is not null;
create index effects_open_provider on effects (provider, created_at, id) where attention_at is not null;
create index effects_open_namespace on effects (namespace, created_at, id) where attention_at is not null;
create index effects_open_root_run on effects (root_run, created_at, id) where attention_at is not null;
-- Counts the header of the list without touching the table, and is hidden from
-- everything else by "is true": small and complete, it would win where an order
-- is asked for, and be sorted.
create index effects_open_counts on effects (namespace, tool, provider, class, state) include (created_at, attention_at)
    where (attention_at is not null) is true;

-- Substrings among the open. pg_trgm comes with PostgreSQL's contrib modules and
-- may be missing, or not be allowed to this role: the search then reads the open
-- effects one by one, some 20 ms for 20,000. Made later by hand, the index is
-- used from then on.
-- +goose StatementBegin
do $$
declare
    place text;
begin
    create extension if not exists pg_trgm;
    select n.nspname into strict place from pg_extension x join pg_namespace n on n.oid = x.extnamespace where x.extname = 'pg_trgm';
    execute format('create index effects_open_text on effects using gin (search_text %I.gin_trgm_ops)
        with (fastupdate = off) where attention_at is not null', place);
exception when others then
    raise notice 'no trigram index: % (searches of the list read the open effects one by one)', sqlerrm;
end $$;
-- +goose StatementEnd

-- Attempts that were fenced without a commit in time, and those that reported
-- after that. Late reports are written here.
create table attempts (
    effect_id   uuid not null references effects (id),
    number      integer not null check (number >= 1),
    issue       integer not null,
    claim_id    text not null,
    lease_token text not null,
    order_id    uuid,
    worker      text not null default '',
    granted_at  timestamptz not null,
    lease_until timestamptz not null,
    send_by     timestamptz not null,
    attempt_deadline timestamptz not null,
    attempt_timeout_ms bigint not null default 0,
    fenced_at   timestamptz not null,
    phase       text not null default '' check (phase in ('', 'not_sent', 'sent', 'refused', 'confirmed')),
    final       boolean not null default false,
    reported_at timestamptz,
    error       text not null default '',
    status      integer not null default 0,
    replayed    boolean not null default false,
    provider_id text not null default '',
    primary key (effect_id, number)
);

create table handles (
    effect_id uuid not null references effects (id),
    attempt   integer not null,
    kind      text not null,
    value     text not null,
    at        timestamptz not null default clock_timestamp(),
    primary key (effect_id, attempt, kind)
);

create table orders (
    id          uuid primary key,
    effect_id   uuid not null references effects (id),
    decision_id uuid not null,
    mode        text not null check (mode in ('same_key', 'new_key')),
    issue       integer not null,
    known_up_to bigint not null,
    created_at  timestamptz not null,
    expires_at  timestamptz not null,
    attempt     integer not null default 0,
    ended       text not null default '' check (ended in ('', 'spent', 'void', 'expired'))
);
-- One open order per effect.
create unique index orders_open on orders (effect_id) where ended = '';
create index orders_effect on orders (effect_id, created_at, id);
create index orders_due on orders (expires_at) where ended = '' and attempt = 0;
-- One attempt per order is the orders.attempt column; one order per attempt:
create unique index orders_attempt on orders (effect_id, attempt) where attempt > 0;

create table events (
    seq       bigint generated always as identity primary key,
    effect_id uuid not null,
    at        timestamptz not null,
    kind      text not null,
    attempt   integer not null default 0,
    actor     text not null default '',
    detail    bytea
);
create index events_effect on events (effect_id, seq);

create table evidence (
    id             uuid primary key,
    seq            bigint not null generated always as identity unique,
    effect_id      uuid not null references effects (id),
    adapter        text not null,
    verdict        text not null check (verdict in ('FOUND', 'FOUND_PENDING', 'FOUND_NOT_EFFECTIVE', 'DUPLICATE', 'NOT_FOUND', 'CANNOT_TELL')),
    reason         text not null default '',
    covers_attempt integer not null default 0,
    started_at     timestamptz not null,
    finished_at    timestamptz not null,
    look_again_at  timestamptz,
    digest         text not null,
    requested_by   text not null default '',
    body           bytea not null, -- the whole evidence as JSON, byte for byte as digested
    check (verdict <> 'CANNOT_TELL' or reason <> '')
);
create index evidence_effect on evidence (effect_id, seq);

-- Audit rows: exact canonical bytes, salt and hash, numbered without gaps.
create table audit_head (
    one boolean primary key default true check (one),
    seq bigint not null default 0,
    hash bytea not null default '\x'
);
insert into audit_head default values;
create table audit (
    seq       bigint primary key,
    at        timestamptz not null,
    kind      text not null,
    effect_id uuid,
    actor     text not null,
    salt      bytea not null,
    body      bytea not null,
    hash      bytea not null
);
create index audit_effect on audit (effect_id, seq) where effect_id is not null;

create table decisions ( -- kept when the effect is purged, like its audit row
    id             uuid primary key,
    audit_seq      bigint not null unique references audit (seq),
    effect_id      uuid not null,
    effect_version bigint not null,
    verb           text not null check (verb in ('reissue', 'close_landed', 'close_not_landed')),
    mode           text not null default '',
    issuer         text not null,
    subject        text not null,
    name           text not null,
    source         text not null check (source in ('page', 'api', 'cli')),
    reason_code    text not null,
    reason         text not null check (length(reason) > 0),
    provider_id    text not null default '',
    evidence_digest text not null,
    recommended    text not null default '',
    policy_version text not null default '',
    order_id       uuid,
    at             timestamptz not null,
    -- One decision per effect version.
    unique (effect_id, effect_version)
);

-- Resolutions and orders to hand to the runtime; the row is the queue.
create table deliveries (
    id          uuid primary key,
    audit_seq   bigint not null unique references audit (seq),
    effect_id   uuid not null references effects (id),
    namespace   text not null, -- the effect's
    effect_version bigint not null,
    kind        text not null check (kind in ('reissue', 'close_landed', 'close_not_landed', 'committed', 'rejected', 'found', 'contradicted')),
    by_whom     text not null,
    reason      text not null default '',
    order_id    uuid,
    order_expires_at timestamptz,
    at          timestamptz not null,
    acked_at    timestamptz,
    acked_by    text not null default ''
);
create index deliveries_effect on deliveries (effect_id, audit_seq);
create index deliveries_namespace on deliveries (namespace, audit_seq);
create index deliveries_open on deliveries (audit_seq) where acked_at is null;

-- The retry budget of a turn, or of a root run.
create table budgets (
    namespace text not null,
    root_run  text not null,
    turn      text not null,
    spent     integer not null,
    primary key (namespace, root_run, turn)
);

-- What remains of a purged effect: enough to refuse its key for ever.
create table tombstones (
    key_hash    bytea primary key,
    fingerprint text not null,
    state       text not null,
    at          timestamptz not null
);

-- Bearer tokens of workers, hashed at rest.
create table tokens (
    id         uuid primary key,
    name       text not null check (length(name) between 1 and 120),
    hash       bytea not null unique,
    namespaces text[] not null default '{}', -- empty = all
    created_at timestamptz not null default clock_timestamp(),
    created_by text not null default '',
    last_used_at timestamptz,
    revoked_at timestamptz
);

-- Who looked at which effect: the one thing that GET writes.
create table view_log (
    seq       bigint generated always as identity primary key,
    at        timestamptz not null default clock_timestamp(),
    issuer    text not null,
    subject   text not null,
    path      text not null,
    effect_id uuid
);

-- Alerts: one row per effect and occasion, claimed by the row itself.
create table alerts (
    id         uuid primary key,
    effect_id  uuid not null references effects (id),
    occasion   text not null, -- 'stuck:<attempt>', 'parked:<version>', ...
    tool       text not null,
    provider   text not null,
    created_at timestamptz not null default clock_timestamp(),
    message_id uuid,
    unique (effect_id, occasion)
);
create table alert_messages (
    id          uuid primary key,
    sink        text not null,
    tool        text not null,
    provider    text not null,
    count       integer not null,
    first_effect uuid not null,
    created_at  timestamptz not null default clock_timestamp(),
    claimed_until timestamptz,
    tries       integer not null default 0,
    next_try_at timestamptz not null default clock_timestamp(),
    sent_at     timestamptz,
    gave_up_at  timestamptz,
    last_error  text not null default ''
);
create index alerts_unsent on alerts (created_at) where message_id is null;
create index alert_messages_due on alert_messages (next_try_at) where sent_at is null and gave_up_at is null;

-- Sessions: the token is kept as a hash only.
create table sessions (
    token_hash bytea primary key,
    data       bytea not null,
    created_at timestamptz not null default clock_timestamp(),
    seen_at    timestamptz not null default clock_timestamp(),
    expires_at timestamptz not null
);
create index sessions_expiry on sessions (expires_at);

-- Invariants 1 and 2 in the database: an attempt is granted only over a fenced
-- one, by one, from INTENT or REISSUE, and never once one is confirmed. The
-- WHEN clause keeps the happy path free of it.
-- +goose StatementBegin
create function effects_guard_grant() returns trigger language plpgsql as $$
begin
    if new.attempt <> old.attempt + 1 then
        raise exception 'effect %: attempt % cannot follow %', old.id, new.attempt, old.attempt using errcode = 'check_violation';
    end if;
    if old.state not in ('INTENT', 'REISSUE') or new.state <> 'INTENT' then
        raise exception 'effect %: no grant from % to %', old.id, old.state, new.state using errcode = 'check_violation';
    end if;
    if old.fenced_at is null and old.lease_until > clock_timestamp() and old.attempt_deadline > clock_timestamp() then
        raise exception 'effect %: attempt % is live', old.id, old.attempt using errcode = 'check_violation';
    end if;
    if exists (select from attempts a where a.effect_id = old.id and a.phase = 'confirmed') then
        raise exception 'effect %: an attempt is confirmed', old.id using errcode = 'check_violation';
    end if;
    if old.class = 'at_most_once' and new.order_id is null and exists (
        select from attempts a where a.effect_id = old.id and a.phase not in ('not_sent', 'refused')) then
        raise exception 'effect %: an exposed at_most_once effect needs an order', old.id using errcode = 'check_violation';
    end if;
    return new;
end $$;

create function effects_guard_state() returns trigger language plpgsql as $$
begin
    if new.version <= old.version then
        raise exception 'effect %: version must rise', old.id using errcode = 'check_violation';
    end if;
    if not ((old.state, new.state) in (
        ('INTENT', 'COMMITTED'), ('INTENT', 'REJECTED'), ('INTENT', 'PARKED'), ('INTENT', 'REISSUE'), ('INTENT', 'ABANDONED'),
        ('PARKED', 'COMMITTED'), ('PARKED', 'REISSUE'), ('PARKED', 'ABANDONED'), ('PARKED', 'REJECTED'),
        ('REISSUE', 'INTENT'), ('REISSUE', 'PARKED'), ('REISSUE', 'COMMITTED'),
        ('ABANDONED', 'COMMITTED'), ('ABANDONED', 'PARKED'), ('REJECTED', 'COMMITTED'), ('REJECTED', 'PARKED'))) then
        raise exception 'effect %: no move from % to %', old.id, old.state, new.state using errcode = 'check_violation';
    end if;
    return new;
end $$;

-- Evidence may go with its effect, when the purge says so in its transaction;
-- nothing else ever goes, and nothing is ever changed.
create function journal_append_only() returns trigger language plpgsql as $$
begin
    if tg_table_name = 'evidence' and tg_op = 'DELETE' and current_setting('landed.purging', true) = 'on' then
        return old;
    end if;
    raise exception '% is append-only', tg_table_name using errcode = 'insufficient_privilege';
end $$;
-- +goose StatementEnd

create trigger effects_grant before update on effects for each row
    when (new.attempt is distinct from old.attempt) execute function effects_guard_grant();
create trigger effects_state before update on effects for each row
    when (new.state is distinct from old.state and old.state <> 'INTENT') execute function effects_guard_state();
create trigger audit_append_only before update or delete on audit for each row execute function journal_append_only();
create trigger audit_no_truncate before truncate on audit for each statement execute function journal_append_only();
create trigger decisions_append_only before update or delete on decisions for each row execute function journal_append_only();
create trigger decisions_no_truncate before truncate on decisions for each statement execute function journal_append_only();
create trigger evidence_append_only before update or delete on evidence for each row execute function journal_append_only();
create trigger evidence_no_truncate before truncate on evidence for each statement execute function journal_append_only();

-- +goose Down
drop table sessions, alert_messages, alerts, view_log, tokens, tombstones, budgets, deliveries, decisions, audit,
    audit_head, evidence, events, orders, handles, attempts, effects, tools, journal_meta;
drop function effects_guard_grant(), effects_guard_state(), journal_append_only();
