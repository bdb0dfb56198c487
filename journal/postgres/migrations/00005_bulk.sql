-- +goose Up
-- Many effects, one word. Reason: after an outage a person decides hundreds of
-- effects that have one cause; what they saw, what they ordered and what became
-- of each must be on record, and a process that dies half-way must be followed by
-- another that decides nothing twice.
create table bulks (
    id          uuid primary key,
    actor       jsonb not null, -- who froze the set
    filter      text not null default '',
    count       integer not null check (count > 0),
    matched     integer not null,
    created_at  timestamptz not null default clock_timestamp(),
    state       text not null default 'frozen' check (state in ('frozen', 'running', 'stopped', 'done')),
    -- the order
    verb        text not null default '' check (verb in ('', 'reissue', 'close_landed', 'close_not_landed')),
    mode        text not null default '',
    reason_code text not null default '',
    reason      text not null default '',
    eligible    integer not null default 0,
    ordered_by  jsonb,
    auth_at     timestamptz, -- when that person had last proved who they are
    ordered_at  timestamptz,
    audit_seq   bigint references audit (seq),
    ended_at    timestamptz,
    stopped_by  jsonb,
    -- who works on it
    claim         text not null default '',
    claimed_until timestamptz,
    check ((state = 'frozen') = (ordered_at is null)),
    check (state = 'frozen' or verb <> '' and reason <> '' and ordered_by is not null and audit_seq is not null),
    check ((state in ('stopped', 'done')) = (ended_at is not null)),
    check ((state = 'stopped') = (stopped_by is not null)),
    -- Nobody but who saw the set orders it.
    check (ordered_by is null or (ordered_by ->> 'iss', ordered_by ->> 'sub') = (actor ->> 'iss', actor ->> 'sub'))
);
create index bulks_due on bulks (ordered_at) where state = 'running';
create index bulks_frozen on bulks (created_at) where state = 'frozen';

create table bulk_items (
    bulk_id         uuid not null references bulks (id),
    no              integer not null,
    effect_id       uuid not null, -- kept when the effect is purged
    effect_version  bigint not null,
    evidence_digest text not null,
    state           text not null,
    verdict         text not null default '',
    outcome         text not null default '' check (outcome in ('', 'decided', 'proposed', 'refused', 'stale', 'skipped')),
    code            text not null default '',
    why             text not null default '',
    decision_id     uuid,
    proposal_id     uuid,
    at              timestamptz,
    tries           integer not null default 0,
    next_at         timestamptz not null default clock_timestamp(),
    primary key (bulk_id, no),
    unique (bulk_id, effect_id),
    check ((outcome = '') = (at is null)),
    check ((outcome = 'decided') = (decision_id is not null)),
    check ((outcome = 'proposed') = (proposal_id is not null))
);
create index bulk_items_open on bulk_items (bulk_id, no) where outcome = '';

-- Which bulk a decision or proposal came from, and how large it was: the policy
-- asks again when somebody approves. One per bulk and effect, whoever runs it.
alter table decisions add column bulk_id uuid, add column bulk integer not null default 0, add check ((bulk > 0) = (bulk_id is not null));
alter table proposals add column bulk_id uuid, add column bulk integer not null default 0, add check ((bulk > 0) = (bulk_id is not null));
create unique index decisions_bulk on decisions (bulk_id, effect_id) where bulk_id is not null;
create unique index proposals_bulk on proposals (bulk_id, effect_id) where bulk_id is not null;

-- +goose Down
alter table proposals drop column bulk_id, drop column bulk;
alter table decisions drop column bulk_id, drop column bulk;
drop table bulk_items, bulks;
