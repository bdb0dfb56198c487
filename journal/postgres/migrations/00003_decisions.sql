-- +goose Up
-- A second person, overrides and break-glass. Reason: a decision must show who
-- else stood for it, what it passed over, and which rules asked.
alter table decisions drop constraint decisions_verb_check;
alter table decisions add constraint decisions_verb_check check (verb in ('reissue', 'close_landed', 'close_not_landed', 'reopen', 'correct')),
    add column successor_id     uuid,
    add column proposal_id      uuid,
    add column approver_issuer  text not null default '',
    add column approver_subject text not null default '',
    add column approver_name    text not null default '',
    add column approver_reason  text not null default '',
    add column overrides        text[] not null default '{}',
    add column break_glass      boolean not null default false,
    add column rules            text[] not null default '{}',
    -- Invariant: nobody approves what they proposed, and what passes over a block
    -- has a second person or a review.
    add constraint decisions_two_people check (approver_subject = '' or (approver_issuer, approver_subject) <> (issuer, subject)),
    add constraint decisions_override_has_second check (overrides = '{}' or approver_subject <> '' or break_glass);

-- A decision that waits for its second person. Only its end is ever written later.
create table proposals (
    id             uuid primary key,
    audit_seq      bigint not null unique references audit (seq),
    effect_id      uuid not null, -- kept when the effect is purged, like its audit row
    effect_version bigint not null, -- right after it was proposed
    verb           text not null check (verb in ('reissue', 'close_landed', 'close_not_landed', 'reopen', 'correct')),
    mode           text not null default '',
    args           bytea, -- what a correction changes, with the three below
    subject        text not null default '',
    amount         text not null default '',
    currency       text not null default '',
    actor          jsonb not null, -- issuer, subject, name, roles, groups
    source         text not null check (source in ('page', 'api', 'cli')),
    reason_code    text not null,
    reason         text not null check (length(reason) > 0),
    provider_id    text not null default '',
    overrides      text[] not null default '{}',
    rules          text[] not null default '{}',
    evidence_digest text not null,
    recommended    text not null default '',
    created_at     timestamptz not null,
    expires_at     timestamptz not null,
    ended          text not null default '' check (ended in ('', 'approved', 'rejected', 'withdrawn', 'void', 'expired')),
    ended_at       timestamptz,
    ended_by       jsonb,
    ended_reason   text not null default '',
    check ((ended = '') = (ended_at is null)),
    check (ended <> 'approved' or ended_by ->> 'iss' || ' ' || (ended_by ->> 'sub') <> actor ->> 'iss' || ' ' || (actor ->> 'sub'))
);
-- One at a time.
create unique index proposals_open on proposals (effect_id) where ended = '';
create index proposals_effect on proposals (effect_id, created_at, id);
create index proposals_due on proposals (expires_at) where ended = '';

-- What has to be looked at afterwards by somebody else.
create table reviews (
    id          uuid primary key,
    effect_id   uuid not null,
    decision_id uuid not null unique references decisions (id),
    opened_at   timestamptz not null,
    due_at      timestamptz not null,
    closed_at   timestamptz,
    closed_by   jsonb,
    agreed      boolean not null default false,
    reason      text not null default '',
    audit_seq   bigint references audit (seq), -- of its end
    check ((closed_at is null) = (closed_by is null))
);
create index reviews_open on reviews (due_at) where closed_at is null;
create index reviews_effect on reviews (effect_id);

-- A person's text on an effect while they sign in again; theirs alone, for a day.
create table drafts (
    issuer    text not null,
    subject   text not null,
    effect_id uuid not null,
    form      jsonb not null,
    at        timestamptz not null default clock_timestamp(),
    primary key (issuer, subject, effect_id)
);
create index drafts_at on drafts (at);

-- Orders that are out: given, and not yet spent, void or expired.
create index orders_out on orders (effect_id) where ended = '';

-- What policy settled without a person, for reviewers.
create index audit_kind on audit (kind, seq);

alter table deliveries drop constraint deliveries_kind_check;
alter table deliveries add constraint deliveries_kind_check
    check (kind in ('reissue', 'close_landed', 'close_not_landed', 'committed', 'rejected', 'found', 'contradicted', 'reopened', 'corrected')),
    add column successor_id uuid, add column successor_key text not null default '';

-- A person put it in another's place.
alter table effects add column corrected boolean not null default false;
-- A person took a settlement by policy back: no policy settles it again.
alter table effects add column policy_off boolean not null default false;

-- +goose StatementBegin
create or replace function effects_guard_state() returns trigger language plpgsql as $$
begin
    if new.version <= old.version then
        raise exception 'effect %: version must rise', old.id using errcode = 'check_violation';
    end if;
    if (old.state, new.state) = ('COMMITTED', 'PARKED') then
        if old.settled_by <> 'policy' or exists (select from attempts a where a.effect_id = old.id and a.phase = 'confirmed') then
            raise exception 'effect %: only a settlement by policy is reopened', old.id using errcode = 'check_violation';
        end if;
        return new;
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
-- +goose StatementEnd

-- +goose Down
-- +goose StatementBegin
create or replace function effects_guard_state() returns trigger language plpgsql as $$
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
-- +goose StatementEnd
alter table effects drop column policy_off, drop column corrected;
alter table deliveries drop constraint deliveries_kind_check, drop column successor_id, drop column successor_key;
alter table deliveries add constraint deliveries_kind_check
    check (kind in ('reissue', 'close_landed', 'close_not_landed', 'committed', 'rejected', 'found', 'contradicted'));
drop index audit_kind, orders_out;
drop table drafts, reviews, proposals;
alter table decisions drop constraint decisions_override_has_second, drop constraint decisions_two_people, drop column rules, drop column break_glass,
    drop column overrides, drop column approver_reason, drop column approver_name, drop column approver_subject, drop column approver_issuer,
    drop column proposal_id, drop column successor_id, drop constraint decisions_verb_check;
alter table decisions add constraint decisions_verb_check check (verb in ('reissue', 'close_landed', 'close_not_landed'));
