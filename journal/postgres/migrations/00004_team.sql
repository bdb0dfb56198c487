-- +goose Up
-- Working as a team. Reason: several people sit before one list, and each must
-- see what another one has in hand, has said, or has put aside.

-- Who is on an effect, one at a time. It forbids nothing: the decision's own
-- transaction does. It goes with its effect, whatever program purges that.
create table claims (
    effect_id uuid primary key references effects (id) on delete cascade,
    id        uuid not null, -- of this holder's time
    issuer    text not null,
    subject   text not null,
    name      text not null default '',
    by_issuer text not null, -- who gave it
    by_subject text not null,
    by_name   text not null default '',
    since     timestamptz not null,
    until     timestamptz not null check (until > since)
);
create index claims_holder on claims (issuer, subject);

-- What people said. Kept when the effect is purged, like its audit row.
create table comments (
    id        uuid primary key,
    audit_seq bigint not null unique references audit (seq),
    effect_id uuid not null,
    issuer    text not null,
    subject   text not null,
    name      text not null default '',
    body      text not null check (octet_length(body) between 1 and 4000),
    at        timestamptz not null
);
create index comments_effect on comments (effect_id, at, id);
create trigger comments_append_only before update or delete on comments for each row execute function journal_append_only();
create trigger comments_no_truncate before truncate on comments for each statement execute function journal_append_only();

-- What was put aside. The list leaves these out by a hashed sub-plan, and its
-- counts subtract them: the set is small, and the effects' own row and indexes
-- know nothing of it. A change of the effect deletes the row in its transaction.
create table snoozes (
    effect_id uuid primary key references effects (id) on delete cascade,
    until     timestamptz not null,
    issuer    text not null,
    subject   text not null,
    name      text not null default '',
    reason    text not null default '',
    at        timestamptz not null,
    check (until > at and until <= at + interval '7 days')
);

-- Who signed in before, as of their last login.
create table people (
    issuer  text not null,
    subject text not null,
    name    text not null default '',
    roles   text[] not null default '{}',
    seen_at timestamptz not null,
    primary key (issuer, subject)
);
create index people_seen on people (seen_at);
-- Those who are signed in now. Sessions hold JSON, or markers without a subject.
-- +goose StatementBegin
do $$
declare
    r record;
    d jsonb;
begin
    for r in select data, created_at from sessions order by created_at loop
        begin
            d := convert_from(r.data, 'UTF8')::jsonb;
            if coalesce(d ->> 'kind', '') = 'session' and coalesce(d ->> 'sub', '') <> '' then
                insert into people (issuer, subject, name, roles, seen_at)
                values (coalesce(d ->> 'iss', ''), d ->> 'sub', coalesce(d ->> 'name', ''),
                    array(select jsonb_array_elements_text(case jsonb_typeof(d -> 'roles') when 'array' then d -> 'roles' else '[]' end)), r.created_at)
                on conflict (issuer, subject) do update set name = excluded.name, roles = excluded.roles, seen_at = excluded.seen_at;
            end if;
        exception when data_exception then
            null; -- not ours
        end;
    end loop;
end $$;
-- +goose StatementEnd

-- Open windows. No fact of the journal: a crash may forget them.
create unlogged table presence (
    effect_id uuid not null,
    issuer    text not null,
    subject   text not null,
    window_id text not null check (length(window_id) between 8 and 64),
    name      text not null default '',
    typing    boolean not null default false,
    seen_at   timestamptz not null,
    primary key (effect_id, issuer, subject, window_id)
);
create index presence_seen on presence (seen_at);

-- +goose Down
drop table presence, people, snoozes, comments, claims;
